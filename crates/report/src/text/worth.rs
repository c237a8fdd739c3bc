//! What a trial is worth, claim by claim, and why.

use model::finding::{Claim, ClaimVerdict, Finding, Severity, Status, Verdict};

use ::verdict::words;

use super::{LABEL, Style, wrap};

/// The verdict: one line per claim, then the reasons. Notes are left to the end of a report.
pub fn verdict(verdict: &Verdict, style: Style) -> String {
    let mut out = String::new();
    for (claim, worth) in &verdict.claims {
        let unread = unread(*claim, worth, verdict);
        out.push_str(&claim_line(*claim, worth, &unread, style));
    }
    let loud: Vec<&Finding> = verdict
        .findings
        .iter()
        .filter(|finding| finding.worst() > Severity::Note)
        .collect();
    for finding in loud {
        out.push('\n');
        out.push_str(&reason(finding, style));
    }
    out
}

/// The verdict with its notes and its coverage: all that `judge` has to say about a trial.
pub fn judged(of: &str, verdict: &Verdict, style: Style) -> String {
    let mut out = format!("{}\n{}", style.bold(of), self::verdict(verdict, style));
    let notes = notes(verdict, style);
    if !notes.is_empty() {
        out.push('\n');
        out.push_str(&notes);
    }
    out.push('\n');
    out.push_str(&coverage(verdict, style));
    out
}

fn claim_line(claim: Claim, worth: &ClaimVerdict, unread: &[&str], style: Style) -> String {
    let mut rest = String::new();
    if !worth.because.is_empty() {
        rest = format!("because of {}", worth.because.join(", "));
    } else if worth.partial {
        rest = format!("({})", partial(worth.status, unread));
    }
    let mut lines = wrap(&rest, style.width - LABEL - 9).into_iter();
    let first = lines.next().unwrap_or_default();
    let status = style.status(worth.status, &format!("{:<8}", worth.status));
    let mut out = format!("{:<LABEL$}{status} {first}", claim.name())
        .trim_end()
        .to_owned();
    out.push('\n');
    for line in lines {
        out.push_str(&format!("{:1$}{line}\n", "", LABEL + 9));
    }
    out
}

/// Which mandatory rules could not be evaluated.
fn partial(status: Status, unread: &[&str]) -> String {
    let word = if status == Status::Valid {
        "partial"
    } else {
        "also"
    };
    if unread.is_empty() {
        return word.to_owned();
    }
    format!("{word}: {} could not be evaluated", unread.join(", "))
}

/// Ids of the mandatory rules that touch `claim` and could not be evaluated.
fn unread<'a>(claim: Claim, worth: &ClaimVerdict, verdict: &'a Verdict) -> Vec<&'a str> {
    if !worth.partial {
        return Vec::new();
    }
    let is_mandatory = |id: &str| {
        ::verdict::rules()
            .iter()
            .any(|rule| rule.id == id && rule.mandatory && rule.claims.contains(&claim))
    };
    let coverage = &verdict.coverage;
    let silent = coverage.unknown.keys().chain(coverage.cannot_apply.keys());
    let mut rules: Vec<&str> = silent
        .map(String::as_str)
        .filter(|id| is_mandatory(id))
        .collect();
    rules.sort_unstable();
    rules
}

/// Of a mandatory rule that had no say: which claims that leaves partial.
pub(super) fn partial_claims(id: &str) -> String {
    let mut rules = ::verdict::rules().iter();
    let Some(rule) = rules.find(|rule| rule.id == id && rule.mandatory) else {
        return String::new();
    };
    let claims: Vec<&str> = rule.claims.iter().map(|claim| claim.name()).collect();
    format!(
        "; it is mandatory, and {} partial without it",
        match claims.as_slice() {
            [one] => format!("{one} is"),
            several => format!("{} are", words::list(several)),
        }
    )
}

/// A finding that touches a claim: what was seen, and what mends it.
fn reason(finding: &Finding, style: Style) -> String {
    let severity = finding.worst();
    let indent = LABEL + 9;
    let mut out = String::new();
    for (position, line) in wrap(&finding.say, style.width - indent).iter().enumerate() {
        if position == 0 {
            let name = style.severity(severity, &format!("{:<8}", severity.name()));
            out.push_str(&format!("{:<LABEL$}{name} {line}\n", finding.rule));
        } else {
            out.push_str(&format!("{:indent$}{line}\n", ""));
        }
    }
    for fix in &finding.fix {
        for (position, line) in wrap(fix, style.width - indent - 3).iter().enumerate() {
            let mark = if position == 0 { "->" } else { "  " };
            out.push_str(&style.faint(&format!("{:indent$}{mark} {line}", "")));
            out.push('\n');
        }
    }
    out
}

/// Notes, each on its own, without remedies.
pub(super) fn notes(verdict: &Verdict, style: Style) -> String {
    verdict
        .findings
        .iter()
        .filter(|finding| finding.worst() == Severity::Note)
        .map(|finding| style_lines(&style.labelled(&finding.rule, &finding.say), style))
        .collect()
}

fn style_lines(text: &str, style: Style) -> String {
    text.lines().map(|line| style.faint(line) + "\n").collect()
}

/// How many rules had their say, and what the others could not read.
pub(super) fn coverage(verdict: &Verdict, style: Style) -> String {
    let coverage = &verdict.coverage;
    let mut out = style.labelled(
        "rules",
        &format!(
            "{} of {} evaluated, {} not applicable, {} unknown (set {})",
            coverage.evaluated,
            coverage.rules,
            coverage.not_applicable,
            coverage.unknown.len(),
            verdict.set
        ),
    );
    for (rule, missing) in &coverage.unknown {
        out.push_str(&style.labelled("", &format!("{rule} unknown: could not read {missing}")));
    }
    for (rule, why) in &coverage.cannot_apply {
        out.push_str(&style.labelled("", &format!("{rule} cannot judge this: {why}")));
    }
    for (rule, cause) in &coverage.explained {
        out.push_str(&style.labelled("", &format!("{rule} is left out: {cause} names its cause")));
    }
    out
}
