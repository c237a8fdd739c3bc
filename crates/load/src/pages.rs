//! How long whole pages take: a request of a script and the parts that are asked for right after
//! it.
//!
//! A page begins when its first request is due, as response time does: what holds that up is part
//! of it. It ends with the last exchange of it. Only scripts with parts have such a thing.

use model::distribution::Distribution;
use model::event::Phase;
use model::plan::{Plan, StepFile};
use model::record::Page;
use model::units::Instant;

use crate::exchange::Exchange;

/// A page that begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Begun {
    /// Which request it begins with.
    pub(crate) class: u16,
    /// How many it has.
    pub(crate) requests: u32,
}

/// The page that begins with the step in this position, if one does: parts, those that follow them
/// at once, and the request that is asked right before them.
pub(crate) fn begun_with(steps: &[StepFile], position: usize) -> Option<Begun> {
    let before = position.checked_sub(1).map(|before| &steps[before]);
    let class = match (&steps[position], before) {
        (StepFile::Ask(class), _) => *class,
        (StepFile::Together(_), Some(StepFile::Ask(_) | StepFile::Together(_))) => return None,
        (StepFile::Together(classes), _) => *classes.first()?,
        _ => return None,
    };
    let parts = steps[position..].iter().enumerate();
    let parts = parts.map_while(|(index, step)| match step {
        StepFile::Ask(_) if index == 0 => Some(0),
        StepFile::Together(classes) => Some(classes.len()),
        _ => None,
    });
    let parts: usize = parts.sum();
    let own = usize::from(matches!(steps[position], StepFile::Ask(_)));
    let requests = u32::try_from(parts + own).ok()?;
    (parts > 0).then_some(Begun { class, requests })
}

/// The requests that pages begin with, each once, in the order of the script.
fn first_requests(steps: &[StepFile], all: &mut Vec<u16>) {
    for (position, step) in steps.iter().enumerate() {
        match step {
            StepFile::Choose(ways) => {
                for way in ways {
                    first_requests(&way.steps, all);
                }
            }
            StepFile::Repeat { steps, .. } => first_requests(steps, all),
            StepFile::Ask(_) | StepFile::Together(_) | StepFile::Wait(_) => {
                if let Some(page) = begun_with(steps, position)
                    && !all.contains(&page.class)
                {
                    all.push(page.class);
                }
            }
        }
    }
}

/// What one user is at.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    due: Instant,
    class: u16,
    /// Requests that have not ended; 0: no page.
    left: u32,
    has_failed: bool,
}

/// Pages that begin with the same request.
#[derive(Debug)]
struct Told {
    class: u16,
    failed: u64,
    time: Distribution,
}

/// The pages of the users of one worker.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Connections of each user.
    each: u32,
    /// By user.
    under_way: Box<[UnderWay]>,
    told: Box<[Told]>,
}

impl Pages {
    /// Those of worker `index`; none where the script has no parts.
    pub(crate) fn new(plan: &Plan, index: u32) -> Option<Self> {
        let script = plan.file().script.as_ref()?;
        let mut all = Vec::new();
        first_requests(&script.steps, &mut all);
        let none = UnderWay {
            due: Instant::ZERO,
            class: 0,
            left: 0,
            has_failed: false,
        };
        let told = |class| Told {
            class,
            failed: 0,
            time: Distribution::default(),
        };
        (!all.is_empty()).then(|| Self {
            each: plan.file().user_connections(),
            under_way: vec![none; plan.users_of(index) as usize].into(),
            told: all.into_iter().map(told).collect(),
        })
    }

    /// The user with the connection in `place` begins with `page`, which was due at `due`.
    pub(crate) fn begin(&mut self, place: u32, page: Begun, due: Instant) {
        self.under_way[(place / self.each) as usize] = UnderWay {
            due,
            class: page.class,
            left: page.requests,
            has_failed: false,
        };
    }

    /// An exchange of the user with the connection in `place` has ended, in this phase.
    pub(crate) fn end(&mut self, place: u32, exchange: &Exchange, phase: Phase) {
        let page = &mut self.under_way[(place / self.each) as usize];
        if page.left == 0 {
            return;
        }
        page.left -= 1;
        page.has_failed |= exchange.cause.is_some();
        if page.left > 0 || phase != Phase::Measurement {
            return;
        }
        let page = *page;
        let told = self.told.iter_mut().find(|told| told.class == page.class);
        match told {
            Some(told) if page.has_failed => told.failed += 1,
            Some(told) => told.time.record(exchange.ended.saturating_since(page.due)),
            None => {}
        }
    }

    /// As the record tells them. `names` are those of all requests.
    pub(crate) fn tell(&mut self, names: &[String]) -> Vec<Page> {
        let told = std::mem::take(&mut self.told).into_iter();
        let tell = |told: Told| Page {
            name: names
                .get(usize::from(told.class))
                .cloned()
                .unwrap_or_default(),
            failed: told.failed,
            time: told.time,
        };
        told.map(tell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use StepFile::{Ask, Repeat, Together, Wait};

    #[test]
    fn a_page_is_a_request_with_the_parts_right_after_it() {
        let wait = || Wait("1ms".parse().unwrap());
        let steps = [
            Ask(0),
            Ask(1),
            Together(vec![2, 3]),
            Together(vec![4]),
            wait(),
            Together(vec![5, 6]),
            Ask(7),
            wait(),
            Together(vec![2]),
            Repeat {
                from: 0,
                to: 2,
                steps: vec![Together(vec![8]), Ask(9), Together(vec![8, 8])],
            },
        ];
        let begun: Vec<Option<(u16, u32)>> = (0..steps.len())
            .map(|position| {
                let page = begun_with(&steps, position);
                page.map(|page| (page.class, page.requests))
            })
            .collect();
        let (page, parts, late) = (Some((1, 4)), Some((5, 2)), Some((2, 1)));
        let none = None;
        assert_eq!(
            begun,
            [none, page, none, none, none, parts, none, none, late, none]
        );
        let mut all = Vec::new();
        first_requests(&steps, &mut all);
        assert_eq!(all, [1, 5, 2, 8, 9]);
    }
}
