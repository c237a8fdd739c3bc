use std::io;
use std::net::Ipv4Addr;

use model::event::Phase;
use model::fixture;

use super::*;

fn plan() -> PlanFile {
    fixture::plan("http://127.0.0.1:1/", &[])
}

fn scratch() -> Scratch {
    Scratch::create_in(&std::env::temp_dir(), "triathlon-test-").unwrap()
}

fn run(script: &str) -> (Result<Trial, LabError>, Vec<Event>) {
    let arguments = vec!["-c".to_owned(), script.to_owned()];
    let scratch = scratch();
    let mut local = Local::new(PathBuf::from("/bin/sh"), vec![0], None, &scratch);
    local = local.with_arguments(arguments);
    let mut events = Vec::new();
    let result = local.run(&plan(), &mut |event, group| {
        assert!(group.is_some());
        events.push(event.clone());
    });
    (result, events)
}

#[test]
fn events_arrive_in_order_until_the_last() {
    // The plan that came in goes out again: it was delivered.
    let script = r#"read plan
        echo '{"event":"phase","phase":"measurement","monotonic_ns":5}'
        printf '{"event":"phase","phase":"drain",'; sleep 0.01; echo '"monotonic_ns":9}'
        echo '{"event":"failed","error":"no more: '"${#plan}"' bytes came"}'"#;
    let (result, events) = run(script);
    let phases: Vec<Phase> = events
        .iter()
        .map(|event| match event {
            Event::Phase { phase, .. } => *phase,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(phases, [Phase::Measurement, Phase::Drain]);
    let length = serde_json::to_string(&plan()).unwrap().len();
    assert_eq!(
        result.unwrap_err().to_string(),
        format!("the generator failed: no more: {length} bytes came")
    );
}

#[test]
fn a_generator_that_breaks_off_is_told_with_its_last_words() {
    let (result, _) = run("read plan; echo 'out of luck' >&2; exit 9");
    assert_eq!(
        result.unwrap_err().to_string(),
        "the generator failed: it ended without a result (exit code 9): out of luck"
    );
}

#[test]
fn the_last_words_of_a_panic_are_its_sentence() {
    let stack = "\nthread 'main' (7) panicked at src/loop.rs:9:5:\nno room for 3\n\
        stack backtrace:\n   0: rust_begin_unwind\n   1: main\nnote: some details are omitted\n";
    let sentence = "thread 'main' (7) panicked at src/loop.rs:9:5: | no room for 3";
    assert_eq!(last_words(stack), sentence);
    assert_eq!(last_words("a\nb\n\nc\nd\n"), "b | c | d");
    assert_eq!(last_words(""), "");
}

/// Runs a part with a child that tells how it was started and what it was told, as a failure.
fn run_part(script: &str, told: &mut dyn FnMut(bool) -> Told) -> String {
    let arguments = ["-c", script, "sh"].map(str::to_owned).to_vec();
    let scratch = scratch();
    let mut local = Local::new(PathBuf::from("/bin/sh"), vec![0], None, &scratch);
    local = local.with_arguments(arguments);
    let part = Part {
        workers: 2..5,
        told,
    };
    let result = local.run_part(&plan(), part, &mut |_, _| ());
    result.unwrap_err().to_string()
}

#[test]
fn a_part_begins_once_it_is_ready_and_was_told_to() {
    let script = r#"read plan; echo '{"event":"ready"}'; read start
        echo '{"event":"failed","error":"'"$* $start"'"}'"#;
    let mut asked_before = false;
    let said = run_part(script, &mut |is_ready| {
        asked_before |= !is_ready;
        Told::Begin(model::Instant::from_ns(77))
    });
    assert_eq!(said, "the generator failed: --part 2..5 77");
    assert!(asked_before, "it was told before it was ready, and held on");
}

#[test]
fn a_part_that_is_to_stop_waits_for_its_start_no_longer() {
    let script = r#"trap 'heard=TERM' TERM; read plan; echo '{"event":"ready"}'
        until [ -n "$heard" ]; do read start || sleep 0.01; done
        echo '{"event":"failed","error":"'"heard $heard"'"}'"#;
    let said = run_part(script, &mut |is_ready| match is_ready {
        true => Told::Stop,
        false => Told::Nothing,
    });
    assert_eq!(said, "the generator failed: heard TERM");
}

#[test]
fn nonsense_is_no_event() {
    let (result, _) = run("read plan; echo hello");
    let text = result.unwrap_err().to_string();
    assert!(
        text.contains("it wrote something that is not an event"),
        "{text}"
    );
    assert!(text.ends_with("hello\n"), "{text}");
}

/// Whoever waited for such a child until it reads would wait for ever.
#[test]
fn a_generator_that_never_reads_a_long_plan_is_still_heard() {
    let script = r#"echo '{"event":"failed","error":"no plan for me"}'; exec sleep 100000"#;
    let scratch = scratch();
    let mut local = Local::new(PathBuf::from("/bin/sh"), vec![0], None, &scratch);
    local = local.with_arguments(vec!["-c".to_owned(), script.to_owned()]);
    let sources = (0..20_000_u32).map(|number| Ipv4Addr::from_bits(0x7f00_0001 + number).into());
    let plan = PlanFile {
        sources: sources.collect(),
        ..plan()
    };
    let result = local.run(&plan, &mut |_, _| ());
    let text = result.unwrap_err().to_string();
    assert_eq!(text, "the generator failed: no plan for me");
}

#[test]
fn a_program_that_is_missing_is_told() {
    let scratch = scratch();
    let mut local = Local::new(PathBuf::from("/no/triathlon"), Vec::new(), None, &scratch);
    let error = local.run(&plan(), &mut |_, _| ()).unwrap_err().to_string();
    assert!(error.contains("/no/triathlon does not start"), "{error}");
}

#[test]
fn lines_come_whole_however_they_were_written() {
    let (reader, mut writer) = io::pipe().unwrap();
    let mut lines = Lines::new(reader);
    let until = Instant::now() + Duration::from_secs(20);
    let mut next = || lines.next(until).unwrap();
    writer.write_all(b"one\ntw").unwrap();
    assert!(matches!(next(), Next::Line(line) if line == b"one\n"));
    assert!(matches!(next(), Next::Silence));
    writer.write_all(b"o\n\nfour").unwrap();
    assert!(matches!(next(), Next::Line(line) if line == b"two\n"));
    assert!(matches!(next(), Next::Line(line) if line == b"\n"));
    drop(writer);
    // A process that another test is about to start may hold the pipe for a while, too.
    let mut last = next();
    while matches!(last, Next::Silence) {
        last = next();
    }
    assert!(matches!(last, Next::End));
}
