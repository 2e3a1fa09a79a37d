//! Waits until the effects of an action have settled, without a fixed sleep.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    engine::{Dialog, DownloadStart, FileChooser, FrameId},
    error::{ErrorCode, Result},
    page::{
        Page,
        act::{DOWNLOAD_TIMEOUT, WaitUntil},
        read::SnapshotBefore,
        state::{EventSequence, OpenDialog, PageFacts},
    },
};

/// Maximum time to wait for a navigation that an action has started.
const NAVIGATION_TIMEOUT: Duration = Duration::from_secs(10);

/// Number of tasks in the page that deliver a response to the code that requested it.
const RESPONSE_TASKS: u32 = 8;

/// A pending event loop tick of the main frame, and its result.
pub(in crate::page) type EventLoopTick<'a> = BoxFuture<'a, Result<Value>>;

/// The effects of an action on a page.
#[derive(Debug, Clone, Default)]
pub struct SettledEffects {
    /// Whether the page was still busy at the timeout.
    pub timed_out: bool,
    /// The document was replaced.
    pub navigated: bool,
    pub dialog: Option<OpenDialog>,
    pub download: Option<DownloadStart>,
    /// A file chooser opened: `upload_file` on the same element answers it.
    pub file_chooser: Option<FileChooser>,
    /// The URLs of windows that the page has requested.
    pub windows: Vec<String>,
    /// The action closed the page.
    pub closed: bool,
    /// The page made requests.
    pub(in crate::page) requested: bool,
    /// The main document's clock at the last event loop tick.
    pub(in crate::page) clock: Option<DocumentClock>,
    /// A link with `download` was clicked. The download starts when its server responds.
    download_requested: bool,
    /// The value of the focused password field. Empty if the focus is in a frame that cannot be
    /// read.
    pub(in crate::page) password: Option<String>,
    /// The element that the press hit instead of its target. The press was canceled before the page
    /// received it.
    pub(in crate::page) covered: Option<String>,
    /// The target was pressed, but moved away from the pointer, and got no click.
    pub escaped: bool,
    /// The snapshots from the last event loop tick.
    pub(in crate::page) snapshots: TickSnapshots,
}

/// The snapshots in the answer to an event loop tick, valid immediately after it.
#[derive(Debug, Clone, Default)]
pub(in crate::page) struct TickSnapshots {
    pub native: Option<Value>,
    /// The text of the Playwright tool set.
    pub aria: Option<String>,
}

impl TickSnapshots {
    fn taken_from(answer: &mut Value) -> Self {
        let native = Some(answer["snapshot"].take()).filter(Value::is_object);
        let aria = answer["ariaSnapshot"].as_str().map(str::to_owned);
        Self { native, aria }
    }
}

/// The clock of a document.
#[derive(Debug, Clone, Copy)]
pub(in crate::page) struct DocumentClock {
    /// In milliseconds since the start of the document.
    now: f64,
    /// When the browser's answer with this time was received.
    received_at: Instant,
}

impl DocumentClock {
    fn of(answer: &Value) -> Option<Self> {
        Some(Self { now: answer["now"].as_f64()?, received_at: Instant::now() })
    }

    /// Returns the document's time at the earlier `instant`, in milliseconds. If the answer was
    /// delayed, the returned time is too early by the delay, never too late.
    pub fn at(&self, instant: Instant) -> f64 {
        self.now - self.received_at.saturating_duration_since(instant).as_secs_f64() * 1000.0
    }
}

/// The effects of an action so far.
struct ActionEffects {
    closed: bool,
    dialog: Option<Dialog>,
    download: Option<DownloadStart>,
    file_chooser: Option<FileChooser>,
    windows: Vec<String>,
    /// Whether the document is being replaced, or has been.
    is_replaced: bool,
    busy: bool,
}

impl ActionEffects {
    fn at(facts: &PageFacts, mark: EventSequence) -> Self {
        Self {
            closed: facts.closed,
            dialog: facts.dialog_since(mark),
            download: facts.download_since(mark),
            file_chooser: facts.file_chooser_since(mark),
            windows: facts.windows_since(mark),
            is_replaced: facts.navigating_since(mark) || facts.committed_since(mark),
            busy: facts.is_busy_since(mark),
        }
    }

    /// Returns whether there are no requests to wait for.
    fn is_over(&self) -> bool {
        self.closed || self.dialog.is_some() || self.is_replaced || !self.busy
    }
}

