use model::fixture;
use model::plan::{HttpProxy, RequestFile};

use super::*;

const NOW: u64 = 1_800_000_000_000_000_000;

fn limits() -> Limits {
    Limits {
        version: "1.2.3".to_owned(),
        role: Role::Load,
        targets: vec!["127.0.0.0/8".parse().unwrap(), "fd00::/64".parse().unwrap()],
        may_start_servers: false,
    }
}

fn plan() -> PlanFile {
    PlanFile {
        connections: 8,
        workers: 4,
        ..fixture::plan("http://server.test/", &["127.0.0.1:80".parse().unwrap()])
    }
}

fn order(id: &str, plan: &PlanFile) -> Order {
    Order {
        id: id.to_owned(),
        version: "1.2.3".to_owned(),
        workers: 2..4,
        is_watched: false,
        plan: serde_json::to_value(plan).unwrap(),
    }
}

/// Nobody has this name.
fn nowhere(host: &str, _port: u16) -> Result<Vec<SocketAddr>, String> {
    Err(format!("cannot find '{host}'"))
}

fn hear(desk: &mut Desk, ask: Ask) -> Vec<Step> {
    desk.hear(ask, Some("inbox"), NOW, &nowhere)
}

fn give(desk: &mut Desk, order: Order) -> Vec<Step> {
    hear(desk, Ask::Order(Box::new(order)))
}

fn told(steps: &[Step]) -> Vec<&Tell> {
    let tells = steps.iter().filter_map(|step| match step {
        Step::Tell { to, tell } => {
            assert_eq!(to, "inbox");
            Some(&**tell)
        }
        _ => None,
    });
    tells.collect()
}

/// A desk whose order `o` is ready to begin.
fn ready() -> Desk {
    let mut desk = Desk::new(limits());
    let steps = give(&mut desk, order("o", &plan()));
    assert!(matches!(
        steps.as_slice(),
        [Step::Tell { .. }, Step::Start(_)]
    ));
    assert!(matches!(*told(&desk.ready())[0], Tell::Ready { .. }));
    desk
}

fn begin(order: &str, at_unix_ns: u64) -> Ask {
    Ask::Begin {
        order: order.to_owned(),
        at_unix_ns,
    }
}

fn stop(order: &str) -> Ask {
    Ask::Stop {
        order: order.to_owned(),
    }
}

#[test]
fn an_order_goes_its_way() {
    let mut desk = Desk::new(limits());
    assert_eq!(desk.busy(), None);
    let steps = give(&mut desk, order("o", &plan()));
    let accepted = Tell::Accepted {
        order: "o".to_owned(),
    };
    assert_eq!(told(&steps), [&accepted]);
    let Some(Step::Start(job)) = steps.last() else {
        panic!("{steps:?}");
    };
    assert_eq!((job.order.as_str(), job.workers.clone()), ("o", 2..4));
    assert_eq!(desk.busy(), Some("o"));
    assert!(matches!(*told(&desk.ready())[0], Tell::Ready { .. }));
    let at = NOW + 1_000_000_000;
    assert_eq!(hear(&mut desk, begin("o", at)), [Step::Begin(at)]);
    let trial = Box::new(fixture::closed());
    let told_trial = Tell::Trial {
        order: "o".to_owned(),
        trial: trial.clone(),
    };
    assert_eq!(told(&desk.ended(Ok(trial))), [&told_trial]);
    assert_eq!(desk.busy(), None);
}

#[test]
fn a_second_order_is_refused_while_the_first_is_worked_on() {
    let mut desk = ready();
    let steps = give(&mut desk, order("p", &plan()));
    let [Tell::Refused { order: of, why }] = told(&steps)[..] else {
        panic!("{steps:?}");
    };
    assert_eq!(of, "p");
    assert!(why.contains("works on another order"), "{why}");
    assert_eq!((steps.len(), desk.busy()), (1, Some("o")));
    desk.ended(Err("it broke".to_owned()));
    let steps = give(&mut desk, order("p", &plan()));
    assert!(matches!(steps[1], Step::Start(_)), "now it is taken");
}

