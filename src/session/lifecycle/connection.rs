//! An attached client: the sessions that it created, and the order of its calls.

use std::{
    collections::HashSet,
    future::poll_fn,
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use futures_util::future::maybe_done;
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedMutexGuard, OwnedSemaphorePermit, watch},
    time::Instant,
};

use super::{
    clients::{ConnectionId, Suspension},
    ended::{EndReason, unknown},
    manager::{RESUMED_FIELD, SessionManager},
    queue::{CallOrder, CallTurn},
    session::Session,
};
use crate::{
    error::{ErrorCode, Result, TroupeError},
    page::ChangeCounter,
    session::{
        persistence::{ClientSettings, SavedClient},
        results::StoredTexts,
    },
};

/// Saves the state of a client after each change.
pub type ClientSaver = Box<dyn Fn(SavedClient) + Send + Sync>;

/// A client from its first message to its last.
#[derive(Default)]
pub struct Connection {
    id: ConnectionId,
    sessions: Mutex<ClientSessions>,
    order: Arc<CallOrder>,
    /// Advanced when the client creates or names another session.
    change_counter: ChangeCounter,
    presence: watch::Sender<ClientPresence>,
    /// Held while its implicit session is suspended or resumed.
    suspending: tokio::sync::Mutex<()>,
    /// Whether no session id connects the calls of this client.
    stateless: AtomicBool,
    /// The address that a call without an attached client is from.
    address: Option<IpAddr>,
    /// Whether it can list the sessions of other clients, and access their implicit sessions.
    sees_all: bool,
    /// Whether it makes the call of a command of the command line.
    is_command: bool,
    /// Whether it makes a call that another server has forwarded.
    is_forwarded: bool,
    settings: Mutex<ClientSettings>,
    saver: OnceLock<ClientSaver>,
    /// Set before the saved state is removed. It is not written again.
    is_forgotten: Mutex<bool>,
    /// Texts of calls without a session that were too long for one result.
    pub results: StoredTexts,
}

/// The sessions of a client.
#[derive(Default)]
struct ClientSessions {
    implicit: Option<Arc<Session>>,
    /// The implicit session while it is suspended. The next call resumes it.
    suspended: Option<Arc<str>>,
    /// The client has disconnected. Its remaining calls get no session.
    ended: bool,
    /// The sessions that `create_session` created and that were not closed since, in order.
    created: Vec<Arc<str>>,
    /// The sessions that its calls have named.
    named: HashSet<Arc<str>>,
}

impl ClientSessions {
    fn is_implicit(&self, id: &str) -> bool {
        self.implicit
            .as_ref()
            .map(|implicit| &implicit.id)
            .or(self.suspended.as_ref())
            .is_some_and(|implicit| **implicit == *id)
    }
}

/// Whether a client is present: it has open requests, streams or running calls.
#[derive(Debug, Clone, Copy)]
struct ClientPresence {
    /// The number of its [`PresenceGuard`]s.
    guards: usize,
    /// When `guards` changed last.
    since: Instant,
}

impl Default for ClientPresence {
    fn default() -> Self {
        Self { guards: 0, since: Instant::now() }
    }
}

/// Marks a client as present until it is dropped.
pub struct PresenceGuard(Arc<Connection>);

impl Drop for PresenceGuard {
    fn drop(&mut self) {
        self.0.presence.send_modify(|presence| {
            *presence =
                ClientPresence { guards: presence.guards.saturating_sub(1), since: Instant::now() };
        });
    }
}

/// A session that a call uses. The call's turn in the session's queue ends when this is dropped.
pub struct AdmittedSession {
    pub session: Arc<Session>,
    _turn: OwnedMutexGuard<()>,
}

impl AdmittedSession {
    /// Lets the next call of the session run concurrently with this one. The number of such calls
    /// is limited: at the limit, this waits, and so does the next call. The call counts until the
    /// result is dropped.
    pub async fn let_next_run(self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        self.session.waits.clone().acquire_owned().await.ok()
    }
}

fn client_disconnected() -> TroupeError {
    TroupeError::new(ErrorCode::SessionNotFound, "the client of this call has disconnected")
        .detail("reason", "closed")
}

