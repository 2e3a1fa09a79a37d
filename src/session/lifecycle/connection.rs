//! An attached client: the sessions that it created, and the order of its calls.

use std::{
    collections::HashSet,
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use futures_util::future::maybe_done;
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{OwnedMutexGuard, OwnedSemaphorePermit, watch},
    time::Instant,
};

use super::{
    clients::ConnectionId,
    ended::{EndReason, unknown},
    manager::SessionManager,
    queue::{Order, Turn},
    session::Session,
};
use crate::{
    error::{ErrorCode, Result, TroupeError},
    page::Revision,
    session::results::Results,
};

/// A client from its first message to its last.
#[derive(Default)]
pub struct Connection {
    id: ConnectionId,
    known: Mutex<Known>,
    order: Arc<Order>,
    /// Advanced when it comes to know another session.
    news: Revision,
    presence: watch::Sender<Presence>,
    /// Held while its implicit session is suspended or resumed.
    resting: tokio::sync::Mutex<()>,
    /// Each call stands for itself: nothing tells which others are the same client's.
    stateless: AtomicBool,
    /// Whether it may see the sessions of others in lists, and reach those that are their own.
    sees_all: bool,
    /// Text that was too long for one answer, of calls without a session.
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

impl Known {
    fn is_own(&self, id: &str) -> bool {
        self.own
            .as_ref()
            .map(|own| &own.id)
            .or(self.resting.as_ref())
            .is_some_and(|own| **own == *id)
    }
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

/// A session that a call uses, and the call's turn in it, which ends with this value.
pub struct Admitted {
    pub session: Arc<Session>,
    _place: OwnedMutexGuard<()>,
}

impl Admitted {
    /// Lets the next call of the session run beside this one, which has begun. A session has a maximum number of such calls:
    /// where it is reached, this waits, and the next call with it. The call counts until the result is dropped.
    pub async fn let_next_run(self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        self.session.waits.clone().acquire_owned().await.ok()
    }
}

fn client_has_gone() -> TroupeError {
    TroupeError::new(ErrorCode::SessionNotFound, "the client of this call has gone")
        .detail("reason", "closed")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
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

    /// A request of a program that monitors the server: it has no implicit session, and can access all sessions.
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
        self.order.arrive()
    }

