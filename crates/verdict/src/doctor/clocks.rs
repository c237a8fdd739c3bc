//! How the clocks of CPUs are governed.

use model::condition::{Clocks, Condition, Remedy};
use model::finding::Claim::{Comparison, Latency};
use model::finding::Severity;

use super::{Answer, Rule};
use crate::check::Found;

pub(super) const RULE: Rule = Rule {
    id: "CPU-04",
    name: "governor",
    reads: "cpu*/cpufreq/scaling_governor, scaling_driver, energy_performance_preference",
    source: "pyperf, system tuning; kernel Documentation/admin-guide/pm/intel_pstate.rst",
    examine,
};

/// With these drivers the processor governs itself: `powersave` is only their default.
const ACTIVE: &[&str] = &["intel_pstate", "amd-pstate-epp"];

const FOLDER: &str = "/sys/devices/system/cpu";

fn is_active(clocks: &Clocks) -> bool {
    let driver = clocks.driver.as_deref();
    driver.is_some_and(|driver| ACTIVE.contains(&driver))
}

/// How much clocks that are governed so change numbers.
fn severity(clocks: &Clocks) -> Option<Severity> {
    match (clocks.governor.as_str(), clocks.preference.as_deref()) {
        ("performance", _) => None,
        _ if !is_active(clocks) => Some(Severity::Suspect),
        (_, Some("performance" | "0")) => None,
        (_, Some("power" | "balance_power")) => Some(Severity::Suspect),
        _ => Some(Severity::Note),
    }
}

fn examine(condition: &Condition) -> Answer {
    if condition.clocks.is_empty() {
        return Answer::unknown("cpufreq: how the clocks of CPUs are governed");
    }
    let slow = condition.clocks.iter().filter_map(|clocks| {
        let severity = severity(clocks)?;
        Some((severity, clocks))
    });
    let slow: Vec<_> = slow.collect();
    let Some(worst) = slow.iter().map(|(severity, _)| *severity).max() else {
        return Answer::Silent;
    };
    let ways: Vec<String> = slow.iter().map(|(_, clocks)| way(clocks)).collect();
    let say = format!(
        "The frequency of CPUs is governed by {}: at partial load it falls, and response times \
         below half load measure the governor.",
        ways.join(", and by ")
    );
    let is_one = condition.clocks.len() == 1;
    let remedies = slow.iter().map(|(_, clocks)| remedy(clocks, is_one));
    let found = Found::all(&[Latency, Comparison], worst, say).evidence("clocks", ways);
    Answer::Found(found, remedies.collect())
}

fn way(clocks: &Clocks) -> String {
    let driver = clocks.driver.as_deref().unwrap_or("an unknown driver");
    let preference = clocks.preference.as_ref().filter(|_| is_active(clocks));
    let preference = preference.map_or_else(String::new, |word| format!(", preference {word}"));
    let cpus: Vec<String> = clocks.cpus.iter().take(4).map(u32::to_string).collect();
    let more = if clocks.cpus.len() > 4 { ",..." } else { "" };
    let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!(
        "'{}' ({driver}{preference}) on {noun} {}{more}",
        clocks.governor,
        cpus.join(",")
    )
}

/// For processors that govern themselves their preference is enough, where they have one.
fn remedy(clocks: &Clocks, is_one: bool) -> Remedy {
    let (file, now) = match &clocks.preference {
        Some(preference) if is_active(clocks) => ("energy_performance_preference", preference),
        _ => ("scaling_governor", &clocks.governor),
    };
    let write = |word: &str| {
        if is_one {
            return format!("echo {word} | tee {FOLDER}/cpu*/cpufreq/{file}");
        }
        let files = clocks
            .cpus
            .iter()
            .map(|cpu| format!("{FOLDER}/cpu{cpu}/cpufreq/{file}"));
        let files: Vec<String> = files.collect();
        format!("echo {word} | tee {}", files.join(" "))
    };
    Remedy {
        apply: write("performance"),
        undo: Some(write(now)),
    }
}
