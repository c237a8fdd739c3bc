use super::*;

#[test]
fn names_are_ordered_as_people_count() {
    let mut names = [
        "nginx 10 cores",
        "origin",
        "nginx 2 cores",
        "Apache",
        "origin",
    ]
    .map(str::to_owned)
    .to_vec();
    in_order(&mut names, &["origin".to_owned()]);
    assert_eq!(
        names,
        ["origin", "Apache", "nginx 2 cores", "nginx 10 cores"]
    );
}

#[test]
fn commands_are_quoted_as_a_shell_reads_them() {
    let words = ["triathlon", "lab", "my experiment.toml", "it's"].map(str::to_owned);
    assert_eq!(
        shell(&words),
        "triathlon lab 'my experiment.toml' 'it'\\''s'"
    );
}
