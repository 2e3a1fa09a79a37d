//! Waits for an element, a text or a URL, also across navigations.

use std::{collections::HashSet, future::Future, time::Duration};

use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::{
    engine::{FrameId, url_pattern::UrlPattern},
    error::{ErrorCode, Result, TroupeError},
    page::{
        Page,
        query::area,
        script::{GRACE, is_unresponsive, millis},
        state::EventSequence,
    },
};

/// How long after a document's end the event for its replacement may arrive.
const REPLACEMENT_TIMEOUT: Duration = Duration::from_millis(100);
/// Maximum characters of the page's text in the error of a failed wait for a text.
const MAX_TEXT_LENGTH: usize = 120;

/// The state of an element to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ElementState {
    Attached,
    Detached,
    Visible,
    Hidden,
}

impl ElementState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attached => "attached",
            Self::Detached => "detached",
            Self::Visible => "visible",
            Self::Hidden => "hidden",
        }
    }

    /// Returns whether a missing element is in this state.
    fn is_absence(self) -> bool {
        matches!(self, Self::Detached | Self::Hidden)
    }
}

/// The element that was waited for, if it exists.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct AwaitedElement {
    pub r#ref: Option<String>,
    pub description: Option<String>,
    /// Where the text was found if it is not visible text: `name`, `placeholder`, `value` or
    /// `title`.
    pub r#as: Option<String>,
}

/// The description of one element.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Element {
    r#ref: String,
    description: String,
    role: String,
    name: String,
    tag: String,
    text: String,
    attributes: Map<String, Value>,
    /// CSS pixels of the viewport: x, y, width, height.
    r#box: Map<String, Value>,
    visible: bool,
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// true, false or "mixed".
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<Value>,
    /// CSS
    path: String,
}

/// A timeout and its deadline.
#[derive(Debug, Clone, Copy)]
pub struct TimeLimit {
    timeout: Duration,
    deadline: Instant,
}

impl TimeLimit {
    /// Begins now.
    pub fn new(timeout: Duration) -> Self {
        Self { timeout, deadline: Instant::now() + timeout }
    }

    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// The frames of a page at one point in time.
struct FrameSet {
    ids: HashSet<FrameId>,
    mark: EventSequence,
}

impl Page {
    /// Waits until the element that `target` refers to is in `state`.
    pub async fn wait_for_element(
        &self,
        target: &str,
        state: ElementState,
        time_limit: TimeLimit,
    ) -> Result<AwaitedElement> {
        let waiting = self.across_documents(|| self.await_element(target, state, time_limit));
        self.within_time_limit(
            time_limit,
            &format!("`{target}` was not {}", state.as_str()),
            waiting,
        )
        .await
    }

    /// Waits until `target` is in the page, and returns its description.
    pub async fn find_element(&self, target: &str, time_limit: TimeLimit) -> Result<Element> {
        let element = match self.wait_for_element(target, ElementState::Attached, time_limit).await
        {
            Err(error) if error.code == ErrorCode::Timeout => {
                // The same message as for any missing element, with what was found instead.
                let found = self.within(GRACE, self.require(target)).await.unwrap_or(Err(error));
                let found = found
                    .map_err(|missing| missing.detail("timeout", millis(time_limit.timeout)))?;
                AwaitedElement { r#ref: Some(found), ..AwaitedElement::default() }
            }
            other => other?,
        };
        let reference = element.r#ref.unwrap_or_default();
        self.in_one_document(|| {
            Box::pin(async {
                let resolved = self.locate(&reference).await?;
                let mut description = self.call_injected_in(&resolved.frame, "describe", json!({"ref": resolved.target})).await?;
                let bounds = self.transform_of(&resolved.owners).await?.bounds(area(&description["box"]));
                description["box"] =
                    json!({"x": bounds.x, "y": bounds.y, "width": bounds.width, "height": bounds.height});
                serde_json::from_value(description)
                    .map_err(|error| TroupeError::new(ErrorCode::InternalError, error.to_string()))
            })
        })
        .await
    }

    /// Waits for `time`.
    pub async fn wait_for_time(&self, time: Duration) -> Result<()> {
        self.guarded_for(Duration::MAX, async {
            tokio::time::sleep(time).await;
            Ok(())
        })
        .await
    }

    /// Waits until the page's URL matches `pattern`.
    pub async fn wait_for_url(&self, pattern: &str, time_limit: TimeLimit) -> Result<()> {
        let url_pattern = UrlPattern::parse(pattern).map_err(|reason| {
            TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("`{pattern}` is not a valid URL pattern: {reason}"),
            )
            .suggestion("pass a part of the URL as `url`, or a glob such as **/orders/*")
        })?;
        let matches =
            self.state.await_some(|facts| url_pattern.fits(&facts.main_frame().url).then_some(()));
        let wait = self.guarded_for(Duration::MAX, async {
            matches.await;
            Ok(())
        });
        match self.within(time_limit.remaining(), wait).await {
            Some(outcome) => outcome,
            None => Err(TroupeError::new(
                ErrorCode::Timeout,
                format!(
                    "the page is at `{}`, not at `{pattern}` (waited {} ms)",
                    self.url(),
                    millis(time_limit.timeout)
                ),
            )
            .detail("timeout", millis(time_limit.timeout))
            .detail("url", self.url())),
        }
    }