#[test]
fn what_comes_twice_or_late_changes_nothing() {
    let mut desk = ready();
    let silent = |desk: &mut Desk, ask: Ask| {
        let said = format!("{ask:?}");
        assert_eq!(hear(desk, ask), [], "{said}");
    };
    let again = || Ask::Order(Box::new(order("o", &plan())));
    silent(&mut desk, again());
    silent(&mut desk, begin("another", NOW));
    silent(&mut desk, stop("another"));
    assert_eq!(desk.ready(), []);
    assert_eq!(hear(&mut desk, begin("o", NOW)), [Step::Begin(NOW)]);
    silent(&mut desk, begin("o", NOW + 5));
    silent(&mut desk, again());
    assert_eq!(hear(&mut desk, stop("o")), [Step::Stop]);
    silent(&mut desk, stop("o"));
    silent(&mut desk, begin("o", NOW + 9));
    assert_eq!(desk.ended(Ok(Box::new(fixture::closed()))).len(), 1);
    silent(&mut desk, again());
    silent(&mut desk, begin("o", NOW));
    silent(&mut desk, stop("o"));
    assert_eq!(desk.ended(Err("late".to_owned())), []);
    assert_eq!(desk.ready(), []);
    assert_eq!(desk.busy(), None);
}

#[test]
fn a_load_does_not_begin_before_its_workers_are_ready() {
    let mut desk = Desk::new(limits());
    give(&mut desk, order("o", &plan()));
    assert_eq!(hear(&mut desk, begin("o", NOW)), []);
}

#[test]
fn an_order_that_nobody_begins_is_given_up() {
    let mut desk = Desk::new(limits());
    assert_eq!(desk.waiting(), None);
    give(&mut desk, order("o", &plan()));
    assert_eq!(desk.abandon("o"), [], "it is not ready");
    desk.ready();
    assert_eq!(desk.waiting(), Some(("inbox", "o")));
    assert_eq!(desk.abandon("p"), [], "another one");
    assert_eq!(desk.abandon("o"), [Step::Stop]);
    assert_eq!(desk.abandon("o"), [], "once is enough");
    assert_eq!(desk.waiting(), None);
    let steps = desk.ended(Ok(Box::new(fixture::closed())));
    let [Tell::Failed { why, .. }] = told(&steps)[..] else {
        panic!("{steps:?}");
    };
    assert!(why.contains("has gone before it began"), "{why}");
    // What has begun goes on to its own end.
    let mut desk = ready();
    hear(&mut desk, begin("o", NOW));
    assert_eq!(desk.waiting(), None);
    assert_eq!(desk.abandon("o"), []);
}

#[test]
fn what_was_measured_until_it_was_stopped_is_kept() {
    let mut desk = ready();
    hear(&mut desk, begin("o", NOW));
    assert_eq!(hear(&mut desk, stop("o")), [Step::Stop]);
    let steps = desk.ended(Ok(Box::new(fixture::closed())));
    assert!(
        matches!(told(&steps)[..], [Tell::Trial { .. }]),
        "{steps:?}"
    );
}

/// An interval that is over, told to a desk `after` so many milliseconds since the start: the
/// number of the one that it tells on.
fn mention(desk: &mut Desk, number: u64, after: u64) -> Option<u64> {
    let passed = Passed {
        number,
        length: Span::from_s(1),
        right: 5,
        failed: 0,
        connections: 2,
        bytes_received: model::Bytes::new(35),
        response_time_p99: None,
    };
    match desk.passed(passed, NOW + after * 1_000_000).as_slice() {
        [] => None,
        [Step::Mention { to, tell }] => match &**tell {
            Tell::Interval { order, passed } => {
                assert_eq!((to.as_str(), order.as_str()), ("inbox", "o"));
                Some(passed.number)
            }
            tell => panic!("{tell:?}"),
        },
        steps => panic!("{steps:?}"),
    }
}

/// One whose order `o` is watched, and ready.
fn watched() -> Desk {
    let mut desk = Desk::new(limits());
    let order = Order {
        is_watched: true,
        ..order("o", &plan())
    };
    give(&mut desk, order);
    desk.ready();
    desk
}

