//! Ended sessions that can be resumed: those of earlier servers, and those that have expired.

use std::{cmp::Reverse, sync::Arc};

use scopeguard::ScopeGuard;
use serde_json::json;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit};

use super::{
    ended::UNKNOWN,
    manager::SessionManager,
    session::{Identity, PageInfo, Session, SessionInfo},
};
use crate::{
    config::Transport,
    error::{ErrorCode, Result, TroupeError},
    session::persistence::{SavedSession, SessionOrigin, StateCache},
    store::{SessionFilter, SessionRow, SessionState},
};

/// Maximum number of former sessions in a list over stdio without a state, the most recent ones.
const MOST_LISTED: usize = 10;
/// The same of any other list.
const MOST_ANYWHERE: usize = 100;

/// A session that was resumed.
pub(super) struct Resumed {
    pub session: Arc<Session>,
    /// Whether it was a connection's own.
    pub own: bool,
}

/// Whose sessions are listed: those of the same user and working folder.
fn user() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    named.unwrap_or_default()
}

fn comes_back(row: &SessionRow) -> bool {
    matches!(row.state, SessionState::Recoverable | SessionState::Stale)
}

/// Waits until a resumed session can be used. Calls to an implicit session (`own`) wait for it themselves.
async fn wake(session: &Session, own: bool) -> Result<()> {
    if own {
        return Ok(());
    }
    session.run(session.worker.wake()).await.map(drop)
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

    /// The metadata of a session for lists, as it is stored.
    pub(super) fn metadata(&self, identity: &Identity) -> String {
        json!({
            "user": user(), "workingFolder": self.working_folder(), "browser": self.config.browser,
            "own": identity.lives_from.is_none(),
            "options": identity.options.without_proxy(),
        })
        .to_string()
    }

    /// Brings the session `id` back under its id, and waits until it can be used. One that lives is left as it is.
    ///
    /// `hold` notes who uses the session, and returns false if it is over. Until then, dropping the future ends the session
    /// again, unless somebody else uses it.
    pub(super) async fn resume(
        self: &Arc<Self>,
        id: &str,
        hold: impl Fn(&Arc<Session>) -> bool,
    ) -> Result<Arc<Session>> {
        // Whoever names it may have it: it has a life of its own now.
        self.resume_as(id, false, hold).await
    }

    /// Starts to resume the implicit session of a connection: calls to it wait.
    pub(super) async fn resume_own(self: &Arc<Self>, id: &str) -> Result<Arc<Session>> {
        self.resume_as(id, true, |session| session.end_reason().is_none()).await
    }

    async fn resume_as(
        self: &Arc<Self>,
        id: &str,
        own: bool,
        hold: impl Fn(&Arc<Session>) -> bool,
    ) -> Result<Arc<Session>> {
        loop {
            self.at_end(id).await;
            let lock = self.resuming.lock(id).await;
            let missing = match self.get(id) {
                Ok(living) if hold(&living) => {
                    drop(lock);
                    wake(&living, own).await?;
                    return Ok(living);
                }
                Ok(_) => continue,
                // It has begun to end since.
                Err(_) if self.ending(id).is_some() => continue,
                Err(missing) => missing,
            };
            let (row, saved) = self.saved(id, missing).await?;
            let place = self.place().await?;
            let revived = self.revive(row, SavedSession { own, ..saved }, place, lock).await?;
            wake(&revived, own).await?;
            if hold(&revived) {
                return Ok(ScopeGuard::into_inner(revived));
            }
        }
    }

    /// Starts to resume the sessions of earlier servers, the newest first, up to the limit of sessions.
    pub(super) async fn auto_resume(self: &Arc<Self>) -> Vec<Resumed> {
        let mut resumed = Vec::new();
        let filter = self.of_same_user_and_directory(Some(SessionState::Recoverable));
        let rows = match self.store.sessions(filter).await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(%error, "no session is resumed");
                return resumed;
            }
        };
        // A released session waits for its own client.
        for row in rows.into_iter().filter(|row| !row.is_released) {
            let lock = self.resuming.lock(&row.id).await;
            if self.find(&row.id).is_some() {
                continue;
            }
            if let Err(error) = self.room().await {
                tracing::warn!(session = row.id, %error, "it is not resumed");
                break;
            }
            let Ok(place) = self.places.clone().try_acquire_owned() else {
                tracing::warn!(session = row.id, "there is no place for it: it is not resumed");
                break;
            };
            let id = row.id.clone();
            let begun = async {
                let saved = self.saved_state(&row.id).await?;
                if saved.is_blank() {
                    return Ok(None);
                }
                let own = saved.own;
                let session = ScopeGuard::into_inner(self.revive(row, saved, place, lock).await?);
                Ok::<_, TroupeError>(Some(Resumed { session, own }))
            };
            match begun.await {
                Ok(begun) => resumed.extend(begun),
                Err(error) => tracing::warn!(session = id, %error, "it is not resumed"),
            }
        }
        resumed
    }

    /// Claims and opens the session of `row`, in a task: a caller that gives up leaves it neither claimed without being
    /// open nor open without a client. Dropping the result ends the session, unless somebody uses it.
    async fn revive(
        self: &Arc<Self>,
        row: SessionRow,
        saved: SavedSession,
        place: OwnedSemaphorePermit,
        lock: OwnedMutexGuard<()>,
    ) -> Result<ScopeGuard<Arc<Session>, impl FnOnce(Arc<Session>) + use<>>> {
        let manager = self.clone();
        let revived = self.tasks.spawn(async move {
            let _lock = lock;
            let session = manager.open_again(&row, saved, place).await?;
            Ok(scopeguard::guard(session, move |session| manager.release_unused(&session)))
        });
        revived.await.unwrap_or_else(|error| {
            Err(TroupeError::new(
                ErrorCode::InternalError,
                format!("the session was not opened: {error}"),
            ))
        })
    }

    async fn open_again(
        self: &Arc<Self>,
        row: &SessionRow,
        saved: SavedSession,
        place: OwnedSemaphorePermit,
    ) -> Result<Arc<Session>> {
        if !self.store.claim_session(&row.id).await? {
            return Err(self.in_use(row));
        }
        let identity = Identity {
            id: row.id.as_str().into(),
            created_at: row.created_at,
            lives_from: (!saved.own).then(|| self.clock.now()),
            options: saved.context.with_proxy_of(&self.config.context),
        };
        let birth = SessionOrigin::Again(Arc::new(saved.clone()));
        self.again(&row.id);
        Ok(self.register(place, identity, StateCache::remembering(saved), birth))
    }

    /// The saved state of a session that is not open; `missing` is the error if there is none.
    async fn saved(&self, id: &str, missing: TroupeError) -> Result<(SessionRow, SavedSession)> {
        let filter = SessionFilter { id: Some(id.to_owned()), ..SessionFilter::default() };
        let Some(row) = self.store.sessions(filter).await?.into_iter().next() else {
            return Err(missing);
        };
        if row.used_by.is_some() {
            return Err(self.in_use(&row));
        }
        let lacking = match (row.state, row.saved_at) {
            (SessionState::Closed, _) => {
                Some(("closed", "was closed: nothing is kept to resume it from"))
            }
            (_, None) => Some((
                "unseen",
                "has no saved state: none was saved, or it was deleted as the oldest",
            )),
            _ => None,
        };
        if let Some((reason, what)) = lacking {
            return Err(TroupeError::new(
                ErrorCode::SessionNotFound,
                format!("session `{id}` {what}"),
            )
            .detail("reason", reason)
            .suggestion("create a new session with create_session")
            .session(id));
        }
        let saved = self.saved_state(id).await.map_err(|error| error.session(id))?;
        Ok((row, saved))
    }

    /// The error for a session that another running server uses. It names the process and its working directory.
    fn in_use(&self, row: &SessionRow) -> TroupeError {
        let folder = row.metadata["workingFolder"].as_str().unwrap_or_default();
        let place = match folder == self.working_folder() {
            true => "in this working directory".to_owned(),
            false => format!("in another working directory, `{folder}`"),
        };
        let process = row.used_by.map(|pid| format!(" (process {pid})")).unwrap_or_default();
        TroupeError::new(
            ErrorCode::SessionNotFound,
            format!("session `{}` is in use by another server{process} {place}", row.id),
        )
        .detail("reason", "inUse")
        .detail("workingDirectory", folder)
        .suggestion("use it through that server, or resume it when that server has ended")
        .session(&*row.id)
    }

    async fn saved_state(&self, id: &str) -> Result<SavedSession> {
        let vault = self.vault()?;
        let saved = self.store.saved_state(id).await?;
        let origins = self.store.saved_origins(id).await?;
        SavedSession::read(&saved.map(|saved| saved.state).unwrap_or_default(), &origins, &vault)
    }

    /// `error`, and where it says that there is no such session: whether there was one that can come back.
    pub async fn with_former(&self, error: TroupeError) -> TroupeError {
        let unknown = error.code == ErrorCode::SessionNotFound
            && error.details.get("reason").is_some_and(|reason| reason == UNKNOWN);
        let Some(id) = error.session_id.clone().filter(|_| unknown) else { return error };
        let filter = SessionFilter { id: Some(id.clone()), ..SessionFilter::default() };
        let row = self.store.sessions(filter).await.ok().and_then(|rows| rows.into_iter().next());
        // To all but its owner, a connection's own session that rests does not exist.
        match row.filter(|row| !self.owners.has_owner(&row.id)) {
            Some(row) if row.used_by.is_some() => self.in_use(&row),
            None => error,
            Some(row) if !comes_back(&row) => error,
            Some(row) => error
                .worded(format!("session `{id}` is not open; its server or its client has left it"))
                .detail("reason", row.state.as_str())
                .suggestion("session_resume brings it back under its id"),
        }
    }

    /// Deletes the saved state of a session that was not closed and is not in use by a running server. Returns false
    /// if there is none.
    pub(super) async fn forget_former(&self, id: &str) -> bool {
        let filter = SessionFilter { id: Some(id.to_owned()), ..SessionFilter::default() };
        let rows = self.store.sessions(filter).await.unwrap_or_default();
        // An active one that does not live here is another server's, or its client has gone or is away.
        let left = |row: &SessionRow| {
            matches!(
                row.state,
                SessionState::Active | SessionState::Recoverable | SessionState::Stale
            )
        };
        if !rows.first().is_some_and(left) || !self.store.claim_session(id).await.unwrap_or(false) {
            return false;
        }
        self.store.session_ended(id, SessionState::Closed);
        true
    }

    /// Returns the most recent sessions of this user and working directory that do not live here and that `is_visible`
    /// admits: those in `state`, or without `state` those that can be resumed. Over stdio, the latter are few, and have something
    /// to resume.
    pub async fn former(
        &self,
        state: Option<SessionState>,
        is_visible: impl Fn(&str) -> bool,
    ) -> Result<Vec<SessionInfo>> {
        if state == Some(SessionState::Active) {
            // None of them is.
            return Ok(Vec::new());
        }
        // Over stdio the list has the sessions of former servers. A client over HTTP sees only those that it knows.
        let is_short = state.is_none() && self.config.transport == Transport::Stdio;
        let filter =
            SessionFilter { without_blank: is_short, ..self.of_same_user_and_directory(state) };
        let mut rows = self.store.sessions(filter).await?;
        rows.retain(|row| {
            row.state != SessionState::Active
                && (state.is_some() || comes_back(row))
                && is_visible(&row.id)
        });
        rows.sort_by_key(|row| Reverse(row.last_activity));
        let most = if is_short { MOST_LISTED } else { MOST_ANYWHERE };
        let mut infos = Vec::with_capacity(rows.len().min(most));
        for row in rows.into_iter().take(most) {
            let saved = match row.saved_at {
                // The storage may be large, and only the pages are reported.
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
        let identity = Identity {
            id: id.into(),
            created_at: 1,
            lives_from: Some(1),
            options: Default::default(),
        };
        let metadata = manager.metadata(&identity);
        manager.store.session_begun(NewSession { id: id.into(), created_at: 1, metadata });
        let state = serde_json::to_string(saved).unwrap();
        manager.store.save_state(id, NewState { state, origins });
        manager.store.session_ended(id, SessionState::Recoverable);
    }

    #[tokio::test]
    async fn empty_sessions_hide_no_older_ones_however_many_they_are() {
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
            .former(None, |_| true)
            .await
            .unwrap()
            .into_iter()
            .map(|info| info.session_id)
            .collect();
        listed.sort();
        assert_eq!(listed, ["visited", "with cookie", "with storage"]);
        // Whoever asks for a state gets every session in it.
        let all = manager.former(Some(SessionState::Recoverable), |_| true).await.unwrap();
        assert_eq!(all.len(), MOST_ANYWHERE);
    }
}
