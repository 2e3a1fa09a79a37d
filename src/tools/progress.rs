//! The progress of a call, for clients that request it.

use std::sync::Arc;

use tokio::sync::watch;

/// A part of a call that has begun.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stage {
    /// Parts that are over.
    pub done: f64,
    pub total: Option<f64>,
    /// The current step.
    pub now: Option<String>,
}

/// Where a call tells its stages; only the last counts, so that a slow listener holds nothing up.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<watch::Sender<Option<Stage>>>);

impl Progress {
    pub fn reach(&self, stage: Stage) {
        self.0.send_replace(Some(stage));
    }

    /// Tells of every stage from now on.
    pub fn stages(&self) -> watch::Receiver<Option<Stage>> {
        self.0.subscribe()
    }
}