impl Connection {
    /// Returns its id in the record.
    pub fn id(&self) -> &Arc<str> {
        &self.id.0
    }

    /// Returns the ids of the sessions that this client has created or named.
    pub fn known(&self) -> Vec<String> {
        let known = self.sessions.lock();
        let implicit = known.implicit.iter().map(|implicit| &implicit.id).chain(&known.suspended);
        known.named.iter().chain(implicit).map(|id| id.to_string()).collect()
    }

    /// Creates the connection of a single request, until it is attached. It has no implicit
    /// session.
    pub fn stateless() -> Self {
        Self { stateless: AtomicBool::new(true), ..Self::default() }
    }

    /// Adds the address of the client. Calls of stateless clients with the same address wait for a
    /// free session as those of one client.
    pub fn with_address(self, address: Option<IpAddr>) -> Self {
        Self { address, ..self }
    }

    /// Returns the key of the client's queue: its calls wait there for a free session.
    pub fn queue_key(&self) -> ConnectionId {
        match self.address.filter(|_| !self.is_attached()) {
            Some(address) => ConnectionId(address.to_string().into()),
            None => self.id.clone(),
        }
    }

    /// Creates the connection of a program that monitors the server. It has no implicit session,
    /// and can access all sessions.
    pub fn monitor() -> Self {
        Self { sees_all: true, ..Self::stateless() }
    }

    /// Creates the connection of a command of the command line.
    pub fn command() -> Self {
        Self { is_command: true, ..Self::monitor() }
    }

    /// Returns whether it makes the call of a command of the command line.
    pub fn is_command(&self) -> bool {
        self.is_command
    }

    /// Creates the connection of a call that another server has forwarded for its client
    /// `connection`.
    pub fn forwarded(connection: Arc<str>, sees_all: bool) -> Self {
        let id = ConnectionId(connection);
        Self { id, sees_all, is_forwarded: true, ..Self::stateless() }
    }

    /// Returns whether another server has forwarded its call.
    pub fn is_forwarded(&self) -> bool {
        self.is_forwarded
    }

    /// Returns whether it can access all sessions.
    pub fn sees_all(&self) -> bool {
        self.sees_all
    }

    /// Creates the connection of a client that another server has served until it ended. The
    /// client's calls resume its sessions.
    pub fn restored(manager: &SessionManager, saved: SavedClient) -> Self {
        let SavedClient { connection, own, created, named, settings } = saved;
        let id = ConnectionId(connection);
        for session in &created {
            manager.clients.begin(session, &id);
            manager.clients.suspend(session, Suspension { expires_at: None });
        }
        let suspended = own.filter(|implicit| manager.owners.claim(implicit, &id));
        let named = named.into_iter().collect();
        let sessions = ClientSessions { suspended, created, named, ..ClientSessions::default() };
        Self {
            id,
            sessions: Mutex::new(sessions),
            settings: Mutex::new(settings),
            ..Self::stateless()
        }
    }

    /// Returns the state with which another server could continue to serve the client.
    pub fn saved(&self) -> SavedClient {
        let known = self.sessions.lock();
        SavedClient {
            connection: self.id.0.clone(),
            own: known
                .implicit
                .as_ref()
                .map(|implicit| implicit.id.clone())
                .or(known.suspended.clone()),
            created: known.created.clone(),
            named: known.named.iter().cloned().collect(),
            settings: self.settings.lock().clone(),
        }
    }

    /// Passes the state of the client to `saver` after each change from now on.
    pub fn set_saver(&self, saver: ClientSaver) {
        // Set once, when the client is attached.
        let _ = self.saver.set(saver);
    }

    /// Passes no further state to the saver. Returns when none is being passed.
    pub fn stop_saving(&self) {
        *self.is_forgotten.lock() = true;
    }

    fn save(&self) {
        let is_forgotten = self.is_forgotten.lock();
        if let Some(saver) = self.saver.get()
            && !*is_forgotten
        {
            saver(self.saved());
        }
    }

    /// Reads the settings that the client has sent.
    pub fn read_settings<T>(&self, read: impl FnOnce(&ClientSettings) -> T) -> T {
        read(&self.settings.lock())
    }

