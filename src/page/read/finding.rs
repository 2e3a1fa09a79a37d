//! Searches a whole page, including its child frames.

use futures_util::future::{BoxFuture, join_all, try_join_all};
use serde_json::{Value, json};

use crate::{
    engine::FrameId,
    error::{Result, TroupeError},
    page::{Page, query::MAX_DEPTH},
};

/// Maximum number of lines in a result.
pub const MAX_MATCHES: u64 = 50;

/// A search query.
#[derive(Debug, Clone)]
pub enum Query {
    /// A part of a line, case-insensitive.
    Text(String),
    Regex(String),
}

impl Query {
    fn arguments(&self, limit: u64) -> Value {
        match self {
            Self::Text(text) => json!({"text": text, "limit": limit}),
            Self::Regex(regex) => json!({"regex": regex, "limit": limit}),
        }
    }
}

/// The matching lines of the snapshot, below the lines of their ancestors.
#[derive(Debug, Clone, Default)]
pub struct FoundElements {
    pub text: String,
    /// The number of matches, including those beyond [`MAX_MATCHES`].
    pub count: u64,
}

/// An iframe and its frame.
struct ChildFrame {
    frame: FrameId,
    /// Its line in a snapshot.
    description: String,
}

impl Page {
    /// Returns the matching lines of the whole page, including those that a snapshot folds.
    pub async fn find(&self, query: &Query) -> Result<FoundElements> {
        self.in_one_document(|| {
            Box::pin(self.find_in(self.main_frame().clone(), query, MAX_MATCHES, 0))
        })
        .await
    }

    fn find_in<'a>(
        &'a self,
        frame: FrameId,
        query: &'a Query,
        limit: u64,
        depth: usize,
    ) -> BoxFuture<'a, Result<FoundElements>> {
        Box::pin(async move {
            let answer =
                self.call_injected_if_responsive(&frame, "find", query.arguments(limit)).await?;
            let mut found = FoundElements {
                text: answer["text"].as_str().unwrap_or_default().to_owned(),
                count: answer["count"].as_u64().unwrap_or_default(),
            };
            let children =
                if depth < MAX_DEPTH { self.children(&frame).await? } else { Vec::new() };
            let search = |child: &ChildFrame, limit| {
                self.find_in(child.frame.clone(), query, limit, depth + 1)
            };
            let matches = join_all(children.iter().map(|child| search(child, limit))).await;
            for (child, inner) in children.iter().zip(matches) {
                let left = limit.saturating_sub(found.count);
                // A frame that was removed meanwhile has no matches.
                let mut inner = inner.unwrap_or_default();
                if inner.count > left && left < limit {
                    inner = search(child, left).await.unwrap_or_default();
                }
                found.count += inner.count;
                if inner.text.is_empty() {
                    continue;
                }
                if !found.text.is_empty() {
                    found.text.push('\n');
                }
                found.text.push_str(&format!("- {}:", child.description));
                for line in inner.text.lines() {
                    found.text.push_str("\n  ");
                    found.text.push_str(line);
                }
            }
            Ok(found)
        })
    }

    /// Returns the visible frames in `frame` in document order.
    async fn children(&self, frame: &FrameId) -> Result<Vec<ChildFrame>> {
        if !self
            .state
            .read(|facts| facts.frames.values().any(|child| child.parent.as_ref() == Some(frame)))
        {
            return Ok(Vec::new());
        }
        let elements = self.frame_elements_in(frame).await?;
        let visible = elements.iter().filter_map(|element| {
            let (reference, description) =
                (element["ref"].as_str()?, element["description"].as_str()?);
            (element["visible"] == true).then_some((reference, description))
        });
        let children = try_join_all(visible.map(async |(reference, description)| {
            let frame = self.content_frame(frame, reference).await?;
            Ok::<_, TroupeError>(
                frame.map(|frame| ChildFrame { frame, description: description.to_owned() }),
            )
        }));
        Ok(children.await?.into_iter().flatten().collect())
    }
}
