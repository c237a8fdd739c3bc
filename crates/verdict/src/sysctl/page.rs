//! `docs/studies/settings.md`: the kernel settings that studies published, judged line by line.

use std::fmt::Write as _;
use std::path::Path;

use super::{Machine, judge, parse};
use model::Bytes;

const INTRODUCTION: &str = "\
# Kernel settings that studies published

Two of the studies set sysctls on their servers. Readers of the one objected, and the author of the
other doubted them. This page is what
`triathlon doctor --sysctl FILE --kernel VERSION --memory 4G` says of both lists, for the kernel and
the memory of their machines: each setting with all there is to say about it, the worst first.
Objections that hold for other kernels only are left out here; the doctor lists them, too. The
experiments of these studies set nothing, and measure the defaults of the system.

This page is generated from the rules. `cargo xtask check` fails where they say something else.
";

/// A list with its title, its kernel, and what is known of the machine.
const LISTS: [(&str, &str, &str, &str); 2] = [
    (
        "rootusers-2016",
        include_str!("fixtures/rootusers-2016.conf"),
        "3.10",
        "CentOS 7.2 with Linux 3.10, 4 GiB of memory.",
    ),
    (
        "real-load-2022",
        include_str!("fixtures/real-load-2022.conf"),
        "4.18",
        "Oracle Linux 8.4, 4 GiB of memory. The study does not name its kernel: 4.18 is that of \
         the system that it is made from.",
    ),
];

fn list(page: &mut String, (name, text, kernel, machine): (&str, &str, &str, &str)) {
    let mut judged = Machine::new(kernel.parse().unwrap());
    judged.memory = Some(Bytes::new(4 << 30));
    let objections = judge(text, judged);
    let (settings, _) = parse(text);
    let _ = write!(page, "\n## {name}\n\n{machine}\n\n");
    page.push_str(
        "| setting | how bad | what is wrong | instead | source |\n|---|---|---|---|---|\n",
    );
    for setting in settings {
        let written = format!("`{} = {}`", setting.key, setting.value);
        let of_line = |o: &&super::Objection| o.line == setting.line && o.holds;
        let mut said = objections.iter().filter(of_line).peekable();
        if said.peek().is_none() {
            let _ = writeln!(page, "| {written} | – | nothing | – | – |");
        }
        for (position, o) in said.enumerate() {
            let first = if position == 0 { written.as_str() } else { "" };
            let severity = o.severity.name();
            let row = [first, severity, &o.say, &o.fix, o.source];
            let row = row.map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(page, "| {} |", row.join(" | "));
        }
    }
}

/// Run with `INSTA_UPDATE=always` (`cargo xtask bless --accept`) to write it anew.
#[test]
fn the_page_of_published_settings_is_what_the_rules_say() {
    let mut page = INTRODUCTION.to_owned();
    for one in LISTS {
        list(&mut page, one);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/studies/settings.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &page).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == page,
        "docs/studies/settings.md is not what the rules say: cargo xtask bless --accept"
    );
}