    pub fn change_settings(&self, change: impl FnOnce(&mut ClientSettings)) {
        change(&mut self.settings.lock());
        self.save();
    }

    /// Returns the session of a call, `requested` or the client's implicit one, if it is not open
    /// here.
    pub fn session_elsewhere(
        &self,
        manager: &SessionManager,
        requested: Option<&str>,
    ) -> Option<Arc<str>> {
        let id = match requested {
            Some(id) => id.into(),
            None => match &*self.created(manager).0 {
                [only] => only.clone(),
                [] => self.sessions.lock().suspended.clone()?,
                _ => return None,
            },
        };
        manager.find(&id).is_none().then_some(id)
    }

    /// Attaches the client: from now on a session id connects its requests.
    pub fn attach(&self) {
        self.stateless.store(false, Ordering::Release);
    }

    /// Marks the client as present until the result is dropped.
    pub fn mark_present(self: &Arc<Self>) -> PresenceGuard {
        self.presence.send_modify(|presence| {
            *presence = ClientPresence { guards: presence.guards + 1, since: Instant::now() };
        });
        PresenceGuard(self.clone())
    }

    /// Returns since when the client is absent; `None` if it is present.
    pub fn absent_since(&self) -> Option<Instant> {
        let presence = *self.presence.borrow();
        (presence.guards == 0).then_some(presence.since)
    }

    /// Waits until the client has been absent for `time`.
    pub async fn wait_absent(&self, time: Duration) {
        let mut presence = self.presence.subscribe();
        loop {
            let now = *presence.borrow_and_update();
            tokio::select! {
                biased;
                // `self` owns the sender: it never closes.
                _ = presence.changed() => {}
                () = tokio::time::sleep_until(now.since + time), if now.guards == 0 => return,
            }
        }
    }

    /// Waits until the client is present.
    pub async fn wait_present(&self) {
        let _ = self.presence.subscribe().wait_for(|presence| presence.guards > 0).await;
    }

    /// Takes the next turn in the order of arrival. Must be called when a message is read.
    pub fn arrive(&self) -> CallTurn {
        self.order.arrive()
    }

    /// Returns the session of a call: `requested`, or else the only open session that the client
    /// created, or else its implicit session.
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
            // Report that the session has expired, instead of continuing in an empty one.
            ([], Some(Err(expired))) if expired.code == ErrorCode::SessionExpired => Err(expired),
            ([], _) => self.implicit_session(manager).await,
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

    /// Finds the sessions that a call uses and waits for its turn in each of them. The first is the
    /// call's session, which must be open (see `resolve`). Those of `others` that are not open are
    /// omitted.
    ///
    /// The call enters all queues atomically, so that two calls never wait for each other. Then it
    /// drops `turn`, and the next call of the client can enter its queues.
    pub async fn admit(
        &self,
        manager: &Arc<SessionManager>,
        requested: Option<&str>,
        others: &[String],
        turn: Option<CallTurn>,
    ) -> Result<Vec<AdmittedSession>> {
        if let Some(turn) = &turn {
            turn.wait().await;
        }
        let mut sessions = vec![self.resolve(manager, requested).await?];
        for id in others {
            if let Ok(session) = self.session(manager, id).await
                && !sessions.iter().any(|known| Arc::ptr_eq(known, &session))
            {
                sessions.push(session);
            }
        }
        let mut turns: Vec<_> =
            sessions.iter().map(|session| Box::pin(maybe_done(session.turn()))).collect();
        // The first poll of a turn enters the queue.
        poll_fn(|context| {
            let _admission = manager.admission.lock();
            for turn in &mut turns {
                let _ = turn.as_mut().poll(context);
            }
            Poll::Ready(())
        })
        .await;
        drop(turn);
        let mut admitted = Vec::with_capacity(sessions.len());
        for (session, mut turn) in sessions.into_iter().zip(turns) {
            tokio::select! {
                biased;
                () = &mut turn => {}
                () = session.ended.cancelled() => {}
            }
            match turn.as_mut().take_output() {
                Some(turn) => admitted.push(AdmittedSession { session, _turn: turn }),
                None if admitted.is_empty() => return Err(session.ended_during_call_error()),
                None => {}
            }
        }
        Ok(admitted)
    }

