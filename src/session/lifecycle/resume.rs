//! Lists and resumes sessions that are not open: those of earlier servers, and those that expired
//! or were suspended.

use std::{cmp::Reverse, sync::Arc};

use scopeguard::ScopeGuard;
use serde_json::json;

use super::{
    clients::ConnectionId,
    ended::UNKNOWN,
    manager::{RESUMED_FIELD, SessionManager},
    session::{PageInfo, Session, SessionIdentity, SessionInfo, SlotUse},
    slots::SessionSlot,
};
use crate::{
    config::Transport,
    error::{ErrorCode, Result, TroupeError},
    session::persistence::{SavedSession, SessionOrigin, StateCache},
    store::{Reservation, SessionFilter, SessionRow, SessionState},
};

/// Maximum number of resumable sessions in a list over stdio for which no state was requested.
const MAX_LISTED_STDIO: usize = 10;
/// Maximum number in any other list.
const MAX_LISTED: usize = 100;

/// A session that was resumed.
pub(super) struct ResumedSession {
    pub session: Arc<Session>,
    /// Whether it was the implicit session of a connection.
    pub is_implicit: bool,
}

/// Returns the name of the user. Lists have the sessions of the same user and working directory.
fn user() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    named.unwrap_or_default()
}

fn is_resumable(row: &SessionRow) -> bool {
    matches!(row.state, SessionState::Recoverable | SessionState::Stale)
}

/// Waits until a resumed session can be used. Calls to an implicit session wait for it
/// themselves.
async fn wait_ready(session: &Session, is_implicit: bool) -> Result<()> {
    if is_implicit {
        return Ok(());
    }
    session.run(session.worker.activate()).await.map(drop)
}

impl SessionManager {
    fn working_folder(&self) -> String {
        self.config.working_directory.display().to_string()
    }

    /// Selects the sessions in `state` of this user and working directory.
    fn of_same_user_and_directory(&self, state: Option<SessionState>) -> SessionFilter {
        let (user, working_folder) = (Some(user()), Some(self.working_folder()));
        SessionFilter { state, user, working_folder, ..SessionFilter::default() }
    }

    /// Returns the metadata of a session that is stored for lists.
    pub(super) fn metadata(&self, identity: &SessionIdentity) -> String {
        json!({
            "user": user(), "workingFolder": self.working_folder(), "browser": self.config.browser,
            "own": identity.lives_from.is_none(),
            "options": identity.options.without_proxy(),
        })
        .to_string()
    }

    /// Resumes the session `id` under its id for a call of `client`, and waits until it can be
    /// used. An open session is not changed.
    ///
    /// `add_client` records who uses the session, and returns false if the session has ended. If
    /// the future is dropped before that, the session ends again, unless another client uses it.
    pub(super) async fn resume(
        self: &Arc<Self>,
        id: &str,
        client: &ConnectionId,
        add_client: impl Fn(&Arc<Session>) -> bool,
    ) -> Result<Arc<Session>> {
        // A session that is resumed by its id is no longer an implicit session.
        self.resume_as(id, client, false, add_client).await
    }

    /// Resumes the session `id` for a call that names it, if servers share the record and none of
    /// them uses the session. Otherwise returns `missing`: the client must call `session_resume`.
    /// Implicit sessions are resumed only for their own client.
    pub(super) async fn resume_for_call(
        self: &Arc<Self>,
        id: &str,
        client: &ConnectionId,
        missing: TroupeError,
        add_client: impl Fn(&Arc<Session>) -> bool,
    ) -> Result<Arc<Session>> {
        let is_unknown = missing.details.get("reason").is_some_and(|reason| reason == UNKNOWN);
        if !self.store.is_shared() || !is_unknown {
            return Err(missing);
        }
        let row = self.store.find_session(id).await?;
        if !row.is_some_and(|row| is_resumable(&row) && row.metadata["own"] != true) {
            return Err(missing);
        }
        let session = self.resume(id, client, add_client).await?;
        session.notify(RESUMED_FIELD, self.suspension_notice());
        Ok(session)
    }

    /// Starts to resume the implicit session of a connection: calls to it wait.
    pub(super) async fn resume_implicit(
        self: &Arc<Self>,
        id: &str,
        client: &ConnectionId,
    ) -> Result<Arc<Session>> {
        self.resume_as(id, client, true, |session| session.end_reason().is_none()).await
    }

