//! A record with fewer buckets, for results that are kept for long.

use super::Record;
use crate::distribution::{Distribution, Exact};

impl Record {
    /// Thins every distribution: what `exact` names stays as it was. Of the stretches of the window
    /// only the median is kept, which is all that is read of them.
    pub fn thin(&mut self, exact: &Exact<'_>) {
        let thin = |times: &mut Distribution, exact: &Exact<'_>| *times = times.thinned(exact);
        let mut all = vec![
            &mut self.response_time,
            &mut self.service_time,
            &mut self.blocked_time,
            &mut self.late_time,
            &mut self.connect_time,
            &mut self.tls_time,
            &mut self.first_byte_time,
            &mut self.transfer_time,
        ];
        if let Some(tls) = &mut self.tls {
            all.extend([
                &mut tls.full_time,
                &mut tls.resumed_time,
                &mut tls.early_time,
            ]);
        }
        if let Some(users) = &mut self.users {
            all.push(&mut users.wait);
        }
        all.extend(self.pages.iter_mut().map(|page| &mut page.time));
        for class in &mut self.classes {
            all.extend([
                &mut class.response_time,
                &mut class.service_time,
                &mut class.first_byte_time,
            ]);
        }
        for worker in &mut self.workers {
            all.extend(&mut worker.batch_time);
        }
        for times in all {
            thin(times, exact);
        }
        let middle = Exact {
            quantiles: &[0.5],
            longest: 0,
            above: crate::distribution::Shape::HIGHEST,
        };
        for interval in &mut self.intervals {
            thin(&mut interval.response_time, &middle);
        }
    }
}
