use super::super::tests as suite;
use super::*;

fn settings() -> Settings {
    Settings {
        connections: 128,
        copies: 8,
        copy_bytes: 256,
    }
}

fn target() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 80))
}

/// The peer of the suite, in this network.
fn peer() -> Sim {
    let service = Service::Constant(Span::from_us(10));
    let server = SimServer::new(service, |line| {
        let line = std::str::from_utf8(line).unwrap().trim_end();
        let answer = suite::answer(line);
        Some(Reply::new(answer.bytes).then(match answer.then {
            suite::Then::Continue => Then::Continue,
            suite::Then::Finish => Then::Finish,
            suite::Then::Reset => Then::Reset,
        }))
    });
    let server = server
        .with_request_end(b"\n")
        .with_delay(Span::from_us(5))
        .refusing(|target, _| (target.port() == 9).then(|| Errno::new(libc::ECONNREFUSED)));
    Sim::new(server, &settings())
}

#[test]
fn the_simulation_conforms() {
    suite::echoes(&mut peer(), target());
    suite::receives_large_bodies(&mut peer(), target());
    suite::skips_exactly(&mut peer(), target());
    suite::tells_how_streams_end(&mut peer(), target());
    suite::keeps_many_apart(&mut peer(), target(), 100);
    suite::tells_refusals(&mut peer(), SocketAddr::from(([127, 0, 0, 1], 9)));
    suite::waits_until_its_deadline(peer());
}

/// Asks on one connection each, at the instants given; how long each answer took.
fn ask_at(server: SimServer, instants: &[Span]) -> Vec<Span> {
    let mut sim = Sim::new(server, &settings());
    let keys: Vec<Key> = instants
        .iter()
        .map(|_| sim.connect(target(), None).unwrap())
        .collect();
    let mut connected = 0;
    while connected < keys.len() {
        sim.wait(Instant::FAR_FUTURE);
        while sim.next().is_some() {
            connected += 1;
        }
    }
    let start = sim.now();
    let mut spans = vec![Span::ZERO; instants.len()];
    let mut asked = 0;
    let mut answered = 0;
    while answered < instants.len() {
        let due = instants.get(asked).map(|at| start + *at);
        sim.wait(due.unwrap_or(Instant::FAR_FUTURE));
        while let Some(completion) = sim.next() {
            if let Event::Received { .. } = completion.event {
                let (key, at) = (completion.key, completion.at);
                let index = keys.iter().position(|k| *k == key).unwrap();
                spans[index] = at - sim.sent_at(key);
                answered += 1;
            }
        }
        if due.is_some_and(|due| due <= sim.now()) {
            sim.send(keys[asked], Transmit::copied(b"\r\n\r\n"))
                .unwrap();
            sim.submit();
            asked += 1;
        }
    }
    spans
}

fn ok(_: &[u8]) -> Option<Reply> {
    Some(Reply::new("x"))
}

#[test]
fn service_takes_the_time_it_should() {
    let ms = Span::from_ms;
    let constant = Service::Constant(ms(1));
    let at = [ms(0), ms(0), ms(10)];
    let many = SimServer::new(constant, ok);
    assert_eq!(ask_at(many, &at), [ms(1), ms(1), ms(1)]);
    let single = SimServer::new(constant, ok).one_at_a_time();
    assert_eq!(ask_at(single, &at), [ms(1), ms(2), ms(1)]);
    let far = SimServer::new(constant, ok).with_delay(ms(3));
    assert_eq!(ask_at(far, &[ms(0)]), [ms(7)]);
}

#[test]
fn frozen_time_does_not_count() {
    let ms = Span::from_ms;
    // The clock starts at one second; connects take no time here.
    let freeze = Instant::ZERO + ms(1_010);
    let server = SimServer::new(Service::Constant(ms(4)), ok).frozen(freeze, ms(100));
    let spans = ask_at(server, &[ms(0), ms(8), ms(50), ms(120)]);
    assert_eq!(spans[0], ms(4));
    assert_eq!(spans[1], ms(104));
    assert!(spans[2] > ms(63) && spans[2] < ms(65), "{}", spans[2]);
    assert_eq!(spans[3], ms(4));
}

#[test]
fn exponential_service_has_its_mean_and_repeats_by_seed() {
    let run = |seed| {
        let mut server = SimServer::new(Service::Exponential(Span::from_us(100)), ok).seeded(seed);
        let spans: Vec<Span> = (0..20_000).map(|_| server.work()).collect();
        spans
    };
    let spans = run(7);
    let mean = spans.iter().copied().sum::<Span>() / 20_000;
    assert!((97..=103).contains(&(mean.as_ns() / 1_000)), "{mean}");
    let above = spans
        .iter()
        .filter(|span| **span > Span::from_us(300))
        .count();
    assert!(
        (850..=1_150).contains(&above),
        "{above} of 20,000, e^-3 of them expected"
    );
    assert_eq!(spans, run(7));
    assert_ne!(spans, run(8));
}

#[test]
fn a_slow_caller_costs_virtual_time() {
    let server = SimServer::new(Service::Constant(Span::ZERO), ok);
    let mut sim = Sim::new(server, &settings()).slowed(Span::from_us(30));
    let start = sim.now();
    sim.connect(target(), None).unwrap();
    sim.wait(Instant::FAR_FUTURE);
    assert!(matches!(sim.next().unwrap().event, Event::Connected));
    assert_eq!(sim.now() - start, Span::from_us(60));
}
