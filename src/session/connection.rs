//! One client attached: which sessions it made, and the order in which its calls came.

use std::{
    collections::{BTreeSet, HashSet},
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, OwnedMutexGuard, watch},
    time::Instant,
};

use super::{ended::EndReason, manager::SessionManager, results::Results, session::Session};
use crate::{
    error::{ErrorCode, Result, TroupeError},
    page::Revision,
};

/// What tells a client's calls from others' in the record.
#[derive(Debug, Clone)]
pub struct ConnectionId(Arc<str>);

impl Default for ConnectionId {
    fn default() -> Self {
        Self(uuid::Uuid::new_v4().to_string().into())
    }
}

/// A client from its first message to its last.
#[derive(Default)]
pub struct Connection {
    id: ConnectionId,
    known: Mutex<Known>,
    order: Arc<Order>,
    /// Advanced when it comes to know another session.
    news: Revision,
    presence: watch::Sender<Presence>,
    /// Held while its own session is put to rest, or brought back.
    resting: tokio::sync::Mutex<()>,
    /// Each call stands for itself: nothing tells which others are the same client's.
    stateless: AtomicBool,
    /// Whether it may see the sessions of others in lists.
    sees_all: bool,
    /// What was too long for one answer, of calls that were in no session.
    pub results: Results,
}

#[derive(Default)]
struct Known {
    own: Option<Arc<Session>>,
    /// The own session of a client that was away for long: its next call brings it back.
    resting: Option<Arc<str>>,
    /// The client has gone for good: a call of its that is still on its way gets no session any more.
    ended: bool,
    /// Made by `create_session` and not closed since, in order.
    created: Vec<Arc<str>>,
    named: HashSet<Arc<str>>,
}

/// What of a client is there now: its open requests and streams, its calls that run.
#[derive(Debug, Clone, Copy)]
struct Presence {
    holds: usize,
    since: Instant,
}

impl Default for Presence {
    fn default() -> Self {
        Self { holds: 0, since: Instant::now() }
    }
}

/// Something of a client that is there; dropped, it has gone.
pub struct Hold(Arc<Connection>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.presence.send_modify(|presence| {
            *presence = Presence { holds: presence.holds.saturating_sub(1), since: Instant::now() };
        });
    }
}

/// Calls that have arrived and not been admitted to their session's queue yet.
#[derive(Default)]
struct Order {
    waiting: Mutex<(u64, BTreeSet<u64>)>,
    changed: Notify,
}

/// A call's place among those of its connection, taken when it arrives. Dropped it is given up.
pub struct Turn {
    number: u64,
    order: Arc<Order>,
}

