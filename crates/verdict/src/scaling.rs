//! How a rate grows with cores, by Amdahl's law: n cores do n / (1 + s (n - 1)) times what one
//! does, where s is the share of the work that only one of them can do at a time.
//!
//! Source: G. Amdahl, Validity of the single processor approach to achieving large scale computing
//! capabilities, AFIPS 1967. The law knows no rate that falls with more cores; where one does, the
//! share comes out above what it would be without that, and the rates themselves tell.

/// Fewer numbers of cores leave a fit nothing to be wrong about.
pub const CORES_LEAST: usize = 3;

/// What was fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// The share of the work that only one core can do at a time, from 0.
    pub serial: f64,
    /// The rate at the most cores, as a share of what as many times the rate of one would be.
    pub efficiency: f64,
}

/// Fits numbers of cores and the rates with them; none with fewer than [`CORES_LEAST`] of them.
///
/// With the time that a request takes n cores, t(n) = n / rate(n), the law is a straight line:
/// t(n) = t(1) + s t(1) (n - 1). It is fitted by least squares.
pub fn fit(points: &[(u32, f64)]) -> Option<Scaling> {
    let mut cores: Vec<u32> = points.iter().map(|(cores, _)| *cores).collect();
    cores.sort_unstable();
    cores.dedup();
    let is_usable = |(cores, rate): &(u32, f64)| *cores > 0 && *rate > 0.0;
    if cores.len() < CORES_LEAST || !points.iter().all(is_usable) {
        return None;
    }
    let count = f64::from(u32::try_from(points.len()).ok()?);
    let times: Vec<(f64, f64)> = points
        .iter()
        .map(|(cores, rate)| (f64::from(*cores) - 1.0, f64::from(*cores) / rate))
        .collect();
    let mean_x = times.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = times.iter().map(|(_, y)| y).sum::<f64>() / count;
    let along = |(x, y): &(f64, f64)| (x - mean_x) * (y - mean_y);
    let wide = |(x, _): &(f64, f64)| (x - mean_x) * (x - mean_x);
    let slope = times.iter().map(along).sum::<f64>() / times.iter().map(wide).sum::<f64>();
    let of_one = mean_y - slope * mean_x;
    let (most, rate) = points.iter().max_by_key(|(cores, _)| *cores)?;
    (of_one > 0.0).then(|| Scaling {
        // Better than each core for itself is noise, or a cache that is larger together.
        serial: (slope / of_one).max(0.0),
        efficiency: rate * of_one / f64::from(*most),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_law(serial: f64, cores: &[u32]) -> Vec<(u32, f64)> {
        let rate = |n: u32| 10_000.0 * f64::from(n) / (1.0 + serial * (f64::from(n) - 1.0));
        cores.iter().map(|n| (*n, rate(*n))).collect()
    }

    #[test]
    fn the_share_of_one_core_is_found_again() {
        for serial in [0.0, 0.03, 0.2, 1.0] {
            let fitted = fit(&by_law(serial, &[1, 2, 4, 8])).unwrap();
            assert!(
                (fitted.serial - serial).abs() < 1e-9,
                "{serial}: {fitted:?}"
            );
            let expected = 1.0 / (1.0 + serial * 7.0);
            assert!((fitted.efficiency - expected).abs() < 1e-9, "{fitted:?}");
        }
        // None of one core: it follows from the others.
        let fitted = fit(&by_law(0.1, &[2, 4, 8])).unwrap();
        assert!((fitted.serial - 0.1).abs() < 1e-9);
    }

    #[test]
    fn rates_that_are_off_by_a_few_per_cent_move_it_little() {
        let mut points = by_law(0.05, &[1, 2, 4, 8]);
        for (place, factor) in [1.02, 0.99, 1.01, 0.98].into_iter().enumerate() {
            points[place].1 *= factor;
        }
        let fitted = fit(&points).unwrap();
        assert!((fitted.serial - 0.05).abs() < 0.02, "{fitted:?}");
    }

    #[test]
    fn two_numbers_of_cores_are_not_fitted() {
        assert_eq!(fit(&by_law(0.1, &[1, 2])), None);
        assert_eq!(fit(&[(1, 5.0), (1, 6.0), (2, 9.0)]), None);
        assert_eq!(fit(&[(1, 0.0), (2, 9.0), (4, 20.0)]), None);
        // Superlinear is not less than nothing.
        let better = fit(&[(1, 10.0), (2, 21.0), (4, 43.0)]).unwrap();
        assert!(better.serial.abs() < f64::EPSILON, "{better:?}");
    }
}
