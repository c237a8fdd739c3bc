//! How long one waits in a queue whose customers come by a Poisson process and take the same time
//! each (M/D/1), after Erlang (1909) and Crommelin (1932).

/// The share of customers who wait at most `time`, in a queue that serves one in each `service`, at
/// a mean `rate` of arrivals.
fn waits_at_most(time: f64, rate: f64, service: f64) -> f64 {
    let utilisation = rate * service;
    if utilisation >= 1.0 {
        return 0.0;
    }
    let mut sum = 0.0;
    let mut served = 0.0;
    while served * service <= time {
        // ((λ(kD − t))^k / k!) · e^(−λ(kD − t)), factor by factor.
        let expected = rate * (served * service - time);
        let mut term = (-expected).exp();
        let mut factor = 1.0;
        while factor <= served {
            term *= expected / factor;
            factor += 1.0;
        }
        sum += term;
        served += 1.0;
    }
    (1.0 - utilisation) * sum
}

/// The highest rate of arrivals at which that `share` of answers comes within `limit` seconds, from
/// a server that gives `pace` answers per second, one after the other.
pub(super) fn highest_rate(pace: f64, limit: f64, share: f64) -> f64 {
    let service = 1.0 / pace;
    let (mut low, mut high) = (0.0, pace);
    for _ in 0..60 {
        let rate = f64::midpoint(low, high);
        if waits_at_most(limit - service, rate, service) >= share {
            low = rate;
        } else {
            high = rate;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_as_often_as_the_server_is_idle() {
        assert!((waits_at_most(0.0, 700.0, 1e-3) - 0.3).abs() < 1e-12);
        assert!(waits_at_most(1.0, 1_001.0, 1e-3) < 1e-12);
    }

    /// Pollaczek and Khinchin: the mean wait is ρD / 2(1 − ρ).
    #[test]
    fn the_mean_wait_is_that_of_the_formula() {
        let (service, step) = (1.0, 0.001);
        for utilisation in [0.2, 0.5, 0.8] {
            let mut mean = 0.0;
            let mut time = step / 2.0;
            while time < 20.0 {
                mean += (1.0 - waits_at_most(time, utilisation, service)) * step;
                time += step;
            }
            let expected = utilisation * service / (2.0 * (1.0 - utilisation));
            assert!(
                (mean / expected - 1.0).abs() < 0.01,
                "{utilisation}: {mean}"
            );
        }
    }

    #[test]
    fn at_the_highest_rate_the_share_is_met_and_above_it_is_not() {
        let rate = highest_rate(2_000.0, 0.005, 0.99);
        assert!((1_500.0..2_000.0).contains(&rate), "{rate}");
        let share = |rate: f64| waits_at_most(0.0045, rate, 0.0005);
        assert!(
            share(rate - 0.1) > 0.99 && share(rate + 0.1) < 0.99,
            "{rate}"
        );
    }
}
