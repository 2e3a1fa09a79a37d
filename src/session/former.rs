//! Sessions that are over and can come back: of servers that are gone, and those that have expired.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    backend::Birth,
    ended::UNKNOWN,
    keeper::Keeper,
    manager::SessionManager,
    saved::SavedSession,
    session::{Identity, PageInfo, Session, SessionInfo},
};
use crate::{
    error::{ErrorCode, Result, TroupeError},
    store::{SessionFilter, SessionRow, SessionState},
};

/// Sessions of one state that are listed at most, the newest.
const MOST_LISTED: usize = 20;

/// A session that was brought back.
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

fn working_folder() -> String {
    std::env::current_dir().unwrap_or_default().display().to_string()
}

fn comes_back(row: &SessionRow) -> bool {
    matches!(row.state, SessionState::Recoverable | SessionState::Stale)
}

impl SessionManager {
    /// What the store tells of a session in lists.
    pub(super) fn metadata(&self, identity: &Identity) -> Value {
        json!({
            "user": user(), "workingFolder": working_folder(), "browser": self.config.browser,
            "own": identity.lives_from.is_none(),
            "options": identity.options,
        })
    }

    /// Brings the session `id` back under its id, and waits until it can be used. One that lives is left as it is.
    pub(super) async fn resume(self: &Arc<Self>, id: &str) -> Result<Arc<Session>> {
        // Whoever names it may have it: it has a life of its own now.
        let session = self.resume_as(id, false).await?;
        session.run(session.worker.wake()).await?;
        Ok(session)
    }

    /// Begins to bring back the own session of a connection: calls to it wait.
    pub(super) async fn resume_own(self: &Arc<Self>, id: &str) -> Result<Arc<Session>> {
        self.resume_as(id, true).await
    }

    async fn resume_as(self: &Arc<Self>, id: &str, own: bool) -> Result<Arc<Session>> {
        self.at_end(id).await;
        let _turn = self.resuming.lock().await;
        let missing = match self.get(id) {
            Ok(living) => return Ok(living),
            Err(missing) => missing,
        };
        let (row, saved) = self.saved(id, missing).await?;
        let place = self.place().await?;
        self.revive(&row, SavedSession { own, ..saved }, place).await
    }

