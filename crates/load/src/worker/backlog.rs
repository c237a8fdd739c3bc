//! Arrivals of an open loop that wait for a connection, by the server that they ask.

use std::collections::VecDeque;

use model::units::Instant;

use super::Arrival;

/// Those of all servers.
#[derive(Debug)]
pub(super) struct Backlog {
    lines: Box<[Line]>,
    count: usize,
}

/// Those of one server, the oldest first.
#[derive(Debug)]
struct Line {
    due: VecDeque<Instant>,
    /// Which request each is; empty where there is one server: it is drawn when it begins.
    classes: VecDeque<u16>,
}

impl Backlog {
    /// With room for `most` in each line.
    pub(super) fn new(hosts: usize, most: usize) -> Self {
        let room = if hosts > 1 { most } else { 0 };
        let line = |_| Line {
            due: VecDeque::with_capacity(most),
            classes: VecDeque::with_capacity(room),
        };
        Self {
            lines: (0..hosts).map(line).collect(),
            count: 0,
        }
    }

    /// How many wait.
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Whether somebody waits for a connection to `host`.
    #[inline]
    pub(super) fn waits_for(&self, host: usize) -> bool {
        !self.lines[host].due.is_empty()
    }

    /// One more waits for a connection to `host`.
    #[inline]
    pub(super) fn push(&mut self, host: usize, arrival: Arrival) {
        let line = &mut self.lines[host];
        line.due.push_back(arrival.due);
        line.classes.extend(arrival.class);
        self.count += 1;
    }

    /// Takes the one that has waited for longest for a connection to `host`.
    #[inline]
    pub(super) fn pop(&mut self, host: usize) -> Option<Arrival> {
        let line = &mut self.lines[host];
        let due = line.due.pop_front()?;
        self.count -= 1;
        Some(Arrival {
            class: line.classes.pop_front(),
            ..Arrival::new(due)
        })
    }

    /// When the first of all was due.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let fronts = self.lines.iter().filter_map(|line| line.due.front());
        fronts.min().copied()
    }

    /// Takes one that was due before `end`, if one was.
    pub(super) fn pop_before(&mut self, end: Instant) -> Option<Arrival> {
        let is_before = |line: &Line| line.due.front().is_some_and(|due| *due < end);
        let host = self.lines.iter().position(is_before)?;
        self.pop(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_waits_for_its_own_server() {
        let at = Instant::from_ns;
        let mut backlog = Backlog::new(2, 4);
        assert_eq!((backlog.len(), backlog.oldest()), (0, None));
        backlog.push(1, Arrival::of(at(5), 7));
        backlog.push(0, Arrival::of(at(6), 3));
        backlog.push(1, Arrival::of(at(8), 9));
        assert!(backlog.waits_for(0) && backlog.waits_for(1));
        assert_eq!((backlog.len(), backlog.oldest()), (3, Some(at(5))));
        let told = |arrival: Option<Arrival>| arrival.map(|one| (one.due, one.class));
        assert_eq!(told(backlog.pop(0)), Some((at(6), Some(3))));
        assert_eq!(told(backlog.pop(0)), None);
        assert_eq!(told(backlog.pop_before(at(5))), None);
        assert_eq!(told(backlog.pop_before(at(6))), Some((at(5), Some(7))));
        assert_eq!(told(backlog.pop(1)), Some((at(8), Some(9))));
        assert_eq!(backlog.len(), 0);
    }

    #[test]
    fn where_there_is_one_server_requests_are_drawn_later() {
        let mut backlog = Backlog::new(1, 4);
        backlog.push(0, Arrival::new(Instant::from_ns(5)));
        assert_eq!(backlog.pop(0).unwrap().class, None);
    }
}
