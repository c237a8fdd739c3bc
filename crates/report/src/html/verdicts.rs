//! What may be believed: the verdict of every point, and why, before any number.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::point::Values;
use model::{Claim, Severity, Status};

use super::answer::{HOW_TO_READ, answer, picture};
use super::table::Table;
use super::{escape, ranks};
use crate::digests::{Across, Cell, Heard, Run, is_loud, per_second};
use crate::number::{self, plural};

/// Above so many columns the cells of the grid hold marks alone.
const COLUMNS_WITH_WORDS: usize = 8;

/// So many findings are shown at once, the worst first; the others are a touch away.
const FINDINGS_SHOWN: usize = 8;

/// Of a finding at several points so many are told apart.
const SAID: usize = 3;

/// The section.
pub(super) fn section(run: &Run) -> String {
    let mut html = String::new();
    for sentence in run.in_the_way() {
        let _ = writeln!(html, "<p class=\"missing\">{}</p>", escape(&sentence));
    }
    let mut has_picture = false;
    for (comparison, spoilt) in run.answers() {
        html.push_str(&answer(&comparison, spoilt.as_deref()));
        let picture = picture(&comparison, &run.cells(&comparison.workload));
        has_picture |= picture.is_some();
        html.extend(picture);
        html.push_str(&ranks::table(run, &comparison));
    }
    if has_picture {
        html.push_str(HOW_TO_READ);
    }
    html.push_str(&summary(run));
    for note in &run.said_first() {
        let _ = writeln!(html, "<p class=\"missing\">{}</p>", escape(note));
    }
    for (fact, values) in run.differences() {
        let _ = writeln!(
            html,
            "<p class=\"missing\">Not all trials ran under the same {}: {}. Compare across them \
             with care.</p>",
            escape(fact),
            escape(&values.join("; "))
        );
    }
    html.push_str("<div class=\"grids\">");
    for workload in run.workloads() {
        html.push_str(&grid(run, &workload));
    }
    html.push_str("</div>\n");
    html.push_str(KEY);
    html.push_str(&findings(run));
    html.push_str(&coverage(run));
    html
}

/// What no rule could look at, and what another rule tells.
fn coverage(run: &Run) -> String {
    let listed = |rules: &BTreeMap<String, (String, usize)>| -> Vec<String> {
        let each = rules.iter().map(|(rule, (why, trials))| {
            format!("{rule}, in {}: {}", plural(*trials, "trial"), escape(why))
        });
        each.collect()
    };
    let explained = run.explained().iter().map(|(rule, causes)| {
        let causes: Vec<String> = causes
            .iter()
            .map(|(cause, trials)| format!("{cause} in {}", plural(*trials, "trial")))
            .collect();
        format!("{rule}, by {}", verdict::words::list(&causes))
    });
    let mut html = String::new();
    for (what, each) in [
        (
            "could not read what they need in some trial",
            listed(run.unread()),
        ),
        (
            "had too little to judge by in some trial",
            listed(run.cannot_apply()),
        ),
        (
            "left out: another rule names the cause of what they saw",
            explained.collect(),
        ),
    ] {
        if each.is_empty() {
            continue;
        }
        let _ = write!(
            html,
            "<details class=\"notes\"><summary>{} {what}</summary>\n<ul>\n<li>{}</li>\n</ul>\
             </details>\n",
            plural(each.len(), "rule"),
            each.join("</li>\n<li>")
        );
    }
    if html.is_empty() {
        return "<p class=\"note\">Every rule that applies could read what it needs.</p>\n"
            .to_owned();
    }
    html
}

const KEY: &str = "<p class=\"key\"><span class=\"v valid\">valid</span> every rule that \
                   applies was evaluated and none objects · <span class=\"v \
                   suspect\">suspect</span> a rule doubts a claim: its numbers are dotted \
                   underneath · <span class=\"v invalid\">invalid</span> a rule forbids a claim: \
                   its numbers are struck through · <span class=\"v unknown\">unknown</span> \
                   facts that are needed to judge a claim could not be read. \"2 of 8\" means \
                   that 2 of 8 rounds are as bad as that or worse. A degree sign (°) marks a \
                   verdict without some mandatory rule, which could not be evaluated.</p>\n";

/// One or two sentences, and what each claim is worth.
fn summary(run: &Run) -> String {
    let mut html = String::new();
    let cells: Vec<Cell<'_>> = run
        .workloads()
        .iter()
        .flat_map(|workload| run.cells(workload))
        .collect();
    let all = cells.len();
    if all == 0 {
        return "<p class=\"lead\">No trial was measured.</p>\n".to_owned();
    }
    let of = |status: Status| cells.iter().filter(|cell| cell.status() == status).count();
    let parts: Vec<String> = [
        Status::Valid,
        Status::Suspect,
        Status::Invalid,
        Status::Unknown,
    ]
    .into_iter()
    .filter(|status| of(*status) > 0)
    .map(|status| format!("<b class=\"v {0}\">{1} {0}</b>", status.name(), of(status)))
    .collect();
    let _ = write!(
        html,
        "<p class=\"lead\">Of {}: {}.",
        plural(all, "point"),
        parts.join(", ")
    );
    let limited = cells
        .iter()
        .filter(|cell| cell.rounds.iter().any(|digest| digest.generator_limited))
        .count();
    if limited > 0 {
        let _ = write!(
            html,
            " At {} the generator set the rate in at least one round; where it set the median, \
             the rate stands with “at least”.",
            plural(limited, "point")
        );
    }
    html.push_str("</p>\n");
    html.push_str(&claims(&cells));
    html
}

