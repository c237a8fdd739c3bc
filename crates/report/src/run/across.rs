//! What the points of a workload differ in beside their server: that is what charts are drawn
//! across.

use model::point::Values;

use super::point::Cell;
use crate::chart::scale::index;
use crate::chart::{Axis, Scale};
use crate::number::{Unit, plain, plural};

/// What charts are drawn across.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum What {
    Connections,
    IntendedRate,
    Server,
}

/// What the points of a workload differ in.
#[derive(Clone, Debug)]
pub struct Across {
    what: What,
    /// Whether connections vary too where the axis is another.
    connections_vary: bool,
    servers: Vec<String>,
    /// All places, in order.
    pub places: Vec<Values>,
}

impl Across {
    /// Looks at all points of a workload, which come by server.
    pub fn of(cells: &[Cell<'_>]) -> Self {
        let mut places: Vec<Values> = cells.iter().map(|cell| cell.place().clone()).collect();
        places.sort();
        places.dedup();
        let mut servers: Vec<String> = cells.iter().map(|cell| cell.server().to_owned()).collect();
        servers.dedup();
        let vary = |value: fn(&Values) -> u64| {
            places
                .first()
                .is_some_and(|first| places.iter().any(|place| value(place) != value(first)))
        };
        let connections_vary = vary(|place| u64::from(place.connections()));
        let what = if vary(|place| place.rate().map_or(0, model::Rate::as_per_1000_s)) {
            What::IntendedRate
        } else if connections_vary {
            What::Connections
        } else {
            What::Server
        };
        Self {
            what,
            connections_vary: connections_vary && what != What::Connections,
            servers,
            places,
        }
    }

    /// Where a point stands on the axis.
    pub fn x(&self, cell: &Cell<'_>) -> f64 {
        match self.what {
            What::Server => self
                .servers
                .iter()
                .position(|server| server == cell.server())
                .map_or(0.0, index),
            What::Connections | What::IntendedRate => self.places_on_axis(cell.place())[0],
        }
    }

    /// The places on the axis that belong to a place on the grid: one, or one for each server.
    pub fn places_on_axis(&self, place: &Values) -> Vec<f64> {
        match self.what {
            What::Connections => vec![f64::from(place.connections())],
            What::IntendedRate => vec![per_second(place).unwrap_or_default()],
            What::Server => (0..self.servers.len()).map(index).collect(),
        }
    }

    /// The name of the line that a point belongs to.
    pub fn line(&self, cell: &Cell<'_>) -> String {
        if self.connections_vary {
            format!(
                "{}, {}",
                cell.server(),
                plural(cell.place().connections() as usize, "connection")
            )
        } else {
            cell.server().to_owned()
        }
    }

    /// For titles: `against connections`.
    pub fn phrase(&self) -> String {
        match (self.what, self.places.first()) {
            (What::Connections, _) => "against connections".to_owned(),
            (What::IntendedRate, _) => "against intended load".to_owned(),
            (What::Server, Some(place)) => format!("at {}", place.text()),
            (What::Server, None) => String::new(),
        }
    }

    /// How a place is named where the axis is named too: `64`, `2,000/s`.
    pub fn name(&self, place: &Values) -> String {
        match (self.what, per_second(place)) {
            (What::IntendedRate, Some(rate)) if self.connections_vary => {
                format!("{}/s, {}", plain(rate), place.connections())
            }
            (What::IntendedRate, Some(rate)) => format!("{}/s", plain(rate)),
            _ => plain(f64::from(place.connections())),
        }
    }

    /// The name of what places are: `connections`.
    pub const fn axis_name(&self) -> &'static str {
        match self.what {
            What::Connections | What::Server => "connections",
            What::IntendedRate => "intended load",
        }
    }

    /// Whether it is the intended load.
    pub fn is_rate(&self) -> bool {
        self.what == What::IntendedRate
    }

    /// The axis of a chart.
    pub fn axis(&self) -> Axis {
        let values: Vec<f64> = self
            .places
            .iter()
            .flat_map(|place| self.places_on_axis(place))
            .collect();
        match self.what {
            What::Connections => Axis {
                name: "connections".to_owned(),
                unit: Unit::Count,
                scale: Scale::suited(&values),
            },
            What::IntendedRate => Axis {
                name: "intended load".to_owned(),
                unit: Unit::PerSecond,
                scale: Scale::suited(&values),
            },
            What::Server => Axis {
                name: "server".to_owned(),
                unit: Unit::Count,
                scale: Scale::Category(self.servers.clone()),
            },
        }
    }
}

/// The intended load per second; none in a closed loop.
pub(crate) fn per_second(place: &Values) -> Option<f64> {
    place.rate().map(model::Rate::as_per_second_f64)
}
