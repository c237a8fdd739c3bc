//! GEN-11: a clock that is read through the kernel makes each instant late and expensive.

use model::finding::Claim::Latency;
use model::finding::Severity::Suspect;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::thresholds::CLOCK_COST_NS;

pub(crate) static CHECK: Check = Check {
    id: "GEN-11",
    name: "clock",
    claims: &[Latency],
    mandatory: false,
    source: "Policy; hpet and acpi_pm make each reading a system call",
    judge: Judge::Alone(judge),
};

/// Clock sources that are read without entering the kernel.
const FAST: [&str; 4] = [
    "arch_sys_counter",
    "hyperv_clocksource_tsc_page",
    "kvm-clock",
    "tsc",
];

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.is_asked_from_elsewhere() {
        return Judgement::unknown("the clock of each machine that makes load");
    }
    let environment = &facts.trial.environment;
    let (source, cost) = (
        environment.clocksource.as_deref(),
        environment.clock_cost_ns,
    );
    if source.is_none() && cost.is_none() {
        return Judgement::unknown("the kernel's clock source and what a reading costs");
    }
    let slow = source.filter(|source| !FAST.contains(source));
    let dear = cost.filter(|cost| CLOCK_COST_NS.severity(*cost).is_some());
    if slow.is_none() && dear.is_none() {
        return Judgement::Silent;
    }
    let cost_words = cost.map_or_else(String::new, |cost| {
        format!(", which takes {cost:.0} ns for each reading")
    });
    Found::new(
        &[(Latency, Suspect)],
        format!(
            "Time is read from the clock source {}{cost_words}. Each time that is measured \
             includes such readings.",
            source.unwrap_or("of unknown name")
        ),
    )
    .evidence("clocksource", source)
    .evidence("clock_cost_ns", cost)
    .limit(&CLOCK_COST_NS)
    .fix("Boot with clocksource=tsc, or measure from a machine whose TSC is stable")
    .into()
}