/// What each claim is worth, over all points that make it.
fn claims(cells: &[Cell<'_>]) -> String {
    let mut table = Table::new(
        "What each claim is worth",
        &["claim", "#valid", "#suspect", "#invalid", "#unknown"],
    );
    for claim in Claim::ALL {
        let statuses: Vec<Status> = cells
            .iter()
            .filter_map(|cell| cell.claims().get(&claim).map(|(status, _)| *status))
            .collect();
        if statuses.is_empty() {
            continue;
        }
        table.row().head(&format!(
            "{} <span class=\"means\">{}</span>",
            claim.name(),
            meaning(claim)
        ));
        for status in [
            Status::Valid,
            Status::Suspect,
            Status::Invalid,
            Status::Unknown,
        ] {
            let count = statuses.iter().filter(|other| **other == status).count();
            table.number(&if count == 0 {
                "<span class=\"none\">–</span>".to_owned()
            } else {
                format!("<span class=\"v {}\">{count}</span>", status.name())
            });
        }
    }
    table.finish_unless_empty()
}

const fn meaning(claim: Claim) -> &'static str {
    match claim {
        Claim::Capacity => "this is as fast as the server goes",
        Claim::Comparison => "this is better than that",
        Claim::Latency => "this is how long an answer takes",
        Claim::Resources => "this is what a request costs",
    }
}

/// A row per server, a column per connection count.
fn grid(run: &Run, workload: &str) -> String {
    let cells = run.cells(workload);
    if cells.len() < 2 {
        // The sentence above has said it.
        return String::new();
    }
    let across = Across::of(&cells);
    let caption = format!(
        "{workload}: verdict of every point, by {}",
        across.axis_name()
    );
    let heads: Vec<String> = across
        .places
        .iter()
        .map(|place| across.name(place))
        .collect();
    let mut columns = vec!["server"];
    columns.extend(heads.iter().map(String::as_str));
    let mut table = Table::new(&caption, &columns);
    let words = across.places.len() <= COLUMNS_WITH_WORDS;
    for label in run.labels() {
        let row: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.server() == label).collect();
        if row.is_empty() {
            continue;
        }
        table.row().head(&escape(&label));
        for place in &across.places {
            match row.iter().find(|cell| cell.place() == place) {
                Some(cell) => table.cell(&mark(cell, words)),
                None => table.cell("<span class=\"none\" title=\"not measured\">–</span>"),
            };
        }
    }
    table.finish()
}

/// A point's verdict with the rules behind it.
pub(super) fn mark(cell: &Cell<'_>, words: bool) -> String {
    let status = cell.status();
    let partial = status == Status::Valid && cell.claims().values().any(|(_, partial)| *partial);
    let rules: Vec<&str> = cell.rules().into_iter().collect();
    let (here, rounds) = cell.as_bad_as(status);
    let mut title = format!("{} in {here} of {}", status.name(), plural(rounds, "round"));
    for (claim, (status, _)) in cell.claims() {
        let _ = write!(title, "; {}: {}", claim.name(), status.name());
    }
    if !rules.is_empty() {
        let _ = write!(title, "; {}", rules.join(" "));
    }
    let degree = if partial { "°" } else { "" };
    let word = if words {
        let mut text = status.name().to_owned();
        // Where one claim alone is as bad as that, it is named: the others may stand.
        let claims = cell.claims();
        let mut worst = claims.iter().filter(|(_, (other, _))| *other == status);
        if let (Some((claim, _)), None) = (worst.next(), worst.next())
            && claims.len() > 1
        {
            let _ = write!(text, " <small>{}</small>", claim.name());
        }
        if here < rounds && status != Status::Valid {
            let _ = write!(text, " <small>{here} of {rounds}</small>");
        }
        text
    } else {
        format!("<span class=\"hide\">{}</span>", status.name())
    };
    format!(
        "<span class=\"v {}\" title=\"{}\">{word}{degree}</span>",
        status.name(),
        escape(&title)
    )
}