    /// Admits a running call to the further session `id`, if no other call uses or awaits it. Does
    /// not wait: the other call could be waiting for this one.
    pub async fn admit_late(
        &self,
        manager: &Arc<SessionManager>,
        id: &str,
    ) -> Result<AdmittedSession> {
        let session = self.session(manager, id).await?;
        match futures_util::FutureExt::now_or_never(session.turn()) {
            Some(turn) => Ok(AdmittedSession { session, _turn: turn }),
            None => Err(TroupeError::new(
                ErrorCode::ResourceExhausted,
                format!(
                    "session `{id}` was not open when the batch began, and another call uses it now"
                ),
            )
            .detail("reason", "busy")
            .suggestion("repeat the step in a separate call")
            .session(id)),
        }
    }

    /// Waits for the turn of a call that uses no session.
    pub async fn wait_turn(&self, turn: Option<CallTurn>) {
        if let Some(turn) = turn {
            turn.wait().await;
        }
    }

    /// Records that this client created or resumed `session`. Returns false if the session has
    /// ended.
    pub fn add_created(&self, manager: &Arc<SessionManager>, session: &Arc<Session>) -> bool {
        {
            let mut known = self.sessions.lock();
            let _holding = manager.clients_lock.lock();
            if session.end_reason().is_some() {
                return false;
            }
            known.named.insert(session.id.clone());
            if !known.created.contains(&session.id) {
                known.created.push(session.id.clone());
            }
            if self.is_attached() && !known.ended {
                manager.clients.begin(&session.id, &self.id);
            }
        }
        if self.has_ended() {
            manager.release_unused(session);
        }
        self.change_counter.increment();
        self.save();
        true
    }

    /// Records that this client uses `session`, which was resumed for its call. Returns false if
    /// the session has ended.
    fn add_first_user(&self, manager: &SessionManager, session: &Session) -> bool {
        let known = self.sessions.lock();
        let _holding = manager.clients_lock.lock();
        if self.is_attached() && !known.ended {
            manager.clients.begin(&session.id, &self.id);
        }
        session.end_reason().is_none()
    }

    /// Records that this client uses `session`, if the client is attached. Returns false if the
    /// session has ended.
    fn add_user(&self, manager: &SessionManager, session: &Session) -> bool {
        let known = self.sessions.lock();
        let _holding = manager.clients_lock.lock();
        if self.is_attached() && !known.ended {
            manager.clients.add_user(&session.id, &self.id);
        }
        session.end_reason().is_none()
    }

    /// Returns whether the client has disconnected.
    fn has_ended(&self) -> bool {
        self.sessions.lock().ended
    }

    /// Resumes the sessions of earlier servers, if the configuration says so.
    pub async fn resume_earlier_sessions(&self, manager: &Arc<SessionManager>) {
        if !manager.config().auto_resume {
            return;
        }
        // Newest first.
        let resumed = manager.auto_resume().await;
        let mut known = self.sessions.lock();
        known.named.extend(resumed.iter().map(|resumed| resumed.session.id.clone()));
        let implicit = resumed.iter().find(|resumed| resumed.is_implicit);
        known.implicit = implicit.map(|resumed| resumed.session.clone());
        if let Some(implicit) = &known.implicit {
            manager.owners.claim(&implicit.id, &self.id);
        }
        let created = resumed.iter().rev().filter(|resumed| !resumed.is_implicit);
        known.created.extend(created.map(|resumed| resumed.session.id.clone()));
    }

    /// Makes the session `id` the suspended implicit session of this client, as it was on an
    /// earlier server. The next call resumes it. Does nothing if the session is open here or
    /// belongs to another client.
    pub fn adopt_implicit(&self, manager: &SessionManager, id: &str) {
        let id: Arc<str> = id.into();
        if manager.find(&id).is_some() || !manager.owners.claim(&id, &self.id) {
            tracing::warn!(session = &*id, "the implicit session of a returning client is in use");
            return;
        }
        self.sessions.lock().suspended = Some(id);
    }

