//! Deletes calls and sessions on request, even while servers use the record.

use super::Store;
use crate::error::Result;

/// The numbers of deleted and kept sessions and calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PurgeCounts {
    pub calls: usize,
    pub sessions: usize,
    /// Sessions that a running server uses. They and their calls are kept.
    pub in_use: usize,
}

impl Store {
    /// Deletes `session` and its calls, or all sessions and calls if it is `None`. Keeps sessions
    /// that a running server uses. Fails if a deletion cannot be committed, for example on a full
    /// disk.
    pub async fn purge(&self, session: Option<&str>) -> Result<PurgeCounts> {
        let session = session.map(str::to_owned);
        let mut purged = PurgeCounts::default();
        loop {
            let id = session.clone();
            let deleted = self.change(move |tables| tables.delete_calls(id.as_deref())).await?;
            if deleted == 0 {
                break;
            }
            purged.calls += deleted;
        }
        let (sessions, in_use) =
            self.change(move |tables| tables.delete_sessions(session.as_deref())).await?;
        self.shrink().await?;
        Ok(PurgeCounts { sessions, in_use, ..purged })
    }

    /// Gives the unused space back to the system.
    async fn shrink(&self) -> Result<()> {
        let mut unused = u64::MAX;
        while unused > 0 {
            let left = self.change(|tables| tables.free_space()).await?;
            // The file may have been created without incremental vacuum.
            if left >= unused {
                break;
            }
            unused = left;
        }
        self.truncate_log().await
    }
}
