//! Writes the report of an invented run, to look at while working on it:
//! `cargo run -p report --example sample -- FILE [spoilt]`.

use std::io;

use model::experiment::Gap;
use model::fixture::{Heat, spoilt_heat};
use report::Run;

fn main() -> io::Result<()> {
    let file = std::env::args()
        .nth(1)
        .ok_or_else(|| io::Error::other("give the file to write"))?;
    let spoilt = std::env::args().nth(2).is_some_and(|word| word == "spoilt");
    let mut trials = if spoilt {
        spoilt_heat()
    } else {
        Heat::default().trials()
    };
    let verdicts = verdict::judge_set(&trials);
    let mut run = Run::default();
    "first-heat".clone_into(&mut run.name);
    "Which server answers a small and a large file fastest, and what does a request cost?"
        .clone_into(&mut run.question);
    run.command = Some("triathlon lab first-heat order_seed=2026".to_owned());
    run.note_gaps(&[Gap {
        server: "h2o".to_owned(),
        product: "h2o".to_owned(),
        error: "h2o is not installed".to_owned(),
        remedy: Some("apt-get install h2o".to_owned()),
        ..Gap::default()
    }]);
    for (trial, verdict) in trials.iter_mut().zip(verdicts) {
        trial.verdict = verdict;
        run.add(trial);
    }
    std::fs::write(file, report::html::page(&run))
}
