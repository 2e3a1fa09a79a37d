//! Maps iframe elements to child frames.
//!
//! Only the engine knows this mapping, and a query takes two round trips. An element keeps its
//! frame until it is removed from the document, so each answer is cached for the lifetime of that
//! frame.

use std::collections::HashMap;

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    engine::{EngineError, FrameId},
    error::Result,
    page::Page,
};

/// The child frame of each iframe element, by the element's frame and ref.
#[derive(Debug, Default)]
pub(in crate::page) struct ContentFrameCache(Mutex<HashMap<(FrameId, String), FrameId>>);

impl Page {
    /// Returns the frame in the iframe `reference` of `frame`; `None` if the iframe is gone or has
    /// no frame.
    pub(in crate::page) async fn content_frame(
        &self,
        frame: &FrameId,
        reference: &str,
    ) -> Result<Option<FrameId>> {
        let key = (frame.clone(), reference.to_owned());
        let cached = {
            let cache = self.frame_elements.0.lock();
            cache.get(&key).cloned()
        };
        if let Some(child) = cached.filter(|child| self.has_frame(child)) {
            return Ok(Some(child));
        }
        let inner = async {
            match self.engine.content_frame(frame, reference).await {
                Err(EngineError::Refused(_)) => Ok(None),
                other => other,
            }
        };
        let child = self.guarded(inner).await?;
        if let Some(child) = &child {
            let present: Vec<FrameId> =
                self.state.read(|facts| facts.frames.keys().cloned().collect());
            let mut cache = self.frame_elements.0.lock();
            cache.retain(|_, child| present.contains(child));
            cache.insert(key, child.clone());
        }
        Ok(child)
    }

    /// Returns the ref of the iframe in `parent` that holds `inner`.
    pub(in crate::page) async fn frame_owner(
        &self,
        parent: &FrameId,
        inner: &FrameId,
    ) -> Result<Option<String>> {
        let cached = {
            let cache = self.frame_elements.0.lock();
            let holds = |((frame, _), child): &(&(FrameId, String), &FrameId)| {
                frame == parent && *child == inner
            };
            cache.iter().find(holds).map(|((_, reference), _)| reference.clone())
        };
        if cached.is_some() {
            return Ok(cached);
        }
        let elements = self.frame_elements_in(parent).await?;
        let references: Vec<&str> =
            elements.iter().filter_map(|element| element["ref"].as_str()).collect();
        let children =
            join_all(references.iter().map(|reference| self.content_frame(parent, reference)))
                .await;
        for (reference, child) in references.into_iter().zip(children) {
            if child?.as_ref() == Some(inner) {
                return Ok(Some(reference.to_owned()));
            }
        }
        Ok(None)
    }

    /// Returns the elements of `frame` that can contain a frame, as `list` describes them.
    pub(in crate::page) async fn frame_elements_in(&self, frame: &FrameId) -> Result<Vec<Value>> {
        let target = json!({"target": "css=iframe, frame, object, embed"});
        match self.call_injected_in(frame, "list", target).await?["elements"].take() {
            Value::Array(elements) => Ok(elements),
            _ => Ok(Vec::new()),
        }
    }

    fn has_frame(&self, frame: &FrameId) -> bool {
        self.state.read(|facts| facts.frames.contains_key(frame))
    }
}