#[test]
fn intervals_are_told_where_somebody_watches_and_while_the_load_runs() {
    let mut desk = watched();
    assert_eq!(mention(&mut desk, 0, 1_000), None, "it has not begun");
    hear(&mut desk, begin("o", NOW));
    assert_eq!(mention(&mut desk, 0, 1_000), Some(0));
    assert_eq!(mention(&mut desk, 0, 2_000), None, "it was told");
    // The one between was lost.
    assert_eq!(mention(&mut desk, 2, 3_000), Some(2));
    assert_eq!(mention(&mut desk, 1, 4_000), None, "it is late");
    hear(&mut desk, stop("o"));
    assert_eq!(mention(&mut desk, 3, 4_000), None, "it was stopped");
    let steps = desk.ended(Ok(Box::new(fixture::closed())));
    assert!(matches!(told(&steps)[..], [Tell::Trial { .. }]));
    assert_eq!(mention(&mut desk, 4, 5_000), None, "it has ended");
    // A lab asks for none.
    let mut desk = ready();
    hear(&mut desk, begin("o", NOW));
    assert_eq!(mention(&mut desk, 0, 1_000), None);
}

#[test]
fn however_short_intervals_are_one_is_told_in_a_second() {
    let mut desk = watched();
    hear(&mut desk, begin("o", NOW));
    let each = (0..10_000).map(|number| mention(&mut desk, number, number));
    let told = each.flatten().count();
    assert!((10..=11).contains(&told), "{told} in ten seconds");
    // A number that nobody has seen coming.
    assert_eq!(mention(&mut desk, u64::MAX, 11_000), Some(u64::MAX));
}

#[test]
fn a_start_that_another_clock_has_said_is_none() {
    let check = |at: u64, words: &str| {
        let mut desk = ready();
        assert_eq!(hear(&mut desk, begin("o", at)), [Step::Stop]);
        // Whatever it measures until it has heard of that.
        let steps = desk.ended(Ok(Box::new(fixture::closed())));
        let [Tell::Failed { why, .. }] = told(&steps)[..] else {
            panic!("{steps:?}");
        };
        assert!(why.contains(words), "{why}");
    };
    let hour = 3_600_000_000_000;
    check(NOW + hour, "to begin in 1 h by this clock");
    check(NOW - hour, "to begin 1 h ago by this clock");
}

fn ask_another_server(plan: &mut PlanFile) {
    plan.addresses.clear();
    plan.requests.push(RequestFile::get("http://127.0.0.2/"));
}

#[test]
fn orders_that_cannot_be_are_refused_in_a_sentence() {
    let check = |change: &dyn Fn(&mut Order), words: &[&str]| {
        let mut desk = Desk::new(limits());
        let mut wanted = order("o", &plan());
        change(&mut wanted);
        let steps = give(&mut desk, wanted);
        let [Tell::Refused { why, .. }] = told(&steps)[..] else {
            panic!("{words:?}: {steps:?}");
        };
        for word in words {
            assert!(why.contains(word), "no '{word}' in {why}");
        }
        assert_eq!((steps.len(), desk.busy()), (1, None), "nothing started");
    };
    let with_plan = |change: &dyn Fn(&mut PlanFile)| {
        let mut plan = plan();
        change(&mut plan);
        serde_json::to_value(plan).unwrap()
    };
    check(
        &|order| "1.2.4".clone_into(&mut order.version),
        &["version 1.2.3", "version 1.2.4", "the same version"],
    );
    check(
        &|order| order.plan = serde_json::json!({ "format": 99, "dances": [1] }),
        &["version 99", "versions 1 to 2"],
    );
    check(&|order| order.plan = serde_json::json!("x"), &["no plan"]);
    check(&|order| "o.>".clone_into(&mut order.id), &["no name"]);
    check(
        &|order| order.plan = with_plan(&|plan| plan.connections = 0),
        &["connections: give at least 1"],
    );
    check(&|order| order.workers = 3..5, &["workers 0 to 3", "3 to 4"]);
    check(&|order| order.workers = 3..3, &["workers 0 to 3"]);
    check(
        &|order| {
            let addresses = vec![
                "127.0.0.1:80".parse().unwrap(),
                "10.0.0.1:80".parse().unwrap(),
            ];
            order.plan = with_plan(&|plan| plan.addresses.clone_from(&addresses));
        },
        &[
            "may not load 10.0.0.1",
            "127.0.0.0/8, fd00::/64",
            "--targets",
        ],
    );
    check(
        &|order| order.plan = with_plan(&|plan| plan.addresses.clear()),
        &["cannot find 'server.test'"],
    );
    check(
        &|order| order.plan = with_plan(&ask_another_server),
        &["several servers", "a plan of its own"],
    );
    check(
        &|order| order.plan = with_plan(&|plan| plan.unix_socket = Some("/run/x".to_owned())),
        &["Unix socket"],
    );
    let proxy = HttpProxy {
        url: "http://127.0.0.1:3128".to_owned(),
        tunnel: false,
        authorization: None,
    };
    check(
        &|order| order.plan = with_plan(&|plan| plan.http_proxy = Some(proxy.clone())),
        &["through a proxy"],
    );
}

