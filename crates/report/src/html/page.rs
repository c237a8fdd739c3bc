//! The whole page: what is worth believing first, then the numbers, then how they came about.

use std::fmt::Write as _;

use super::{escape, failures, results, setting, trials, verdicts};
use crate::number::plural;
use crate::run::Run;

/// What a page carries beside its content.
pub(super) struct Assets {
    pub(super) style: &'static str,
    pub(super) script: &'static str,
    /// The charting script, as its crate packages it.
    pub(super) echarts: &'static str,
}

pub(super) const ASSETS: Assets = Assets {
    style: include_str!("style.css"),
    script: include_str!("page.js"),
    echarts: include_str!(env!("ECHARTS_SCRIPT")),
};

/// A section: its anchor, its heading, and what writes it. One that writes nothing is left out.
type Section = (&'static str, &'static str, fn(&Run) -> String);

/// The sections in the order of reading.
const SECTIONS: [Section; 7] = [
    ("verdict", "What may be believed", verdicts::section),
    ("results", "Results", results::section),
    ("failures", "Failures", failures::section),
    ("servers", "The servers, exactly", setting::servers),
    ("machine", "The machine", setting::machine),
    ("repeat", "How to repeat it", setting::repeat),
    ("trials", "Every trial", trials::section),
];

/// The report of `run`: one HTML file. The same run gives the same bytes.
pub fn page(run: &Run) -> String {
    assemble(run, &ASSETS)
}

pub(super) fn assemble(run: &Run, assets: &Assets) -> String {
    let Assets {
        style,
        script,
        echarts,
    } = assets;
    let sections: Vec<(&str, &str, String)> = SECTIONS
        .iter()
        .map(|(anchor, heading, write)| (*anchor, *heading, write(run)))
        .filter(|(_, _, html)| !html.is_empty())
        .collect();
    let mut html = String::with_capacity(echarts.len() + 400_000);
    let title = escape(&title(run));
    let _ = write!(
        html,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"Triathlon\">\n\
         <title>{title} · Triathlon</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
    );
    header(&mut html, run);
    html.push_str("<nav aria-label=\"Contents\"><ul>");
    for (anchor, heading, _) in &sections {
        let _ = write!(html, "<li><a href=\"#{anchor}\">{heading}</a></li>");
    }
    html.push_str("</ul></nav>\n<main>\n");
    for (anchor, heading, body) in &sections {
        let _ = write!(
            html,
            "<section id=\"{anchor}\" aria-labelledby=\"{anchor}-heading\">\n<h2 \
             id=\"{anchor}-heading\">{heading}</h2>\n{body}</section>\n"
        );
    }
    html.push_str("</main>\n");
    footer(&mut html, run);
    let _ = write!(
        html,
        "<script id=\"echarts\">{echarts}</script>\n<script>\n{script}</script>\n</body>\n</html>\n"
    );
    html
}

/// The experiment's name; of a run without one, what was asked.
fn title(run: &Run) -> String {
    if !run.name.is_empty() {
        return run.name.clone();
    }
    match run.workloads().as_slice() {
        [only] => only.clone(),
        _ => "Report".to_owned(),
    }
}

fn header(html: &mut String, run: &Run) {
    let mut facts = Vec::new();
    let servers = run.labels().len();
    if servers > 0 {
        facts.push(plural(servers, "server"));
    }
    if run.workloads().len() > 1 {
        facts.push(plural(run.workloads().len(), "workload"));
    }
    if run.rounds() > 0 {
        facts.push(plural(run.rounds() as usize, "round"));
    }
    facts.push(plural(run.digests().len(), "trial"));
    if let Some(environment) = run.environment() {
        if let Some(cpu) = &environment.cpu_model {
            let cpus = environment.cpus_online.len();
            facts.push(format!("{cpu}, {}", plural(cpus, "CPU")));
        }
        facts.extend(environment.kernel.clone());
    }
    let when = run
        .digests()
        .iter()
        .filter_map(|digest| digest.time.as_deref())
        .min()
        .map_or_else(String::new, |time| {
            format!(
                " · <time datetime=\"{0}\">{1}</time>",
                escape(time),
                escape(&when(time))
            )
        });
    let _ = write!(
        html,
        "<header>\n<p class=\"kicker\">Triathlon{when}</p>\n<h1>{}</h1>\n",
        escape(&title(run))
    );
    if !run.question.is_empty() {
        let _ = writeln!(html, "<p class=\"question\">{}</p>", escape(&run.question));
    }
    let facts: Vec<String> = facts.iter().map(|fact| escape(fact)).collect();
    let _ = write!(
        html,
        "<p class=\"facts\">{}</p>\n</header>\n",
        facts.join(" · ")
    );
}

/// `2026-11-20T10:31:24Z` as `2026-11-20 10:31 UTC`.
fn when(time: &str) -> String {
    match (time.get(..10), time.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => time.to_owned(),
    }
}

fn footer(html: &mut String, run: &Run) {
    let version = run
        .environment()
        .map(|environment| &environment.tool)
        .map_or_else(String::new, |tool| {
            let commit = tool
                .commit
                .as_ref()
                .map_or_else(String::new, |commit| format!(" ({commit})"));
            format!(" {}{commit}", tool.version)
        });
    let _ = write!(
        html,
        "<footer>\n<p>Measured and written by Triathlon{}. Charts are drawn by Apache ECharts \
         5.5.1 (Apache License 2.0), which is inside this file; nothing is \
         fetched.</p>\n</footer>\n",
        escape(&version)
    );
}