/// The rules that spoke, the worst first; notes apart.
fn findings(run: &Run) -> String {
    let heard = run.heard();
    let mut html = String::new();
    let (loud, notes): (Vec<&Heard>, Vec<&Heard>) =
        heard.into_iter().partition(|heard| is_loud(&heard.finding));
    if loud.is_empty() {
        html.push_str("<p>No rule doubts or forbids anything.</p>\n");
    } else {
        html.push_str("<h3>Why</h3>\n");
    }
    let (first, further) = loud.split_at(loud.len().min(FINDINGS_SHOWN));
    for heard in first {
        html.push_str(&article(heard, &place(run, heard)));
    }
    html.push_str(&folded(
        run,
        &plural(further.len(), "further finding"),
        further,
    ));
    let title = format!(
        "{} without effect on any claim",
        plural(notes.len(), "note")
    );
    html.push_str(&folded(run, &title, &notes));
    html
}

/// Findings that one may want to read, but not first.
fn folded(run: &Run, what: &str, findings: &[&Heard]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut html = format!("<details class=\"notes\"><summary>{what}</summary>\n");
    for heard in findings {
        html.push_str(&article(heard, &place(run, heard)));
    }
    html.push_str("</details>\n");
    html
}

/// Where a rule spoke, in words.
fn place(run: &Run, heard: &Heard) -> String {
    let all = run
        .digests()
        .iter()
        .filter(|digest| !digest.ceiling)
        .count();
    if heard.trials == all && all > 1 {
        return match all {
            2 => "both trials".to_owned(),
            all => format!("all {all} trials"),
        };
    }
    let mut servers: Vec<&str> = heard
        .points
        .iter()
        .map(|point| point.server.as_str())
        .collect();
    servers.sort_unstable();
    servers.dedup();
    let mut places: Vec<&Values> = heard.points.iter().map(|point| &point.load).collect();
    places.sort_unstable();
    places.dedup();
    let named = if servers.len() <= 4 {
        servers.join(", ")
    } else {
        plural(servers.len(), "server")
    };
    let at = match places.as_slice() {
        [only] => format!(" at {}", only.text()),
        [first, .., last] if first.rate().is_none() => match first.connections() {
            same if same == last.connections() => {
                format!(" at {}", plural(same as usize, "connection"))
            }
            fewest => format!(" at {fewest} to {} connections", last.connections()),
        },
        [first, .., last] => match (per_second(first), per_second(last)) {
            (Some(low), Some(high)) if first.connections() == last.connections() => {
                let low = number::plain(low);
                format!(" at {low}/s to {}/s", number::plain(high))
            }
            _ => format!(" at {} to {}", first.text(), last.text()),
        },
        [] => String::new(),
    };
    format!("{} of {}: {named}{at}", heard.trials, plural(all, "trial"))
}

/// What was said, with the point that each number belongs to where there are several.
fn said(heard: &Heard) -> String {
    let is_same = |(_, say): &(u32, String)| *say == heard.finding.say;
    if heard.said.iter().all(is_same) {
        return format!("<p>{}</p>\n", escape(&heard.finding.say));
    }
    let mut html = String::new();
    for (id, (sequence, say)) in heard.points.iter().zip(&heard.said).take(SAID) {
        let _ = writeln!(
            html,
            "<p><a href=\"#trial-{sequence}\">{}, {}, {}</a>: {}</p>",
            escape(&id.server),
            escape(&id.workload),
            escape(&id.load.text()),
            escape(say)
        );
    }
    if heard.said.len() > SAID {
        let more = plural(heard.said.len() - SAID, "more point");
        let _ = writeln!(html, "<p class=\"note\">And at {more}.</p>");
    }
    html
}

fn article(heard: &Heard, place: &str) -> String {
    let finding = &heard.finding;
    let worst = finding.worst();
    let class = match worst {
        Severity::Note => "noted",
        Severity::Suspect => "suspect",
        Severity::Invalid => "invalid",
    };
    let claims: Vec<&str> = finding
        .severity
        .iter()
        .filter(|(_, severity)| **severity == worst)
        .map(|(claim, _)| claim.name())
        .collect();
    let mut html = format!(
        "<article class=\"finding\"><p class=\"rule\"><b class=\"v {class}\">{} for {}</b> <span \
         class=\"where\">{}</span></p>\n",
        worst.name(),
        escape(&claims.join(", ")),
        escape(place),
    );
    html.push_str(&said(heard));
    for fix in &finding.fix {
        let _ = writeln!(html, "<p class=\"fix\">{}</p>", escape(fix));
    }
    let pairs = |values: &BTreeMap<String, serde_json::Value>| {
        values
            .iter()
            .map(|(name, value)| format!("{name} = {}", number::evidence(value)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let _ = write!(
        html,
        "<details><summary>{} {}</summary><p class=\"note\">Read: {}.",
        escape(&finding.rule),
        escape(&finding.name),
        escape(&pairs(&finding.evidence))
    );
    if !finding.threshold.is_empty() {
        let _ = write!(html, " Threshold: {}.", escape(&pairs(&finding.threshold)));
    }
    let _ = writeln!(
        html,
        " Source: {}.</p></details></article>",
        escape(&finding.source)
    );
    html
}
