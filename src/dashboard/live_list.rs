//! Follows the list of live sessions while somebody watches it.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{broadcast::error::RecvError, watch},
    time::Instant,
};
use tokio_util::task::AbortOnDropHandle;

use super::{Dashboard, SessionView};

/// The time between two reads of the list if no call begins or ends.
const INTERVAL: Duration = Duration::from_secs(1);
/// The minimum time between two reads.
const MIN_INTERVAL: Duration = Duration::from_millis(250);

/// The list of live sessions, for one viewer.
pub struct LiveList {
    sessions: watch::Receiver<Option<Arc<Vec<SessionView>>>>,
    _task: Arc<LiveListTask>,
}

impl LiveList {
    /// Waits for the list, or for a change of it.
    pub async fn next(&mut self) -> Arc<Vec<SessionView>> {
        loop {
            if self.sessions.changed().await.is_err() {
                // The task ends only when it is aborted.
                std::future::pending::<()>().await;
            }
            if let Some(sessions) = self.sessions.borrow_and_update().clone() {
                return sessions;
            }
        }
    }
}

/// The task that reads the list for all viewers.
pub(super) struct LiveListTask {
    sessions: watch::Sender<Option<Arc<Vec<SessionView>>>>,
    task: AbortOnDropHandle<()>,
}

impl Dashboard {
    /// Follows the list of live sessions.
    pub fn live_list(self: &Arc<Self>) -> LiveList {
        let mut known = self.live_list.lock();
        let task = known.upgrade().unwrap_or_else(|| {
            let sessions = watch::Sender::new(None);
            let reading = follow(self.clone(), sessions.clone());
            let task = AbortOnDropHandle::new(tokio::spawn(reading));
            let task = Arc::new(LiveListTask { sessions, task });
            *known = Arc::downgrade(&task);
            task
        });
        debug_assert!(!task.task.is_finished(), "the task ends only with its last viewer");
        let mut sessions = task.sessions.subscribe();
        // The current list is new for this viewer.
        sessions.mark_changed();
        LiveList { sessions, _task: task }
    }
}

async fn follow(dashboard: Arc<Dashboard>, sessions: watch::Sender<Option<Arc<Vec<SessionView>>>>) {
    let mut calls = dashboard.call_events();
    loop {
        let read_at = Instant::now();
        let now = Arc::new(dashboard.live_sessions().await);
        sessions.send_if_modified(|known| {
            let is_new = known.as_ref() != Some(&now);
            *known = Some(now);
            is_new
        });
        let call = async {
            match calls.recv().await {
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => std::future::pending().await,
            }
        };
        // Without a call, this ends at the timeout.
        let _ = tokio::time::timeout(INTERVAL, call).await;
        tokio::time::sleep_until(read_at + MIN_INTERVAL).await;
        while calls.try_recv().is_ok() {}
    }
}
