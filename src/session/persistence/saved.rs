//! The saved state of a session: one JSON text, and one for each origin.

use std::sync::Arc;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::storage_state::{OriginState, StorageState};
use crate::{
    config::ContextConfig,
    engine::network::Cookie,
    error::{ErrorCode, Result, TroupeError},
    offload,
    page::{FrameState, Item},
    policy::{redaction::Secrets, vault::Vault},
};

/// The version of the format. Newer versions are rejected.
const VERSION: u32 = 1;
/// After a crash, numbers of refs continue at the next multiple of these, because the last numbers
/// may not have been saved.
const ELEMENT_STEP: u64 = 10_000;
const FRAME_STEP: u64 = 100;

/// The saved state of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SavedSession {
    pub version: u32,
    /// Whether it was saved at its end, so that nothing is missing.
    pub whole: bool,
    /// Whether it is the implicit session of a connection.
    pub own: bool,
    pub context: ContextConfig,
    pub cookies: Vec<Cookie>,
    /// Stored separately, because they may be large and rarely change.
    #[serde(skip_serializing)]
    pub origins: Vec<OriginState>,
    pub pages: Vec<SavedPage>,
    /// The page for calls without a page id.
    pub current: Option<String>,
    /// How many pages have been opened in total.
    pub opened: usize,
    /// The next numbers of elements and frames in refs.
    pub refs: (u64, u64),
    /// Private hosts that its client has navigated to.
    pub asked: Vec<String>,
}

/// The initial state of a session.
#[derive(Clone)]
pub enum SessionOrigin {
    /// Only the state that the client or the configuration provides.
    New(Option<StorageState>),
    /// The last saved state.
    Resumed(Arc<SavedSession>),
}

/// An open page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SavedPage {
    pub number: usize,
    pub url: String,
    /// By origin, as last seen in this page.
    pub session_storage: Vec<(String, Vec<Item>)>,
    pub frames: Vec<FrameState>,
}

impl Default for SavedSession {
    fn default() -> Self {
        Self {
            version: VERSION,
            whole: false,
            own: false,
            context: ContextConfig::default(),
            cookies: Vec::new(),
            origins: Vec::new(),
            pages: Vec::new(),
            current: None,
            opened: 0,
            refs: (1, 1),
            asked: Vec::new(),
        }
    }
}

impl SavedSession {
    /// Returns the state without cookies and storage.
    pub fn without_storage(mut self) -> Self {
        self.cookies.clear();
        self.origins.clear();
        self.pages.iter_mut().for_each(|page| page.session_storage.clear());
        self
    }

    /// Reads the texts of [`Self::text`] and [`origin_text`], with the same secrets.
    pub fn read(text: &str, origins: &[String], vault: &Vault) -> Result<Self> {
        let unreadable = |why: String| {
            TroupeError::new(
                ErrorCode::SessionNotFound,
                format!("the saved state of the session cannot be read: {why}"),
            )
            .detail("reason", "unreadable")
            .suggestion("create a new session with create_session")
        };
        fn unmasked<T: DeserializeOwned>(text: &str, vault: &Vault) -> serde_json::Result<T> {
            let mut value: Value = serde_json::from_str(text)?;
            vault.unmask_json(&mut value);
            serde_json::from_value(value)
        }
        let bytes = text.len() + origins.iter().map(String::len).sum::<usize>();
        let saved = offload::in_place(bytes, || {
            let mut saved: Self = unmasked(text, vault)?;
            for origin in origins {
                saved.origins.push(unmasked(origin, vault)?);
            }
            Ok(saved)
        });
        let saved = saved.map_err(|error: serde_json::Error| unreadable(error.to_string()))?;
        if saved.version > VERSION {
            return Err(unreadable(format!(
                "a newer version of Troupe wrote it (format {})",
                saved.version
            )));
        }
        Ok(saved)
    }

    /// Returns the stored text. The server's secrets are replaced by their names. Fields with a
    /// typed password are omitted, even if they show it as plain text. A password in a URL or in
    /// storage is masked, and restored masked.
    pub fn text(&self, secrets: &Secrets) -> String {
        // Plain structs of strings and numbers: this cannot fail.
        if secrets.vault().is_empty() && secrets.is_empty() {
            return serde_json::to_string(self).unwrap_or_default();
        }
        let mut saved = serde_json::to_value(self).unwrap_or_default();
        secrets.vault().mask_json(&mut saved);
        let pages = saved["pages"].as_array_mut().into_iter().flatten();
        for frame in pages.filter_map(|page| page["frames"].as_array_mut()).flatten() {
            if let Some(fields) = frame["document"]["fields"].as_array_mut() {
                fields.retain(|field| !secrets.are_in(field));
            }
        }
        secrets.mask_json(&mut saved["pages"]);
        saved.to_string()
    }

