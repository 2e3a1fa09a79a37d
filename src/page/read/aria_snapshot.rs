//! Snapshots for the Playwright tool set, in the format of Playwright's `ariaSnapshot`.

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use serde_json::{Value, json};

use super::snapshot::{FrameLine, insert_child_frames};
use crate::{engine::FrameId, error::Result, page::Page};

/// The options of a snapshot for the Playwright tool set.
#[derive(Debug, Clone, Default)]
pub struct AriaSnapshotOptions {
    /// Native ref of the root. `None`: the page.
    pub root: Option<String>,
    pub depth: Option<u32>,
    /// Whether each element has its box, in CSS pixels of the viewport.
    pub boxes: bool,
}

impl Page {
    /// Returns the accessibility snapshot of the page or of an element, with those of its frames.
    pub async fn aria_snapshot(&self, options: &AriaSnapshotOptions) -> Result<String> {
        self.in_one_document(|| {
            async move {
                let (frame, root, nesting) = match &options.root {
                    None => (self.main_frame().clone(), None, 0),
                    Some(reference) => {
                        let resolved = self.locate(reference).await?;
                        (resolved.frame, Some(resolved.target), resolved.owners.len())
                    }
                };
                let depth = options.depth.map(i64::from);
                self.aria_text(frame, root, depth, options.boxes, nesting).await
            }
            .boxed()
        })
        .await
    }

    /// Returns the arguments of `playwrightSnapshot` for all of a frame.
    pub(in crate::page) fn aria_arguments(
        &self,
        frame: &FrameId,
        depth: Option<i64>,
        boxes: bool,
    ) -> Value {
        let mut arguments = json!({"boxes": boxes, "framePrefix": self.playwright_prefix(frame)});
        if let Some(depth) = depth {
            arguments["depth"] = depth.into();
        }
        arguments
    }

    fn aria_text(
        &self,
        frame: FrameId,
        root: Option<String>,
        depth: Option<i64>,
        boxes: bool,
        nesting: usize,
    ) -> BoxFuture<'_, Result<String>> {
        async move {
            let mut arguments = self.aria_arguments(&frame, depth, boxes);
            if let Some(root) = root {
                arguments["root"] = root.into();
            }
            let answer =
                self.call_injected_if_responsive(&frame, "playwrightSnapshot", arguments).await?;
            let text = answer["text"].as_str().unwrap_or_default();
            let lines = FrameLine::in_answer(&answer, nesting);
            let inner = join_all(lines.iter().zip(depths(&answer)).map(async |(line, depth)| {
                Some((self.content_frame(&frame, &line.reference).await.ok().flatten()?, depth))
            }))
            .await;
            let texts = join_all(inner.into_iter().map(async |inner| match inner {
                Some((child, depth)) => {
                    // A frame that cannot be read is shown as an empty one.
                    let text = self.aria_text(child, None, depth, boxes, nesting + 1).await;
                    text.unwrap_or_default()
                }
                None => String::new(),
            }))
            .await;
            Ok(insert_child_frames(text, lines.into_iter().zip(texts).collect()))
        }
        .boxed()
    }
}

/// Returns the remaining depth of each child frame in an answer.
fn depths(answer: &Value) -> impl Iterator<Item = Option<i64>> {
    answer["frames"].as_array().into_iter().flatten().map(|frame| frame["depth"].as_i64())
}