#[test]
fn an_agent_that_is_for_servers_makes_no_load() {
    let mut desk = Desk::new(Limits {
        role: Role::Server,
        ..limits()
    });
    let steps = give(&mut desk, order("o", &plan()));
    let [Tell::Refused { why, .. }] = told(&steps)[..] else {
        panic!("{steps:?}");
    };
    assert!(why.contains("--role server"), "{why}");
}

/// What is examined is what is loaded: the generator does not look for the name again.
#[test]
fn a_name_is_looked_up_once_and_its_addresses_are_examined() {
    let mut plan = plan();
    plan.addresses.clear();
    plan.cpus = vec![7];
    let check = |found: &str, is_allowed: bool| {
        let mut desk = Desk::new(limits());
        let found: SocketAddr = found.parse().unwrap();
        let resolve = |host: &str, port: u16| {
            assert_eq!((host, port), ("server.test", 80));
            Ok(vec![found])
        };
        let ask = Ask::Order(Box::new(order("o", &plan)));
        let steps = desk.hear(ask, Some("inbox"), NOW, &resolve);
        let started = steps.iter().find_map(|step| match step {
            Step::Start(job) => Some(job),
            _ => None,
        });
        let addresses = started.map(|job| job.plan.addresses.clone());
        assert_eq!(addresses, is_allowed.then(|| vec![found]), "{found}");
        if let Some(job) = started {
            assert!(job.plan.cpus.is_empty(), "they are CPUs of another machine");
        }
    };
    check("127.9.9.9:80", true);
    check("[fd00::1]:80", true);
    // The same address in other clothes.
    check("[::ffff:127.0.0.1]:80", true);
    check("192.0.2.1:80", false);
    check("[::ffff:192.0.2.1]:80", false);
}

#[test]
fn questions_are_answered_at_any_time() {
    let mut desk = ready();
    let to = "inbox".to_owned();
    assert_eq!(hear(&mut desk, Ask::Hello), [Step::Announce { to }]);
    let clock = Tell::Clock { unix_ns: NOW };
    assert_eq!(told(&hear(&mut desk, Ask::Clock)), [&clock]);
    // Nobody wants to know.
    assert_eq!(desk.hear(Ask::Hello, None, NOW, &nowhere), []);
}

fn starter() -> Desk {
    Desk::new(Limits {
        role: Role::Server,
        may_start_servers: true,
        ..limits()
    })
}

fn lab(id: &str) -> Ask {
    Ask::Lab(Box::new(LabOrder {
        id: id.to_owned(),
        version: "1.2.3".to_owned(),
    }))
}

fn line(order: &str, number: u64) -> Ask {
    Ask::Line {
        order: order.to_owned(),
        number,
        text: format!("line {number}"),
        silence: Span::from_s(1),
    }
}

fn passed(steps: &[Step]) -> Vec<&str> {
    let lines = steps.iter().filter_map(|step| match step {
        Step::Pass { text, .. } => Some(text.as_str()),
        _ => None,
    });
    lines.collect()
}

