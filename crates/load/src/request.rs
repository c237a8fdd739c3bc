//! The requests of a plan, encoded to bytes before the run, and what a right answer to each is.

use std::num::NonZeroU64;

use model::plan::{Plan, Protocol};
use wire::{Request, RequestId, RequestParts, h2, h3};

use crate::expectation::Expectation;
use crate::random::Random;

/// All requests of a plan. The position of a request among them is its class.
#[derive(Clone, Debug)]
pub struct Requests {
    classes: Box<[Class]>,
    all: Mix,
    /// Those that each server is asked, where there are several.
    of_hosts: Box<[Mix]>,
    /// Which of the servers each class is asked of; empty where there is one.
    hosts: Box<[u16]>,
    random: Random,
}

/// Classes that are drawn by their weights.
#[derive(Clone, Debug)]
struct Mix {
    /// Which they are; empty: all of them.
    classes: Box<[u16]>,
    /// The weights of all up to and with each, added up.
    weights: Box<[u64]>,
    /// The weight that all have, if they have the same.
    even: Option<NonZeroU64>,
}

impl Mix {
    /// Of these classes of `plan`.
    fn new(plan: &Plan, classes: Box<[u16]>) -> Self {
        let all = plan.requests();
        let weights: Vec<u64> = match classes.is_empty() {
            true => all.iter().map(|one| u64::from(one.weight)).collect(),
            false => {
                let chosen = classes.iter().map(|class| &all[usize::from(*class)]);
                chosen.map(|one| u64::from(one.weight)).collect()
            }
        };
        let first = weights.first().copied().unwrap_or(0);
        let is_even = weights.iter().all(|one| *one == first);
        let mut sum = 0;
        let added_up = weights.iter().map(|weight| {
            sum += weight;
            sum
        });
        Self {
            weights: added_up.collect(),
            even: NonZeroU64::new(first).filter(|_| is_even),
            classes,
        }
    }

    /// The next one.
    #[inline]
    fn draw(&self, random: &mut Random) -> u16 {
        let place = match self.weights.len() {
            1 => 0,
            count => {
                let drawn = random.below(self.weights[count - 1]);
                let place = match self.even {
                    Some(weight) => drawn / weight,
                    None => self.weights.partition_point(|upto| *upto <= drawn) as u64,
                };
                u16::try_from(place).unwrap_or(0)
            }
        };
        self.classes
            .get(usize::from(place))
            .copied()
            .unwrap_or(place)
    }
}

/// One request in the two forms in which it is sent. Where there are many, each exchange finds
/// another one: it is two lines of a cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Class {
    /// As it is sent while the connection is to be kept.
    keep: Request,
    /// As the last one on a connection is sent: it asks the server to close, so that the server
    /// counts as many requests on the connection as we do, and TIME_WAIT stays on its side.
    last: Request,
    expectation: Expectation,
    begun: u64,
}

const _: () = assert!(size_of::<Class>() <= 128);

impl Requests {
    /// Compiles the requests of `plan`, whose answers are held against `expectations`. `stream`
    /// keeps the draws of one worker apart from those of the others.
    pub fn compile(plan: &Plan, expectations: &[Expectation], stream: u64) -> Self {
        let targets = plan.requests().iter();
        let targets: Vec<String> = targets
            .map(|request| plan.origin_of(&request.url) + &request.url.path)
            .collect();
        let requests = plan.requests().iter().zip(&targets);
        let requests = requests.map(|(request, target)| RequestParts {
            method: &request.method,
            target,
            authority: &request.url.authority,
            fields: &request.headers,
            content: request.body.as_deref(),
        });
        let requests: Vec<RequestParts<'_>> = requests.collect();
        let mut encoded = match plan.file().protocol {
            Protocol::Http2 => h2::client::encode(&requests, plan.request().url.is_secure),
            Protocol::Http1 | Protocol::Http3 => Vec::new(),
        }
        .into_iter();
        let is_http3 = plan.file().protocol == Protocol::Http3;
        let mut of_server = vec![0; plan.hosts().len()];
        let classes = requests.iter().zip(0u16..);
        let classes = classes.map(|(parts, class)| {
            let two = encoded.next().unwrap_or_default();
            let three = is_http3.then(|| h3::client::encode(parts));
            let three = three.unwrap_or_default();
            let number = &mut of_server[plan.host_of(usize::from(class))];
            let place = 2 * *number;
            *number += 1;
            let compile = |id, closes| {
                Request::compile(RequestId(id), parts, closes)
                    .with_heads_in(place + usize::from(closes))
                    .with_h2(two.clone())
                    .with_h3(three.clone())
            };
            Class {
                keep: compile(class * 2, false),
                last: compile(class * 2 + 1, true),
                expectation: expectations
                    .get(usize::from(class))
                    .cloned()
                    .unwrap_or_default(),
                begun: 0,
            }
        });
        let several = match plan.hosts().len() {
            1 => 0,
            several => several,
        };
        let host_of = |class: u16| plan.host_of(usize::from(class));
        let positions = || (0..plan.requests().len()).filter_map(|class| u16::try_from(class).ok());
        let of_hosts = (0..several).map(|host| {
            let its_own = positions().filter(|class| host_of(*class) == host);
            Mix::new(plan, its_own.collect())
        });
        let hosts = positions().filter(|_| several > 0);
        let hosts = hosts.map(|class| u16::try_from(host_of(class)).unwrap_or(0));
        Self {
            classes: classes.collect(),
            all: Mix::new(plan, Box::default()),
            of_hosts: of_hosts.collect(),
            hosts: hosts.collect(),
            random: Random::new(plan.file().seed, stream ^ 0x5eed_0f0c_1a55_e500),
        }
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.classes.len()
    }