impl Page {
    /// Waits until everything that was started since `mark` has finished: requests, navigations,
    /// one event loop tick, the start of a download. The action was in `frame`. If the page differs
    /// from `before`, the result has a snapshot. `tick` is a tick that is already pending.
    pub(in crate::page) async fn settle(
        &self,
        mark: EventSequence,
        frame: &FrameId,
        before: Option<&SnapshotBefore>,
        tick: Option<EventLoopTick<'_>>,
    ) -> Result<SettledEffects> {
        let begun = Instant::now();
        // Versions that frames reported before the action was over do not include its effects.
        self.snapshot_cache.clear_reported();
        let mut settled = Box::pin(self.await_settled(mark, frame, before, tick)).await?;
        let time_limit = if settled.download_requested {
            self.config.timeout_settle.saturating_sub(begun.elapsed())
        } else if self.state.read(|facts| facts.abandoned_since(mark)) && !settled.navigated {
            DOWNLOAD_TIMEOUT
        } else {
            Duration::ZERO
        };
        // Even a timer of zero would take a millisecond.
        if !time_limit.is_zero()
            && settled.download.is_none()
            && !settled.closed
            && settled.dialog.is_none()
        {
            settled.snapshots = TickSnapshots::default();
            let download = self.state.await_some(|facts| facts.download_since(mark));
            settled.download = self.within(time_limit, download).await;
        }
        Ok(settled)
    }

    async fn await_settled(
        &self,
        mark: EventSequence,
        frame: &FrameId,
        before: Option<&SnapshotBefore>,
        mut pending_tick: Option<EventLoopTick<'_>>,
    ) -> Result<SettledEffects> {
        let deadline = Instant::now() + self.config.timeout_settle;
        let mut settled = SettledEffects::default();
        // The page gets a response shortly after the browser has reported it, so wait for one more
        // tick.
        let mut waited = false;
        let mut last_tick = mark;
        loop {
            let began = self.state.mark();
            // During a tick, handlers that the action queued run and start their requests. While a
            // document is being replaced, the old one runs no tasks.
            let interrupted = self.state.await_some(|facts| {
                let effects = ActionEffects::at(facts, mark);
                (effects.closed || effects.is_replaced || effects.dialog.is_some()).then_some(())
            });
            // If this is not the last tick, its snapshot would not be final.
            let may_be_last = !waited && !self.state.read(|facts| facts.is_busy_since(mark));
            let snapshot = before
                .filter(|_| may_be_last)
                .and_then(|before| before.options_if_changed(self.main_frame()));
            // A response passes through several tasks before the code that requested it runs.
            let tasks = if waited { RESPONSE_TASKS } else { 1 };
            let arguments = json!({"snapshot": snapshot, "tasks": tasks});
            let ticks = async {
                match pending_tick.take() {
                    Some(tick) => Ok((tick.await?, Value::Null)),
                    None => self.await_ticks(frame, arguments).await,
                }
            };
            let tick = async {
                tokio::select! {
                    outcome = ticks => outcome.map(Some),
                    () = interrupted => Ok(None),
                }
            };
            settled.snapshots = TickSnapshots::default();
            let mut blocked_by_dialog = false;
            match tokio::time::timeout_at(deadline, tick).await {
                Ok(Ok(None)) => {}
                Ok(Ok(Some((mut answer, inner)))) => {
                    settled.clock = DocumentClock::of(&answer).or(settled.clock);
                    for answer in [&answer, &inner] {
                        settled.download_requested |= answer["download"] == true;
                        let covered = answer["covered"].as_str().map(str::to_owned);
                        settled.covered = settled.covered.take().or(covered);
                        settled.escaped |= answer["escaped"] == true;
                        let password = &answer["password"];
                        if password.is_string() || *password == true {
                            settled.password =
                                Some(password.as_str().unwrap_or_default().to_owned());
                        }
                    }
                    settled.snapshots = TickSnapshots::taken_from(&mut answer);
                }
                Ok(Err(error)) => match error.code {
                    ErrorCode::DialogOpen => blocked_by_dialog = true,
                    ErrorCode::PageNotFound => {}
                    // The document is being replaced: that is a navigation, waited for below.
                    ErrorCode::BrowserError => {}
                    _ => return Err(error),
                },
                Err(_) => settled.timed_out = true,
            }
            let (effects, answered) = self.state.read(|facts| {
                (
                    ActionEffects::at(facts, mark),
                    facts.answered_since(mark, std::mem::replace(&mut last_tick, began)),
                )
            });
            settled.download = effects.download;
            settled.windows = effects.windows;
            settled.file_chooser = effects.file_chooser;
            settled.dialog = effects.dialog.map(Into::into);
            if blocked_by_dialog
                && settled.dialog.is_none()
                && let Some(other) = self.state.dialogs().of_other_page(&self.id)
            {
                settled.dialog = Some(other.into());
            }
            settled.closed = effects.closed;
            if settled.closed || settled.dialog.is_some() {
                return Ok(settled);
            }
            if effects.is_replaced {
                return self.await_navigation(mark, settled).await;
            }
            if settled.timed_out || !(effects.busy || waited || answered) {
                settled.timed_out |= self.state.read(|facts| facts.unfinished_since(mark));
                return Ok(settled);
            }
            waited = effects.busy || answered;
            settled.requested |= waited;
            // Responses may start more requests, so wait for another tick and check again.
            if tokio::time::timeout_at(deadline, self.await_requests(mark)).await.is_err() {
                settled.timed_out = true;
            }
        }
    }