    /// Waits until any frame shows `text`.
    pub async fn wait_for_text(&self, text: &str, time_limit: TimeLimit) -> Result<AwaitedElement> {
        let waiting = self.across_frames(|frames| self.await_text(text, frames, time_limit));
        match self
            .within_time_limit(time_limit, &format!("the text `{text}` was not visible"), waiting)
            .await
        {
            Err(error) if error.code == ErrorCode::Timeout => {
                Err(self.with_shown_text(error).await)
            }
            other => other,
        }
    }

    /// Waits until no frame shows `text`.
    pub async fn wait_for_text_gone(&self, text: &str, time_limit: TimeLimit) -> Result<()> {
        let waiting = self.across_frames(|frames| self.await_text_gone(text, frames, time_limit));
        self.within_time_limit(time_limit, &format!("the text `{text}` was still visible"), waiting)
            .await
    }

    fn await_element<'a>(
        &'a self,
        target: &'a str,
        state: ElementState,
        time_limit: TimeLimit,
    ) -> BoxFuture<'a, Result<AwaitedElement>> {
        Box::pin(async move {
            // Without one of its parent frames, the element is missing.
            if let Some((frame, _)) = target.rsplit_once(" >>> ") {
                if !state.is_absence() {
                    self.await_element(frame, ElementState::Attached, time_limit).await?;
                } else if !self.presence(frame).await?.exists {
                    return Ok(AwaitedElement::default());
                }
            }
            let resolved = match self.locate(target).await {
                Err(error) if error.code == ErrorCode::ElementNotFound && state.is_absence() => {
                    return Ok(AwaitedElement::default());
                }
                other => other?,
            };
            let arguments = json!({"target": resolved.target, "state": state.as_str(), "timeout": millis(time_limit.remaining())});
            self.await_in_frame(&resolved.frame, arguments).await
        })
    }

    async fn await_in_frame(&self, frame: &FrameId, arguments: Value) -> Result<AwaitedElement> {
        let answer = self.call_injected_in(frame, "waitFor", arguments).await?;
        let text = |name: &str| answer[name].as_str().map(str::to_owned);
        Ok(AwaitedElement {
            r#ref: text("ref"),
            description: text("description"),
            r#as: text("as"),
        })
    }

    /// Waits until one of `frames` shows `text`. `None` if no frame could be queried.
    async fn await_text(
        &self,
        text: &str,
        frames: Vec<FrameId>,
        time_limit: TimeLimit,
    ) -> Result<Option<AwaitedElement>> {
        let mut waits: FuturesUnordered<_> = frames
            .iter()
            .map(async |frame| {
                let arguments = json!({"text": text, "timeout": millis(time_limit.remaining())});
                (frame, self.await_in_frame(frame, arguments).await)
            })
            .collect();
        while let Some((frame, outcome)) = waits.next().await {
            match outcome {
                Ok(element) => return Ok(Some(element)),
                Err(error) if self.document_was_replaced(&error) => {}
                // The other frames have the same timeout.
                Err(error) if frame == self.main_frame() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(None)
    }

    /// Waits until none of `frames` shows `text`. `None` if a frame was removed meanwhile, or
    /// responds again. Does not wait for unresponsive frames, because their text cannot be read.
    async fn await_text_gone(
        &self,
        text: &str,
        frames: Vec<FrameId>,
        time_limit: TimeLimit,
    ) -> Result<Option<()>> {
        let mut waits: FuturesUnordered<_> = frames
            .iter()
            .map(async |frame| {
                let arguments =
                    json!({"textGone": text, "timeout": millis(time_limit.remaining())});
                (frame, self.call_injected_if_responsive(frame, "waitFor", arguments).await)
            })
            .collect();
        let mut unresponsive = Vec::new();
        while let Some((frame, outcome)) = waits.next().await {
            match outcome {
                Err(error) if self.document_was_replaced(&error) => return Ok(None),
                Err(error) if is_unresponsive(&error) => unresponsive.push(frame),
                other => other.map(drop)?,
            }
        }
        let are_still_unresponsive =
            unresponsive.into_iter().all(|frame| self.unresponsive_frames.contains(frame));
        Ok(are_still_unresponsive.then_some(()))
    }

    /// Repeats `work` until no document is replaced meanwhile.
    async fn across_documents<'a, T>(
        &self,
        work: impl Fn() -> BoxFuture<'a, Result<T>>,
    ) -> Result<T> {
        loop {
            let frames = self.frames();
            match work().await {
                Err(error) if self.document_was_replaced(&error) => {
                    self.await_replacement(&frames).await
                }
                other => return other,
            }
        }
    }

    /// Runs `work` in every frame. Repeats it when a frame is attached, detached or gets another
    /// document.
    async fn across_frames<T, F>(&self, work: impl Fn(Vec<FrameId>) -> F) -> Result<T>
    where
        F: Future<Output = Result<Option<T>>>,
    {
        loop {
            let frames = self.frames();
            let outcome = tokio::select! {
                biased;
                outcome = work(frames.ids.iter().cloned().collect()) => outcome,
                () = self.await_frame_change(&frames) => Ok(None),
            };
            match outcome {
                Ok(Some(value)) => return Ok(value),
                Err(error) if !self.document_was_replaced(&error) => return Err(error),
                _ => self.await_replacement(&frames).await,
            }
        }
    }

    fn frames(&self) -> FrameSet {
        self.state.read(|facts| FrameSet {
            ids: facts.frames.keys().cloned().collect(),
            mark: facts.now(),
        })
    }

    /// Waits until a frame is attached, detached or has another document than in `frames`, or the
    /// page closes or crashes.
    async fn await_frame_change(&self, frames: &FrameSet) {
        let changed = self.state.await_some(|facts| {
            let other = facts.closed
                || facts.crashed.is_some()
                || facts.frames.len() != frames.ids.len()
                || facts.frames.iter().any(|(id, frame)| {
                    frame.committed_at > frames.mark || !frames.ids.contains(id)
                });
            other.then_some(())
        });
        changed.await;
    }

    /// Waits until the event about a replaced document arrives. The wait is short, because the
    /// event may have arrived before `frames` were read.
    async fn await_replacement(&self, frames: &FrameSet) {
        let _ = self.within(REPLACEMENT_TIMEOUT, self.await_frame_change(frames)).await;
    }

    /// Awaits `work`, which has the same time limit in the page. `what` begins the message if the
    /// page does not respond.
    async fn within_time_limit<T>(
        &self,
        time_limit: TimeLimit,
        what: &str,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        match self.within(time_limit.remaining() + GRACE, work).await {
            // The error has the total waiting time, not the time since the last document.
            Some(Err(mut error)) if error.code == ErrorCode::Timeout => {
                if let Some((why, _)) = error.message.rsplit_once(" (waited ") {
                    error.message = format!("{why} (waited {} ms)", millis(time_limit.timeout));
                }
                Err(error.detail("timeout", millis(time_limit.timeout)))
            }
            Some(outcome) => outcome,
            None => {
                Err(self
                    .timed_out(&format!("{what}: the page did not respond"), time_limit.timeout))
            }
        }
    }

    /// Adds the beginning of the page's text to `error`.
    async fn with_shown_text(&self, mut error: TroupeError) -> TroupeError {
        let Some(Ok(shown)) = self.within(GRACE, self.read::<Value>(None, "text", json!({}))).await
        else {
            return error;
        };
        let mut words = shown["text"]
            .as_str()
            .unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        if let Some((end, _)) = words.char_indices().nth(MAX_TEXT_LENGTH) {
            words.truncate(end);
            words.push('…');
        }
        error.message = format!("{}; the page shows {words:?}", error.message);
        error.suggestion.get_or_insert_with(|| {
            "look at the page with `snapshot`, or search it with `find`".to_owned()
        });
        error
    }
}