    /// Closes the session `id`, whichever client created it.
    pub async fn close(&self, manager: &Arc<SessionManager>, id: &str) -> Result<()> {
        self.check_access(manager, id)?;
        manager.close(id).await?;
        let mut known = self.sessions.lock();
        known.created.retain(|created| **created != *id);
        if known.is_implicit(id) {
            (known.implicit, known.suspended) = (None, None);
            manager.owners.release(&self.id);
        }
        drop(known);
        self.save();
        Ok(())
    }

    /// Resumes the session `id`, and waits until it is ready. From then on it counts as created by
    /// this client.
    pub async fn resume(&self, manager: &Arc<SessionManager>, id: &str) -> Result<Arc<Session>> {
        let is_implicit = self.sessions.lock().is_implicit(id);
        if is_implicit || manager.clients.suspension(id).is_some() {
            let session = self.session(manager, id).await?;
            session.run(async { Ok(()) }).await?;
            // The result of `session_resume` has the same information.
            session.take_notices();
            return Ok(session);
        }
        self.check_access(manager, id)?;
        manager.resume(id, &self.queue_key(), |session| self.add_created(manager, session)).await
    }

    fn add_named(&self, id: &Arc<str>) {
        let is_new = self.sessions.lock().named.insert(id.clone());
        if is_new {
            self.change_counter.increment();
            self.save();
        }
    }

    /// Returns a counter that advances when the client creates or names another session.
    pub fn change_counter(&self) -> &ChangeCounter {
        &self.change_counter
    }

    /// Returns the open sessions that this client has created or named, oldest first.
    pub fn sessions(&self, manager: &SessionManager) -> Vec<Arc<Session>> {
        let ids: Vec<Arc<str>> = {
            let known = self.sessions.lock();
            known
                .named
                .iter()
                .chain(known.implicit.as_ref().map(|implicit| &implicit.id))
                .cloned()
                .collect()
        };
        let mut sessions: Vec<_> = ids.iter().filter_map(|id| self.find(manager, id)).collect();
        sessions
            .sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        sessions.dedup_by(|one, other| one.id == other.id);
        sessions
    }

    /// Returns the session `id`. A suspended implicit session of this client is resumed.
    pub async fn session(&self, manager: &Arc<SessionManager>, id: &str) -> Result<Arc<Session>> {
        if self.is_suspended(id) {
            let implicit = self.implicit_session(manager).await?;
            // A session that could not be resumed was replaced by another, which this call did not
            // name.
            return if *implicit.id == *id { Ok(implicit) } else { manager.get(id) };
        }
        self.check_access(manager, id)?;
        let client = self.queue_key();
        let session = loop {
            if let Some(suspension) = manager.clients.suspension(id) {
                if self.has_ended() {
                    return Err(client_disconnected());
                }
                let add = |session: &Arc<Session>| self.add_user(manager, session);
                break manager.resume_suspended(id, &client, suspension, add).await?;
            }
            match manager.get(id) {
                Ok(session) if self.add_user(manager, &session) => break session,
                // It was suspended or has ended in the meantime.
                Ok(_) => {}
                Err(_) if manager.clients.suspension(id).is_some() => {}
                Err(error) => {
                    let add = |session: &Arc<Session>| self.add_first_user(manager, session);
                    break manager.resume_for_call(id, &client, error, add).await?;
                }
            }
        };
        self.add_named(&session.id);
        Ok(session)
    }

    /// Returns the session `id` if it is open and this client can access it.
    pub fn find(&self, manager: &SessionManager, id: &str) -> Option<Arc<Session>> {
        self.can_access(manager, id).then(|| manager.find(id))?
    }

    /// Returns whether this client can access the session `id`: all but the implicit sessions of
    /// other clients.
    pub fn can_access(&self, manager: &SessionManager, id: &str) -> bool {
        self.sees_all || !manager.owners.has_other_owner(id, &self.id)
    }

    /// Checks that this client can access the session `id`. Otherwise the error says that it does
    /// not exist.
    pub fn check_access(&self, manager: &SessionManager, id: &str) -> Result<()> {
        if self.can_access(manager, id) { Ok(()) } else { Err(unknown(id)) }
    }

