//! The backend of sessions that each have an upstream server. The saved state has the same format
//! as with Troupe's own browsers, so that each backend can resume the sessions of the other.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    config::ContextConfig,
    error::{Result, TroupeError},
    session::{
        lifecycle::{AttachedWorker, Backend, PageInfo, Readiness, Session, SessionWorker},
        persistence::{SavedPage, SavedSession, SessionOrigin, StorageState},
    },
    upstream::{ForwardedResult, OnProgress, ReplayReport, Upstream, UpstreamState, Upstreams},
};

#[async_trait]
impl Backend for Upstreams {
    fn next_id(&self) -> Arc<str> {
        Self::next_id(self)
    }

    fn attach(
        self: Arc<Self>,
        id: &Arc<str>,
        _: &ContextConfig,
        _: &SessionOrigin,
    ) -> AttachedWorker {
        AttachedWorker { worker: Upstreams::add_server(&self, id.clone()), pages: None }
    }

    /// Does nothing: the first calls start the servers.
    async fn start(self: Arc<Self>) -> Result<()> {
        Ok(())
    }

    async fn admit(self: Arc<Self>) -> Result<()> {
        Self::admit(&self).await
    }

    fn failure(&self) -> Option<TroupeError> {
        Self::failure(self)
    }

    async fn stop(&self) {
        self.end_spare().await;
    }

    async fn end(&self) {
        self.shutdown().await;
    }
}

#[async_trait]
impl SessionWorker for Upstream {
    async fn run_session(&self, session: &Arc<Session>, origin: SessionOrigin) -> TroupeError {
        match origin {
            SessionOrigin::New(None) => {}
            SessionOrigin::New(Some(state)) => {
                let state = state.unmasked(session.secrets.vault());
                self.restore(UpstreamState {
                    storage: serde_json::to_value(state).ok(),
                    ..UpstreamState::default()
                });
            }
            SessionOrigin::Resumed(saved) => self.restore(upstream_state(&saved)),
        }
        // The session is ready at once. Calls wait until its server has started or restarted.
        session.readiness.send_replace(Readiness::Ready(CancellationToken::new()));
        match self.supervise().await {}
    }

    async fn activate(&self) -> Result<Option<ReplayReport>> {
        Self::wake(self).await.map(Some)
    }

    async fn save_state(&self, session: &Session, _thorough: bool) -> bool {
        let UpstreamState { urls, current, storage } = Self::read_state(self).await;
        let storage = storage.and_then(|state| serde_json::from_value::<StorageState>(state).ok());
        let StorageState { cookies, origins } = storage.unwrap_or_default();
        session.record_state(SavedSession {
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
        true
    }

    fn pages(&self, _: &Session) -> Vec<PageInfo> {
        let urls = self.last_known_state().urls.into_iter().enumerate();
        urls.map(|(index, url)| PageInfo { page_id: page_id(index), url, crashed: None }).collect()
    }

    async fn pass_through(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        on_progress: OnProgress,
    ) -> Result<ForwardedResult> {
        self.call(tool, arguments, on_progress).await
    }

    async fn close(&self, _: &Session) {
        Self::close(self).await;
    }
}

fn page_id(index: usize) -> String {
    format!("page-{}", index + 1)
}

/// Returns the state to restore in a server.
fn upstream_state(saved: &SavedSession) -> UpstreamState {
    let pages: Vec<&SavedPage> = saved.pages.iter().filter(|page| !page.url.is_empty()).collect();
    let is_current =
        |page: &&SavedPage| saved.current.as_deref() == Some(&*format!("page-{}", page.number));
    let state = StorageState { cookies: saved.cookies.clone(), origins: saved.origins.clone() };
    UpstreamState {
        current: pages.iter().position(is_current).unwrap_or_default(),
        urls: pages.into_iter().map(|page| page.url.clone()).collect(),
        storage: (state != StorageState::default())
            .then(|| serde_json::to_value(state).unwrap_or_default()),
    }
}
