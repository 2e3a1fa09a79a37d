//! Snapshots: the page as text. Each frame creates its own snapshot, and this module joins them.

use futures_util::future::{BoxFuture, join_all};
use serde_json::{Map, Value};

use crate::{
    engine::FrameId,
    error::Result,
    page::{
        Page,
        query::MAX_DEPTH,
        script::is_unresponsive,
        state::{FrameSnapshot, FrameSnapshots},
    },
};

/// The line for a frame that did not respond.
const UNRESPONSIVE_LINE: &str = "- text: (unresponsive: a script is blocking this frame)";

/// The options of a snapshot.
#[derive(Debug, Clone, Default)]
pub struct SnapshotOptions {
    /// Limits the snapshot to this element.
    pub selector: Option<String>,
    /// Whether to include only interactive elements, headings and landmarks.
    pub interactive: bool,
    /// Whether to include the whole page if it fits into the budget, else interactive elements,
    /// headings and messages.
    pub overview: bool,
    pub depth: Option<u32>,
    /// Maximum number of characters.
    pub budget: Option<usize>,
}

impl SnapshotOptions {
    fn arguments(&self, budget: usize) -> Map<String, Value> {
        let mut arguments = Map::new();
        arguments.insert("interactive".into(), self.interactive.into());
        arguments.insert("budget".into(), budget.into());
        if self.overview {
            arguments.insert("overview".into(), true.into());
        }
        arguments.extend(self.depth.map(|depth| ("depth".to_owned(), Value::from(depth))));
        arguments
    }
}

/// Returns the arguments for a snapshot with every line of the page.
pub(in crate::page) fn whole_page() -> Map<String, Value> {
    Map::from_iter([("fold".to_owned(), 0.into())])
}

impl Page {
    pub(in crate::page) async fn snapshot_text(&self, options: &SnapshotOptions) -> Result<String> {
        let budget = options.budget.unwrap_or(self.config.result_budget);
        self.in_one_document(|| {
            Box::pin(async move {
                let mut arguments = options.arguments(budget);
                let Some(selector) = &options.selector else {
                    return self.frame_text(self.main_frame().clone(), arguments, 0).await;
                };
                let resolved = self.locate(selector).await?;
                arguments.insert("selector".into(), resolved.target.into());
                self.frame_text(resolved.frame, arguments, resolved.owners.len()).await
            })
        })
        .await
    }

    /// Takes the snapshot of `frame`, and inserts those of its child frames.
    async fn frame_text(
        &self,
        frame: FrameId,
        arguments: Map<String, Value>,
        depth: usize,
    ) -> Result<String> {
        let answer = self
            .call_injected_if_responsive(&frame, "snapshot", Value::Object(arguments.clone()))
            .await?;
        self.with_frames(frame, answer, arguments, depth).await
    }

    /// Inserts the snapshots of the child frames into the snapshot `answer` of `frame`.
    fn with_frames(
        &self,
        frame: FrameId,
        answer: Value,
        arguments: Map<String, Value>,
        depth: usize,
    ) -> BoxFuture<'_, Result<String>> {
        Box::pin(async move {
            let text = answer["text"].as_str().unwrap_or_default();
            let lines = FrameLine::in_answer(&answer, depth);
            if lines.is_empty() {
                return Ok(text.to_owned());
            }
            let mut left = arguments
                .get("budget")
                .and_then(Value::as_u64)
                .map(|budget| budget.saturating_sub(text.len() as u64));
            if left == Some(0) {
                return Ok(text.to_owned());
            }
            let read = |line: &FrameLine, budget: Option<u64>| {
                let mut arguments = arguments.clone();
                arguments.remove("selector");
                arguments.extend(budget.map(|budget| ("budget".to_owned(), Value::from(budget))));
                self.child_text(frame.clone(), line.reference.clone(), arguments, depth + 1)
            };
            let texts = join_all(lines.iter().map(|line| read(line, left))).await;
            let mut children = Vec::new();
            for (line, mut child) in lines.into_iter().zip(texts) {
                if left == Some(0) {
                    break;
                }
                // The frames before it have used part of the budget.
                if left.is_some_and(|left| child.len() as u64 > left) {
                    child = read(&line, left).await;
                }
                left = left.map(|left| left.saturating_sub(child.len() as u64));
                children.push((line, child));
            }
            Ok(insert_child_frames(text, children))
        })
    }

    /// Returns the snapshot of the frame in the iframe `reference`; empty if it was removed or
    /// cannot be read.
    async fn child_text(
        &self,
        frame: FrameId,
        reference: String,
        arguments: Map<String, Value>,
        depth: usize,
    ) -> String {
        match self.content_frame(&frame, &reference).await {
            Ok(Some(child)) => {
                self.frame_text(child, arguments, depth).await.unwrap_or_else(|error| {
                    if is_unresponsive(&error) {
                        UNRESPONSIVE_LINE.to_owned()
                    } else {
                        String::new()
                    }
                })
            }
            Ok(None) | Err(_) => String::new(),
        }
    }

    /// Joins the `snapshots` of a page's frames into its text.
    pub(in crate::page) fn text_of<'a>(
        &'a self,
        frame: &'a FrameId,
        snapshots: &'a FrameSnapshots,
        depth: usize,
    ) -> BoxFuture<'a, String> {
        Box::pin(async move {
            let Some(FrameSnapshot { answer, .. }) = snapshots.get(frame) else {
                return String::new();
            };
            let text = answer["text"].as_str().unwrap_or_default();
            let children =
                join_all(FrameLine::in_answer(answer, depth).into_iter().map(async |line| {
                    let text = match self.content_frame(frame, &line.reference).await {
                        Ok(Some(child)) => self.text_of(&child, snapshots, depth + 1).await,
                        Ok(None) | Err(_) => String::new(),
                    };
                    (line, text)
                }))
                .await;
            insert_child_frames(text, children)
        })
    }
}

/// A line of a snapshot that represents a child frame.
pub(in crate::page) struct FrameLine {
    pub reference: String,
    line: usize,
    indent: usize,
}

impl FrameLine {
    /// Returns the child frames in the `answer` of a frame at `depth`; none at the maximum depth.
    pub fn in_answer(answer: &Value, depth: usize) -> Vec<Self> {
        let entries = answer["frames"].as_array().filter(|_| depth < MAX_DEPTH);
        let parse = |entry: &Value| {
            let number =
                |name: &str| entry[name].as_u64().and_then(|number| usize::try_from(number).ok());
            let reference = entry["ref"].as_str()?.to_owned();
            Some(Self { reference, line: number("line")?, indent: number("indent")? })
        };
        entries.into_iter().flatten().filter_map(parse).collect()
    }
}

/// Inserts the text of each child frame below its line in `text`.
pub(in crate::page) fn insert_child_frames(
    text: &str,
    children: Vec<(FrameLine, String)>,
) -> String {
    if children.is_empty() {
        return text.to_owned();
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // From the last to the first, so that line numbers remain valid.
    for (FrameLine { line, indent, .. }, child) in children.into_iter().rev() {
        if child.is_empty() || line >= lines.len() {
            continue;
        }
        let padding = " ".repeat(indent + 2);
        if !lines[line].ends_with(':') {
            lines[line].push(':');
        }
        lines.splice(line + 1..=line, child.lines().map(|line| format!("{padding}{line}")));
    }
    lines.join("\n")
}
