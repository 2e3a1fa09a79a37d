//! The changes that an action made: the difference of the page's text before and after it.
//!
//! The text after one action is the text before the next, unless a frame reports a change in
//! between. All frames are queried in parallel, and only those that have changed are walked again.
//! The main frame's snapshot arrives with the event loop tick that an action waits for anyway.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::{
    engine::{DocumentId, FrameId},
    error::Result,
    offload,
    page::{
        Page,
        read::{SnapshotOptions, difference, whole_page},
        state::{
            DocumentVersion, EventSequence, FrameSnapshot, FrameSnapshots, HiddenLines,
            PageSnapshot, ShownSnapshot,
        },
    },
};

/// The page's text before an action.
#[derive(Debug, Clone)]
pub(in crate::page) struct Before {
    look: PageSnapshot,
    /// The text that the client was last shown, if the page has changed since then.
    shown: Option<Arc<str>>,
    at: EventSequence,
    /// When it was read.
    pub read_at: Instant,
}

impl Before {
    /// The arguments for the `main` frame to return its text if it has changed since. `None` if it
    /// cannot know that.
    pub fn later_look(&self, main: &FrameId) -> Option<Value> {
        Some(look_after(&self.look.frames.get(main)?.version).into())
    }
}

/// Changes of the page's text.
#[derive(Debug, Default)]
pub(in crate::page) struct Changes {
    /// Between the client's last result and the action.
    pub earlier: Option<String>,
    /// By the action.
    pub made: Option<String>,
}

/// Arguments for the text of a frame that no longer shows the `known` version.
fn look_after(known: &DocumentVersion) -> Map<String, Value> {
    let mut wanted = whole_page();
    wanted.insert("known".into(), known.count.into());
    wanted.insert("document".into(), (*known.document).into());
    wanted
}

impl Page {
    fn document(&self) -> Option<DocumentId> {
        self.state.read(|facts| facts.main_frame().document.clone())
    }

    /// Takes a snapshot of the page unless nothing has changed since the last one. `seen` is a new
    /// snapshot of the main frame.
    async fn look(&self, seen: Option<Value>) -> Result<PageSnapshot> {
        let document = self.document();
        let main = self.main_frame();
        let (last, reports_inner) = {
            let known = self.snapshot_cache.lock();
            let last = known.look.clone().filter(|last| last.document == document);
            let reports_inner =
                known.reports_inner.as_ref() == Some(main) && !known.heard.contains_key(main);
            (last, reports_inner)
        };
        let mut main_snapshot = seen.map(FrameSnapshot::of).transpose()?;
        if let (None, true, Some(known)) =
            (&main_snapshot, reports_inner, last.as_ref().and_then(|last| last.frames.get(main)))
        {
            // The main frame's answer reports which frames of its origin have changed. Only those
            // are queried.
            main_snapshot = Some(self.frame_snapshot(main, Some(known)).await?);
        }
        let heard = self.snapshot_cache.take_heard();
        let frames: Vec<FrameId> = self.state.read(|facts| facts.frames.keys().cloned().collect());
        let frame_count = frames.len();
        let known = last.as_ref().map(|last| &*last.frames);
        let asked = join_all(frames.into_iter().map(async |frame| {
            let known = known.and_then(|known| known.get(&frame));
            let snapshot = match (&main_snapshot, known) {
                (Some(snapshot), _) if frame == *main => Ok(snapshot.clone()),
                (_, Some(known)) if heard.get(&frame) == Some(&known.version) => Ok(known.clone()),
                _ => self.frame_snapshot(&frame, known).await,
            };
            (frame, snapshot)
        }))
        .await;
        let mut frames = FrameSnapshots::new();
        for (frame, snapshot) in asked {
            match snapshot {
                Ok(snapshot) => drop(frames.insert(frame, snapshot)),
                Err(error) if frame == *main => return Err(error),
                // A child frame that cannot be read is shown as an empty one.
                Err(_) => {}
            }
        }
        self.snapshot_cache.forget_heard();
        let unchanged = |last: &PageSnapshot| {
            let same = |(frame, now): (&FrameId, &FrameSnapshot)| {
                last.frames.get(frame).is_some_and(|before| before.version == now.version)
            };
            last.frame_count == frame_count
                && last.frames.len() == frames.len()
                && frames.iter().all(same)
        };
        if let Some(last) = last.filter(unchanged) {
            return Ok(last);
        }
        let text = self.text_of(main, &frames, 0).await.into();
        let look = PageSnapshot { text, document, frames: Arc::new(frames), frame_count };
        self.snapshot_cache.lock().look = Some(look.clone());
        Ok(look)
    }

    /// Takes a snapshot of `frame`, unless it has not changed since the `known` one.
    async fn frame_snapshot(
        &self,
        frame: &FrameId,
        known: Option<&FrameSnapshot>,
    ) -> Result<FrameSnapshot> {
        let look = known.map_or_else(whole_page, |known| look_after(&known.version));
        let mut answer = self.ask_frame(frame, "snapshotIfChanged", json!({"look": look})).await?;
        match (answer["snapshot"].take(), known) {
            (Value::Null, Some(known)) => Ok(known.clone()),
            (snapshot, _) => FrameSnapshot::of(snapshot),
        }
    }

    /// Drops the versions that frames reported during earlier calls, because they may be outdated.
    pub fn begin_call(&self) {
        self.snapshot_cache.forget_heard();
    }