    /// Waits for an event loop tick in the main frame and in the frame that was acted on. Returns
    /// the answer of each.
    async fn await_ticks(&self, frame: &FrameId, arguments: Value) -> Result<(Value, Value)> {
        if frame == self.main_frame() {
            return Ok((self.call_injected("awaitTick", arguments).await?, Value::Null));
        }
        let inner = json!({"tasks": arguments["tasks"]});
        let (main, inner) = tokio::join!(
            self.call_injected("awaitTick", arguments),
            self.call_injected_in(frame, "awaitTick", inner)
        );
        // The action may have navigated or removed the frame.
        Ok((main?, inner.unwrap_or_default()))
    }

    /// Waits until the requests since `mark` have finished, or the action had another effect.
    async fn await_requests(&self, mark: EventSequence) {
        loop {
            let at = self.state.read(|facts| facts.requests_end_at(mark));
            let changed = self.state.await_some(|facts| {
                let is_over = ActionEffects::at(facts, mark).is_over();
                (is_over || facts.requests_end_at(mark) != at).then_some(is_over)
            });
            let is_over = match at {
                None => changed.await,
                // Responses that the page does not read count as finished after a while.
                Some(at) => tokio::time::timeout_at(at, changed).await.unwrap_or(false),
            };
            if is_over || self.state.read(|facts| ActionEffects::at(facts, mark).is_over()) {
                return;
            }
        }
    }

    /// Waits until a navigation that was allowed by a `beforeunload` dialog commits or is
    /// abandoned.
    pub(in crate::page) async fn await_allowed_navigation(&self, mark: EventSequence) {
        let ended = self.state.await_some(|facts| {
            let is_over = facts.closed
                || facts.some_frame_committed_since(mark)
                || facts.abandoned_since(mark)
                || facts.dialog_since(mark).is_some();
            is_over.then_some(())
        });
        let _ = self.within(NAVIGATION_TIMEOUT, ended).await;
    }

    /// Waits for the document that the action navigates to.
    async fn await_navigation(
        &self,
        mark: EventSequence,
        mut settled: SettledEffects,
    ) -> Result<SettledEffects> {
        settled.snapshots = TickSnapshots::default();
        let deadline = Instant::now() + NAVIGATION_TIMEOUT;
        // The navigation may be abandoned: it becomes a download, has an empty response, or is
        // stopped.
        let begun = self.state.await_some(|facts| {
            (facts.committed_since(mark)
                || !facts.navigating_since(mark)
                || facts.dialog_since(mark).is_some())
            .then_some(facts.committed_since(mark))
        });
        match tokio::time::timeout_at(deadline, begun).await {
            Ok(true) => {
                settled.navigated = true;
                match tokio::time::timeout_at(
                    deadline,
                    self.await_load_or_dialog(WaitUntil::Load, mark),
                )
                .await
                {
                    Ok(dialog) => {
                        settled.dialog = dialog?;
                    }
                    Err(_) => settled.timed_out = true,
                }
            }
            Ok(false) => {
                // The browser reports a download, not the page, because the page does not navigate.
                self.engine.flush_events().await;
                settled.dialog = self.state.read(|facts| facts.dialog_since(mark)).map(Into::into);
                settled.download = self.state.read(|facts| facts.download_since(mark));
            }
            Err(_) => {
                settled.timed_out = true;
                // A page that is loading does not respond to other calls.
                self.engine.stop_loading();
            }
        }
        Ok(settled)
    }
}