impl Turn {
    /// Waits until every call that came before is admitted or gone.
    async fn comes(&self) {
        loop {
            let mut changed = pin!(self.order.changed.notified());
            changed.as_mut().enable();
            if lock(&self.order.waiting).1.first().is_none_or(|first| *first >= self.number) {
                return;
            }
            changed.await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&self.order.waiting).1.remove(&self.number);
        self.order.changed.notify_waiters();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    /// Its name in the record.
    pub fn id(&self) -> &Arc<str> {
        &self.id.0
    }

    /// The sessions that it has made or named.
    pub fn known(&self) -> Vec<String> {
        let known = lock(&self.known);
        let own = known.own.iter().map(|own| &own.id).chain(&known.resting);
        known.named.iter().chain(own).map(|id| id.to_string()).collect()
    }

    /// A client of which nothing but one request is known, until it is attached: it has no session of its own.
    pub fn stateless() -> Self {
        Self { stateless: AtomicBool::new(true), ..Self::default() }
    }

    /// One request of whoever watches over the server: it has no session of its own, and sees those of all.
    pub fn overseer() -> Self {
        Self { sees_all: true, ..Self::stateless() }
    }

    /// From now on its requests are known as its own.
    pub fn attach(&self) {
        self.stateless.store(false, Ordering::Release);
    }

    /// Marks the client as present until the answer is dropped.
    pub fn hold(self: &Arc<Self>) -> Hold {
        self.presence.send_modify(|presence| {
            *presence = Presence { holds: presence.holds + 1, since: Instant::now() };
        });
        Hold(self.clone())
    }

    /// Since when nothing of the client is there; `None` while something is.
    pub fn absent_since(&self) -> Option<Instant> {
        let presence = *self.presence.borrow();
        (presence.holds == 0).then_some(presence.since)
    }

    /// Returns once nothing of the client has been there for `time`.
    pub async fn absent_for(&self, time: Duration) {
        let mut presence = self.presence.subscribe();
        loop {
            let now = *presence.borrow_and_update();
            tokio::select! {
                biased;
                // The sender is ours: it never closes.
                _ = presence.changed() => {}
                () = tokio::time::sleep_until(now.since + time), if now.holds == 0 => return,
            }
        }
    }

    /// Returns once something of the client is there.
    pub async fn present(&self) {
        let _ = self.presence.subscribe().wait_for(|presence| presence.holds > 0).await;
    }

    /// Takes the next place in the order of arrival; to be called as a message is read.
    pub fn arrive(&self) -> Turn {
        let mut waiting = lock(&self.order.waiting);
        waiting.0 += 1;
        let number = waiting.0;
        waiting.1.insert(number);
        Turn { number, order: self.order.clone() }
    }

    /// Finds the session that a call means and waits for its turn in it. `turn` is given up once the call
    /// stands in the session's queue, so that the next one can go on to its own.
    pub async fn admit(
        &self,
        manager: &Arc<SessionManager>,
        requested: Option<&str>,
        turn: Option<Turn>,
    ) -> Result<(Arc<Session>, OwnedMutexGuard<()>)> {
        if let Some(turn) = &turn {
            turn.comes().await;
        }
        let session = manager.resolve(self, requested).await?;
        let mut place = pin!(session.turn());
        let first = futures_util::poll!(place.as_mut());
        drop(turn);
        let guard = match first {
            std::task::Poll::Ready(guard) => guard,
            std::task::Poll::Pending => tokio::select! {
                guard = place => guard,
                () = session.over.cancelled() => return Err(session.ended_during_call()),
            },
        };
        Ok((session, guard))
    }

    /// As `admit`, for a call that waits for no session.
    pub async fn pass(&self, turn: Option<Turn>) {
        if let Some(turn) = turn {
            turn.comes().await;
        }
    }

    /// Notes a session that this client has made.
    pub fn note_created(&self, id: Arc<str>) {
        let mut known = lock(&self.known);
        known.named.insert(id.clone());
        known.created.push(id);
        drop(known);
        self.news.advance();
    }

    /// Goes on where the connections to former servers were cut off, where the configuration says so.
    pub async fn take_over(&self, manager: &Arc<SessionManager>) {
        if !manager.config().auto_resume {
            return;
        }
        // The newest first.
        let resumed = manager.auto_resume().await;
        let mut known = lock(&self.known);
        known.named.extend(resumed.iter().map(|resumed| resumed.session.id.clone()));
        let own = resumed.iter().find(|resumed| resumed.own);
        known.own = own.map(|resumed| resumed.session.clone());
        let created = resumed.iter().rev().filter(|resumed| !resumed.own);
        known.created.extend(created.map(|resumed| resumed.session.id.clone()));
    }

    /// Notes that this client has closed a session.
    pub fn note_closed(&self, id: &str) {
        let mut known = lock(&self.known);
        known.created.retain(|created| **created != *id);
        known.own = known.own.take().filter(|own| *own.id != *id);
    }

    pub(super) fn named(&self, id: &Arc<str>) {
        if lock(&self.known).named.insert(id.clone()) {
            self.news.advance();
        }
    }

    /// What tells that it has come to know another session.
    pub fn news(&self) -> &Revision {
        &self.news
    }

    /// The sessions that this client has made or named and that live, the oldest first.
    pub fn sessions(&self, manager: &SessionManager) -> Vec<Arc<Session>> {
        let ids: Vec<Arc<str>> = {
            let known = lock(&self.known);
            known.named.iter().chain(known.own.as_ref().map(|own| &own.id)).cloned().collect()
        };
        let mut sessions: Vec<_> = ids.iter().filter_map(|id| manager.find(id)).collect();
        sessions.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        sessions.dedup_by(|one, other| one.id == other.id);
        sessions
    }

    /// The session `id`, which this client names by it.
    pub fn session(&self, manager: &SessionManager, id: &str) -> Result<Arc<Session>> {
        let session = manager.get(id)?;
        self.named(&session.id);
        Ok(session)
    }

    pub(super) fn created(&self) -> Vec<Arc<str>> {
        lock(&self.known).created.clone()
    }

    /// Whether this client has made or named the session, and so may see it in lists.
    pub fn knows(&self, id: &str) -> bool {
        let known = lock(&self.known);
        let own = known.own.as_ref().map(|own| &own.id).or(known.resting.as_ref());
        self.sees_all || known.named.contains(id) || own.is_some_and(|own| **own == *id)
    }

    /// Whether `id` is its own session, which rests.
    pub(super) fn rests(&self, id: &str) -> bool {
        lock(&self.known).resting.as_deref() == Some(id)
    }

    /// The session that it gets without asking for one.
    pub(super) async fn own(&self, manager: &Arc<SessionManager>) -> Result<Arc<Session>> {
        if self.stateless.load(Ordering::Acquire) {
            return Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                "`sessionId` is missing, and a stateless client has no session of its own",
            )
            .detail("reason", "MISSING_PARAMETER")
            .suggestion("call create_session, and pass its sessionId in each call"));
        }
        let _turn = self.resting.lock().await;
        let resting = {
            let known = lock(&self.known);
            if let Some(own) = known.own.as_ref().filter(|own| own.end_reason().is_none() && !own.failed()) {
                return Ok(own.clone());
            }
            known.resting.clone()
        };
        let woken = match resting {
            Some(id) => match manager.resume_own(&id).await {
                Ok(session) => Some(session),
                // It may be there later, when there is a place again.
                Err(error) if error.retryable => return Err(error),
                Err(error) => {
                    tracing::warn!(session = &*id, %error, "the session of a client that was away does not come back");
                    None
                }
            },
            None => None,
        };
        let own = {
            let mut known = lock(&self.known);
            if !known.ended {
                known.resting = None;
                known.own = Some(match &woken {
                    Some(woken) => woken.clone(),
                    None => manager.create_own()?,
                });
            }
            known.own.clone()
        };
        let Some(own) = own else {
            if let Some(woken) = woken {
                manager.end(&woken, EndReason::Released).await;
            }
            return Err(TroupeError::new(ErrorCode::SessionNotFound, "the client of this call has gone")
                .detail("reason", "closed"));
        };
        self.news.advance();
        Ok(own)
    }

    /// Ends the client's own session unless the client has come back by now; its next call brings it back.
    pub async fn rest(&self, manager: &SessionManager) {
        let _turn = self.resting.lock().await;
        let own = {
            let mut known = lock(&self.known);
            // A call holds the connection before it looks for its session.
            if self.absent_since().is_none() {
                return;
            }
            let own = known.own.take();
            // One that was resting has been left so.
            known.resting = own.as_ref().map(|own| own.id.clone()).or(known.resting.take());
            own
        };
        if let Some(own) = own {
            manager.end(&own, EndReason::Released).await;
        }
    }

    /// Ends what ends with the client.
    pub async fn end(&self, manager: &SessionManager) {
        let own = {
            let mut known = lock(&self.known);
            known.ended = true;
            known.own.take()
        };
        if let Some(own) = own {
            manager.end(&own, EndReason::Released).await;
        }
    }
}
