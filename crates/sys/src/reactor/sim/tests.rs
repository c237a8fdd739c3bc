use super::super::tests as suite;
use super::*;

fn settings() -> Settings {
    Settings {
        connections: 128,
        copies: 128,
        copy_bytes: 256,
    }
}

fn target() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 80))
}

/// The peer of the suite, in this network.
fn peer() -> Sim {
    peer_with(&settings())
}

fn peer_with(settings: &Settings) -> Sim {
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
    Sim::new(server, settings)
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
    suite::reconnects_at_once(&mut peer(), target());
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
    let mut sent = Vec::new();
    let mut answered = 0;
    while answered < instants.len() {
        let due = instants.get(sent.len()).map(|at| start + *at);
        sim.wait(due.unwrap_or(Instant::FAR_FUTURE));
        while let Some(completion) = sim.next() {
            if let Event::Received { .. } = completion.event {
                let (key, at) = (completion.key, completion.at);
                let index = keys.iter().position(|k| *k == key).unwrap();
                spans[index] = at - sent[index];
                answered += 1;
            }
        }
        if due.is_some_and(|due| due <= sim.now()) {
            let handed = sim.send(keys[sent.len()], Transmit::copied(b"\r\n\r\n"));
            assert_eq!(handed, Ok(Handed::Now));
            sent.push(sim.now());
            sim.submit();
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

fn established(sim: &mut Sim) -> Key {
    let key = sim.connect(target(), None).unwrap();
    sim.wait(Instant::FAR_FUTURE);
    assert!(matches!(sim.next().unwrap().event, Event::Connected));
    key
}

#[test]
fn the_mixture_of_seed_zero_is_a_kernel_that_never_fails() {
    assert_eq!(Kernel::mixture(0), Kernel::default());
    let mixtures: Vec<Kernel> = (1..1_000).map(Kernel::mixture).collect();
    assert_eq!(mixtures[6], Kernel::mixture(7));
    let on = |is_on: fn(&Kernel) -> bool| mixtures.iter().filter(|k| is_on(k)).count();
    for count in [
        on(|k| k.wait_late > Span::ZERO),
        on(|k| k.free_late > Span::ZERO),
        on(|k| k.partial_sends_per_1000 > 0),
        on(|k| k.send_pause > Span::ZERO),
        on(|k| k.failed_sends_per_1000 > 0),
        on(|k| k.failed_connects_per_1000 > 0),
        on(|k| k.split_batches_per_1000 > 0),
    ] {
        assert!((700..800).contains(&count), "{count}");
    }
}

#[test]
fn waits_end_late() {
    let late = |seed| {
        let kernel = Kernel {
            seed,
            wait_late: Span::from_us(500),
            ..Kernel::default()
        };
        let mut sim = peer().with_kernel(kernel);
        let spans: Vec<Span> = (0..100)
            .map(|_| {
                let deadline = sim.now() + Span::from_ms(1);
                sim.wait(deadline) - deadline
            })
            .collect();
        spans
    };
    let spans = late(3);
    let in_time = spans.iter().filter(|span| **span == Span::ZERO).count();
    assert!((20..80).contains(&in_time), "{in_time}");
    assert!(spans.iter().all(|span| *span <= Span::from_us(500)));
    assert!(spans.iter().any(|span| *span > Span::from_us(250)));
    assert_eq!(spans, late(3));
    assert_ne!(spans, late(4));
}

#[test]
fn places_are_freed_late() {
    let kernel = Kernel {
        free_late: Span::from_ms(1),
        ..Kernel::default()
    };
    let mut sim = peer().with_kernel(kernel);
    let keys: Vec<Key> = (0..128)
        .map(|_| sim.connect(target(), None).unwrap())
        .collect();
    assert_eq!(sim.connect(target(), None), Err(Refused::Slots));
    for key in keys {
        sim.close(key);
    }
    assert_eq!(sim.connect(target(), None), Err(Refused::Slots));
    sim.wait(sim.now() + Span::from_ms(1));
    assert!(sim.connect(target(), None).is_ok());
}

#[test]
fn sends_are_taken_in_part_and_in_order() {
    for seed in 0..200 {
        let kernel = Kernel {
            seed,
            partial_sends_per_1000: 800,
            send_pause: Span::from_us(100),
            ..Kernel::default()
        };
        let mut sim = peer().with_kernel(kernel);
        let key = established(&mut sim);
        let lines = ["echo one\n", "echo two\n", "echo three\n"];
        let mut handed = Vec::new();
        for (tag, line) in (0..).zip(lines) {
            let transmit = Transmit::copied(line.as_bytes()).with_tag(tag);
            handed.push(sim.send(key, transmit).unwrap());
        }
        assert_eq!(handed, [Handed::Now, Handed::Behind, Handed::Behind]);
        sim.submit();
        let (mut text, mut begun) = (Vec::new(), Vec::new());
        while text.len() < 11 {
            while let Some(completion) = sim.next() {
                match completion.event {
                    Event::Received { bytes, .. } => text.extend_from_slice(bytes),
                    Event::Begun { tag } => begun.push(tag),
                    other => panic!("seed {seed}: {other:?}"),
                }
            }
            if text.len() < 11 {
                sim.wait(Instant::FAR_FUTURE);
            }
        }
        assert_eq!(text, b"onetwothree", "seed {seed}");
        assert_eq!(begun, [1, 2], "seed {seed}");
        assert_eq!(sim.bytes_taken(key), 29);
    }
}

#[test]
fn a_send_taken_in_part_keeps_its_buffer() {
    let kernel = Kernel {
        partial_sends_per_1000: 1_000,
        send_pause: Span::from_ms(1),
        ..Kernel::default()
    };
    let room = Settings {
        copies: 1,
        ..settings()
    };
    let server = SimServer::new(Service::Constant(Span::ZERO), |_| None);
    let mut sim = Sim::new(server, &room).with_kernel(kernel);
    let key = established(&mut sim);
    assert!(sim.may_send(key));
    sim.send(key, Transmit::copied(b"1234").with_notice())
        .unwrap();
    sim.submit();
    assert!((1..4).contains(&sim.bytes_taken(key)));
    assert!(!sim.may_send(key));
    assert_eq!(sim.send(key, Transmit::copied(b"x")), Err(Refused::Buffers));
    sim.wait(Instant::FAR_FUTURE);
    assert!(matches!(sim.next().unwrap().event, Event::Sent));
    assert!(sim.may_send(key));
}

#[test]
fn sends_fail_for_want_of_memory() {
    let kernel = Kernel {
        failed_sends_per_1000: 1_000,
        ..Kernel::default()
    };
    let mut sim = peer().with_kernel(kernel);
    let key = established(&mut sim);
    sim.send(key, Transmit::copied(b"echo x\n")).unwrap();
    sim.send(key, Transmit::copied(b"echo y\n")).unwrap();
    sim.wait(Instant::FAR_FUTURE);
    let completion = sim.next().unwrap();
    assert!(
        matches!(completion.event, Event::SendFailed { error } if error.is_out_of_memory()),
        "{completion:?}"
    );
    assert_eq!(sim.bytes_taken(key), 0);
    // Nothing follows.
    let deadline = sim.now() + Span::from_s(1);
    assert_eq!(sim.wait(deadline), deadline);
}

#[test]
fn connects_fail_within_the_call() {
    let kernel = Kernel {
        seed: 5,
        failed_connects_per_1000: 500,
        ..Kernel::default()
    };
    let mut sim = peer().with_kernel(kernel);
    let results: Vec<_> = (0..100).map(|_| sim.connect(target(), None)).collect();
    let failed = results
        .iter()
        .filter(|result| matches!(result, Err(Refused::Kernel(_))))
        .count();
    assert!((30..70).contains(&failed), "{failed}");
    sim.wait(Instant::FAR_FUTURE);
    let mut connected = 0;
    while let Some(completion) = sim.next() {
        assert!(matches!(completion.event, Event::Connected));
        connected += 1;
    }
    assert_eq!(connected + failed, 100);
}

#[test]
fn events_are_split_across_batches() {
    let kernel = Kernel {
        seed: 5,
        split_batches_per_1000: 1_000,
        ..Kernel::default()
    };
    let mut sim = peer().with_kernel(kernel);
    for _ in 0..100 {
        sim.connect(target(), None).unwrap();
    }
    let (mut batches, mut connected) = (0, 0);
    while connected < 100 {
        sim.wait(Instant::FAR_FUTURE);
        batches += 1;
        while sim.next().is_some() {
            connected += 1;
        }
    }
    assert!(batches > 2, "{batches}");
    assert_eq!(sim.activity().batches, batches);
}

/// Whatever the kernel does, every request that was handed in is answered once, in order.
#[test]
fn nothing_is_lost_under_any_mixture() {
    for seed in 0..300 {
        let room = Settings {
            copies: 8,
            ..settings()
        };
        let mut sim = peer_with(&room).with_kernel(Kernel::mixture(seed));
        let mut open = 0;
        let mut failed = std::collections::BTreeSet::new();
        let deadline = sim.now() + Span::from_s(10);
        let mut expected: std::collections::BTreeMap<Key, Vec<u8>> = Default::default();
        let mut answered = std::collections::BTreeMap::<Key, Vec<u8>>::new();
        loop {
            while open < 20 {
                match sim.connect(target(), None) {
                    Ok(_) => open += 1,
                    Err(Refused::Kernel(_)) => {}
                    Err(other) => panic!("seed {seed}: {other}"),
                }
            }
            let now = sim.wait(deadline);
            assert!(now < deadline, "seed {seed}: {answered:?}");
            let mut connected = Vec::new();
            while let Some(Completion { key, event, .. }) = sim.next() {
                match event {
                    Event::Connected => connected.push(key),
                    Event::Received { bytes, .. } => {
                        answered.entry(key).or_default().extend_from_slice(bytes);
                    }
                    Event::Begun { .. } => {}
                    Event::SendFailed { error } => {
                        // Whatever was not answered by then is lost with it.
                        assert!(error.is_out_of_memory(), "seed {seed}");
                        failed.insert(key);
                    }
                    other => panic!("seed {seed}: {other:?}"),
                }
            }
            for key in connected {
                for tag in 0..3 {
                    if !sim.may_send(key) {
                        break;
                    }
                    let text = format!("{}.{tag};", key.index());
                    let line = format!("echo {text}\n");
                    sim.send(key, Transmit::copied(line.as_bytes()).with_tag(tag))
                        .unwrap();
                    expected.entry(key).or_default().extend(text.into_bytes());
                }
                if expected.entry(key).or_default().is_empty() {
                    failed.insert(key);
                }
            }
            if expected.len() == 20
                && expected
                    .iter()
                    .all(|(key, text)| failed.contains(key) || answered.get(key) == Some(text))
            {
                break;
            }
        }
        assert!(answered.len() >= 2, "seed {seed}");
        for (key, text) in &answered {
            assert!(expected[key].starts_with(text), "seed {seed}");
        }
    }
}