    async fn resume_as(
        self: &Arc<Self>,
        id: &str,
        client: &ConnectionId,
        is_implicit: bool,
        add_client: impl Fn(&Arc<Session>) -> bool,
    ) -> Result<Arc<Session>> {
        loop {
            self.wait_for_end(id).await;
            let lock = self.resuming.lock(id).await;
            let missing = match self.get(id) {
                Ok(session) if add_client(&session) => {
                    drop(lock);
                    wait_ready(&session, is_implicit).await?;
                    return Ok(session);
                }
                Ok(_) => continue,
                // It has begun to end in the meantime.
                Err(_) if self.end_token(id).is_some() => continue,
                Err(missing) => missing,
            };
            let row = self.find_resumable(id, missing).await?;
            let slot = self.acquire_slot(client, SlotUse::Resumed(&row)).await?;
            let opened = self.open_claimed(&row, is_implicit, slot).await?;
            drop(lock);
            wait_ready(&opened, is_implicit).await?;
            if add_client(&opened) {
                return Ok(ScopeGuard::into_inner(opened));
            }
        }
    }

    /// Starts to resume the sessions of earlier servers, newest first, up to the limit of sessions.
    pub(super) async fn auto_resume(self: &Arc<Self>) -> Vec<ResumedSession> {
        let mut resumed = Vec::new();
        let filter = self.of_same_user_and_directory(Some(SessionState::Recoverable));
        let rows = match self.store.sessions(filter).await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(%error, "no sessions are resumed");
                return resumed;
            }
        };
        // A released session waits for its client.
        for row in rows.into_iter().filter(|row| !row.is_released) {
            let _lock = self.resuming.lock(&row.id).await;
            if self.find(&row.id).is_some() {
                continue;
            }
            if let Err(error) = self.wait_for_memory().await {
                tracing::warn!(session = row.id, %error, "the session is not resumed");
                break;
            }
            let begun = async {
                let saved = self.saved_state(&row.id).await?;
                if saved.is_blank() {
                    return Ok(Some(None));
                }
                let Some(mut slot) = self.try_slot() else { return Ok(None) };
                if !self.reserve(&mut slot, &mut SlotUse::Resumed(&row)).await? {
                    return Ok(None);
                }
                let session =
                    ScopeGuard::into_inner(self.open_claimed(&row, saved.own, slot).await?);
                Ok::<_, TroupeError>(Some(Some(ResumedSession { session, is_implicit: saved.own })))
            };
            match begun.await {
                Ok(Some(begun)) => resumed.extend(begun),
                Ok(None) => {
                    tracing::warn!(
                        session = row.id,
                        "the session is not resumed: the limit of sessions is reached"
                    );
                    break;
                }
                Err(error) => {
                    tracing::warn!(session = row.id, %error, "the session is not resumed");
                }
            }
        }
        resumed
    }

    /// Opens the session of `row`, which this server has claimed with `slot`. Reads its state only
    /// now, because another server may have used it until the claim. Dropping the result ends the
    /// session, unless a client uses it.
    async fn open_claimed(
        self: &Arc<Self>,
        row: &SessionRow,
        own: bool,
        slot: SessionSlot,
    ) -> Result<ScopeGuard<Arc<Session>, impl FnOnce(Arc<Session>) + use<>>> {
        let saved = self.saved_state(&row.id).await.map_err(|error| error.session(&*row.id))?;
        let saved = SavedSession { own, ..saved };
        let identity = SessionIdentity {
            id: row.id.as_str().into(),
            created_at: row.created_at,
            lives_from: (!own).then(|| self.clock.now()),
            options: saved.context.with_proxy_of(&self.config.context),
        };
        let origin = SessionOrigin::Resumed(Arc::new(saved.clone()));
        self.remove_end(&row.id);
        let session = self.register(slot, identity, StateCache::from_saved(saved), origin);
        let manager = self.clone();
        Ok(scopeguard::guard(session, move |session| manager.release_unused(&session)))
    }

    /// Returns the row of a session that is not open and has a saved state. `missing` is the error
    /// if there is no such session.
    async fn find_resumable(&self, id: &str, missing: TroupeError) -> Result<SessionRow> {
        let Some(row) = self.store.find_session(id).await? else { return Err(missing) };
        if row.used_by.is_some() {
            return Err(self.in_use_error(&row));
        }
        let problem = match (row.state, row.saved_at) {
            (SessionState::Closed, _) => {
                Some(("closed", "was closed: closed sessions cannot be resumed"))
            }
            (_, None) => Some((
                "noSavedState",
                "has no saved state: it was never saved, or its state was deleted to make room for newer ones",
            )),
            _ => None,
        };
        if let Some((reason, what)) = problem {
            return Err(TroupeError::new(
                ErrorCode::SessionNotFound,
                format!("session `{id}` {what}"),
            )
            .detail("reason", reason)
            .suggestion("create a new session with create_session")
            .session(id));
        }
        Ok(row)
    }

    /// Returns the error for a session that another running server uses. It names the process and
    /// its working directory.
    pub(super) fn in_use_error(&self, row: &SessionRow) -> TroupeError {
        let folder = row.metadata["workingFolder"].as_str().unwrap_or_default();
        let location = match folder == self.working_folder() {
            true => "in this working directory".to_owned(),
            false => format!("in another working directory, `{folder}`"),
        };
        let process = row.used_by.map(|pid| format!(" (process {pid})")).unwrap_or_default();
        TroupeError::new(
            ErrorCode::SessionNotFound,
            format!("session `{}` is in use by another server{process} {location}", row.id),
        )
        .detail("reason", "inUse")
        .detail("workingDirectory", folder)
        // Calls are forwarded to a server that shares the record, so that one resumes it now.
        .retryable(self.store.is_shared())
        .suggestion("use it through that server, or resume it when that server has ended")
        .session(&*row.id)
    }

    async fn saved_state(&self, id: &str) -> Result<SavedSession> {
        let vault = self.vault()?;
        let saved = self.store.saved_state(id).await?;
        let origins = self.store.saved_origins(id).await?;
        SavedSession::read(&saved.map(|saved| saved.state).unwrap_or_default(), &origins, &vault)
    }

    /// Returns `error`. If it says that a session does not exist, but the session can be resumed,
    /// the result says so.
    pub async fn add_resume_hint(&self, error: TroupeError) -> TroupeError {
        let unknown = error.code == ErrorCode::SessionNotFound
            && error.details.get("reason").is_some_and(|reason| reason == UNKNOWN);
        let Some(id) = error.session_id.clone().filter(|_| unknown) else { return error };
        let row = self.store.find_session(&id).await.ok().flatten();
        // A suspended implicit session is visible only to its owner.
        match row.filter(|row| !self.owners.has_owner(&row.id)) {
            Some(row) if row.used_by.is_some() => self.in_use_error(&row),
            None => error,
            Some(row) if !is_resumable(&row) => error,
            Some(row) => error
                .worded(format!(
                    "session `{id}` is not open: its server has stopped or its client has disconnected"
                ))
                .detail("reason", row.state.as_str())
                .suggestion("resume it with session_resume; it keeps its id"),
        }
    }

    /// Deletes the saved state of a session that was not closed and is not in use by a running
    /// server. Returns false if there is none.
    pub(super) async fn delete_saved(&self, id: &str) -> bool {
        let row = self.store.find_session(id).await.ok().flatten();
        // An active session that is not open here belongs to another server, or its client has
        // disconnected or is idle.
        let is_saved = |row: &SessionRow| {
            matches!(
                row.state,
                SessionState::Active | SessionState::Recoverable | SessionState::Stale
            )
        };
        if !row.as_ref().is_some_and(is_saved)
            || !matches!(self.store.claim_session(id, None).await, Ok(Reservation::Reserved))
        {
            return false;
        }
        self.store.record_session_end(id, SessionState::Closed);
        true
    }

    /// Returns the most recent sessions of this user and working directory that are not open here
    /// and that `is_visible` admits: those in `state`, or without `state` those that can be
    /// resumed. Over stdio, the latter are fewer, and empty sessions are omitted.
    pub async fn resumable_sessions(
        &self,
        state: Option<SessionState>,
        is_visible: impl Fn(&str) -> bool,
    ) -> Result<Vec<SessionInfo>> {
        if state == Some(SessionState::Active) {
            // Sessions that are not open here are not active.
            return Ok(Vec::new());
        }
        // Over stdio, the list has all sessions of earlier servers. A client over HTTP sees only
        // those that it has used.
        let is_short = state.is_none() && self.config.transport == Transport::Stdio;
        let filter =
            SessionFilter { without_blank: is_short, ..self.of_same_user_and_directory(state) };
        let mut rows = self.store.sessions(filter).await?;
        rows.retain(|row| {
            row.state != SessionState::Active
                && (state.is_some() || is_resumable(row))
                && is_visible(&row.id)
        });
        rows.sort_by_key(|row| Reverse(row.last_activity));
        let limit = if is_short { MAX_LISTED_STDIO } else { MAX_LISTED };
        let mut infos = Vec::with_capacity(rows.len().min(limit));
        for row in rows.into_iter().take(limit) {
            let saved = match row.saved_at {
                // Storage is not read: it may be large, and only the pages are reported.
                Some(_) => match (self.store.saved_state(&row.id).await?, self.vault()?) {
                    (Some(saved), vault) => SavedSession::read(&saved.state, &[], &vault).ok(),
                    (None, _) => None,
                },
                None => None,
            };
            let pages = saved.into_iter().flat_map(|saved| saved.pages);
            infos.push(SessionInfo {
                session_id: row.id,
                state: row.state.as_str().to_owned(),
                created_at: row.created_at,
                expires_at: None,
                saved_at: row.saved_at,
                pages: pages
                    .map(|page| PageInfo {
                        page_id: format!("page-{}", page.number),
                        url: page.url,
                        crashed: None,
                    })
                    .collect(),
            });
        }
        Ok(infos)
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::{
        config::Config,
        engine::memory::MemoryEngine,
        session::{Browsers, SystemClock, persistence::SavedPage},
        store::{NewOrigin, NewSession, NewState, Store},
    };

    fn save(manager: &SessionManager, id: &str, saved: &SavedSession, origins: Vec<NewOrigin>) {
        let identity = SessionIdentity {
            id: id.into(),
            created_at: 1,
            lives_from: Some(1),
            options: Default::default(),
        };
        let metadata = manager.metadata(&identity);
        manager.store.record_session_begin(NewSession { id: id.into(), created_at: 1, metadata });
        let state = serde_json::to_string(saved).unwrap();
        manager.store.save_state(id, NewState { state, origins });
        manager.store.record_session_end(id, SessionState::Recoverable);
    }

    #[tokio::test]
    async fn many_empty_sessions_do_not_hide_older_ones() {
        let (config, clock) = (Arc::new(Config::default()), Arc::new(SystemClock));
        let browsers =
            Browsers::new(config.clone(), Arc::new(MemoryEngine::default()), clock.clone());
        let manager = SessionManager::new(config, browsers, clock, Store::none().unwrap());
        let at = |url: &str| SavedSession {
            pages: vec![SavedPage { number: 1, url: url.to_owned(), ..SavedPage::default() }],
            ..SavedSession::default()
        };
        save(&manager, "visited", &at("http://a.test/"), Vec::new());
        let text: crate::store::OriginText =
            Arc::new(std::sync::LazyLock::new(Box::new(|| "{}".to_owned())));
        let origin = NewOrigin { origin: "http://a.test".into(), hash: "1".into(), bytes: 2, text };
        save(&manager, "with storage", &at("about:blank"), vec![origin]);
        let cookie = serde_json::from_value(json!({
            "name": "a", "value": "b", "domain": "a.test", "path": "/", "expires": -1.0,
            "httpOnly": false, "secure": false, "sameSite": "Lax",
        }));
        let with_cookie = SavedSession { cookies: vec![cookie.unwrap()], ..at("about:blank") };
        save(&manager, "with cookie", &with_cookie, Vec::new());
        for number in 0..250 {
            let url = if number % 2 == 0 { "about:blank" } else { "" };
            save(&manager, &format!("blank {number}"), &at(url), Vec::new());
        }
        save(&manager, "without pages", &SavedSession::default(), Vec::new());
        let mut listed: Vec<_> = manager
            .resumable_sessions(None, |_| true)
            .await
            .unwrap()
            .into_iter()
            .map(|info| info.session_id)
            .collect();
        listed.sort();
        assert_eq!(listed, ["visited", "with cookie", "with storage"]);
        // A list for a state includes empty sessions.
        let all =
            manager.resumable_sessions(Some(SessionState::Recoverable), |_| true).await.unwrap();
        assert_eq!(all.len(), MAX_LISTED);
    }
}