    /// The session that a call means: the session `requested`, or without it the only open one, or else the implicit
    /// session.
    async fn resolve(
        &self,
        manager: &Arc<SessionManager>,
        requested: Option<&str>,
    ) -> Result<Arc<Session>> {
        if let Some(id) = requested {
            return self.session(manager, id).await;
        }
        let (open, last) = self.created(manager);
        match (&*open, last.map(|last| manager.get(&last))) {
            ([only], _) => self.session(manager, only).await,
            // The client should learn that its session has expired, and not continue in an empty one.
            ([], Some(Err(expired))) if expired.code == ErrorCode::SessionExpired => Err(expired),
            ([], _) => self.own(manager).await,
            (several, _) => Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                format!(
                    "this connection has {} open sessions: pass the `sessionId` of one of them",
                    several.len()
                ),
            )
            .detail("reason", "MISSING_PARAMETER")
            .detail("sessions", several.iter().map(|id| id.to_string()).collect::<Vec<_>>())),
        }
    }

    /// Finds the sessions that a call uses and waits for its turn in each of them. `requested` names the call's own session,
    /// which must be open; those of `others` that are not open are left out. The result begins with the call's own.
    ///
    /// The call enters all queues at once, in an order that is the same for all calls, so that two calls never wait for
    /// each other. Then it gives `turn` up, and the client's next call can enter its queues.
    pub async fn admit(
        &self,
        manager: &Arc<SessionManager>,
        requested: Option<&str>,
        others: &[String],
        turn: Option<Turn>,
    ) -> Result<Vec<Admitted>> {
        if let Some(turn) = &turn {
            turn.comes().await;
        }
        let mut sessions = vec![self.resolve(manager, requested).await?];
        for id in others {
            if let Ok(session) = self.session(manager, id).await
                && !sessions.iter().any(|known| Arc::ptr_eq(known, &session))
            {
                sessions.push(session);
            }
        }
        let mut places: Vec<_> =
            sessions.iter().map(|session| Box::pin(maybe_done(session.turn()))).collect();
        // The first poll of a place enters the queue.
        poll_fn(|context| {
            let _admission = lock(&manager.admission);
            for place in &mut places {
                let _ = place.as_mut().poll(context);
            }
            Poll::Ready(())
        })
        .await;
        drop(turn);
        let mut admitted = Vec::with_capacity(sessions.len());
        for (session, mut place) in sessions.into_iter().zip(places) {
            tokio::select! {
                biased;
                () = &mut place => {}
                () = session.over.cancelled() => {}
            }
            match place.as_mut().take_output() {
                Some(place) => admitted.push(Admitted { session, _place: place }),
                None if admitted.is_empty() => return Err(session.ended_during_call()),
                None => {}
            }
        }
        Ok(admitted)
    }

    /// Admits a call to one more session than it was admitted to: to the session `id`, if no other call uses or awaits it.
    /// To wait here could be to wait for a call that waits for this one.
    pub async fn admit_late(&self, manager: &Arc<SessionManager>, id: &str) -> Result<Admitted> {
        let session = self.session(manager, id).await?;
        match futures_util::FutureExt::now_or_never(session.turn()) {
            Some(place) => Ok(Admitted { session, _place: place }),
            None => Err(TroupeError::new(
                ErrorCode::ResourceExhausted,
                format!(
                    "session `{id}` was not open when the batch began, and another call uses it now"
                ),
            )
            .detail("reason", "busy")
            .suggestion("repeat the step in a call of its own")
            .session(id)),
        }
    }

    /// As `admit`, for a call that waits for no session.
    pub async fn pass(&self, turn: Option<Turn>) {
        if let Some(turn) = turn {
            turn.comes().await;
        }
    }

    /// Notes a session that this client has created, or resumed as its own. Returns false if it is over.
    pub fn note_created(&self, manager: &Arc<SessionManager>, session: &Arc<Session>) -> bool {
        {
            let mut known = lock(&self.known);
            let _holding = manager.holding.lock();
            if session.end_reason().is_some() {
                return false;
            }
            known.named.insert(session.id.clone());
            if !known.created.contains(&session.id) {
                known.created.push(session.id.clone());
            }
            if self.is_attached() && !known.ended {
                manager.holders.begin(&session.id, &self.id);
            }
        }
        if self.has_ended() {
            manager.release_unused(session);
        }
        self.news.advance();
        true
    }

    /// Notes that this client uses `session`, if it is attached. Returns false if the session is over.
    fn join(&self, manager: &SessionManager, session: &Session) -> bool {
        let known = lock(&self.known);
        let _holding = manager.holding.lock();
        if self.is_attached() && !known.ended {
            manager.holders.join(&session.id, &self.id);
        }
        session.end_reason().is_none()
    }

    /// Whether the client has gone for good.
    fn has_ended(&self) -> bool {
        lock(&self.known).ended
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
        if let Some(own) = &known.own {
            manager.owners.claim(&own.id, &self.id);
        }
        let created = resumed.iter().rev().filter(|resumed| !resumed.own);
        known.created.extend(created.map(|resumed| resumed.session.id.clone()));
    }

    /// Takes the session `id` for its own, which was so on a server before this one: it rests until the next call. Not
    /// where it lives here or is another's; then the client gets a new one.
    pub fn claim(&self, manager: &SessionManager, id: &str) {
        let id: Arc<str> = id.into();
        if manager.find(&id).is_some() || !manager.owners.claim(&id, &self.id) {
            tracing::warn!(session = &*id, "the own session of a client that comes back is taken");
            return;
        }
        lock(&self.known).resting = Some(id);
    }

    /// Closes the session `id`, whichever client created it.
    pub async fn close(&self, manager: &Arc<SessionManager>, id: &str) -> Result<()> {
        self.check_reach(manager, id)?;
        manager.close(id).await?;
        let mut known = lock(&self.known);
        known.created.retain(|created| **created != *id);
        if known.is_own(id) {
            (known.own, known.resting) = (None, None);
            manager.owners.release(&self.id);
        }
        Ok(())
    }

    /// Resumes the session `id`, and waits until it is ready. A session of another client is then treated as created
    /// by this one.
    pub async fn resume(&self, manager: &Arc<SessionManager>, id: &str) -> Result<Arc<Session>> {
        let is_own = lock(&self.known).is_own(id);
        if is_own || manager.holders.resting(id).is_some() {
            let session = self.session(manager, id).await?;
            session.run(async { Ok(()) }).await?;
            // The answer of `session_resume` tells it.
            session.take_notice();
            return Ok(session);
        }
        self.check_reach(manager, id)?;
        manager.resume(id, |session| self.note_created(manager, session)).await
    }

    fn named(&self, id: &Arc<str>) {
        if lock(&self.known).named.insert(id.clone()) {
            self.news.advance();
        }
    }

    /// A counter that changes when the connection gets to know another session.
    pub fn news(&self) -> &Revision {
        &self.news
    }

    /// The sessions that this client has made or named and that live, the oldest first.
    pub fn sessions(&self, manager: &SessionManager) -> Vec<Arc<Session>> {
        let ids: Vec<Arc<str>> = {
            let known = lock(&self.known);
            known.named.iter().chain(known.own.as_ref().map(|own| &own.id)).cloned().collect()
        };
        let mut sessions: Vec<_> = ids.iter().filter_map(|id| self.find(manager, id)).collect();
        sessions
            .sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        sessions.dedup_by(|one, other| one.id == other.id);
        sessions
    }

    /// Returns the session `id`. A suspended implicit session of this client is resumed.
    pub async fn session(&self, manager: &Arc<SessionManager>, id: &str) -> Result<Arc<Session>> {
        if self.rests(id) {
            let own = self.own(manager).await?;
            // One that did not come back has been replaced; that one was not named.
            return if *own.id == *id { Ok(own) } else { manager.get(id) };
        }
        self.check_reach(manager, id)?;
        let session = loop {
            if let Some(rest) = manager.holders.resting(id) {
                if self.has_ended() {
                    return Err(client_has_gone());
                }
                break manager.wake(id, rest, |session| self.join(manager, session)).await?;
            }
            match manager.get(id) {
                Ok(session) if self.join(manager, &session) => break session,
                // It was put to rest, or has ended, since.
                Ok(_) => {}
                Err(_) if manager.holders.resting(id).is_some() => {}
                Err(error) => return Err(error),
            }
        };
        self.named(&session.id);
        Ok(session)
    }

    /// The session `id` if it lives and this client may reach it.
    pub fn find(&self, manager: &SessionManager, id: &str) -> Option<Arc<Session>> {
        self.reaches(manager, id).then(|| manager.find(id))?
    }

    /// Whether this client may reach the session `id`, where there is one: all but the own sessions of others.
    pub fn reaches(&self, manager: &SessionManager, id: &str) -> bool {
        self.sees_all || !manager.owners.are_others(id, &self.id)
    }

    /// Like `reaches`. For the implicit session of another client, the error says that it does not exist.
    pub fn check_reach(&self, manager: &SessionManager, id: &str) -> Result<()> {
        if self.reaches(manager, id) { Ok(()) } else { Err(unknown(id)) }
    }

    /// The open sessions that this client created, and the session that it created last. Forgets all others.
    pub(super) fn created(&self, manager: &SessionManager) -> (Vec<Arc<str>>, Option<Arc<str>>) {
        let mut known = lock(&self.known);
        let last = known.created.last().cloned();
        let is_open =
            |id: &Arc<str>| manager.find(id).is_some() || manager.holders.resting(id).is_some();
        known.created.retain(|id| is_open(id) || Some(id) == last.as_ref());
        (known.created.iter().filter(|id| is_open(id)).cloned().collect(), last)
    }

    /// Whether this client has made or named the session, and so may see it in lists.
    pub fn knows(&self, id: &str) -> bool {
        let known = lock(&self.known);
        self.sees_all || known.named.contains(id) || known.is_own(id)
    }

    /// Whether `id` is its own session, which rests.
    fn rests(&self, id: &str) -> bool {
        lock(&self.known).resting.as_deref() == Some(id)
    }

    /// The session that it gets without asking for one.
    pub(super) async fn own(&self, manager: &Arc<SessionManager>) -> Result<Arc<Session>> {
        if !self.is_attached() {
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
            if let Some(own) =
                known.own.as_ref().filter(|own| own.end_reason().is_none() && !own.failed())
            {
                return Ok(own.clone());
            }
            known.resting.clone()
        };
        let mut lost = None;
        let woken = match resting {
            Some(id) => match manager.resume_own(&id).await {
                Ok(session) => {
                    session.notify(manager.notice_of_rest());
                    Some(session)
                }
                // It may be there later, when there is a place again.
                Err(error) if error.retryable => return Err(error),
                Err(error) => {
                    tracing::warn!(session = &*id, %error, "the session of a client that was away does not come back");
                    lost = Some(format!(
                        "Session {id} was put to rest while its client was away, and could not be resumed: {}. This is a new, empty session.",
                        error.message
                    ));
                    None
                }
            },
            None => None,
        };
        let place = match &woken {
            Some(_) => None,
            None => Some(manager.place().await?),
        };
        let own = {
            let mut known = lock(&self.known);
            if !known.ended {
                known.resting = None;
                known.own = woken.clone().or_else(|| place.map(|place| manager.create_own(place)));
                if let Some(own) = &known.own {
                    manager.owners.claim(&own.id, &self.id);
                }
            }
            known.own.clone()
        };
        if let (Some(own), Some(lost)) = (&own, lost) {
            own.notify(lost);
        }
        let Some(own) = own else {
            if let Some(woken) = woken {
                manager.end(&woken, EndReason::Released).await;
            }
            return Err(client_has_gone());
        };
        self.news.advance();
        Ok(own)
    }

    /// Ends the client's sessions unless the client has come back by now: its own, and those that it has created and that
    /// no other client uses. The next call that uses one brings it back. Without a saved state to resume them from, those
    /// that it has created stay until they expire.
    pub async fn rest(&self, manager: &Arc<SessionManager>) {
        let _turn = self.resting.lock().await;
        let ending = {
            let mut known = lock(&self.known);
            // A call holds the connection before it looks for its session.
            if self.absent_since().is_none() {
                return;
            }
            let own = known.own.take();
            // One that was resting has been left so.
            known.resting = own.as_ref().map(|own| own.id.clone()).or(known.resting.take());
            let created = match manager.config().persistent_sessions {
                true => manager.release(|holders| holders.go_away(&self.id)),
                false => Vec::new(),
            };
            let own = own.and_then(|own| manager.begin_end(&own, EndReason::Released));
            own.into_iter().chain(created).collect()
        };
        manager.end_released(ending).await;
    }

    fn is_attached(&self) -> bool {
        !self.stateless.load(Ordering::Acquire)
    }

    /// Ends what ends with the client: its own session, and those that it has created and that no other client uses.
    pub async fn end(&self, manager: &Arc<SessionManager>) {
        let own = {
            let mut known = lock(&self.known);
            known.ended = true;
            known.own.take()
        };
        let own = own.and_then(|own| manager.begin_end(&own, EndReason::Released));
        let created = manager.release(|holders| holders.leave(&self.id));
        manager.end_released(own.into_iter().chain(created).collect()).await;
        manager.owners.release(&self.id);
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use futures_util::poll;

    use super::*;
    use crate::{
        config::Config,
        engine::memory::MemoryEngine,
        session::{Browsers, CreateOptions, SystemClock},
        store::Store,
    };

    fn manager() -> Arc<SessionManager> {
        let (config, clock) = (Arc::new(Config::default()), Arc::new(SystemClock));
        let browsers =
            Browsers::new(config.clone(), Arc::new(MemoryEngine::default()), clock.clone());
        SessionManager::new(config, browsers, clock, Store::none().unwrap())
    }

    async fn session_of(client: &Connection, manager: &Arc<SessionManager>) -> Arc<Session> {
        let session = manager.create(CreateOptions::default()).await.unwrap();
        assert!(client.note_created(manager, &session));
        session
    }

    async fn is_usable(session: &Session) -> bool {
        session.run(async { Ok(()) }).await.is_ok()
    }

    #[tokio::test]
    async fn a_client_that_returns_as_its_session_is_put_to_rest_gets_it_back() {
        let (manager, client) = (manager(), Connection::default());
        let id = session_of(&client, &manager).await.id.clone();
        // The session has begun to end, and its client is back before anything of that is done.
        let ending = manager.release(|holders| holders.go_away(&client.id));
        let mut returning = Box::pin(client.session(&manager, &id));
        assert!(poll!(returning.as_mut()).is_pending());
        manager.end_released(ending).await;
        let session = returning.await.unwrap();
        assert!(is_usable(&session).await);
        assert!(session.take_notice().is_some());
        client.end(&manager).await;
        assert!(manager.list().is_empty());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_client_that_returns_at_any_moment_of_the_rest_can_use_its_session() {
        let (manager, client) = (manager(), Arc::new(Connection::default()));
        let id = session_of(&client, &manager).await.id.clone();
        for round in 0..300 {
            let start = Arc::new(tokio::sync::Barrier::new(2));
            let resting = tokio::spawn({
                let (manager, client, start) = (manager.clone(), client.clone(), start.clone());
                async move {
                    start.wait().await;
                    client.rest(&manager).await;
                }
            });
            start.wait().await;
            for _ in 0..round {
                std::hint::spin_loop();
            }
            let _present = client.hold();
            let session = client.session(&manager, &id).await.unwrap();
            assert!(is_usable(&session).await, "round {round}");
            resting.await.unwrap();
            assert!(session.end_reason().is_none(), "round {round}");
        }
    }

    #[tokio::test]
    async fn a_late_call_of_a_client_that_has_gone_keeps_no_session_open() {
        let (manager, client, other) = (manager(), Connection::default(), Connection::default());
        let session = session_of(&other, &manager).await;
        client.end(&manager).await;
        client.session(&manager, &session.id).await.unwrap();
        other.end(&manager).await;
        assert!(manager.list().is_empty());
        // Nor does one that it creates stay.
        let created = session_of(&client, &manager).await;
        created.gone.cancelled().await;
        assert!(manager.list().is_empty());
    }

    #[tokio::test]
    async fn a_session_whose_resume_was_canceled_ends_with_the_client_that_asked() {
        let (manager, client, other) = (manager(), Connection::default(), Connection::default());
        let id = session_of(&client, &manager).await.id.clone();
        client.end(&manager).await;
        assert!(manager.list().is_empty());
        // Canceled as soon as the session is open: before the resume hears of it, and right after that.
        for is_heard in [false, true] {
            let mut resume = Box::pin(other.resume(&manager, &id));
            loop {
                let is_open = !manager.list().is_empty();
                if is_open && !is_heard {
                    break;
                }
                let is_done = poll!(resume.as_mut()).is_ready();
                if is_done || !manager.list().is_empty() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            drop(resume);
            other.end(&manager).await;
            other.known.lock().ended = false;
            let closed = async {
                while !manager.list().is_empty() {
                    tokio::task::yield_now().await;
                }
                manager.at_end(&id).await;
            };
            let closed = tokio::time::timeout(std::time::Duration::from_secs(5), closed).await;
            closed.expect("the session is open without a client");
        }
    }
}
