//! Which server each connection leads to, where a plan asks several.

use wire::Client;

use super::Pool;

/// Where a connection leads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Spot {
    host: u16,
    /// How many places before it lead to the same server.
    number: u32,
}

/// The servers of the places; empty where there is one.
#[derive(Debug)]
pub(super) struct Hosts(Box<[Spot]>);

impl Hosts {
    /// `count` places share themselves out among servers that are asked as often as `weights` say,
    /// each of which has a place at least, if there are as many. The first places are shared out as
    /// all of them are (smooth weighted round robin).
    pub(super) fn new(weights: &[u64], count: u32, each: u32) -> Self {
        if weights.len() < 2 {
            return Self(Box::default());
        }
        if each > 1 {
            return Self::of_users(weights.len(), count, each);
        }
        let total: i128 = weights.iter().map(|weight| i128::from(*weight)).sum();
        let mut behind = vec![0_i128; weights.len()];
        let mut numbers = vec![0_u32; weights.len()];
        let spots = (0..count as usize).map(|place| {
            for (behind, weight) in behind.iter_mut().zip(weights) {
                *behind += i128::from(*weight);
            }
            let host = if place < weights.len() {
                place
            } else {
                // The first of those who are most behind.
                let most = behind.iter().copied().max().unwrap_or_default();
                behind.iter().position(|one| *one == most).unwrap_or(0)
            };
            behind[host] -= total;
            let number = numbers[host];
            numbers[host] += 1;
            Spot {
                host: u16::try_from(host).expect("a plan has fewer servers"),
                number,
            }
        });
        Self(spots.collect())
    }

    /// The same where each user has `each` places side by side, and as many of them to each server.
    fn of_users(hosts: usize, count: u32, each: u32) -> Self {
        let to_each = each as usize / hosts;
        let spots = (0..count).map(|place| {
            let host = (place % each) as usize / to_each;
            Spot {
                host: u16::try_from(host).expect("a plan has fewer servers"),
                // Users take turns, and not their connections.
                number: place - place % each,
            }
        });
        Self(spots.collect())
    }

    /// Which of the servers the connection in `place` leads to.
    #[inline]
    pub(super) fn host(&self, place: u32) -> usize {
        let spot = self.0.get(place as usize);
        spot.map_or(0, |spot| usize::from(spot.host))
    }

    /// How many places before it lead to the same server.
    pub(super) fn number(&self, place: u32) -> u32 {
        self.0.get(place as usize).map_or(place, |spot| spot.number)
    }

    /// How many of all places lead to `host`.
    pub(super) fn places_of(&self, host: usize, count: u32) -> usize {
        match self.0.is_empty() {
            true => count as usize,
            false => {
                let of_host = |spot: &&Spot| usize::from(spot.host) == host;
                self.0.iter().filter(of_host).count()
            }
        }
    }
}

impl<C: Client> Pool<C> {
    /// How many servers its connections lead to.
    #[inline]
    pub(crate) fn hosts(&self) -> usize {
        self.with_room.len()
    }

    /// Which of the servers the connection in `place` leads to.
    #[inline]
    pub(crate) fn host(&self, place: u32) -> usize {
        self.hosts.host(place)
    }

    /// The connection in `place` has room: it stands in line for the next exchange.
    #[inline]
    pub(crate) fn has_room(&mut self, place: u32) {
        let here = &mut self.places[place as usize];
        if !here.in_line {
            here.in_line = true;
            self.with_room[self.hosts.host(place)].push_back(place);
        }
    }

    /// Takes the connection to `host` that has had room for longest.
    #[inline]
    pub(crate) fn take_with_room(&mut self, host: usize) -> Option<u32> {
        while let Some(place) = self.with_room[host].pop_front() {
            self.places[place as usize].in_line = false;
            let open = self.open(place);
            if open.is_some_and(|open| open.client.free() > 0) {
                return Some(place);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(weights: &[u64], count: u32) -> Vec<usize> {
        let hosts = Hosts::new(weights, count, 1);
        (0..count).map(|place| hosts.host(place)).collect()
    }

    #[test]
    fn places_are_shared_out_by_weight_and_from_the_first_on() {
        assert_eq!(shared(&[7], 3), [0, 0, 0]);
        assert_eq!(shared(&[1, 1], 5), [0, 1, 0, 1, 0]);
        // Everyone has one, and then who has too few of them.
        assert_eq!(shared(&[1, 6, 1], 8), [0, 1, 2, 1, 1, 1, 1, 1]);
        let many = shared(&[9, 1], 1_000);
        let of = |host| many.iter().filter(|one| **one == host).count();
        assert_eq!((of(0), of(1)), (900, 100));
        let first = many[..100].iter().filter(|one| **one == 0).count();
        assert_eq!(first, 90);
    }

    #[test]
    fn a_place_has_a_number_among_those_of_its_server() {
        let hosts = Hosts::new(&[2, 1], 6, 1);
        let numbers: Vec<(usize, u32)> = (0..6)
            .map(|place| (hosts.host(place), hosts.number(place)))
            .collect();
        let mut next = [0, 0];
        for (host, number) in numbers {
            assert_eq!(number, next[host]);
            next[host] += 1;
        }
        assert_eq!(next, [4, 2]);
        assert_eq!((hosts.places_of(0, 6), hosts.places_of(1, 6)), (4, 2));
        let one = Hosts::new(&[5], 6, 1);
        assert_eq!((one.host(5), one.number(5), one.places_of(0, 6)), (0, 5, 6));
    }

    #[test]
    fn users_have_as_many_places_to_each_server() {
        let hosts = Hosts::new(&[9, 1], 8, 4);
        let of: Vec<usize> = (0..8).map(|place| hosts.host(place)).collect();
        assert_eq!(of, [0, 0, 1, 1, 0, 0, 1, 1]);
        let user: Vec<u32> = (0..8).map(|place| hosts.number(place) / 4).collect();
        assert_eq!(user, [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!((hosts.places_of(0, 8), hosts.places_of(1, 8)), (4, 4));
    }
}
