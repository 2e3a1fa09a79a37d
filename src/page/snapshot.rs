//! The page as text: each frame's snapshot, made in the frame and put together here.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::{Page, frames::MAX_DEPTH};
use crate::{engine::FrameId, error::Result};

/// What a snapshot shows.
#[derive(Debug, Clone, Default)]
pub struct SnapshotOptions {
    /// Only this element.
    pub selector: Option<String>,
    /// Only what can be acted on, with headings and landmarks.
    pub interactive: bool,
    pub depth: Option<u32>,
    /// Characters.
    pub budget: Option<usize>,
}

impl SnapshotOptions {
    fn arguments(&self, budget: usize) -> Map<String, Value> {
        let mut arguments = Map::new();
        arguments.insert("interactive".into(), self.interactive.into());
        arguments.insert("budget".into(), budget.into());
        arguments.extend(self.depth.map(|depth| ("depth".to_owned(), Value::from(depth))));
        arguments
    }
}

/// The arguments for every line of a page.
pub(super) fn whole_page() -> Map<String, Value> {
    Map::from_iter([("fold".to_owned(), 0.into())])
}

impl Page {
    /// The page, or an element of it, with its frames.
    pub async fn snapshot(&self, options: &SnapshotOptions) -> Result<String> {
        let budget = options.budget.unwrap_or(self.config.result_budget);
        self.in_one_document(|| {
            Box::pin(async move {
                let mut arguments = options.arguments(budget);
                let Some(selector) = &options.selector else {
                    return self.frame_text(self.main_frame().clone(), arguments, 0).await;
                };
                let place = self.locate(selector).await?;
                arguments.insert("selector".into(), place.target.into());
                self.frame_text(place.frame, arguments, place.owners.len()).await
            })
        })
        .await
    }

    /// Every line of the page, for comparing; `seen` is the main frame's own answer to that, where there is one.
    pub(super) async fn whole_text(&self, seen: Option<Value>) -> Result<String> {
        let main = self.main_frame().clone();
        match seen {
            Some(answer) => self.with_frames(main, answer, whole_page(), 0).await,
            None => self.frame_text(main, whole_page(), 0).await,
        }
    }

    /// The snapshot of `frame` with those of its child frames in their places.
    async fn frame_text(
        &self,
        frame: FrameId,
        arguments: Map<String, Value>,
        depth: usize,
    ) -> Result<String> {
        let answer = self.inject_in(&frame, "snapshot", Value::Object(arguments.clone())).await?;
        self.with_frames(frame, answer, arguments, depth).await
    }

    /// The snapshot `answer` of `frame` with those of its child frames in their places.
    fn with_frames(
        &self,
        frame: FrameId,
        answer: Value,
        arguments: Map<String, Value>,
        depth: usize,
    ) -> BoxFuture<'_, Result<String>> {
        Box::pin(async move {
            let text = answer["text"].as_str().unwrap_or_default();
            let inner = answer["frames"].as_array().filter(|inner| !inner.is_empty() && depth < MAX_DEPTH);
            let Some(inner) = inner else { return Ok(text.to_owned()) };
            let mut left = arguments
                .get("budget")
                .and_then(Value::as_u64)
                .map(|budget| budget.saturating_sub(text.len() as u64));
            let mut children = Vec::new();
            for entry in inner {
                let reference = entry["ref"].as_str().unwrap_or_default();
                let number =
                    |name: &str| entry[name].as_u64().and_then(|number| usize::try_from(number).ok());
                let (Some(line), Some(indent)) = (number("line"), number("indent")) else { continue };
                if left == Some(0) {
                    break;
                }
                let mut arguments = arguments.clone();
                arguments.remove("selector");
                arguments.extend(left.map(|left| ("budget".to_owned(), Value::from(left))));
                // A frame that goes away meanwhile, or cannot be read, is shown as an empty one.
                let child = match self.content_frame(&frame, reference).await {
                    Ok(Some(child)) => self.frame_text(child, arguments, depth + 1).await.unwrap_or_default(),
                    Ok(None) | Err(_) => String::new(),
                };
                left = left.map(|left| left.saturating_sub(child.len() as u64));
                children.push((line, indent, child));
            }
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            // From the last to the first, so that line numbers stay true.
            for (line, indent, child) in children.into_iter().rev() {
                if child.is_empty() || line >= lines.len() {
                    continue;
                }
                let padding = " ".repeat(indent + 2);
                if !lines[line].ends_with(':') {
                    lines[line].push(':');
                }
                lines.splice(line + 1..=line, child.lines().map(|line| format!("{padding}{line}")));
            }
            Ok(lines.join("\n"))
        })
    }
}
