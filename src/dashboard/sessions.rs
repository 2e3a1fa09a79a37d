//! The list of sessions.

use std::{slice, sync::Arc};

use futures_util::future::join_all;
use serde::Serialize;

use super::{Dashboard, calls::cut};
use crate::{
    error::Result,
    page::Page,
    session::{PersonQuestion, Session},
    store::{NewRequest, SessionFilter, SessionRow, SessionState, iso8601},
};

/// Maximum number of ended sessions in the list.
const MAX_ENDED: usize = 200;
/// Maximum number of characters of a title or URL.
const MAX_CHARACTERS: usize = 2000;

/// A session in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// The id of the server process.
    pub server: String,
    pub id: String,
    /// The name for `-s` of a command.
    pub name: Option<String>,
    pub state: ShownState,
    pub browser: String,
    /// Of the current page. `None` for a session that has ended.
    pub url: Option<String>,
    pub title: Option<String>,
    /// ISO 8601, like all times here.
    pub created_at: String,
    pub last_used_at: String,
    pub calls: u64,
    pub running: Option<RunningView>,
    pub held_by: Option<&'static str>,
    /// A question of the agent that waits for a person.
    pub question: Option<Arc<PersonQuestion>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShownState {
    Active,
    /// It has ended, and can be resumed.
    Recoverable,
    Ended,
}

/// A running call in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningView {
    pub call: String,
    pub tool: String,
    pub started_at: String,
}

/// A session with its pages.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionDetails {
    #[serde(flatten)]
    pub session: SessionView,
    pub pages: Vec<PageView>,
}

/// A page of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PageView {
    pub id: String,
    pub url: String,
    pub title: String,
    pub active: bool,
}

impl Dashboard {
    /// Returns the live sessions, newest first, and then the newest of those that have ended.
    pub async fn sessions(&self) -> Result<Vec<SessionView>> {
        let mut sessions = self.live_views().await;
        let rows = self.store().sessions(SessionFilter::default()).await?;
        let is_live = |row: &SessionRow| sessions.iter().any(|live| live.id == row.id);
        let ended: Vec<SessionView> = rows
            .iter()
            // A session of another server is shown by that server.
            .filter(|row| row.used_by.is_none() && !is_live(row))
            .take(MAX_ENDED)
            .map(|row| self.ended_view(row))
            .collect();
        sessions.extend(ended);
        self.add_names(&mut sessions).await;
        Ok(sessions)
    }

    /// Returns the live sessions, newest first.
    pub async fn live_sessions(&self) -> Vec<SessionView> {
        let mut sessions = self.live_views().await;
        self.add_names(&mut sessions).await;
        sessions
    }

    async fn live_views(&self) -> Vec<SessionView> {
        let running = self.store().running_calls();
        let live = self.manager.list();
        let views = live.iter().rev().map(|session| self.view(session, running.get(&session.id)));
        join_all(views).await
    }

    /// Returns the session `id` with its pages. `None` if neither the server nor its record has it.
    pub async fn session(&self, id: &str) -> Result<Option<SessionDetails>> {
        let mut details = if let Some(session) = self.manager.find(id) {
            let running = self.store().running_calls();
            let view = self.view(&session, running.get(&session.id)).await;
            SessionDetails { session: view, pages: pages(&session).await }
        } else {
            let Some(row) = self.store().find_session(id).await? else { return Ok(None) };
            SessionDetails { session: self.ended_view(&row), pages: Vec::new() }
        };
        self.add_names(slice::from_mut(&mut details.session)).await;
        Ok(Some(details))
    }

    /// Adds the names that commands have given to the sessions.
    async fn add_names(&self, sessions: &mut [SessionView]) {
        let Some(source) = self.names.clone() else { return };
        let Ok(mut names) = tokio::task::spawn_blocking(move || source()).await else { return };
        for session in sessions {
            session.name = names.remove(&session.id);
        }
    }

    async fn view(&self, session: &Session, running: Option<&Arc<NewRequest>>) -> SessionView {
        let page = session.current_page();
        let title = match &page {
            Some(page) => Some(title(page).await),
            None => None,
        };
        SessionView {
            server: self.store().server_id().to_owned(),
            id: session.id.to_string(),
            name: None,
            state: ShownState::Active,
            browser: self.manager.config().browser.to_string(),
            url: page.map(|page| cut(&page.url(), MAX_CHARACTERS)),
            title,
            created_at: iso8601(session.created_at),
            last_used_at: iso8601(session.last_used_at()),
            calls: session.call_count(),
            running: running.map(|request| RunningView {
                call: request.ref_id.to_string(),
                tool: request.tool.clone().into_owned(),
                started_at: iso8601(request.at),
            }),
            held_by: session.controller().map(|_| "viewer"),
            question: session.pending_question(),
        }
    }

    fn ended_view(&self, row: &SessionRow) -> SessionView {
        let browser = row.metadata["browser"].as_str();
        SessionView {
            server: self.store().server_id().to_owned(),
            id: row.id.clone(),
            name: None,
            state: match row.state {
                SessionState::Recoverable | SessionState::Stale => ShownState::Recoverable,
                _ => ShownState::Ended,
            },
            browser: browser.unwrap_or_default().to_owned(),
            url: None,
            title: None,
            created_at: iso8601(row.created_at),
            last_used_at: iso8601(row.last_activity),
            calls: row.requests,
            running: None,
            held_by: None,
            question: None,
        }
    }
}

async fn pages(session: &Session) -> Vec<PageView> {
    let current = session.current_page();
    let current = current.as_ref().map(|page| page.id.as_str());
    let views = session.open_pages().into_iter().map(async |page| PageView {
        active: Some(page.id.as_str()) == current,
        id: page.id.clone(),
        url: cut(&page.url(), MAX_CHARACTERS),
        title: title(&page).await,
    });
    join_all(views).await
}

/// Returns the title of a page, or an empty one if the page does not respond.
async fn title(page: &Page) -> String {
    cut(&page.title_if_responsive().await.unwrap_or_default(), MAX_CHARACTERS)
}