    /// Returns whether there is nothing to resume: all pages are at `about:blank`, and there are no
    /// cookies and no storage.
    pub fn is_blank(&self) -> bool {
        self.cookies.is_empty()
            && self.origins.iter().all(OriginState::is_empty)
            && self.pages.iter().all(|page| matches!(&*page.url, "" | "about:blank"))
    }

    /// Returns the next numbers of refs, so that no number is used twice.
    pub fn next_refs(&self) -> (u64, u64) {
        let (elements, frames) = self.refs;
        if self.whole {
            return self.refs;
        }
        let beyond =
            |number: u64, step: u64| (number / step).saturating_add(1).saturating_mul(step);
        (beyond(elements, ELEMENT_STEP), beyond(frames, FRAME_STEP))
    }
}

/// Returns the stored text of an origin, without secrets.
pub fn origin_text(state: &OriginState, secrets: &Secrets) -> String {
    if secrets.vault().is_empty() && secrets.is_empty() {
        return serde_json::to_string(state).unwrap_or_default();
    }
    let mut state = serde_json::to_value(state).unwrap_or_default();
    secrets.mask_json(&mut state);
    state.to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{
        page::{DocumentState, OriginStorage, Scroll},
        session::any_json::any_json,
    };

    fn any_items() -> impl Strategy<Value = Vec<Item>> {
        let item = (".*", ".*").prop_map(|(name, value)| Item { name, value });
        proptest::collection::vec(item, 0..4)
    }

    prop_compose! {
        fn any_origin()(
            origin in ".*",
            local_storage in any_items(),
            session_storage in proptest::option::of(any_items()),
            indexed_db in proptest::option::of(proptest::collection::vec(any_json(".*", ".*"), 0..3)),
        ) -> OriginState {
            let indexed_db = indexed_db.map(Into::into);
            OriginState { origin, storage: OriginStorage { local_storage, session_storage, indexed_db } }
        }
    }

    prop_compose! {
        fn any_page()(
            number in any::<usize>(),
            url in ".*",
            session_storage in proptest::collection::vec((".*", any_items()), 0..3),
            place in proptest::collection::vec(any::<usize>(), 0..3),
            (x, y) in (-1e9..1e9, -1e9..1e9),
            fields in proptest::collection::vec(any_json(".*", ".*"), 0..3),
            refs in proptest::collection::vec(any_json(".*", ".*"), 0..3),
        ) -> SavedPage {
            let document = Arc::new(DocumentState { place, scroll: Scroll { x, y }, fields, refs, scrolls: Vec::new() });
            let frame = FrameState { url: url.clone(), number: 3, next: 9, document };
            SavedPage { number, url, session_storage, frames: vec![frame] }
        }
    }

    proptest! {
        #[test]
        fn a_session_is_read_as_it_was_written(
            origins in proptest::collection::vec(any_origin(), 0..3),
            pages in proptest::collection::vec(any_page(), 0..3),
            (whole, own) in any::<(bool, bool)>(),
            current in proptest::option::of(".*"),
            refs in any::<(u64, u64)>(),
            locale in proptest::option::of(".*"),
        ) {
            let context = ContextConfig { locale, ..ContextConfig::default() };
            let saved = SavedSession { whole, own, context, origins, pages, current, refs, ..SavedSession::default() };
            let secrets = Secrets::default();
            let origins: Vec<String> = saved.origins.iter().map(|origin| origin_text(origin, &secrets)).collect();
            let read = SavedSession::read(&saved.text(&secrets), &origins, &Vault::default());
            prop_assert_eq!(read.unwrap(), saved);
        }

        #[test]
        fn invalid_text_is_an_error_and_does_not_panic(text in ".*", junk in any_json(".*", ".*")) {
            for text in [text, junk.to_string(), json!({"pages": junk}).to_string()] {
                let _ = SavedSession::read(&text, &[], &Vault::default());
                let _ = SavedSession::read("{}", &[text], &Vault::default());
            }
        }

        #[test]
        fn numbers_of_refs_never_decrease(refs in any::<(u64, u64)>(), whole in any::<bool>()) {
            let saved = SavedSession { refs, whole, ..SavedSession::default() };
            let (elements, frames) = saved.next_refs();
            prop_assert!(elements >= refs.0 && frames >= refs.1);
        }
    }

    #[test]
    fn a_newer_format_is_rejected() {
        let error = SavedSession::read(r#"{"version": 99}"#, &[], &Vault::default()).unwrap_err();
        assert!(error.message.contains("newer version"), "{}", error.message);
    }
}
