//! Remembers a limited number of ended sessions for an hour, so that errors can say why a session
//! ended.

use std::{collections::VecDeque, sync::Arc};

use tokio_util::sync::CancellationToken;

use crate::{
    error::{ENDED_DURING_CALL, ErrorCode, TroupeError},
    session::clock::Millis,
};

const MAX_AGE: Millis = 3_600_000;
const MAX_ENTRIES: usize = 10_000;

/// The `reason` of an error about an unknown session.
pub(super) const UNKNOWN: &str = "unknown";

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    Closed,
    Expired,
    /// Its server or its connection has ended.
    Released,
}

impl EndReason {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Expired => "expired",
            Self::Released => "released",
        }
    }

    /// Returns the error of a call that was running in the session `id` when it ended. The call may
    /// have had effects.
    pub(super) fn during_call(self, id: &str) -> TroupeError {
        let (mut error, what) = match self {
            Self::Expired => (expired(id), "has expired"),
            Self::Closed | Self::Released => (
                TroupeError::new(ErrorCode::SessionNotFound, "")
                    .suggestion("create a new session with create_session")
                    .session(id),
                "was closed",
            ),
        };
        error.message = format!("session `{id}` {what} during the call");
        error.detail("reason", ENDED_DURING_CALL)
    }
}

/// Returns the error of a call in a session that has expired.
pub(super) fn expired(id: &str) -> TroupeError {
    TroupeError::new(ErrorCode::SessionExpired, format!("session `{id}` has expired"))
        .suggestion("restore it with session_resume, or create a session with create_session; --session-timeout sets the lifetime of sessions")
        .session(id)
}

fn missing(id: &str, what: String, reason: &str) -> TroupeError {
    TroupeError::new(ErrorCode::SessionNotFound, what)
        .detail("reason", reason)
        .suggestion("create a new session with create_session")
        .session(id)
}

/// Returns the error of a call with the id of a session that never existed, or that is not
/// accessible.
pub(super) fn unknown(id: &str) -> TroupeError {
    missing(id, format!("there is no session `{id}`"), UNKNOWN)
}

/// The sessions that ended in the last hour.
#[derive(Debug, Default)]
pub(super) struct EndedSessions {
    list: VecDeque<EndedSession>,
}

#[derive(Debug)]
struct EndedSession {
    id: Arc<str>,
    at: Millis,
    reason: EndReason,
    /// Canceled when its end is complete.
    gone: CancellationToken,
}

impl EndedSessions {
    /// Records that the session `id` ends at `at`. `gone` is canceled when its end is complete.
    pub fn add(&mut self, id: Arc<str>, at: Millis, reason: EndReason, gone: CancellationToken) {
        self.remove_old(at);
        if self.list.len() == MAX_ENTRIES {
            self.list.pop_front();
        }
        self.list.push_back(EndedSession { id, at, reason, gone });
    }

    /// Removes the session `id`, which is open again.
    pub fn remove(&mut self, id: &str) {
        self.list.retain(|ended| *ended.id != *id);
    }

    /// Returns the error of a call to the session `id`, which is not open.
    pub fn error(&mut self, id: &str, now: Millis) -> TroupeError {
        self.remove_old(now);
        match self.last(id).map(|ended| ended.reason) {
            Some(EndReason::Expired) => expired(id),
            Some(EndReason::Closed) => missing(id, format!("session `{id}` was closed"), "closed"),
            // `add_resume_hint` adds whether it can be resumed.
            Some(EndReason::Released) | None => unknown(id),
        }
    }

    /// Returns the token that is canceled when the end of the session `id` is complete. `None` if
    /// it has not ended here.
    pub fn gone(&self, id: &str) -> Option<CancellationToken> {
        self.last(id).map(|ended| ended.gone.clone())
    }

    fn last(&self, id: &str) -> Option<&EndedSession> {
        self.list.iter().rev().find(|ended| *ended.id == *id)
    }

    fn remove_old(&mut self, now: Millis) {
        while self.list.front().is_some_and(|ended| ended.at + MAX_AGE < now) {
            self.list.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expired_session_is_reported_as_expired_for_an_hour() {
        let mut ended = EndedSessions::default();
        ended.add("a".into(), 1000, EndReason::Expired, CancellationToken::new());
        assert_eq!(ended.error("a", 1000 + MAX_AGE).code, ErrorCode::SessionExpired);
        assert_eq!(ended.error("a", 1001 + MAX_AGE).code, ErrorCode::SessionNotFound);
    }

    #[test]
    fn the_list_is_bounded() {
        let mut ended = EndedSessions::default();
        for number in 0..=MAX_ENTRIES {
            ended.add(number.to_string().into(), 0, EndReason::Expired, CancellationToken::new());
        }
        assert_eq!(ended.list.len(), MAX_ENTRIES);
        assert_eq!(ended.error("0", 0).code, ErrorCode::SessionNotFound);
        assert_eq!(ended.error("1", 0).code, ErrorCode::SessionExpired);
    }
}
