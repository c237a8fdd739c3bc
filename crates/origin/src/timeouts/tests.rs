use proptest::prelude::*;

use super::*;

fn at(ms: u64) -> Instant {
    Instant::from_ns(ms * 1_000_000)
}

fn due(timeouts: &mut Timeouts, ms: u64) -> Vec<usize> {
    let mut places: Vec<usize> = std::iter::from_fn(|| timeouts.pop(at(ms))).collect();
    places.sort_unstable();
    places
}

#[test]
fn a_look_comes_when_it_is_due_and_once() {
    let mut timeouts = Timeouts::new(4);
    assert_eq!(timeouts.next(), Instant::FAR_FUTURE);
    assert!(due(&mut timeouts, 10_000).is_empty());
    timeouts.arm(0, at(10_600));
    timeouts.arm(1, at(11_000));
    timeouts.arm(2, at(10_700));
    timeouts.arm(3, at(12_000));
    timeouts.disarm(3);
    assert_eq!(timeouts.next(), at(10_750));
    assert!(due(&mut timeouts, 10_749).is_empty());
    assert_eq!(due(&mut timeouts, 10_750), [0, 2]);
    assert_eq!(due(&mut timeouts, 60_000), [1]);
    assert_eq!(timeouts.next(), Instant::FAR_FUTURE);
}

#[test]
fn only_an_earlier_look_replaces_one() {
    let mut timeouts = Timeouts::new(1);
    timeouts.arm(0, at(1_000));
    timeouts.arm(0, at(5_000));
    assert_eq!(timeouts.next(), at(1_000));
    timeouts.arm(0, at(500));
    assert_eq!(timeouts.next(), at(500));
    assert_eq!(due(&mut timeouts, 5_000), [0]);
}

#[test]
fn a_look_that_leads_to_the_next_does_not_go_on_for_ever() {
    let mut timeouts = Timeouts::new(1);
    timeouts.arm(0, at(1_000));
    assert_eq!(timeouts.pop(at(1_000)), Some(0));
    timeouts.arm(0, at(1_000));
    assert_eq!(timeouts.pop(at(1_000)), None);
    assert_eq!(timeouts.pop(at(1_250)), Some(0));
}

proptest! {
    /// Held against a list of who is due when.
    #[test]
    fn any_order_of_events_gives_the_same_as_a_list(
        events in prop::collection::vec(
            (0_usize..8, 0_u64..400_000, 0_u64..20_000, 0_u8..4), 1..80),
    ) {
        let mut timeouts = Timeouts::new(8);
        let mut expected: [Option<u64>; 8] = [None; 8];
        let mut now = 0;
        for (place, later, step, kind) in events {
            if kind == 0 {
                timeouts.disarm(place);
                expected[place] = None;
            } else {
                timeouts.arm(place, at(now + later));
                expected[place] = Some(expected[place].map_or(now + later, |e| e.min(now + later)));
            }
            now += step;
            for place in due(&mut timeouts, now) {
                // One that the wheel does not reach comes early, and is armed again.
                let when = expected[place].take().expect("somebody who is there");
                if when > now {
                    timeouts.arm(place, at(when));
                    expected[place] = Some(when);
                }
            }
            let overdue = expected.iter().flatten().find(|when| **when + 250 < now);
            prop_assert_eq!(overdue, None);
        }
    }
}