    /// Returns the open sessions that this client created, and the session that it created last.
    /// Forgets all others.
    pub(super) fn created(&self, manager: &SessionManager) -> (Vec<Arc<str>>, Option<Arc<str>>) {
        let mut known = self.sessions.lock();
        let last = known.created.last().cloned();
        let is_open =
            |id: &Arc<str>| manager.find(id).is_some() || manager.clients.suspension(id).is_some();
        known.created.retain(|id| is_open(id) || Some(id) == last.as_ref());
        (known.created.iter().filter(|id| is_open(id)).cloned().collect(), last)
    }

    /// Returns whether lists for this client include the session `id`: it has created or named it.
    pub fn knows(&self, id: &str) -> bool {
        let known = self.sessions.lock();
        self.sees_all || known.named.contains(id) || known.is_implicit(id)
    }

    /// Returns whether `id` is its implicit session, which is suspended.
    fn is_suspended(&self, id: &str) -> bool {
        self.sessions.lock().suspended.as_deref() == Some(id)
    }

    /// Returns the implicit session. Resumes it if it is suspended, and creates it if there is
    /// none.
    pub(super) async fn implicit_session(
        &self,
        manager: &Arc<SessionManager>,
    ) -> Result<Arc<Session>> {
        if !self.is_attached() {
            return Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                "`sessionId` is missing, and a stateless client has no implicit session",
            )
            .detail("reason", "MISSING_PARAMETER")
            .suggestion("call create_session, and pass its sessionId in each call"));
        }
        let _turn = self.suspending.lock().await;
        let suspended = {
            let known = self.sessions.lock();
            if let Some(implicit) = known
                .implicit
                .as_ref()
                .filter(|implicit| implicit.end_reason().is_none() && !implicit.has_failed())
            {
                return Ok(implicit.clone());
            }
            known.suspended.clone()
        };
        let mut lost = None;
        let resumed = match suspended {
            Some(id) => match manager.resume_implicit(&id, &self.id).await {
                Ok(session) => {
                    session.notify(RESUMED_FIELD, manager.suspension_notice());
                    Some(session)
                }
                // It can be resumed later, when a slot is free.
                Err(error) if error.retryable => return Err(error),
                Err(error) => {
                    tracing::warn!(session = &*id, %error, "the session of a returning client could not be resumed");
                    lost = Some(format!(
                        "Session {id} was suspended while its client was idle, and could not be resumed: {}. This is a new, empty session.",
                        error.message
                    ));
                    None
                }
            },
            None => None,
        };
        let reserved = match &resumed {
            Some(_) => None,
            None => Some(manager.reserve_implicit(&self.id).await?),
        };
        let implicit = {
            let mut known = self.sessions.lock();
            if !known.ended {
                known.suspended = None;
                known.implicit =
                    resumed.clone().or_else(|| Some(manager.create_implicit(reserved?)));
                if let Some(implicit) = &known.implicit {
                    manager.owners.claim(&implicit.id, &self.id);
                }
            }
            known.implicit.clone()
        };
        if let (Some(implicit), Some(lost)) = (&implicit, lost) {
            implicit.notify(RESUMED_FIELD, lost);
        }
        let Some(implicit) = implicit else {
            if let Some(resumed) = resumed {
                manager.end(&resumed, EndReason::Released).await;
            }
            return Err(client_disconnected());
        };
        self.change_counter.increment();
        self.save();
        Ok(implicit)
    }

    /// Suspends the client's sessions unless the client has returned by now: its implicit session,
    /// and those that it created and that no other client uses. The next call resumes them. Without
    /// persistent sessions, those that it created stay open until they expire.
    pub async fn suspend(&self, manager: &Arc<SessionManager>) {
        let _turn = self.suspending.lock().await;
        let ending = {
            let mut known = self.sessions.lock();
            // A call marks the client as present before it looks for its session.
            if self.absent_since().is_none() {
                return;
            }
            let implicit = known.implicit.take();
            // A suspended session stays suspended.
            let id = implicit.as_ref().map(|implicit| implicit.id.clone());
            known.suspended = id.or(known.suspended.take());
            let created = match manager.config().persistent_sessions {
                true => manager.release(|clients| clients.set_idle(&self.id)),
                false => Vec::new(),
            };
            let ended = implicit.and_then(|it| manager.begin_end(&it, EndReason::Released));
            ended.into_iter().chain(created).collect()
        };
        manager.end_released(ending).await;
    }

    fn is_attached(&self) -> bool {
        !self.stateless.load(Ordering::Acquire)
    }

    /// Ends the sessions that end with the client: its implicit session, and those that it created
    /// and that no other client uses.
    pub async fn end(&self, manager: &Arc<SessionManager>) {
        let implicit = {
            let mut known = self.sessions.lock();
            known.ended = true;
            known.implicit.take()
        };
        let ended = implicit.and_then(|it| manager.begin_end(&it, EndReason::Released));
        let created = manager.release(|clients| clients.leave(&self.id));
        manager.end_released(ended.into_iter().chain(created).collect()).await;
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
        let session = manager.create(&client.id, CreateOptions::default()).await.unwrap();
        assert!(client.add_created(manager, &session));
        session
    }

    async fn is_usable(session: &Session) -> bool {
        session.run(async { Ok(()) }).await.is_ok()
    }

    #[tokio::test]
    async fn a_client_that_returns_while_its_session_is_being_suspended_gets_it_back() {
        let (manager, client) = (manager(), Connection::default());
        let id = session_of(&client, &manager).await.id.clone();
        // The session has begun to end, and its client returns before the end is complete.
        let ending = manager.release(|clients| clients.set_idle(&client.id));
        let mut returning = Box::pin(client.session(&manager, &id));
        assert!(poll!(returning.as_mut()).is_pending());
        manager.end_released(ending).await;
        let session = returning.await.unwrap();
        assert!(is_usable(&session).await);
        assert!(!session.take_notices().is_empty());
        client.end(&manager).await;
        assert!(manager.list().is_empty());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_client_that_returns_at_any_moment_of_the_suspension_can_use_its_session() {
        let (manager, client) = (manager(), Arc::new(Connection::default()));
        let id = session_of(&client, &manager).await.id.clone();
        for round in 0..300 {
            let start = Arc::new(tokio::sync::Barrier::new(2));
            let suspension = tokio::spawn({
                let (manager, client, start) = (manager.clone(), client.clone(), start.clone());
                async move {
                    start.wait().await;
                    client.suspend(&manager).await;
                }
            });
            start.wait().await;
            for _ in 0..round {
                std::hint::spin_loop();
            }
            let _present = client.mark_present();
            let session = client.session(&manager, &id).await.unwrap();
            assert!(is_usable(&session).await, "round {round}");
            suspension.await.unwrap();
            assert!(session.end_reason().is_none(), "round {round}");
        }
    }

    #[tokio::test]
    async fn a_late_call_of_a_disconnected_client_keeps_no_session_open() {
        let (manager, client, other) = (manager(), Connection::default(), Connection::default());
        let session = session_of(&other, &manager).await;
        client.end(&manager).await;
        client.session(&manager, &session.id).await.unwrap();
        other.end(&manager).await;
        assert!(manager.list().is_empty());
        // A session that it creates does not stay open either.
        let created = session_of(&client, &manager).await;
        created.end_complete.cancelled().await;
        assert!(manager.list().is_empty());
    }

    #[tokio::test]
    async fn a_session_whose_resume_was_canceled_ends_with_its_client() {
        let (manager, client, other) = (manager(), Connection::default(), Connection::default());
        let id = session_of(&client, &manager).await.id.clone();
        client.end(&manager).await;
        assert!(manager.list().is_empty());
        // Canceled as soon as the session is open: before `resume` is polled again, and right after
        // that.
        for is_polled in [false, true] {
            let mut resume = Box::pin(other.resume(&manager, &id));
            loop {
                let is_open = !manager.list().is_empty();
                if is_open && !is_polled {
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
            other.sessions.lock().ended = false;
            let closed = async {
                while !manager.list().is_empty() {
                    tokio::task::yield_now().await;
                }
                manager.wait_for_end(&id).await;
            };
            let closed = tokio::time::timeout(std::time::Duration::from_secs(5), closed).await;
            closed.expect("the session is open without a client");
        }
    }
}
