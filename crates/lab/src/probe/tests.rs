//! The table, the names and the limits; and each probe once, small.

use std::path::{Path, PathBuf};

use super::select::{Wanted, everything, fitted, jobs, named};
use super::*;

#[test]
fn names_are_unique_and_words_of_the_command_line() {
    let mut seen = std::collections::BTreeSet::new();
    for probe in PROBES {
        assert!(seen.insert(probe.name), "{} twice", probe.name);
        let variants = probe.variants.iter().map(|variant| variant.name);
        for name in variants.chain([probe.name]) {
            assert!(
                name.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
                "{name}"
            );
        }
    }
}

#[test]
fn a_name_means_all_variants_or_one() {
    assert_eq!(named("bind").unwrap().len(), 3);
    assert_eq!(named("bind:2003-11").unwrap().len(), 1);
    assert_eq!(named("fork").unwrap().len(), 1);
    let wrong = |name: &str| named(name).unwrap_err().to_string();
    assert!(wrong("sokcet").contains("did you mean 'socket'?"));
    assert!(wrong("bind:2003-12").contains("did you mean '2003-1"));
    assert!(!wrong("something-else").contains("did you mean"));
}

fn wanted(name: &str, population: Option<u32>) -> Wanted {
    Wanted {
        name: name.to_owned(),
        population,
        server: None,
        strict: population.is_some(),
    }
}

fn limit(free: u64) -> model::probe::Limit {
    model::probe::Limit {
        name: "ports".to_owned(),
        source: "net.ipv4.ip_local_port_range".to_owned(),
        free: Some(free),
        per_1000: 1_000,
        fixed: 0,
    }
}

#[test]
fn the_usual_population_shrinks_to_the_limit_and_one_that_was_asked_for_is_refused() {
    let probe = &bind::PROBE;
    let job = fitted(probe, None, &wanted("bind", None), vec![limit(500)]).unwrap();
    assert_eq!((job.asked, job.population), (10_000, 500));
    assert!(job.note.unwrap().contains("ip_local_port_range"));
    let refused = fitted(probe, None, &wanted("bind", Some(600)), vec![limit(500)]).unwrap_err();
    assert!(
        refused.to_string().contains("--population 500"),
        "{refused}"
    );
    let enough = fitted(probe, None, &wanted("bind", Some(500)), vec![limit(500)]).unwrap();
    assert_eq!((enough.population, enough.note), (500, None));
}

#[test]
fn limits_are_read_from_the_root_that_is_given() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sys/net/ipv4");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ip_local_port_range"), "40000\t40099\n").unwrap();
    let ask = |population| {
        let wanted = [wanted("bind:2003-10", population)];
        jobs(&wanted, root.path(), root.path())
    };
    let found = ask(None).unwrap();
    assert_eq!(found[0].population, 100);
    let refused = ask(Some(101)).unwrap_err();
    assert!(
        refused.to_string().contains("101 bound sockets"),
        "{refused}"
    );
}

