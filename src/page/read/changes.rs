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

/// The page's snapshot before an action.
#[derive(Debug, Clone)]
pub(in crate::page) struct SnapshotBefore {
    snapshot: PageSnapshot,
    /// The text that the client was last shown, if the page has changed since then.
    shown: Option<Arc<str>>,
    mark: EventSequence,
    /// When the action began: content that was requested earlier is not awaited.
    pub taken_at: Instant,
}

impl SnapshotBefore {
    /// Returns the options with which the `main` frame returns a snapshot if it has changed since
    /// this one. `None` if this one does not contain the frame.
    pub fn options_if_changed(&self, main: &FrameId) -> Option<Value> {
        Some(snapshot_if_changed(&self.snapshot.frames.get(main)?.version).into())
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

/// Returns the options for a snapshot of a frame if it has changed since the version `known`.
fn snapshot_if_changed(known: &DocumentVersion) -> Map<String, Value> {
    let mut options = whole_page();
    options.insert("known".into(), known.count.into());
    options.insert("document".into(), (*known.document).into());
    options
}

impl Page {
    fn document(&self) -> Option<DocumentId> {
        self.state.read(|facts| facts.main_frame().document.clone())
    }

    /// Returns a current snapshot of the page: the last one if nothing has changed. `new_main` is a
    /// new snapshot of the main frame, if there is one.
    async fn current_snapshot(&self, new_main: Option<Value>) -> Result<PageSnapshot> {
        let document = self.document();
        let main = self.main_frame();
        let (last, reports_inner) = {
            let cache = self.snapshot_cache.lock();
            let last = cache.snapshot.clone().filter(|last| last.document == document);
            let reports_inner =
                cache.reports_inner.as_ref() == Some(main) && !cache.reported.contains_key(main);
            (last, reports_inner)
        };
        let mut main_snapshot = new_main.map(FrameSnapshot::of).transpose()?;
        if let (None, true, Some(known)) =
            (&main_snapshot, reports_inner, last.as_ref().and_then(|last| last.frames.get(main)))
        {
            // The main frame's answer reports which frames of its origin have changed. Only those
            // are queried.
            main_snapshot = Some(self.frame_snapshot(main, Some(known)).await?);
        }
        let reported = self.snapshot_cache.take_reported();
        let frames: Vec<FrameId> = self.state.read(|facts| facts.frames.keys().cloned().collect());
        let frame_count = frames.len();
        let known = last.as_ref().map(|last| &*last.frames);
        let snapshots = join_all(frames.into_iter().map(async |frame| {
            let known = known.and_then(|known| known.get(&frame));
            let snapshot = match (&main_snapshot, known) {
                (Some(snapshot), _) if frame == *main => Ok(snapshot.clone()),
                (_, Some(known)) if reported.get(&frame) == Some(&known.version) => {
                    Ok(known.clone())
                }
                _ => self.frame_snapshot(&frame, known).await,
            };
            (frame, snapshot)
        }))
        .await;
        let mut frames = FrameSnapshots::new();
        for (frame, snapshot) in snapshots {
            match snapshot {
                Ok(snapshot) => drop(frames.insert(frame, snapshot)),
                Err(error) if frame == *main => return Err(error),
                // A child frame that cannot be read is shown as an empty one.
                Err(_) => {}
            }
        }
        self.snapshot_cache.clear_reported();
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
        let snapshot = PageSnapshot { text, document, frames: Arc::new(frames), frame_count };
        self.snapshot_cache.lock().snapshot = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// Takes a snapshot of `frame`, unless it has not changed since the `known` one.
    async fn frame_snapshot(
        &self,
        frame: &FrameId,
        known: Option<&FrameSnapshot>,
    ) -> Result<FrameSnapshot> {
        let options = known.map_or_else(whole_page, |known| snapshot_if_changed(&known.version));
        let arguments = json!({"snapshot": options});
        let mut answer =
            self.call_injected_if_responsive(frame, "snapshotIfChanged", arguments).await?;
        match (answer["snapshot"].take(), known) {
            (Value::Null, Some(known)) => Ok(known.clone()),
            (snapshot, _) => FrameSnapshot::of(snapshot),
        }
    }

    /// Drops the versions that frames reported during earlier calls, because they may be outdated.
    pub fn begin_call(&self) {
        self.snapshot_cache.clear_reported();
    }

    /// Returns the snapshot before an action. `None` if it cannot be read or is not needed.
    pub(in crate::page) async fn before_action(&self) -> Option<SnapshotBefore> {
        self.snapshot_cache.lock().after_action = false;
        if self.config.after_action != crate::config::AfterAction::Changes {
            return None;
        }
        let snapshot = Box::pin(self.current_snapshot(None)).await.ok()?;
        let shown = self.snapshot_cache.lock().shown_before(&snapshot);
        Some(SnapshotBefore { snapshot, shown, mark: self.state.mark(), taken_at: Instant::now() })
    }

    /// Returns the text that the client was last shown, with its document.
    pub fn shown(&self) -> ShownSnapshot {
        self.snapshot_cache.lock().shown.clone()
    }

    pub fn set_shown(&self, shown: ShownSnapshot) {
        self.snapshot_cache.lock().shown = shown;
    }

    /// Returns whether the client was shown the present document, so that its changes since then
    /// are reported.
    pub fn is_shown(&self) -> bool {
        let document = self.document();
        self.shown().page.is_some_and(|(shown, _)| shown == document)
    }

    /// Records that the client has been shown the present text, so that the next action reports
    /// only later changes.
    pub(in crate::page) async fn record_shown(&self) {
        let shown = self.shown().outdated();
        self.set_shown(shown.clone());
        if self.config.after_action != crate::config::AfterAction::Changes {
            return;
        }
        let snapshot = Box::pin(self.current_snapshot(None));
        if let Some(Ok(snapshot)) = self.within(self.config.timeout_settle, snapshot).await {
            self.set_shown(ShownSnapshot::of(&snapshot, shown.hidden));
        }
    }

    /// Returns the cached snapshot if the page has one frame. Does not query whether the page has
    /// changed since.
    pub(in crate::page) fn cached_before(&self) -> Option<SnapshotBefore> {
        self.last_snapshot().filter(|before| before.snapshot.frame_count == 1)
    }

    /// Returns the cached snapshot. Does not query whether the page has changed since.
    pub(in crate::page) fn last_snapshot(&self) -> Option<SnapshotBefore> {
        if self.config.after_action != crate::config::AfterAction::Changes {
            return None;
        }
        let document = self.document();
        let mut cache = self.snapshot_cache.lock();
        let snapshot = cache.snapshot.clone().filter(|last| last.document == document)?;
        cache.after_action = false;
        cache.reported.clear();
        let shown = cache.shown_before(&snapshot);
        Some(SnapshotBefore { snapshot, shown, mark: self.state.mark(), taken_at: Instant::now() })
    }

    /// Returns the changes since `before`; none if there is another document. `new_main` is a new
    /// snapshot of the main frame, if there is one.
    pub(in crate::page) async fn changes_since(
        &self,
        before: Option<SnapshotBefore>,
        new_main: Option<Value>,
    ) -> Changes {
        let is_current =
            |before: &SnapshotBefore| !self.state.read(|facts| facts.committed_since(before.mark));
        let Some(before) = before.filter(is_current) else { return Changes::default() };
        let after = Box::pin(self.current_snapshot(new_main)).await.ok();
        let Some(after) = after.filter(|after| after.document == before.snapshot.document) else {
            return Changes::default();
        };
        let hidden = self.shown().hidden.of(after.document.as_ref());
        let SnapshotBefore { snapshot: before, shown, .. } = before;
        let size =
            before.text.len() + after.text.len() + shown.as_ref().map_or(0, |shown| shown.len());
        let (changes, hidden) = offload::in_place(size, || {
            Self::changes_between(shown.as_deref(), &before.text, &after.text, hidden)
        });
        let mut cache = self.snapshot_cache.lock();
        cache.after_action = true;
        cache.shown = ShownSnapshot::of(&after, Arc::new(hidden));
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
    /// Stores the snapshot of the main frame that came with a navigation, so that the record and
    /// the next action need no other one.
    pub(in crate::page) async fn cache_arrival_snapshot(&self, new_main: Value) {
        let snapshot = Box::pin(self.current_snapshot(Some(new_main)));
        let snapshot = self.within(self.config.timeout_settle, snapshot).await;
        let mut cache = self.snapshot_cache.lock();
        cache.after_action = matches!(snapshot, Some(Ok(_)));
        let hidden = cache.shown.hidden.clone();
        let shown = cache.snapshot.as_ref().map(|snapshot| ShownSnapshot::of(snapshot, hidden));
        cache.shown = shown.unwrap_or_default();
    }

    /// Returns the page's text after a call, for the record: the snapshot that was made for the
    /// answer, else a new one.
    pub async fn text_after(&self) -> Option<Arc<str>> {
        if self.dialog().is_some() || !self.is_open() {
            return None;
        }
        let document = self.document();
        let cached = {
            let mut cache = self.snapshot_cache.lock();
            let is_current = std::mem::take(&mut cache.after_action);
            cache.snapshot.clone().filter(|last| is_current && last.document == document)
        };
        if let Some(snapshot) = cached {
            return Some(snapshot.text);
        }
        // The call is done. A snapshot that times out must not prolong it.
        let snapshot = Box::pin(self.current_snapshot(None));
        let snapshot = self.within(self.config.timeout_settle, snapshot).await?.ok()?;
        Some(snapshot.text)
    }

    /// Returns the snapshot of the page, or of an element, with its frames.
    pub async fn snapshot(&self, options: &SnapshotOptions) -> Result<String> {
        let text = self.snapshot_text(options).await?;
        if options.selector.is_none() {
            self.record_shown().await;
        }
        Ok(text)
    }
}
