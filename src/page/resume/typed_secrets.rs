//! The documents that hold a typed secret: a script there could read it in a form that is not
//! masked.

use std::collections::{HashSet, VecDeque};

use parking_lot::Mutex;
use serde_json::Value;

use crate::{
    engine::{DocumentId, FrameId},
    page::{Page, resume::READ_TIMEOUT, state::Frame},
    policy::vault::Vault,
};

/// Maximum number of remembered documents that were no longer present when a secret was last typed.
const MAX_EARLIER: usize = 64;

/// Documents of a page that a secret was typed into, the latest first.
#[derive(Debug, Default)]
pub(in crate::page) struct TypedSecrets(Mutex<VecDeque<DocumentId>>);

impl TypedSecrets {
    /// Adds the documents that are present. Evicts only the oldest of the others.
    fn add(&self, present: Vec<DocumentId>) {
        let mut documents = self.0.lock();
        {
            let present: HashSet<&DocumentId> = present.iter().collect();
            documents.retain(|document| !present.contains(document));
        }
        documents.truncate(MAX_EARLIER);
        present.into_iter().rev().for_each(|document| documents.push_front(document));
    }

    fn has(&self, document: &DocumentId) -> bool {
        self.0.lock().contains(document)
    }
}

impl Page {
    /// Records that a secret is typed into one of the present documents.
    pub fn record_secret(&self) {
        self.typed_secrets.add(self.documents());
    }

    /// Returns whether a secret was typed into one of the current documents, or is in a field
    /// there, for example after the browser has restored the fields.
    pub async fn holds_secret(&self, vault: &Vault) -> bool {
        if self.documents().iter().any(|document| self.typed_secrets.has(document)) {
            return true;
        }
        let state = self.read_state(None, READ_TIMEOUT).await;
        let mut fields = state.frames.iter().flat_map(|frame| &frame.document.fields);
        fields.any(|field| is_in(vault, field))
    }

    /// Returns the present documents, that of the main frame first. A frame whose document is not
    /// known yet is represented by its own id.
    fn documents(&self) -> Vec<DocumentId> {
        self.state.read(|facts| {
            let mut frames: Vec<_> = facts.frames.iter().collect();
            frames.sort_by_key(|(id, _)| facts.main.as_ref() != Some(*id));
            let document = |(id, frame): (&FrameId, &Frame)| {
                frame.document.clone().unwrap_or_else(|| id.clone())
            };
            frames.into_iter().map(document).collect()
        })
    }
}

fn is_in(vault: &Vault, value: &Value) -> bool {
    match value {
        Value::String(text) => vault.mask(text).is_some(),
        Value::Array(list) => list.iter().any(|value| is_in(vault, value)),
        Value::Object(map) => map.values().any(|value| is_in(vault, value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(number: usize) -> DocumentId {
        DocumentId::from(number.to_string())
    }

    #[test]
    fn the_latest_documents_are_remembered() {
        let secrets = TypedSecrets::default();
        (0..=MAX_EARLIER).for_each(|number| secrets.add(vec![document(number)]));
        secrets.add(vec![document(0)]);
        secrets.add(vec![document(MAX_EARLIER + 1)]);
        assert!(secrets.has(&document(0)) && secrets.has(&document(MAX_EARLIER + 1)));
        assert!(!secrets.has(&document(1)) && secrets.has(&document(2)));
    }

    #[test]
    fn every_present_document_is_remembered_however_many_frames_there_are() {
        let secrets = TypedSecrets::default();
        let present: Vec<_> = (0..MAX_EARLIER * 3).map(document).collect();
        secrets.add(present.clone());
        assert!(present.iter().all(|document| secrets.has(document)));
        // Of the documents that are gone, the main document is evicted last.
        secrets.add(vec![document(1_000)]);
        assert!(secrets.has(&present[0]) && secrets.has(&document(1_000)));
        assert!(!secrets.has(&present[MAX_EARLIER]));
    }
}
