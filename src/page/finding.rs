//! Searches a whole page, including its child frames.

use futures_util::future::{BoxFuture, join_all, try_join_all};
use serde_json::{Value, json};

use super::{Page, frames::MAX_DEPTH};
use crate::{
    engine::FrameId,
    error::{Result, TroupeError},
};

/// Lines told at most.
pub const MOST_MATCHES: u64 = 50;

/// What to look for.
#[derive(Debug, Clone)]
pub enum Query {
    /// Part of a line, in any case.
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

/// Lines of the snapshot that match, under those that hold them.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub text: String,
    /// Also those over [`MOST_MATCHES`].
    pub count: u64,
}

/// An iframe with the document that it shows.
struct Child {
    frame: FrameId,
    /// As a snapshot tells it.
    description: String,
}

impl Page {
    /// The lines of the whole page that match, whatever a snapshot folds.
    pub async fn find(&self, query: &Query) -> Result<Found> {
        self.in_one_document(|| {
            Box::pin(self.find_in(self.main_frame().clone(), query, MOST_MATCHES, 0))
        })
        .await
    }

    fn find_in<'a>(
        &'a self,
        frame: FrameId,
        query: &'a Query,
        limit: u64,
        depth: usize,
    ) -> BoxFuture<'a, Result<Found>> {
        Box::pin(async move {
            let answer = self.ask_frame(&frame, "find", query.arguments(limit)).await?;
            let mut found = Found {
                text: answer["text"].as_str().unwrap_or_default().to_owned(),
                count: answer["count"].as_u64().unwrap_or_default(),
            };
            let children =
                if depth < MAX_DEPTH { self.children(&frame).await? } else { Vec::new() };
            let search =
                |child: &Child, limit| self.find_in(child.frame.clone(), query, limit, depth + 1);
            let matches = join_all(children.iter().map(|child| search(child, limit))).await;
            for (child, inner) in children.iter().zip(matches) {
                let left = limit.saturating_sub(found.count);
                // A frame that goes away meanwhile has no matches.
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

    /// The frames in `frame` that can be seen, in the order of the document.
    async fn children(&self, frame: &FrameId) -> Result<Vec<Child>> {
        if !self
            .state
            .read(|facts| facts.frames.values().any(|child| child.parent.as_ref() == Some(frame)))
        {
            return Ok(Vec::new());
        }
        let listed = self
            .inject_in(frame, "list", json!({"target": "css=iframe, frame, object, embed"}))
            .await?;
        let visible = listed["elements"].as_array().into_iter().flatten().filter_map(|element| {
            let (reference, description) =
                (element["ref"].as_str()?, element["description"].as_str()?);
            (element["visible"] == true).then_some((reference, description))
        });
        let children = try_join_all(visible.map(async |(reference, description)| {
            let frame = self.content_frame(frame, reference).await?;
            Ok::<_, TroupeError>(
                frame.map(|frame| Child { frame, description: description.to_owned() }),
            )
        }));
        Ok(children.await?.into_iter().flatten().collect())
    }
}
