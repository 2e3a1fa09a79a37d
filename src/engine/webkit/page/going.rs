//! Navigation. The driver's answer comes at once; polling finds out which document was loaded.

use std::time::Duration;

use thirtyfour::common::command::Command;
use tokio::time::Instant;

use super::{Asked, LOOK, LOST, WebkitPage, lock};
use crate::engine::{
    DocumentId, EngineError, EngineResult, NavigationStart, PageEvent,
    webkit::driver::{Turn, plain},
};

/// Between two looks at where it is.
const PAUSE: Duration = Duration::from_millis(5);
/// A step in the history that leads nowhere is known by nothing that happens within this time.
const STEP_TIMEOUT: Duration = Duration::from_millis(400);
/// A file is in its place this long after the page has come to rest again.
const DOWNLOAD: Duration = Duration::from_secs(1);
/// What scripts may go to from anywhere.
const REPLACING: [&str; 3] = ["http:", "https:", "about:blank"];

/// Where the page is after a look.
struct Here {
    document: DocumentId,
    url: String,
    /// Whether the browser says that it is there, and not on its way elsewhere.
    at_rest: bool,
    /// Why the document failed to load.
    failure: Option<String>,
}

impl WebkitPage {
    /// Navigates to `url`, with a new history entry or in place of the current one. Returns when
    /// the page has another document, or none.
    pub(super) async fn go(&self, url: &str, by_entry: bool) -> EngineResult<NavigationStart> {
        let shared = self.shared()?;
        shared.used(&self.handle);
        let before = {
            let mut turn = shared.free_turn().await;
            let before = self.here(&mut turn).await?;
            // The cookies of this document are not readable from another one.
            shared.note_cookies(&mut turn, self).await;
            plain(self.at_top(&mut turn).await)?;
            lock(&self.frames).sent_to(url);
            self.emit(PageEvent::NavigationRequested {
                frame: self.handle.clone(),
                document: None,
            });
            if by_entry || !REPLACING.iter().any(|scheme| url.starts_with(scheme)) {
                plain(turn.send(Command::NavigateTo(url.into())).await)?;
            } else {
                let replace = format!("location.replace({});", serde_json::Value::from(url));
                plain(turn.script(replace).await)?;
            }
            before
        };
        let files = shared.tell_downloads();
        let mut nowhere = None;
        loop {
            {
                let mut turn = shared.driver.turn().await;
                match self.here_by_now(&mut turn).await? {
                    None => {}
                    Some(here)
                        if before
                            .as_ref()
                            .is_none_or(|before| before.document != here.document) =>
                    {
                        return Ok(match here.failure {
                            Some(reason) => NavigationStart::Failed { reason },
                            None => NavigationStart::Document(here.document),
                        });
                    }
                    Some(here) if here.at_rest => {
                        let moved = before.as_ref().is_some_and(|before| before.url != here.url);
                        if moved || here.url == url && url.contains('#') {
                            return Ok(NavigationStart::SameDocument);
                        }
                        // A download, or a response without a document: WebDriver reports neither.
                        // A navigation to the current URL cannot be recognized by the URL.
                        if here.url != url {
                            if shared.tell_downloads() > files {
                                return Ok(NavigationStart::Download);
                            }
                            let since = *nowhere.get_or_insert_with(Instant::now);
                            if since.elapsed() > DOWNLOAD {
                                return Ok(NavigationStart::Failed {
                                    reason: "net::ERR_ABORTED".to_owned(),
                                });
                            }
                        }
                    }
                    Some(_) => {}
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Where it is now; nothing while that cannot be seen.
    async fn here(&self, turn: &mut Turn<'_>) -> EngineResult<Option<Here>> {
        match self.ask(turn, &self.handle, LOOK).await {
            Ok(Asked::Told(_)) => {
                let frames = lock(&self.frames);
                let (at_rest, failure) = (!frames.is_heading(), frames.failure());
                Ok(frames.document().map(|(document, url)| Here {
                    document,
                    url,
                    at_rest,
                    failure,
                }))
            }
            Ok(_) | Err(EngineError::DocumentGone) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same on its way elsewhere.
    async fn here_by_now(&self, turn: &mut Turn<'_>) -> EngineResult<Option<Here>> {
        tokio::time::timeout(LOST, self.here(turn)).await.unwrap_or(Ok(None))
    }

    /// Reloads the document. Polling follows the result.
    pub(super) async fn load_again(&self) -> EngineResult<()> {
        let shared = self.shared()?;
        shared.used(&self.handle);
        let mut turn = shared.free_turn().await;
        plain(self.at_top(&mut turn).await)?;
        let url = lock(&self.frames).target();
        lock(&self.frames).sent_to(&url);
        self.emit(PageEvent::NavigationRequested { frame: self.handle.clone(), document: None });
        plain(turn.send(Command::Refresh).await)?;
        shared.wake();
        Ok(())
    }

    /// Moves by the given number of entries in the history. It uses a script, because the driver's
    /// own commands wait for an end of the navigation that they sometimes miss.
    pub(super) async fn go_through_history(&self, entries: i64) -> EngineResult<bool> {
        let shared = self.shared()?;
        shared.used(&self.handle);
        let before = {
            let mut turn = shared.free_turn().await;
            let before = self.here(&mut turn).await?;
            plain(self.at_top(&mut turn).await)?;
            plain(turn.script(format!("history.go({entries});")).await)?;
            before
        };
        let deadline = Instant::now() + STEP_TIMEOUT;
        loop {
            let here = {
                let mut turn = shared.driver.turn().await;
                self.here_by_now(&mut turn).await?
            };
            // While it is on its way that may take any time.
            let gone = match (&before, &here) {
                (Some(before), Some(here)) => {
                    !here.at_rest || before.document != here.document || before.url != here.url
                }
                _ => false,
            };
            if gone {
                break;
            }
            // What cannot be seen is on its way.
            if here.is_some() && Instant::now() > deadline {
                return Ok(false);
            }
            tokio::time::sleep(PAUSE).await;
        }
        shared.wake();
        Ok(true)
    }
}
