//! The progress of a call, for clients that request it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// A part of a call that has begun.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Number of completed parts.
    pub done: f64,
    pub total: Option<f64>,
    /// The current step.
    pub step: Option<String>,
}

/// The progress of a call. Only the last stage is kept, so that a slow listener does not delay the
/// call.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<watch::Sender<Option<Stage>>>);

impl Progress {
    pub fn report(&self, stage: Stage) {
        self.0.send_replace(Some(stage));
    }

    /// Returns a receiver of all later stages.
    pub fn stages(&self) -> watch::Receiver<Option<Stage>> {
        self.0.subscribe()
    }
}
