//! The last snapshot of a page, and the changes that its frames have reported since.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use crate::{
    engine::{DocumentId, FrameId},
    error::{ErrorCode, Result, TroupeError},
    page::state::HiddenLines,
};

/// The last snapshot of the page, and the changes that its frames have reported since.
#[derive(Debug, Default)]
pub(in crate::page) struct SnapshotCache(Mutex<CacheEntries>);

/// The snapshot that the client was last shown, as changes of an action or after a navigation.
#[derive(Debug, Clone, Default)]
pub struct ShownSnapshot {
    /// The document and its text.
    pub(in crate::page) page: Option<(Option<DocumentId>, Arc<str>)>,
    pub(in crate::page) hidden: Arc<HiddenLines>,
}

impl ShownSnapshot {
    pub(in crate::page) fn of(snapshot: &PageSnapshot, hidden: Arc<HiddenLines>) -> Self {
        Self { page: Some((snapshot.document.clone(), snapshot.text.clone())), hidden }
    }

    /// Returns it without the text, for a page that has changed since.
    pub(in crate::page) fn outdated(&self) -> Self {
        Self { page: None, hidden: self.hidden.clone() }
    }
}

#[derive(Debug, Default)]
pub(in crate::page) struct CacheEntries {
    pub snapshot: Option<PageSnapshot>,
    /// The documents and mutation counts that frames reported in their answers to other calls.
    pub reported: HashMap<FrameId, DocumentVersion>,
    /// The frame whose last answer reported the mutation counts of other frames, too.
    pub reports_inner: Option<FrameId>,
    /// Whether the snapshot was taken after the last action.
    pub after_action: bool,
    pub shown: ShownSnapshot,
}

impl CacheEntries {
    /// Returns the text that the client was last shown, if it belongs to the same document as
    /// `snapshot` and differs from it.
    pub fn shown_before(&self, snapshot: &PageSnapshot) -> Option<Arc<str>> {
        let (document, text) = self.shown.page.as_ref()?;
        (*document == snapshot.document && *text != snapshot.text).then(|| text.clone())
    }
}

/// A document at one of its mutation counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::page) struct DocumentVersion {
    /// The name that the document reports.
    pub document: Arc<str>,
    pub count: u64,
}

impl DocumentVersion {
    /// Reads it from an answer that has both.
    pub fn of(answer: &Value) -> Option<Self> {
        Some(Self {
            document: answer["document"].as_str()?.into(),
            count: answer["mutations"].as_u64()?,
        })
    }
}

/// The last snapshot of one frame, without its child frames.
#[derive(Debug, Clone)]
pub(in crate::page) struct FrameSnapshot {
    /// The version of the frame when the snapshot was taken.
    pub version: DocumentVersion,
    /// The answer of the page's `snapshot`.
    pub answer: Arc<Value>,
}

impl FrameSnapshot {
    pub fn of(answer: Value) -> Result<Self> {
        let version = DocumentVersion::of(&answer).ok_or_else(|| {
            TroupeError::new(ErrorCode::InternalError, "the page's snapshot has no mutation count")
        })?;
        Ok(Self { version, answer: Arc::new(answer) })
    }
}

/// The frames that could be read.
pub(in crate::page) type FrameSnapshots = HashMap<FrameId, FrameSnapshot>;

#[derive(Debug, Clone)]
pub(in crate::page) struct PageSnapshot {
    pub document: Option<DocumentId>,
    pub text: Arc<str>,
    pub frames: Arc<FrameSnapshots>,
    /// The number of frames of the page, readable or not.
    pub frame_count: usize,
}

impl SnapshotCache {
    pub fn lock(&self) -> MutexGuard<'_, CacheEntries> {
        self.0.lock()
    }

    /// Records the document and mutation count that `frame` has reported in `answer`, and those of
    /// the documents in it. They are valid for one snapshot.
    pub fn record_versions(&self, frame: &FrameId, answer: &Value) {
        let Some(version) = DocumentVersion::of(answer) else { return };
        let mut cache = self.lock();
        let inner = answer["inner"].as_object();
        // A new report replaces the former one: a frame that is not in it has another document, or
        // is gone.
        if inner.is_some() || cache.reports_inner.take_if(|reporting| reporting == frame).is_some()
        {
            cache.reported.clear();
        }
        cache.reported.insert(frame.clone(), version);
        let Some(inner) = inner else { return };
        let CacheEntries { snapshot: Some(snapshot), reported, reports_inner, .. } = &mut *cache
        else {
            return;
        };
        let versions = snapshot.frames.iter().filter_map(|(frame, last)| {
            let document = last.version.document.clone();
            let count = inner.get(&*document).and_then(Value::as_u64)?;
            Some((frame.clone(), DocumentVersion { document, count }))
        });
        reported.extend(versions);
        *reports_inner = Some(frame.clone());
    }

    /// Takes the versions that were reported since the last snapshot.
    pub fn take_reported(&self) -> HashMap<FrameId, DocumentVersion> {
        std::mem::take(&mut self.lock().reported)
    }

    /// Marks the last snapshot and the text that the client was shown as outdated: the page has
    /// changed since.
    pub fn mark_outdated(&self) {
        let mut cache = self.lock();
        cache.after_action = false;
        cache.shown = cache.shown.outdated();
    }

    /// Records that the last snapshot was taken after the action.
    pub fn mark_after_action(&self) {
        let mut cache = self.lock();
        cache.after_action = cache.snapshot.is_some();
    }

    /// Drops the reported versions, because they are outdated.
    pub fn clear_reported(&self) {
        self.lock().reported.clear();
    }
}
