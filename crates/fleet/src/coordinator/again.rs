//! Agents that were there before, found again: also after the connection to the broker was lost,
//! when they have to connect anew, too.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{Coordinator, FREE, LOOK, Member, Seen, in_time};
use crate::error::FleetError;

/// Agents are there again within this time after the connection was lost: an unanswered question
/// takes ten seconds of it, and the pauses between their tries to connect a few.
const RETURN: Duration = Duration::from_secs(30);

impl Coordinator {
    /// Those of `seen` again, as [`gather`](Self::gather) finds them. A broker that was started
    /// again meanwhile is no reason to miss them.
    ///
    /// # Errors
    ///
    /// One of them has gone, or cannot.
    pub fn gather_again(&self, seen: &[Seen]) -> Result<Vec<Seen>, FleetError> {
        self.runtime.block_on(async {
            let until = Instant::now() + RETURN;
            loop {
                match self.look_again(seen).await {
                    Ok(again) => {
                        self.all_heard();
                        return Ok(again);
                    }
                    Err(_) if self.is_cut_off() && Instant::now() < until => sleep(LOOK * 5).await,
                    Err(error) => return Err(error),
                }
            }
        })
    }

    async fn look_again(&self, seen: &[Seen]) -> Result<Vec<Seen>, FleetError> {
        let mut again = Vec::with_capacity(seen.len());
        for one in seen {
            let announcement = self.hello(&one.announcement.name).await?;
            let free = self.free(announcement, FREE).await?;
            again.push(self.look(free).await?);
        }
        again.iter().try_for_each(in_time)?;
        Ok(again)
    }

    /// Waits until all of `crew` can make load again.
    pub(super) async fn await_free(&self, crew: &[Member]) -> Result<(), FleetError> {
        let until = Instant::now() + RETURN;
        for member in crew {
            loop {
                let free = match self.hello(&member.name).await {
                    Ok(hello) => self.free(hello, FREE).await.map(drop),
                    Err(error) => Err(error),
                };
                match free {
                    Ok(()) => break,
                    Err(error) if Instant::now() >= until => return Err(error),
                    Err(_) => sleep(LOOK * 5).await,
                }
            }
        }
        self.all_heard();
        Ok(())
    }
}
