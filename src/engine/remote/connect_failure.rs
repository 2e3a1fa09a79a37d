//! The failure of a connection to a remote browser.

use crate::engine::{EngineError, connection::AttachFailure};

pub(super) enum RemoteConnectFailure {
    /// The browser or the Selenium Grid cannot be reached, or its response cannot be used.
    Unreachable(AttachFailure),
    /// The Selenium Grid has no free slot.
    NoFreeSlot { reason: String },
}

impl From<AttachFailure> for RemoteConnectFailure {
    fn from(failure: AttachFailure) -> Self {
        Self::Unreachable(failure)
    }
}

impl RemoteConnectFailure {
    pub fn reason(&self) -> &str {
        match self {
            Self::Unreachable(failure) => &failure.reason,
            Self::NoFreeSlot { reason } => reason,
        }
    }

    /// Returns whether another attempt would fail too. A Grid with no free slot counts as such,
    /// because it has already waited in its own queue.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Unreachable(failure) => failure.is_permanent,
            Self::NoFreeSlot { .. } => true,
        }
    }

    /// Converts it into an [`EngineError`]. `advice` returns the default suggestion.
    pub fn into_engine_error(self, advice: impl FnOnce() -> String) -> EngineError {
        match self {
            Self::Unreachable(AttachFailure { reason, suggestion, .. }) => {
                EngineError::Launch { reason, suggestion: Some(suggestion.unwrap_or_else(advice)) }
            }
            Self::NoFreeSlot { reason } => EngineError::NoFreeSlot { reason },
        }
    }
}
