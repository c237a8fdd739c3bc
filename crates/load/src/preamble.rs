//! What each connection begins with, where the plan wants that: who asks, as a proxy tells it, or
//! whom a proxy is to make a tunnel to.
//!
//! It costs a new connection a send, and two system calls for its addresses or a round trip to the
//! proxy; a request nothing.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use model::plan::{Plan, ProxyVersion};
use sys::reactor::{Key, Reactor};
use wire::proxy::{self, Form};
use wire::tunnel::{self, Opening};

/// Told where an end has no address, as those of a Unix socket have none.
pub(crate) const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// What the connections of one worker begin with.
#[derive(Debug)]
pub(crate) enum Preamble {
    /// Who asks.
    Source(Source),
    /// The request for a tunnel, by server; what else is said goes through that.
    Tunnel(Box<[Box<[u8]>]>),
}

/// Who asks, for each connection of one worker.
#[derive(Debug)]
pub(crate) struct Source {
    form: Form,
    /// Who asks, shared out among the connections; empty: whoever has made the connection.
    sources: Box<[IpAddr]>,
    /// The worker's position among the workers, and how many those are.
    worker: usize,
    workers: usize,
    /// Connections of one user, of whom they tell the same.
    each: u32,
    /// There are more sources than users: each new connection has another.
    has_more: bool,
    /// Headers written so far.
    written: usize,
}

impl Preamble {
    /// For worker `index` of `plan`; none where nothing is to be said.
    pub(crate) fn new(plan: &Plan, index: u32) -> Option<Self> {
        let tunnels = plan.tunnels();
        if !tunnels.is_empty() {
            let request = |server: &String| {
                let request = tunnel::request(server, plan.tunnel_authorization());
                request.into_boxed_slice()
            };
            return Some(Self::Tunnel(tunnels.iter().map(request).collect()));
        }
        let file = plan.file();
        let proxy = file.proxy_protocol.as_ref()?;
        Some(Self::Source(Source {
            form: match proxy.version {
                ProxyVersion::V1 => Form::Line,
                ProxyVersion::V2 => Form::Bytes,
            },
            sources: proxy.sources.clone().into(),
            worker: index as usize,
            workers: file.workers as usize,
            each: file.user_connections(),
            has_more: proxy.sources.len() > (file.connections / file.user_connections()) as usize,
            written: 0,
        }))
    }

    /// The most bytes of it; none where nothing is to be said.
    pub(crate) fn longest(plan: &Plan) -> Option<u32> {
        Self::new(plan, 0).map(|preamble| match preamble {
            Self::Source(_) => proxy::LONGEST,
            Self::Tunnel(requests) => {
                let longest = requests.iter().map(|request| request.len()).max();
                u32::try_from(longest.unwrap_or(0)).unwrap_or(u32::MAX)
            }
        })
    }

    /// Writes that of the connection in `place` to the server `host`, whose ends `reactor` knows by
    /// `key`.
    pub(crate) fn write(
        &mut self,
        (place, host): (u32, usize),
        reactor: &impl Reactor,
        key: Key,
        out: &mut Vec<u8>,
    ) {
        match self {
            Self::Source(source) => {
                source.write(place, reactor.local(key), reactor.peer(key), out);
            }
            Self::Tunnel(requests) => out.extend_from_slice(&requests[host]),
        }
    }

    /// What the peer has to answer to it before the connection is of use, if anything.
    pub(crate) fn opening(&self) -> Option<Opening> {
        match self {
            Self::Source(_) => None,
            Self::Tunnel(_) => Some(Opening::default()),
        }
    }
}

impl Source {
    /// Writes that of the connection in `place`, whose ends have these addresses.
    fn write(
        &mut self,
        place: u32,
        local: Option<SocketAddr>,
        peer: Option<SocketAddr>,
        out: &mut Vec<u8>,
    ) {
        let local = local.unwrap_or(NOWHERE);
        let count = if self.has_more {
            self.written
        } else {
            (place / self.each) as usize
        };
        self.written += 1;
        let turn = count * self.workers + self.worker;
        let from = match turn.checked_rem(self.sources.len()) {
            None => local,
            Some(index) => SocketAddr::new(self.sources[index], local.port()),
        };
        proxy::write(self.form, from, peer.unwrap_or(NOWHERE), out);
    }
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::plan::{PlanFile, ProxyProtocol};

    use super::*;

    /// Who asks on each of `count` connections of two workers, by what they write.
    fn told(sources: u8, connections: u32, count: u32) -> Vec<String> {
        let sources = (1..=sources).map(|last| IpAddr::from([192, 0, 2, last]));
        let plan = Plan::try_from(PlanFile {
            connections,
            workers: 2,
            proxy_protocol: Some(ProxyProtocol {
                version: ProxyVersion::V1,
                sources: sources.collect(),
            }),
            ..fixture::plan("http://127.0.0.1:80/", &[])
        });
        let plan = plan.expect("a plan that can run");
        let mut told = Vec::new();
        for worker in 0..2 {
            let Some(Preamble::Source(mut source)) = Preamble::new(&plan, worker) else {
                panic!("who asks is told");
            };
            for place in (0..connections / 2).cycle().take(count as usize / 2) {
                let mut out = Vec::new();
                let local = Some(([127, 0, 0, 1], 5).into());
                let peer = Some(([127, 0, 0, 1], 80).into());
                source.write(place, local, peer, &mut out);
                let line = String::from_utf8(out).expect("text");
                assert!(line.ends_with(" 127.0.0.1 5 80\r\n"), "{line}");
                let from = line.split(' ').nth(2).expect("a source");
                told.push(from.rsplit('.').next().expect("a number").to_owned());
            }
        }
        told
    }

    #[test]
    fn sources_are_shared_out() {
        // The own address.
        assert_eq!(told(0, 2, 2), ["1", "1"]);
        // A connection that is made anew keeps its source.
        assert_eq!(told(4, 4, 8), ["1", "3", "1", "3", "2", "4", "2", "4"]);
        // Where there are more sources, all are used.
        assert_eq!(told(8, 4, 8), ["1", "3", "5", "7", "2", "4", "6", "8"]);
    }
}
