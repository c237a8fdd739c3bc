use std::cell::{Cell, RefCell};

use super::*;

/// A machine whose unrest depends on the time alone.
struct Fake<F> {
    now: Cell<Span>,
    ended: RefCell<Vec<u16>>,
    unrest: F,
}

impl<F: Fn(u64) -> Unrest> Machine for Fake<F> {
    fn unrest(&self) -> Unrest {
        (self.unrest)(self.now.get().as_ns() / 1_000_000)
    }

    fn pause(&self, span: Span) {
        self.now.set(self.now.get() + span);
    }

    fn end_time_wait(&self, port: u16) {
        self.ended.borrow_mut().push(port);
    }
}

fn fake<F: Fn(u64) -> Unrest>(unrest: F) -> Fake<F> {
    Fake {
        now: Cell::new(Span::ZERO),
        ended: RefCell::default(),
        unrest,
    }
}

const REST: Unrest = Unrest {
    time_wait: Some(100),
    time_wait_max: Some(8_000),
    dirty: Some(Bytes::new(1 << 20)),
    runnable: Some(1),
    cpus: 2,
};

const PATIENCE: Span = Span::from_s(2);

/// Restless from a second on for half a second.
fn for_a_while(restless: Unrest) -> impl Fn(u64) -> Unrest {
    move |ms| match ms {
        1_000..1_500 => restless,
        _ => REST,
    }
}

#[test]
fn many_connections_in_time_wait_are_ended_at_the_port_of_the_trial() {
    let machine = fake(for_a_while(Unrest {
        time_wait: Some(1_000),
        ..REST
    }));
    let calm = Calm::of(&machine, PATIENCE);
    calm.after(4_711);
    assert_eq!(*machine.ended.borrow(), [0; 0], "a few disturb nobody");
    machine.pause(Span::from_s(1));
    calm.after(4_712);
    assert_eq!(*machine.ended.borrow(), [4_712]);
}

#[test]
fn it_is_waited_for_what_goes_away() {
    let check = |restless: Unrest, until: &str| {
        let machine = fake(for_a_while(restless));
        let mut calm = Calm::of(&machine, PATIENCE);
        assert_eq!(calm.wait(), None, "it is as it was");
        machine.pause(Span::from_s(1));
        let waited = calm.wait().expect(until);
        assert_eq!(waited.took, Span::from_ms(500), "{until}");
        assert_eq!(waited.until, [until]);
        assert!(waited.left.is_empty());
        assert_eq!(calm.wait(), None, "it is again");
    };
    check(
        Unrest {
            time_wait: Some(4_001),
            ..REST
        },
        "4001 connections in TIME_WAIT, and 4000 are allowed",
    );
    check(
        Unrest {
            runnable: Some(3),
            ..REST
        },
        "3 tasks ready to run, and 2 are allowed",
    );
    check(
        Unrest {
            dirty: Some(Bytes::new(66 << 20)),
            ..REST
        },
        "66.0 MiB to be written to disk, and 65.0 MiB are allowed",
    );
}

#[test]
fn what_a_machine_bears_is_not_waited_for() {
    let busy = Unrest {
        time_wait: Some(4_000),
        dirty: Some(Bytes::new(65 << 20)),
        runnable: Some(2),
        ..REST
    };
    let machine = fake(for_a_while(busy));
    let mut calm = Calm::of(&machine, PATIENCE);
    machine.pause(Span::from_s(1));
    assert_eq!(calm.wait(), None);
    // Nor what cannot be read.
    let machine = fake(for_a_while(Unrest::default()));
    let mut calm = Calm::of(&machine, PATIENCE);
    machine.pause(Span::from_s(1));
    assert_eq!(calm.wait(), None);
}

#[test]
fn what_stays_is_told_and_given_up() {
    let machine = fake(|ms| match ms {
        0 => REST,
        _ => Unrest {
            runnable: Some(9),
            ..REST
        },
    });
    let mut calm = Calm::of(&machine, PATIENCE);
    machine.pause(STEP);
    for _ in 0..IN_VAIN_MAX {
        let waited = calm.wait().expect("it is restless");
        assert_eq!(waited.took, PATIENCE, "and no longer");
        assert_eq!(waited.left, ["9 tasks ready to run, and 2 are allowed"]);
    }
    assert_eq!(calm.wait(), None, "that is how it is now");
}

/// Something else writes all the time: three waits, and no more.
#[test]
fn what_grows_all_the_time_is_given_up_too() {
    let machine = fake(|ms| Unrest {
        dirty: Some(Bytes::new(ms << 20)),
        ..REST
    });
    let mut calm = Calm::of(&machine, PATIENCE);
    machine.pause(Span::from_s(1));
    let waits = (0..10).filter(|_| calm.wait().is_some()).count();
    assert_eq!(waits, 3);
}

#[test]
fn without_patience_nothing_is_waited_for() {
    let machine = fake(for_a_while(Unrest {
        runnable: Some(9),
        ..REST
    }));
    let mut calm = Calm::of(&machine, Span::ZERO);
    machine.pause(Span::from_s(1));
    assert_eq!(calm.wait(), None);
}

#[test]
fn the_kernel_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    assert_eq!(read(folder.path()), Unrest::default());
    put(
        "net/sockstat",
        "sockets: used 9\nTCP: inuse 5 orphan 0 tw 77 alloc 6 mem 1\n",
    );
    put("sys/net/ipv4/tcp_max_tw_buckets", "131072\n");
    put(
        "meminfo",
        "MemTotal: 9 kB\nDirty:   40 kB\nWriteback: 2 kB\nWritebackTmp: 5 kB\n",
    );
    put(
        "stat",
        "cpu  1 2\ncpu0 1 2\ncpu1 1 2\nctxt 5\nprocs_running 3\nprocs_blocked 0\n",
    );
    let expected = Unrest {
        time_wait: Some(77),
        time_wait_max: Some(131_072),
        dirty: Some(Bytes::new(42 << 10)),
        runnable: Some(3),
        cpus: 2,
    };
    assert_eq!(read(folder.path()), expected);
    // Of this machine all of it is known.
    assert!(ALL.iter().all(|what| what.of(&Here.unrest()).is_some()));
}