    /// Begins to bring back what the servers before this one have left, as far as there are places; the newest
    /// first.
    pub(super) async fn auto_resume(self: &Arc<Self>) -> Vec<Resumed> {
        let _turn = self.resuming.lock().await;
        let mut resumed = Vec::new();
        let rows = match self.store.sessions(ours(Some(SessionState::Recoverable))).await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(%error, "no session is resumed");
                return resumed;
            }
        };
        for row in rows {
            if let Err(error) = self.room().await {
                tracing::warn!(session = row.id, %error, "it is not resumed");
                break;
            }
            let Ok(place) = self.places.clone().try_acquire_owned() else {
                tracing::warn!(session = row.id, "there is no place for it: it is not resumed");
                break;
            };
            let begun = async {
                let saved = SavedSession::read(&self.state_of(&row.id).await?, &*self.vault()?)?;
                let own = saved.own;
                Ok::<_, TroupeError>(Resumed { session: self.revive(&row, saved, place).await?, own })
            };
            match begun.await {
                Ok(begun) => resumed.push(begun),
                Err(error) => tracing::warn!(session = row.id, %error, "it is not resumed"),
            }
        }
        resumed
    }

    async fn revive(
        self: &Arc<Self>,
        row: &SessionRow,
        saved: SavedSession,
        place: tokio::sync::OwnedSemaphorePermit,
    ) -> Result<Arc<Session>> {
        if !self.store.claim_session(&row.id).await? {
            return Err(TroupeError::new(
                ErrorCode::SessionNotFound,
                format!("session `{}` is in use by another server", row.id),
            )
            .detail("reason", "in use")
            .session(&*row.id));
        }
        let identity = Identity {
            id: row.id.as_str().into(),
            created_at: row.created_at,
            lives_from: (!saved.own).then(|| self.clock.now()),
            options: saved.context.clone(),
        };
        let birth = Birth::Again(Arc::new(saved.clone()));
        self.again(&row.id);
        Ok(self.register(place, identity, Keeper::remembering(saved), birth))
    }

    /// What is kept of a session that does not live here; `missing` is what is told where nothing is.
    async fn saved(&self, id: &str, missing: TroupeError) -> Result<(SessionRow, SavedSession)> {
        let filter = SessionFilter { id: Some(id.to_owned()), ..SessionFilter::default() };
        let Some(row) = self.store.sessions(filter).await?.into_iter().next() else { return Err(missing) };
        let lacking = match (row.state, row.saved_at) {
            (SessionState::Closed, _) => Some(("closed", "was closed: nothing is kept to resume it from")),
            (_, None) => Some(("unseen", "ended before anything was seen of it to resume it from")),
            _ => None,
        };
        if let Some((reason, what)) = lacking {
            return Err(TroupeError::new(ErrorCode::SessionNotFound, format!("session `{id}` {what}"))
                .detail("reason", reason)
                .suggestion("create a new session with create_session")
                .session(id));
        }
        let saved = SavedSession::read(&self.state_of(id).await?, &*self.vault()?)
            .map_err(|error| error.session(id))?;
        Ok((row, saved))
    }

    async fn state_of(&self, id: &str) -> Result<String> {
        let saved = self.store.saved_state(id).await?;
        Ok(saved.map(|saved| saved.state).unwrap_or_default())
    }

    /// `error`, and where it says that there is no such session: whether there was one that can come back.
    pub async fn with_former(&self, error: TroupeError) -> TroupeError {
        let unknown = error.code == ErrorCode::SessionNotFound
            && error.details.get("reason").is_some_and(|reason| reason == UNKNOWN);
        let Some(id) = error.session_id.clone().filter(|_| unknown) else { return error };
        let filter = SessionFilter { id: Some(id.clone()), ..SessionFilter::default() };
        let row = self.store.sessions(filter).await.ok().and_then(|rows| rows.into_iter().next());
        match row.filter(comes_back) {
            None => error,
            Some(row) => error
                .worded(format!("session `{id}` is not open here; it was left by a server that is gone"))
                .detail("reason", row.state.as_str())
                .suggestion("session_resume brings it back under its id"),
        }
    }

    /// Forgets what is kept of a session that was not closed and is no living server's; false where there is none.
    pub(super) async fn forget_former(&self, id: &str) -> bool {
        let filter = SessionFilter { id: Some(id.to_owned()), ..SessionFilter::default() };
        let rows = self.store.sessions(filter).await.unwrap_or_default();
        // An active one that does not live here is another server's, or its client has gone or is away.
        let left = |row: &SessionRow| {
            matches!(row.state, SessionState::Active | SessionState::Recoverable | SessionState::Stale)
        };
        if !rows.first().is_some_and(left) || !self.store.claim_session(id).await.unwrap_or(false) {
            return false;
        }
        self.store.session_ended(id, SessionState::Closed);
        true
    }

    /// The sessions of this user and working folder that do not live here: those that are in `state`, or that can
    /// be brought back. The newest first.
    pub async fn former(&self, state: Option<SessionState>) -> Result<Vec<SessionInfo>> {
        if state == Some(SessionState::Active) {
            // None of them is.
            return Ok(Vec::new());
        }
        let mut rows = self.store.sessions(ours(state)).await?;
        rows.retain(|row| row.state != SessionState::Active && (state.is_some() || comes_back(row)));
        rows.truncate(MOST_LISTED);
        let mut infos = Vec::with_capacity(rows.len());
        for row in rows {
            let saved = match row.saved_at {
                Some(_) => self
                    .state_of(&row.id)
                    .await
                    .and_then(|text| SavedSession::read(&text, &*self.vault()?))
                    .ok(),
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

fn ours(state: Option<SessionState>) -> SessionFilter {
    SessionFilter { state, user: Some(user()), working_folder: Some(working_folder()), id: None }
}
