//! The door itself: help, versions, wrong usage.

use crate::support::process::triathlon;

#[test]
fn versions_are_told() {
    assert!(
        triathlon(["--version"])
            .expect_code(0)
            .stdout
            .starts_with("triathlon ")
    );
}

#[test]
fn wrong_usage() {
    triathlon(["frobnicate"])
        .expect_code(2)
        .expect_complaint(&["frobnicate"]);
    triathlon(["judge"])
        .expect_code(2)
        .expect_complaint(&["trial"]);
}