    /// Returns the text before an action. `None` if it cannot be read or is not needed.
    pub(in crate::page) async fn before_action(&self) -> Option<Before> {
        self.snapshot_cache.lock().after_action = false;
        if self.config.after_action != crate::config::AfterAction::Changes {
            return None;
        }
        let look = Box::pin(self.look(None)).await.ok()?;
        let shown = self.snapshot_cache.lock().shown_before(&look);
        Some(Before { look, shown, at: self.state.mark(), read_at: Instant::now() })
    }

    /// Returns the text that the client was last shown, with its document.
    pub fn shown(&self) -> ShownSnapshot {
        self.snapshot_cache.lock().shown.clone()
    }

    pub fn set_shown(&self, shown: ShownSnapshot) {
        self.snapshot_cache.lock().shown = shown;
    }

    /// Whether the client was shown the present document, so that its changes since then are
    /// reported.
    pub fn is_shown(&self) -> bool {
        let document = self.document();
        self.shown().page.is_some_and(|(shown, _)| shown == document)
    }

    /// Records that the client has been shown the present text: the next action reports later
    /// changes.
    pub(in crate::page) async fn shown_now(&self) {
        let shown = self.shown().outdated();
        self.set_shown(shown.clone());
        if self.config.after_action != crate::config::AfterAction::Changes {
            return;
        }
        if let Some(Ok(look)) =
            self.within(self.config.timeout_settle, Box::pin(self.look(None))).await
        {
            self.set_shown(ShownSnapshot::of(&look, shown.hidden));
        }
    }

    /// Returns the text of the last snapshot if the page has one frame, without asking it whether
    /// it has changed.
    pub(in crate::page) fn as_last_seen(&self) -> Option<Before> {
        if self.config.after_action != crate::config::AfterAction::Changes {
            return None;
        }
        let document = self.document();
        let mut known = self.snapshot_cache.lock();
        let look =
            known.look.clone().filter(|look| look.document == document && look.frame_count == 1)?;
        known.after_action = false;
        known.heard.clear();
        let shown = known.shown_before(&look);
        Some(Before { look, shown, at: self.state.mark(), read_at: Instant::now() })
    }

    /// Returns the changes since `before`; none if there is another document. `seen` is a new
    /// snapshot of the page, if there is one.
    pub(in crate::page) async fn changes_since(
        &self,
        before: Option<Before>,
        seen: Option<Value>,
    ) -> Changes {
        let is_there = |before: &Before| !self.state.read(|facts| facts.committed_since(before.at));
        let Some(before) = before.filter(is_there) else { return Changes::default() };
        let after = Box::pin(self.look(seen)).await.ok();
        let Some(after) = after.filter(|after| after.document == before.look.document) else {
            return Changes::default();
        };
        let hidden = self.shown().hidden.of(after.document.as_ref());
        let Before { look: before, shown, .. } = before;
        let size =
            before.text.len() + after.text.len() + shown.as_ref().map_or(0, |shown| shown.len());
        let (changes, hidden) = offload::in_place(size, || {
            Self::changes_between(shown.as_deref(), &before.text, &after.text, hidden)
        });
        let mut known = self.snapshot_cache.lock();
        known.after_action = true;
        known.shown = ShownSnapshot::of(&after, Arc::new(hidden));
        changes
    }

    /// Returns the changes from the text that the client was `shown` to `before`, and from there to
    /// `after`. Adds the lines that the client no longer sees to `hidden`.
    fn changes_between(
        shown: Option<&str>,
        before: &str,
        after: &str,
        mut hidden: HiddenLines,
    ) -> (Changes, HiddenLines) {
        let mut lines = |from: &str, to: &str| {
            let difference = difference(from, to, &hidden);
            // The client may not have been shown all of `from`.
            let is_shown = |line: &&&str| shown.is_none_or(|shown| shown.contains(**line));
            difference.removed.iter().filter(is_shown).for_each(|line| hidden.add(line));
            Some(difference.text).filter(|text| !text.is_empty())
        };
        let earlier = shown.and_then(|shown| lines(shown, before));
        let made = lines(before, after);
        (Changes { earlier, made }, hidden)
    }
}

impl Page {
    /// Stores the snapshot `seen` that came with a navigation, so that the record and the next
    /// action need none.
    pub(in crate::page) async fn seen_on_arrival(&self, seen: Value) {
        let look = self.within(self.config.timeout_settle, Box::pin(self.look(Some(seen)))).await;
        let mut known = self.snapshot_cache.lock();
        known.after_action = matches!(look, Some(Ok(_)));
        let hidden = known.shown.hidden.clone();
        known.shown =
            known.look.as_ref().map(|look| ShownSnapshot::of(look, hidden)).unwrap_or_default();
    }

    /// Returns the page's text after a call, for the record: the snapshot that was made for the
    /// answer, else a new one.
    pub async fn text_after(&self) -> Option<Arc<str>> {
        if self.dialog().is_some() || !self.is_open() {
            return None;
        }
        let document = self.document();
        let known = {
            let mut known = self.snapshot_cache.lock();
            let seen = std::mem::take(&mut known.after_action);
            known.look.clone().filter(|look| seen && look.document == document)
        };
        if let Some(look) = known {
            return Some(look.text);
        }
        // The call is done. A snapshot that times out must not prolong it.
        let look =
            self.within(self.config.timeout_settle, Box::pin(self.look(None))).await?.ok()?;
        Some(look.text)
    }

    /// Returns the snapshot of the page, or of an element, with its frames.
    pub async fn snapshot(&self, options: &SnapshotOptions) -> Result<String> {
        let text = self.snapshot_text(options).await?;
        if options.selector.is_none() {
            self.shown_now().await;
        }
        Ok(text)
    }
}