#[test]
fn the_hard_limit_of_open_files_bounds_whoever_may_not_raise_it() {
    let root = tempfile::tempdir().unwrap();
    for folder in ["self", "sys/fs"] {
        std::fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    std::fs::write(root.path().join("sys/fs/nr_open"), "1234567\n").unwrap();
    // The second is root in a container: all privileges but CAP_SYS_RESOURCE.
    for (effective, may_raise) in [("000001ffffffffff", true), ("000001fffeffffff", false)] {
        let status = format!("Name:\tx\nCapEff:\t{effective}\n");
        std::fs::write(root.path().join("self/status"), status).unwrap();
        let found = jobs(&[wanted("pipe", Some(1))], root.path(), root.path()).unwrap();
        let of_process = found[0]
            .limits
            .iter()
            .find(|limit| limit.name.contains("of a process"));
        let (source, free) = of_process
            .map(|limit| (limit.source.as_str(), limit.free))
            .unwrap();
        assert_eq!(source == "fs.nr_open", may_raise, "{effective}: {source}");
        assert_eq!(free == Some(1_234_567), may_raise, "{effective}: {free:?}");
    }
}

#[test]
fn every_control_group_above_bounds_the_processes() {
    let check = |groups: &str, files: &[(&str, &str)], expected: Option<u64>| {
        let root = tempfile::tempdir().unwrap();
        let own = [("self/cgroup", groups)];
        for (path, text) in own.iter().chain(files) {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let left = limits::group_tasks(root.path(), &root.path().join("cgroup"));
        assert_eq!(left, expected, "{groups}");
    };
    check("0::/a/b\n", &[], None);
    check("0::/a/b\n", &[("cgroup/a/b/pids.max", "max\n")], None);
    let above = [
        ("cgroup/a/pids.max", "300\n"),
        ("cgroup/a/pids.current", "20\n"),
        ("cgroup/a/b/pids.max", "900\n"),
    ];
    check("0::/a/b\n", &above, Some(280));
    let first_version = [("cgroup/pids/a/pids.max", "300\n")];
    check("8:pids:/a\n5:devices:/a\n0::/\n", &first_version, Some(300));
    // In a container the path of the host leads nowhere, and the mount is the group itself.
    let mounted = [("cgroup/pids/pids.max", "70\n")];
    check("8:pids:/docker/x\n", &mounted, Some(70));
}

#[test]
fn a_root_without_any_file_bounds_nothing_but_what_the_process_knows() {
    let empty = tempfile::tempdir().unwrap();
    let found = jobs(&[wanted("mmap", None)], empty.path(), empty.path()).unwrap();
    assert_eq!(found[0].population, 25_000);
    assert!(found[0].limits.iter().all(|limit| limit.free.is_none()));
}

#[test]
fn everything_means_each_variant_once() {
    let empty = tempfile::tempdir().unwrap();
    let mut twice = everything();
    twice.extend(everything());
    let all = jobs(&twice, empty.path(), empty.path()).unwrap();
    let ways: usize = PROBES.iter().map(|probe| probe.variants.len().max(1)).sum();
    assert_eq!(all.len(), ways);
}

#[test]
fn the_built_in_experiment_asks_what_was_asked_in_2003() {
    let question = question::read("scalable-2003").unwrap().unwrap();
    let empty = tempfile::tempdir().unwrap();
    let found = jobs(&question.wanted(), empty.path(), empty.path()).unwrap();
    let names: Vec<String> = found.iter().map(select::Job::name).collect();
    for name in [
        "socket:2003-10",
        "bind:2003-11",
        "fork-static",
        "touch",
        "connect",
        "request:close",
        "download:fragmented",
    ] {
        assert!(names.iter().any(|one| one == name), "{name} in {names:?}");
    }
    assert_eq!(question::read("first-heat").unwrap(), None);
}

#[test]
fn a_mistake_in_an_experiment_of_probes_is_named() {
    let wrong = |text: &str| {
        let text = format!("[experiment]\nname = 'x'\n{text}");
        question::parse("x.toml", text).unwrap_err().to_string()
    };
    assert!(wrong("[[probe]]\nname = 'sokcet'").contains("did you mean 'socket'"));
    assert!(wrong("[[probe]]\nnam = 'socket'").contains("line 4"));
    assert!(wrong("[[probe]]\nname = 'socket'\npopulation = 0").contains("population"));
    assert!(wrong("passes = 0\n[[probe]]\nname = 'socket'").contains("passes"));
}

/// Every probe that needs no server, a few operations each, in this process.
#[test]
fn a_file_in_pieces_lies_in_pieces_each_time() {
    let folder = tempfile::tempdir().unwrap();
    for time in 0..3 {
        let path = folder.path().join(time.to_string());
        if !download::reserve_in_pieces(&path, 4_000_000).unwrap() {
            return crate::testing::not_run("this file system reserves no pieces");
        }
        let file = std::fs::File::open(&path).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 4_000_000);
        let Ok(found) = sys::syscall::file::extents(&file, 1_000) else {
            return crate::testing::not_run("this file system does not tell where a file lies");
        };
        // 62 pieces of 64 KiB.
        assert!(found.len() >= 62, "{}", found.len());
    }
}

#[test]
fn each_probe_times_every_operation() {
    let folder = tempfile::tempdir().unwrap();
    for probe in PROBES.iter().filter(|probe| !probe.server) {
        let variants = probe.variants.iter().map(|variant| Some(variant.name));
        let none = probe.variants.is_empty().then_some(None);
        for variant in variants.chain(none) {
            let task = Task {
                population: 60,
                pass: 1,
                variant: variant.map(str::to_owned),
                folder: folder.path().to_owned(),
                ..Task::default()
            };
            let measured = match (probe.run)(&task) {
                Ok(measured) => measured,
                // A machine without a compiler or without io_uring says so.
                Err(ProbeError::Missing(why)) => {
                    assert!(
                        why.contains("compiler") || why.contains("io_uring"),
                        "{why}"
                    );
                    continue;
                }
                Err(error) => panic!("{} {variant:?}: {error}", probe.name),
            };
            assert!(!measured.series.is_empty(), "{}", probe.name);
            for series in &measured.series {
                assert_eq!(series.ns.len(), 60, "{} {}", probe.name, series.name);
                assert!(series.ns.iter().any(|ns| *ns > 0), "{}", probe.name);
            }
        }
    }
}

#[test]
fn a_pass_leaves_its_answer_or_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pass.json");
    let task = Task {
        population: 10,
        pass: 3,
        folder: folder.path().to_owned(),
        ..Task::default()
    };
    let answer = |name: &str, task: &Task| -> pass::Answer {
        pass::run(name, task, &out).unwrap();
        serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap()
    };
    match answer("pipe", &task) {
        pass::Answer::Measured(pass) => {
            assert_eq!(pass.number, 3);
            assert!(pass.timer_cost_ns > 0.0);
            assert_eq!(pass.series[0].ns.len(), 10);
        }
        pass::Answer::Failed(why) => panic!("{why}"),
    }
    let nowhere = Task {
        folder: PathBuf::from("/nonexistent"),
        ..task
    };
    match answer("mmap", &nowhere) {
        pass::Answer::Measured(_) => panic!("there is no such folder"),
        pass::Answer::Failed(why) => assert!(why.contains("/nonexistent/mapped"), "{why}"),
    }
    assert!(!Path::new("/nonexistent").exists());
}
