//! Who of a crew is how far with its part of a load, decided without a network.

use model::Trial;

use super::Member;
use crate::error::FleetError;
use crate::message::{Name, Tell};

/// Where one agent is.
#[derive(Debug)]
enum Place {
    Asked,
    Accepted,
    Ready,
    Done(Box<Trial>),
}

/// All of them.
#[derive(Debug)]
pub(super) struct Roll<'a> {
    crew: &'a [Member],
    places: Vec<Place>,
}

impl<'a> Roll<'a> {
    pub(super) fn new(crew: &'a [Member]) -> Self {
        Self {
            crew,
            places: crew.iter().map(|_| Place::Asked).collect(),
        }
    }

    /// Whether all can begin. Who was stopped before has ended.
    pub(super) fn is_ready(&self) -> bool {
        let can = |place: &Place| matches!(place, Place::Ready | Place::Done(_));
        self.places.iter().all(can)
    }

    /// Whether all have told what they measured.
    pub(super) fn is_done(&self) -> bool {
        let is_done = |place: &Place| matches!(place, Place::Done(_));
        self.places.iter().all(is_done)
    }

    /// Whether the agent in this position has told what it measured.
    pub(super) fn has_told(&self, position: usize) -> bool {
        matches!(self.places.get(position), Some(Place::Done(_)))
    }

    /// Those who have not told how they ended, by position.
    pub(super) fn missing(&self) -> Vec<(usize, Name)> {
        let all = self.places.iter().zip(self.crew).enumerate();
        all.filter(|(_, (place, _))| !matches!(place, Place::Done(_)))
            .map(|(position, (_, member))| (position, member.name.clone()))
            .collect()
    }

    /// The name of the first that is not ready, or else of the first that is not done.
    pub(super) fn silent(&self) -> &str {
        let behind = |wanted: fn(&Place) -> bool| self.places.iter().position(wanted);
        let position = behind(|place| matches!(place, Place::Asked | Place::Accepted))
            .or_else(|| behind(|place| !matches!(place, Place::Done(_))));
        self.name(position.unwrap_or(0))
    }

    /// What each measured, in their order. To be called once all are done.
    pub(super) fn take(&mut self) -> Vec<Trial> {
        let places = std::mem::take(&mut self.places).into_iter();
        let trials = places.filter_map(|place| match place {
            Place::Done(trial) => Some(*trial),
            _ => None,
        });
        trials.collect()
    }

    /// The agent in this position says something about `order`. What comes twice, late or about
    /// another order changes nothing.
    pub(super) fn hear(
        &mut self,
        position: usize,
        order: &str,
        tell: Tell,
    ) -> Result<(), FleetError> {
        let Some(place) = self.places.get(position) else {
            return Ok(());
        };
        let next = match (place, tell) {
            (Place::Done(_), _) => return Ok(()),
            (Place::Asked, Tell::Accepted { order: of }) if of == order => Place::Accepted,
            (Place::Asked | Place::Accepted, Tell::Ready { order: of }) if of == order => {
                Place::Ready
            }
            (_, Tell::Trial { order: of, trial }) if of == order => Place::Done(trial),
            (_, Tell::Failed { order: of, why }) if of == order => {
                return Err(self.objection(position, &why));
            }
            // One that could not read the order knows no name of it.
            (Place::Asked, Tell::Refused { order: of, why }) if of == order || of.is_empty() => {
                return Err(self.objection(position, &why));
            }
            _ => return Ok(()),
        };
        self.places[position] = next;
        Ok(())
    }

    /// What the agent in this position lacks.
    pub(super) fn objection(&self, position: usize, why: &str) -> FleetError {
        FleetError::agent(self.name(position), why)
    }

    fn name(&self, position: usize) -> &str {
        let member = self.crew.get(position);
        member.map_or("", |member| member.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use model::fixture;

    use super::*;
    use crate::clock::Clock;

    fn crew() -> [Member; 2] {
        ["a", "b"].map(|name| Member {
            name: name.parse().unwrap(),
            workers: 0..1,
            clock: Clock::default(),
        })
    }

    fn order() -> String {
        "o".to_owned()
    }

    fn ready() -> Tell {
        Tell::Ready { order: order() }
    }

    fn trial() -> Tell {
        Tell::Trial {
            order: order(),
            trial: Box::new(fixture::closed()),
        }
    }

    #[test]
    fn all_are_ready_and_then_all_are_done() {
        let crew = crew();
        let mut roll = Roll::new(&crew);
        let accepted = || Tell::Accepted { order: order() };
        for tell in [accepted(), ready(), accepted(), ready()] {
            roll.hear(1, "o", tell).unwrap();
        }
        assert!(!roll.is_ready());
        assert_eq!(roll.silent(), "a");
        // It was lost that it was accepted.
        roll.hear(0, "o", ready()).unwrap();
        assert!(roll.is_ready() && !roll.is_done());
        roll.hear(0, "o", trial()).unwrap();
        assert_eq!((roll.is_done(), roll.silent()), (false, "b"));
        assert_eq!(roll.missing(), [(1, "b".parse().unwrap())]);
        roll.hear(1, "o", trial()).unwrap();
        roll.hear(1, "o", trial()).unwrap();
        assert!(roll.is_done());
        assert_eq!(roll.take().len(), 2);
    }

    #[test]
    fn what_is_late_or_about_another_order_changes_nothing() {
        let crew = crew();
        let mut roll = Roll::new(&crew);
        let other = || "p".to_owned();
        for tell in [
            Tell::Ready { order: other() },
            Tell::Failed {
                order: other(),
                why: "x".to_owned(),
            },
            Tell::Trial {
                order: other(),
                trial: Box::new(fixture::closed()),
            },
            Tell::Clock { unix_ns: 1 },
        ] {
            roll.hear(0, "o", tell).unwrap();
        }
        assert_eq!(roll.silent(), "a");
        assert!(!roll.is_ready());
        roll.hear(7, "o", ready()).unwrap();
        roll.hear(0, "o", trial()).unwrap();
        let late = Tell::Failed {
            order: order(),
            why: "x".to_owned(),
        };
        roll.hear(0, "o", late).unwrap();
    }

    #[test]
    fn who_cannot_says_why() {
        let crew = crew();
        let check = |tell: Tell, words: &str| {
            let said = Roll::new(&crew).hear(1, "o", tell).unwrap_err();
            assert_eq!(said.to_string(), format!("agent 'b': {words}"));
        };
        let why = || "no".to_owned();
        let failed = Tell::Failed {
            order: order(),
            why: why(),
        };
        check(failed, "no");
        for of in ["o", ""] {
            let refused = Tell::Refused {
                order: of.to_owned(),
                why: why(),
            };
            check(refused, "no");
        }
    }
}
