//! Navigates. The driver answers immediately. Polling then finds out which document was loaded.

use std::time::Duration;

use thirtyfour::common::command::Command;
use tokio::time::Instant;

use super::{POLL_TIMEOUT, REPORT_STATE, ScriptOutcome, WebkitPage, lock};
use crate::engine::{
    DocumentId, EngineError, EngineResult, NavigationStart, PageEvent,
    webkit::driver::{CommandGuard, into_engine_result},
};

/// Polling interval while a navigation is pending.
const PAUSE: Duration = Duration::from_millis(5);
/// If nothing changes within this time, the history has no such entry.
const STEP_TIMEOUT: Duration = Duration::from_millis(400);
/// Time within which the file of a download appears after its navigation has ended.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(1);
/// Prefixes of the URLs that a script may navigate to from any document.
const SCRIPT_SCHEMES: [&str; 3] = ["http:", "https:", "about:blank"];

/// The document of the page at a poll.
struct CurrentDocument {
    document: DocumentId,
    url: String,
    /// Whether no navigation is pending.
    is_idle: bool,
    /// Why the document failed to load.
    failure: Option<String>,
}

impl WebkitPage {
    /// Navigates to `url`. Adds a history entry if `adds_entry` is true; otherwise replaces the
    /// current one. Returns when the page has another document, or when the navigation has ended
    /// without one.
    pub(super) async fn navigate_to(
        &self,
        url: &str,
        adds_entry: bool,
    ) -> EngineResult<NavigationStart> {
        let windows = self.windows()?;
        windows.record_use(&self.handle);
        let before = {
            let mut commands = windows.commands_without_dialog().await;
            let before = self.current_document(&mut commands).await?;
            // The cookies of this document are not readable from another one.
            windows.store_cookies(&mut commands, self).await;
            into_engine_result(self.select_main_frame(&mut commands).await)?;
            lock(&self.frames).navigation_sent(url);
            self.emit(PageEvent::NavigationRequested {
                frame: self.handle.clone(),
                document: None,
            });
            if adds_entry || !SCRIPT_SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
                into_engine_result(commands.send(Command::NavigateTo(url.into())).await)?;
            } else {
                let replace = format!("location.replace({});", serde_json::Value::from(url));
                into_engine_result(commands.script(replace).await)?;
            }
            before
        };
        let files = windows.report_downloads();
        let mut empty_since = None;
        loop {
            {
                let mut commands = windows.driver.commands().await;
                match self.current_document_or_timeout(&mut commands).await? {
                    None => {}
                    Some(current)
                        if before
                            .as_ref()
                            .is_none_or(|before| before.document != current.document) =>
                    {
                        return Ok(match current.failure {
                            Some(reason) => NavigationStart::Failed { reason },
                            None => NavigationStart::Document(current.document),
                        });
                    }
                    Some(current) if current.is_idle => {
                        let moved = before.as_ref().is_some_and(|before| before.url != current.url);
                        if moved || current.url == url && url.contains('#') {
                            return Ok(NavigationStart::SameDocument);
                        }
                        // The navigation was a download or a response without a document, which
                        // WebDriver does not report. If `url` is the current URL, it may still
                        // load.
                        if current.url != url {
                            if windows.report_downloads() > files {
                                return Ok(NavigationStart::Download);
                            }
                            let since = *empty_since.get_or_insert_with(Instant::now);
                            if since.elapsed() > DOWNLOAD_TIMEOUT {
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

    /// Reads the current document; `None` while it cannot be read.
    async fn current_document(
        &self,
        commands: &mut CommandGuard<'_>,
    ) -> EngineResult<Option<CurrentDocument>> {
        match self.run_body(commands, &self.handle, REPORT_STATE).await {
            Ok(ScriptOutcome::Returned(_)) => {
                let frames = lock(&self.frames);
                let (is_idle, failure) = (!frames.is_navigating(), frames.failure());
                Ok(frames.document().map(|(document, url)| CurrentDocument {
                    document,
                    url,
                    is_idle,
                    failure,
                }))
            }
            Ok(_) | Err(EngineError::DocumentGone) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Like [`Self::current_document`], but also returns `None` if the driver does not answer the
    /// poll.
    async fn current_document_or_timeout(
        &self,
        commands: &mut CommandGuard<'_>,
    ) -> EngineResult<Option<CurrentDocument>> {
        tokio::time::timeout(POLL_TIMEOUT, self.current_document(commands))
            .await
            .unwrap_or(Ok(None))
    }

    /// Reloads the document. Polling reports the result.
    pub(super) async fn reload_document(&self) -> EngineResult<()> {
        let windows = self.windows()?;
        windows.record_use(&self.handle);
        let mut commands = windows.commands_without_dialog().await;
        into_engine_result(self.select_main_frame(&mut commands).await)?;
        let url = lock(&self.frames).target();
        lock(&self.frames).navigation_sent(&url);
        self.emit(PageEvent::NavigationRequested { frame: self.handle.clone(), document: None });
        into_engine_result(commands.send(Command::Refresh).await)?;
        windows.wake();
        Ok(())
    }

    /// Moves by the given number of entries in the history. Uses a script, because the driver's
    /// commands wait for the end of the navigation and sometimes miss it.
    pub(super) async fn move_in_history(&self, entries: i64) -> EngineResult<bool> {
        let windows = self.windows()?;
        windows.record_use(&self.handle);
        let before = {
            let mut commands = windows.commands_without_dialog().await;
            let before = self.current_document(&mut commands).await?;
            into_engine_result(self.select_main_frame(&mut commands).await)?;
            into_engine_result(commands.script(format!("history.go({entries});")).await)?;
            before
        };
        let deadline = Instant::now() + STEP_TIMEOUT;
        loop {
            let current = {
                let mut commands = windows.driver.commands().await;
                self.current_document_or_timeout(&mut commands).await?
            };
            // A pending navigation may take any time.
            let has_changed = match (&before, &current) {
                (Some(before), Some(current)) => {
                    !current.is_idle
                        || before.document != current.document
                        || before.url != current.url
                }
                _ => false,
            };
            if has_changed {
                break;
            }
            // A document that cannot be read means that a navigation is pending.
            if current.is_some() && Instant::now() > deadline {
                return Ok(false);
            }
            tokio::time::sleep(PAUSE).await;
        }
        windows.wake();
        Ok(true)
    }
}
