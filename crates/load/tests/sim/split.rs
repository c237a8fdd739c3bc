//! Response times that are cut where the kernel sent and received.

use model::plan::PlanFile;
use model::record::TimeSplit;
use model::units::Span;
use sys::reactor::sim::{Kernel, Service};

use crate::harness::{
    closed, count, hello, ms, open, simulate, simulate_on, simulate_slowed,
    where_kernels_never_fail,
};

fn cut(one_in: u32, plan: PlanFile) -> PlanFile {
    PlanFile {
        split_one_in: Some(one_in),
        ..plan
    }
}

/// The parts add up to the whole, over all exchanges together.
fn adds_up(split: &TimeSplit) -> Span {
    let parts = [
        &split.blocked,
        &split.late,
        &split.client_send,
        &split.outside,
        &split.client_wakeup,
    ];
    let sum = parts.iter().fold(Span::ZERO, |sum, part| sum + part.sum());
    assert_eq!(sum, split.response.sum(), "{split:?}");
    let count = split.response.count();
    assert!(parts.iter().all(|part| part.count() == count), "{split:?}");
    sum
}

#[test]
fn all_of_a_time_is_the_servers_where_the_client_is_never_late() {
    let server = hello(Service::Constant(ms(7)));
    let record = simulate_on(Kernel::default(), cut(1, count(3, 30)), server);
    let split = record.split.expect("it was asked for");
    assert_eq!(
        (split.connections, split.refused, split.incomplete),
        (3, 0, 0)
    );
    assert_eq!(split.response.count(), 30);
    assert_eq!(adds_up(&split), split.outside.sum());
    assert_eq!(split.response.sum(), record.response_time.sum());
}

#[test]
fn a_kernel_that_wakes_up_late_is_told_from_the_server() {
    let kernel = Kernel {
        seed: 5,
        wait_late: ms(2),
        ..Kernel::default()
    };
    let plan = cut(1, count(1, 200));
    let record = simulate_on(kernel, plan, hello(Service::Constant(ms(7))));
    let split = record.split.expect("it was asked for");
    adds_up(&split);
    let (least, most) = (split.outside.min(), split.outside.max());
    assert_eq!(least, most, "the server takes as long each time");
    let woken = split.client_wakeup;
    assert!(woken.max().is_some_and(|most| most > Span::from_us(1_500)));
    assert!(woken.max().is_some_and(|most| most <= ms(2)));
    assert_eq!(split.client_added.sum(), split.late.sum() + woken.sum());
}

#[test]
fn a_slow_client_is_late_and_wakes_up_late() {
    where_kernels_never_fail(|| {
        let plan = cut(1, open(16, 8_000, ms(500)));
        let server = hello(Service::Constant(ms(1)));
        let record = simulate_slowed(plan, server, Span::from_us(50));
        let split = record.split.expect("it was asked for");
        adds_up(&split);
        assert_eq!(split.response.count(), record.response_time.count());
        assert!(split.late.sum() > Span::ZERO, "{split:?}");
        assert!(split.client_wakeup.sum() > Span::ZERO, "{split:?}");
    });
}

#[test]
fn one_connection_in_so_many_is_cut() {
    where_kernels_never_fail(|| {
        for (connections, one_in, expected) in [(8, 1, 8), (8, 3, 3), (8, 100, 1), (1, 100, 1)] {
            let plan = cut(one_in, closed(connections, ms(100)));
            let record = simulate(plan, hello(Service::Constant(ms(1))));
            let split = record.split.expect("it was asked for");
            assert_eq!(
                split.connections, expected,
                "1 in {one_in} of {connections}"
            );
            let all = record.response_time.count();
            let share = all * expected / u64::from(connections);
            assert!(split.response.count().abs_diff(share) <= expected, "{all}");
        }
        let record = simulate(closed(2, ms(10)), hello(Service::Constant(ms(1))));
        assert_eq!(record.split, None);
    });
}

#[test]
fn parts_add_up_on_any_kernel() {
    for seed in 0..100 {
        let plan = match seed % 2 {
            0 => cut(2, closed(5, ms(300))),
            _ => cut(2, open(5, 1_000, ms(300))),
        };
        let server = hello(Service::Constant(ms(2)));
        let record = simulate_on(Kernel::mixture(seed), plan, server);
        let split = record.split.expect("it was asked for");
        adds_up(&split);
        assert_eq!(split.refused, 0, "seed {seed}");
    }
}
