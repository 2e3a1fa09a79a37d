//! What stands behind the sessions of a server: contexts in a browser of ours, or for each a server of its own. Where it
//! is a server, this is how a session lives with it: what is kept of it has the same form, so that either can bring back
//! what the other has left.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    life::Birth,
    saved::{SavedPage, SavedSession},
    session::{PageInfo, Readiness, Session},
    storage_state::StorageState,
};
use crate::{
    engine::Engine,
    error::{ErrorCode, Result, TroupeError},
    upstream::{Kept, OnProgress, Passed, Replayed, Upstream, Upstreams},
};

/// Who does the work of the sessions.
pub enum Behind {
    Browsers(Arc<dyn Engine>),
    Upstreams(Arc<Upstreams>),
}

impl From<Arc<dyn Engine>> for Behind {
    fn from(engine: Arc<dyn Engine>) -> Self {
        Self::Browsers(engine)
    }
}

impl<E: Engine + 'static> From<Arc<E>> for Behind {
    fn from(engine: Arc<E>) -> Self {
        Self::Browsers(engine)
    }
}

impl Behind {
    /// The id of the next new session.
    pub(super) fn next_id(&self) -> Arc<str> {
        match self {
            Self::Browsers(_) => uuid::Uuid::new_v4().to_string().into(),
            Self::Upstreams(upstreams) => upstreams.next_id(),
        }
    }

    /// Ends what was started ahead and no session has got.
    pub(super) async fn end_spare(&self) {
        if let Self::Upstreams(upstreams) = self {
            upstreams.end_spare().await;
        }
    }

    /// The server of the session `id`, if it has one of its own.
    pub(super) fn attend(&self, id: &Arc<str>) -> Option<Arc<Upstream>> {
        match self {
            Self::Browsers(_) => None,
            Self::Upstreams(upstreams) => Some(upstreams.attend(id.clone())),
        }
    }
}

impl Session {
    /// Lives with its server; to be given up at its end.
    pub(super) async fn live_upstream(&self, upstream: &Upstream, birth: Birth) {
        match birth {
            Birth::New(None) => {}
            Birth::New(Some(state)) => {
                upstream.restore(Kept { storage: serde_json::to_value(state).ok(), ..Kept::default() });
            }
            Birth::Again(saved) => upstream.restore(kept(&saved)),
        }
        // Its server is started by the first call, and again whenever it dies: calls wait for that, not the session.
        self.readiness.send_replace(Readiness::Ready(CancellationToken::new()));
        upstream.supervise().await;
    }

    /// Passes a call through to its server.
    pub async fn pass_through(
        &self,
        tool: &str,
        arguments: serde_json::Map<String, Value>,
        on_progress: OnProgress,
    ) -> Result<Passed> {
        let Some(upstream) = &self.upstream else {
            return Err(TroupeError::new(ErrorCode::InternalError, "the session has no upstream server"));
        };
        let passed = upstream.call(tool, arguments, on_progress).await?;
        for message in &passed.found.console {
            self.console().note(message.clone());
        }
        Ok(passed)
    }

    /// Starts its server, if it has one, and leads it to where the session was.
    pub(super) async fn wake(&self) -> Result<()> {
        match &self.upstream {
            Some(upstream) => upstream.wake().await.map(drop),
            None => Ok(()),
        }
    }

    /// What came back with its server when it was last started; `None` where it has none.
    pub async fn replayed(&self) -> Option<Replayed> {
        self.upstream.as_ref()?.wake().await.ok()
    }

    /// Keeps what it can be resumed from.
    pub(super) async fn look_upstream(&self, upstream: &Upstream) {
        let Kept { urls, current, storage } = upstream.look().await;
        let storage = storage.and_then(|state| serde_json::from_value::<StorageState>(state).ok());
        let StorageState { cookies, origins } = storage.unwrap_or_default();
        let saved = Arc::new(SavedSession {
            own: self.expires_at().is_none(),
            context: self.options.clone(),
            cookies,
            origins,
            current: (!urls.is_empty()).then(|| page_id(current)),
            opened: urls.len(),
            pages: (1..)
                .zip(urls)
                .map(|(number, url)| SavedPage { number, url, ..SavedPage::default() })
                .collect(),
            ..SavedSession::default()
        });
        self.keeper.note(saved.clone());
        self.write_down(&saved);
    }
}

fn page_id(place: usize) -> String {
    format!("page-{}", place + 1)
}

/// The pages that a server has told of.
pub(super) fn pages(upstream: &Upstream) -> Vec<PageInfo> {
    let urls = upstream.kept().urls.into_iter().enumerate();
    urls.map(|(place, url)| PageInfo { page_id: page_id(place), url, crashed: None }).collect()
}

/// What a server is led to.
fn kept(saved: &SavedSession) -> Kept {
    let pages: Vec<&SavedPage> = saved.pages.iter().filter(|page| !page.url.is_empty()).collect();
    let is_current = |page: &&SavedPage| saved.current.as_deref() == Some(&*format!("page-{}", page.number));
    let state = StorageState { cookies: saved.cookies.clone(), origins: saved.origins.clone() };
    Kept {
        current: pages.iter().position(is_current).unwrap_or_default(),
        urls: pages.into_iter().map(|page| page.url.clone()).collect(),
        storage: (state != StorageState::default()).then(|| serde_json::to_value(state).unwrap_or_default()),
    }
}
