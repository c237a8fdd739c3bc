//! Clocks that network cards or hypervisors offer (PTP hardware clocks).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What such a clock is called whose driver names it after the address of its card, which is
/// nobody's business.
const CARD: &str = "a network card";

/// The names that drivers give them, each once.
pub(super) fn clocks(sys: &Path) -> Vec<String> {
    let entries = fs::read_dir(sys.join("class/ptp"));
    let entries = entries.into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| super::line(&entry.path().join("clock_name")));
    let names = names.map(|name| match is_address(&name) {
        true => CARD.to_owned(),
        false => name,
    });
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Six bytes in hexadecimal, with signs between them or without.
fn is_address(name: &str) -> bool {
    let digits = name.chars().filter(|sign| !":-".contains(*sign));
    let digits: Vec<char> = digits.collect();
    digits.len() == 12 && digits.iter().all(char::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_told_by_their_drivers_and_no_card_by_its_address() {
        let sys = tempfile::tempdir().unwrap();
        assert_eq!(clocks(sys.path()), Vec::<String>::new());
        for (number, name) in [
            "ptp_kvm",
            "mlx5_ptp",
            "mlx5_ptp",
            "52:54:00:12:34:56",
            "525400abcdef",
        ]
        .iter()
        .enumerate()
        {
            let folder = sys.path().join(format!("class/ptp/ptp{number}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("clock_name"), format!("{name}\n")).unwrap();
        }
        assert_eq!(clocks(sys.path()), [CARD, "mlx5_ptp", "ptp_kvm"]);
    }
}