    /// Whether there is none; a plan has at least one.
    pub const fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// How many are asked of the server in this position.
    pub(crate) fn of_server(&self, host: usize) -> usize {
        match self.hosts.as_ref() {
            [] => self.classes.len(),
            hosts => hosts.iter().filter(|of| usize::from(**of) == host).count(),
        }
    }

    /// All of them, in the order of their ids.
    pub fn all(&self) -> impl Iterator<Item = &Request> {
        self.classes
            .iter()
            .flat_map(|class| [&class.keep, &class.last])
    }

    /// The class of the next exchange: by weight, and by the seed of the plan alone.
    #[inline]
    pub(crate) fn draw(&mut self) -> u16 {
        self.all.draw(&mut self.random)
    }

    /// The class of the next exchange with `host`.
    #[inline]
    pub(crate) fn draw_for(&mut self, host: usize) -> u16 {
        let mix = self.of_hosts.get(host).unwrap_or(&self.all);
        mix.draw(&mut self.random)
    }

    /// Which of the servers `class` is asked of.
    #[inline]
    pub(crate) fn host(&self, class: u16) -> usize {
        let host = self.hosts.get(usize::from(class));
        host.map_or(0, |host| usize::from(*host))
    }

    /// The request of `class` to send next on a connection.
    #[inline]
    pub fn of(&self, class: u16, is_last: bool) -> &Request {
        let class = &self.classes[usize::from(class)];
        if is_last { &class.last } else { &class.keep }
    }

    /// The one with this name.
    pub(crate) fn named(&self, name: RequestId) -> &Request {
        self.of(name.0 / 2, name.0 % 2 == 1)
    }

    /// What a right answer to `class` is.
    #[inline]
    pub(crate) fn expectation(&self, class: u16) -> &Expectation {
        &self.classes[usize::from(class)].expectation
    }

    /// One more of `class` begins: whether its content will be compared.
    #[inline]
    pub(crate) fn begin(&mut self, class: u16) -> bool {
        let class = &mut self.classes[usize::from(class)];
        let compares = class.expectation.compares(class.begun);
        class.begun += 1;
        compares
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::fixture;
    use model::request::RequestFile;

    use super::*;

    /// A reference of a megabyte is there once, however many workers there are.
    #[test]
    fn workers_share_what_answers_are_held_against() {
        let plan = Plan::try_from(fixture::plan("http://127.0.0.1:1/", &[])).unwrap();
        let expectations = [Expectation {
            content: vec![b'x'; 1 << 20].into(),
            ..Expectation::default()
        }];
        for worker in 0..4 {
            let requests = Requests::compile(&plan, &expectations, worker);
            let content = &requests.expectation(0).content;
            assert!(Arc::ptr_eq(content, &expectations[0].content));
        }
    }
    #[test]
    fn each_server_is_asked_for_what_is_its_own() {
        let mut file = fixture::plan("http://a.test/1", &[]);
        let more = ["http://b.test/", "http://a.test/2"].map(RequestFile::get);
        file.requests.extend(more);
        file.requests[2].weight = 3;
        file.connections = 2;
        let plan = Plan::try_from(file).unwrap();
        let mut requests = Requests::compile(&plan, &[], 0);
        assert_eq!([0, 1, 2].map(|class| requests.host(class)), [0, 1, 0]);
        let mut drawn = [0; 3];
        for _ in 0..4_000 {
            drawn[usize::from(requests.draw_for(0))] += 1;
            assert_eq!(requests.draw_for(1), 1);
        }
        assert_eq!(drawn[1], 0);
        assert!((2_900..3_100).contains(&drawn[2]), "{drawn:?}");
        let mut drawn = [0; 3];
        for _ in 0..5_000 {
            drawn[usize::from(requests.draw())] += 1;
        }
        assert!((2_800..3_200).contains(&drawn[2]), "{drawn:?}");
    }
}