#[test]
fn servers_are_had_by_who_may_and_by_nobody_else() {
    let check = |role: Role, may: bool, words: Option<&str>| {
        let mut desk = Desk::new(Limits {
            role,
            may_start_servers: may,
            ..limits()
        });
        let steps = hear(&mut desk, lab("o"));
        match (told(&steps)[0], words) {
            (Tell::Accepted { order }, None) => {
                assert_eq!(order, "o");
                assert_eq!(steps[1], Step::Open("o".to_owned()));
                assert_eq!(desk.waiting(), Some(("inbox", "o")));
            }
            (Tell::Refused { why, .. }, Some(words)) => {
                assert!(why.contains(words), "{why}");
                assert_eq!((steps.len(), desk.busy()), (1, None));
            }
            (tell, _) => panic!("{role:?}, {may}: {tell:?}"),
        }
    };
    check(Role::Server, true, None);
    check(Role::Both, true, None);
    check(Role::Server, false, Some("--may-start-servers"));
    check(Role::Both, false, Some("--may-start-servers"));
    check(Role::Load, true, Some("--role server"));
    let mut desk = starter();
    let mut other = lab("o");
    if let Ask::Lab(order) = &mut other {
        order.version = "9".to_owned();
    }
    let steps = hear(&mut desk, other);
    assert!(matches!(told(&steps)[0], Tell::Refused { why, .. } if why.contains("version 9")));
    hear(&mut desk, lab("o"));
    assert!(hear(&mut desk, lab("o")).is_empty(), "it came twice");
    let steps = hear(&mut desk, lab("p"));
    assert!(matches!(told(&steps)[0], Tell::Refused { why, .. } if why.contains("another order")));
}

#[test]
fn lines_are_passed_on_in_order_or_not_at_all() {
    let mut desk = starter();
    assert!(hear(&mut desk, line("o", 0)).is_empty(), "nobody is there");
    hear(&mut desk, lab("o"));
    assert_eq!(passed(&hear(&mut desk, line("o", 0))), ["line 0"]);
    assert!(hear(&mut desk, line("o", 0)).is_empty(), "it came twice");
    assert!(hear(&mut desk, line("p", 1)).is_empty(), "of another order");
    assert_eq!(passed(&hear(&mut desk, line("o", 1))), ["line 1"]);
    for (number, text) in ["a", "b"].into_iter().enumerate() {
        let expected = Tell::Line {
            order: "o".to_owned(),
            number: number as u64,
            text: text.to_owned(),
        };
        assert_eq!(told(&desk.said(text.to_owned())), [&expected]);
    }
    assert_eq!(
        hear(&mut desk, line("o", 3)),
        [Step::Stop],
        "one is missing"
    );
    assert!(hear(&mut desk, line("o", 4)).is_empty());
    let steps = desk.closed(Ok(()));
    let Tell::Closed { why: Some(why), .. } = told(&steps)[0] else {
        panic!("{steps:?}");
    };
    assert!(why.contains("lost"), "{why}");
    assert_eq!(desk.busy(), None);
    assert!(hear(&mut desk, lab("o")).is_empty(), "it has ended");
}

#[test]
fn servers_come_to_their_end_with_whoever_asked_for_them() {
    let check = |stop: &dyn Fn(&mut Desk) -> Vec<Step>, words: &str| {
        let mut desk = starter();
        hear(&mut desk, lab("o"));
        assert!(desk.is_serving());
        assert_eq!(stop(&mut desk), [Step::Stop], "{words}");
        assert!(stop(&mut desk).is_empty(), "once is enough");
        assert!(!desk.is_serving());
        let steps = desk.closed(Err("x".to_owned()));
        let Tell::Closed { why: Some(why), .. } = told(&steps)[0] else {
            panic!("{steps:?}");
        };
        assert!(why.contains(words), "{why}");
    };
    check(&|desk| desk.abandon("o"), "has gone");
    check(&|desk| desk.cut_off("the wire is cut"), "the wire is cut");
    check(&|desk| hear(desk, stop("o")), "x");
    let mut desk = starter();
    hear(&mut desk, lab("o"));
    assert!(desk.abandon("p").is_empty());
    let closed = Tell::Closed {
        order: "o".to_owned(),
        why: None,
    };
    assert_eq!(told(&desk.closed(Ok(()))), [&closed]);
}
