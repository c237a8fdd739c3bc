//! What the points of a workload differ in beside their server: that is what charts are drawn
//! across.

use model::point::{CONNECTIONS, RATE, Values, axis};

use super::point::Cell;
use super::ways::Ways;
use crate::chart::scale::index;
use crate::chart::{Axis, Scale};
use crate::number::{Unit, plain};

/// What charts are drawn across.
#[derive(Clone, Debug, Eq, PartialEq)]
enum What {
    /// The axis of that name.
    Along(String),
    Server,
    Ways(Ways),
}

/// What the points of a workload differ in.
#[derive(Clone, Debug)]
pub struct Across {
    what: What,
    /// Axes that vary too, by name.
    others: Vec<String>,
    servers: Vec<String>,
    /// All places, in order.
    pub places: Vec<Values>,
}

impl Across {
    /// Looks at all points of a workload, which come by server. Charts are drawn along the first
    /// axis of the table that varies and has numbers.
    pub fn of(cells: &[Cell<'_>]) -> Self {
        let mut places: Vec<Values> = cells.iter().map(|cell| cell.place().clone()).collect();
        places.sort();
        places.dedup();
        let mut servers: Vec<String> = cells.iter().map(|cell| cell.server().to_owned()).collect();
        servers.dedup();
        let mut others: Vec<String> = Vec::new();
        for (name, _) in places.iter().flat_map(Values::iter) {
            let first = places.first().and_then(|first| first.get(name));
            let varies = places.iter().any(|place| place.get(name) != first);
            if varies && !others.iter().any(|other| other == name) {
                others.push(name.to_owned());
            }
        }
        let is_number = |name: &String| places.iter().all(|place| number(place, name).is_some());
        let what = match others.iter().position(is_number) {
            Some(first) => What::Along(others.remove(first)),
            None if places.len() == 1 => Ways::of(cells).map_or(What::Server, What::Ways),
            None => What::Server,
        };
        Self {
            what,
            others,
            servers,
            places,
        }
    }

    /// Where a point stands on the axis.
    pub fn x(&self, cell: &Cell<'_>) -> f64 {
        match &self.what {
            What::Server => self
                .servers
                .iter()
                .position(|server| server == cell.server())
                .map_or(0.0, index),
            What::Along(name) => number(cell.place(), name).unwrap_or_default(),
            What::Ways(ways) => ways.x(cell).unwrap_or_default(),
        }
    }

    /// Whether points of one line belong together: what stands beside each other on an axis of
    /// names is not joined.
    pub const fn joins(&self) -> bool {
        matches!(self.what, What::Along(_))
    }

    /// Whether servers were asked in several ways, which stand beside each other.
    pub const fn is_by_way(&self) -> bool {
        matches!(self.what, What::Ways(_))
    }

    /// Who answered at a point, by position among [`Across::servers`].
    pub fn server(&self, cell: &Cell<'_>) -> Option<usize> {
        match &self.what {
            What::Ways(ways) => ways.place(cell).map(|(name, _)| name),
            _ => self.servers.iter().position(|one| one == cell.server()),
        }
    }

    /// All servers, in order; those that were asked in several ways once.
    pub fn servers(&self) -> &[String] {
        match &self.what {
            What::Ways(ways) => &ways.names,
            _ => &self.servers,
        }
    }

    /// In which group of bars a point stands.
    pub fn group(&self, cell: &Cell<'_>) -> Option<usize> {
        match &self.what {
            What::Ways(ways) => ways.place(cell).map(|(_, way)| way),
            _ => self.places.iter().position(|one| one == cell.place()),
        }
    }

    /// The axis of groups of bars.
    pub fn groups(&self) -> Axis {
        if let What::Ways(_) = self.what {
            return self.axis();
        }
        let names = self.places.iter().map(|place| self.name(place));
        Axis {
            name: self.axis_name(),
            unit: Unit::Count,
            scale: Scale::Category(names.collect()),
        }
    }

    /// The places on the axis that belong to the ceiling of that kind at a place on the grid: one,
    /// or one for each server. What says nothing of the axis, as a ceiling says nothing of the
    /// intended load, belongs to all places that it does not contradict.
    pub fn places_of_ceiling(&self, kind: &str, place: &Values) -> Vec<f64> {
        let name = match &self.what {
            What::Along(name) => name,
            What::Server => return (0..self.servers.len()).map(index).collect(),
            What::Ways(ways) => return ways.ends(kind).map(Vec::from).unwrap_or_default(),
        };
        if let Some(here) = number(place, name) {
            return vec![here];
        }
        let agrees = |other: &&Values| {
            let mut values = place.iter();
            values.all(|(name, value)| other.get(name).is_none_or(|own| own == value))
        };
        let places = self.places.iter().filter(agrees);
        let mut all: Vec<f64> = places.filter_map(|other| number(other, name)).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }

    /// The name of the line that a point belongs to.
    pub fn line(&self, cell: &Cell<'_>) -> String {
        if let What::Ways(ways) = &self.what
            && let Some((name, _)) = ways.place(cell)
        {
            return ways.names[name].clone();
        }
        let mut name = cell.server().to_owned();
        for other in &self.others {
            if let Some(value) = cell.place().get(other) {
                name.push_str(", ");
                name.push_str(&(axis(other).show)(value));
            }
        }
        name
    }

    /// For titles: `against connections`.
    pub fn phrase(&self) -> String {
        match (&self.what, self.places.first()) {
            (What::Along(_), _) => format!("against {}", self.axis_name()),
            (_, Some(place)) => format!("at {}", place.text()),
            (_, None) => String::new(),
        }
    }

    /// How a place is named where the axis is named too: `64`, `2,000/s`.
    pub fn name(&self, place: &Values) -> String {
        let name = match &self.what {
            What::Along(name) => name,
            What::Server | What::Ways(_) => CONNECTIONS,
        };
        let short = |name: &str| match (name, number(place, name)) {
            (RATE, Some(rate)) => format!("{}/s", plain(rate)),
            (_, Some(number)) => plain(number),
            _ => place
                .get(name)
                .map_or_else(String::new, |value| value.to_string()),
        };
        let others = self.others.iter().map(|other| short(other));
        let all: Vec<String> = std::iter::once(short(name)).chain(others).collect();
        all.join(", ")
    }

    /// The name of what places are: `connections`.
    pub fn axis_name(&self) -> String {
        match &self.what {
            What::Server | What::Ways(_) => "connections".to_owned(),
            What::Along(name) if name == RATE => "intended load".to_owned(),
            What::Along(name) => name.replace('_', " "),
        }
    }

    /// Whether it is the intended load.
    pub fn is_rate(&self) -> bool {
        matches!(&self.what, What::Along(name) if name == RATE)
    }

    /// Whether it is the number of connections.
    pub fn is_along_connections(&self) -> bool {
        matches!(&self.what, What::Along(name) if name == CONNECTIONS)
    }

    /// The axis of a chart.
    pub fn axis(&self) -> Axis {
        let values: Vec<f64> = self
            .places
            .iter()
            .flat_map(|place| self.places_of_ceiling("", place))
            .collect();
        match &self.what {
            What::Along(_) => Axis {
                name: self.axis_name(),
                unit: if self.is_rate() {
                    Unit::PerSecond
                } else {
                    Unit::Count
                },
                scale: Scale::suited(&values),
            },
            What::Server => Axis {
                name: "server".to_owned(),
                unit: Unit::Count,
                scale: Scale::Category(self.servers.clone()),
            },
            What::Ways(ways) => Axis {
                name: "how servers were asked".to_owned(),
                unit: Unit::Count,
                scale: Scale::Category(ways.all.clone()),
            },
        }
    }
}

/// The value of an axis as a number; none where it has none.
fn number(place: &Values, name: &str) -> Option<f64> {
    place.get(name)?.number()
}

/// The intended load per second; none in a closed loop.
pub(crate) fn per_second(place: &Values) -> Option<f64> {
    number(place, RATE)
}
