//! The limits of sessions: of this server, and of all servers that share the record.

use std::time::Duration;

use tokio::{sync::OwnedSemaphorePermit, time::Instant};

use super::{clients::ConnectionId, manager::SessionManager, session::SlotUse, slots::SessionSlot};
use crate::{
    error::{ErrorCode, Result, TroupeError},
    store::{Reservation, SessionState},
};

/// How often a call checks whether a session of another server has ended. Only one call of a server
/// checks it at a time.
const TOTAL_POLL: Duration = Duration::from_millis(500);
/// How long a call waits for its turn without `--queue-timeout`. The calls before it only check the
/// limits.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);

impl SessionManager {
    /// Waits for a slot, in turn with other clients, and for enough free memory. Fails when the
    /// server begins to stop.
    pub(super) async fn acquire_slot(
        &self,
        client: &ConnectionId,
        session: SlotUse<'_>,
    ) -> Result<SessionSlot> {
        tokio::select! {
            biased;
            () = self.draining.cancelled() => Err(TroupeError::new(
                ErrorCode::ServerUnavailable,
                "the server is stopping and accepts no new sessions",
            )
            .suggestion("call again: another server, or this one after its restart, will respond")),
            slot = self.wait_for_slot(client, session) => slot,
        }
    }

    async fn wait_for_slot(
        &self,
        client: &ConnectionId,
        mut session: SlotUse<'_>,
    ) -> Result<SessionSlot> {
        self.wait_for_memory().await?;
        let waits = !self.config.queue_timeout.is_zero();
        let deadline = Instant::now() + self.config.queue_timeout;
        let call = self.waiting.enter(client);
        let permit = async {
            call.turn().await;
            match waits {
                true => self.slots.clone().acquire_owned().await.ok(),
                false => self.slots.clone().try_acquire_owned().ok(),
            }
        };
        let timeout = if waits { self.config.queue_timeout } else { TURN_TIMEOUT };
        let permit = tokio::time::timeout(timeout, permit).await.ok().flatten();
        let mut slot = self.slot(permit.ok_or_else(|| self.exhausted())?);
        // Only the limit of all servers is checked in turn.
        let _turn = self.config.max_sessions_total.map(|_| call);
        loop {
            if self.reserve(&mut slot, &mut session).await? {
                return Ok(slot);
            }
            if Instant::now() >= deadline {
                return Err(self.exhausted());
            }
            let next = (Instant::now() + TOTAL_POLL).min(deadline);
            let _ = tokio::time::timeout_at(next, self.freed.notified()).await;
        }
    }

    /// Returns a slot for a session, if one is free on this server.
    pub(super) fn try_slot(&self) -> Option<SessionSlot> {
        self.slots.clone().try_acquire_owned().ok().map(|permit| self.slot(permit))
    }

    fn slot(&self, permit: OwnedSemaphorePermit) -> SessionSlot {
        SessionSlot::new(permit, self.freed.clone())
    }

    /// Opens a session in the record. Returns false if all servers together have as many sessions
    /// as allowed. Without that limit, a new session is written when it opens.
    pub(super) async fn reserve(
        &self,
        slot: &mut SessionSlot,
        session: &mut SlotUse<'_>,
    ) -> Result<bool> {
        let total = self.config.max_sessions_total;
        let reservation = match session {
            SlotUse::New(identity) => {
                identity.begin(self.clock.now());
                let Some(total) = total else { return Ok(true) };
                slot.set_unopened(&self.store, identity.id.clone(), SessionState::Closed);
                self.store.reserve_session(self.row_of(identity), total).await?
            }
            SlotUse::Resumed(row) => {
                let state = match row.state {
                    SessionState::Expired | SessionState::Error => row.state,
                    _ => SessionState::Recoverable,
                };
                slot.set_unopened(&self.store, row.id.as_str().into(), state);
                self.store.claim_session(&row.id, total).await?
            }
        };
        if reservation != Reservation::Reserved {
            slot.clear_unopened();
        }
        match (reservation, session) {
            (Reservation::NotClaimable, SlotUse::Resumed(row)) => Err(self.in_use_error(row)),
            (reservation, _) => Ok(reservation == Reservation::Reserved),
        }
    }

    /// Returns the error for a call that got no slot in time.
    fn exhausted(&self) -> TroupeError {
        match self.config.max_sessions_total {
            // This server is below its own limit, so the call waited for the limit of all servers.
            Some(total) if self.list().len() < self.limit().count => TroupeError::new(
                ErrorCode::MaxSessionsReached,
                format!(
                    "all {total} sessions are in use: the limit of all servers is {total} (set by `--max-sessions-total`)"
                ),
            )
            .detail("maxSessionsTotal", total)
            .suggestion("close a session with close_session, or raise --max-sessions-total"),
            _ => self.limit_error(),
        }
    }
}
