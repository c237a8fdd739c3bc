//! The place of a trial among the points of a run.

use model::Trial;
use model::point::{CONNECTIONS, Point, PointId, RATE, Value};
use model::units::Rate;

/// Where a trial stands. A rate that was searched is what was found, and no place on the grid; one
/// that the users of an experiment make by coming is its place.
pub(super) fn placed(trial: &Trial, position: usize, asked: Option<Rate>) -> Point {
    let stored = trial.point.clone();
    let mut point = stored.unwrap_or_else(|| single(trial, position));
    let of_users = || trial.plan.rate_of_users().filter(|_| !point.ceiling);
    if let Some(rate) = asked.or_else(of_users) {
        point.id = point.id.with(RATE, Value::Rate(rate));
    }
    point
}

/// A point for a trial that belongs to no experiment: what was asked, of whom.
fn single(trial: &Trial, position: usize) -> Point {
    let url = trial
        .plan
        .requests
        .first()
        .map_or_else(|| "nothing".to_owned(), |request| request.url.clone());
    let product = trial
        .context
        .server
        .as_ref()
        .map(|server| server.product.clone());
    let named = trial
        .record
        .reference
        .as_ref()
        .and_then(|reference| reference.server.clone());
    let id = PointId {
        server: product.or(named).unwrap_or_else(|| "server".to_owned()),
        workload: url,
        ..PointId::default()
    };
    Point {
        id: id.with(CONNECTIONS, Value::Count(trial.plan.connections)),
        sequence: u32::try_from(position).unwrap_or(u32::MAX),
        ..Point::default()
    }
}
