//! Servers that were asked in several ways, each under a name of its own: `nginx http1-tls full` is
//! nginx, asked by `http1-tls, full`.

use super::Digest;
use super::ceiling::{differing, kind};
use super::point::Cell;
use crate::chart::scale::index;

/// How much of the room of a way its servers have.
const ROOM: f64 = 0.7;

/// Who was asked, and in which ways.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Ways {
    /// Servers without what their names say of the way, in order.
    pub(super) names: Vec<String>,
    /// The ways, in order, named as ceilings are.
    pub(super) all: Vec<String>,
    differing: Vec<&'static str>,
}

impl Ways {
    /// None where each server was asked in one way, or its name does not say in which.
    pub(super) fn of(cells: &[Cell<'_>]) -> Option<Self> {
        let digests = || cells.iter().filter_map(|cell| cell.rounds.first().copied());
        let differing = differing(digests());
        let mut ways = Self {
            names: Vec::new(),
            all: Vec::new(),
            differing,
        };
        let mut points = Vec::with_capacity(cells.len());
        for digest in digests() {
            let (name, way) = ways.divided(digest)?;
            let point = (
                position(&mut ways.names, name),
                position(&mut ways.all, way),
            );
            if points.contains(&point) {
                return None;
            }
            points.push(point);
        }
        (ways.names.len() < points.len()).then_some(ways)
    }

    /// The name of a server, and the way in which it was asked.
    fn divided(&self, digest: &Digest) -> Option<(String, String)> {
        let way = kind(digest, &self.differing);
        let mut name = digest.id.server.clone();
        for part in way.split(", ").filter(|part| !part.is_empty()) {
            let part = format!(" {part}");
            let at = name.find(&part)?;
            name.replace_range(at..at + part.len(), "");
        }
        Some((name, way))
    }

    /// The positions of its server's name and of its way.
    pub(super) fn place(&self, cell: &Cell<'_>) -> Option<(usize, usize)> {
        let (name, way) = self.divided(cell.rounds.first()?)?;
        let name = self.names.iter().position(|one| *one == name)?;
        let way = self.all.iter().position(|one| *one == way)?;
        Some((name, way))
    }

    /// Where it stands across: the servers of a way stand beside each other.
    pub(super) fn x(&self, cell: &Cell<'_>) -> Option<f64> {
        let (name, way) = self.place(cell)?;
        let (half, step) = (index(self.names.len() - 1) / 2.0, index(self.names.len()));
        Some(index(way) + (index(name) - half) * ROOM / step)
    }

    /// From where to where a way goes across; none where there is no such way.
    pub(super) fn ends(&self, way: &str) -> Option<[f64; 2]> {
        let way = self.all.iter().position(|one| one == way)?;
        Some([-0.42, 0.42].map(|side| index(way) + side))
    }
}

/// Where `one` stands among all; it is put last if it is not there.
fn position(all: &mut Vec<String>, one: String) -> usize {
    let found = all.iter().position(|other| *other == one);
    found.unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}
