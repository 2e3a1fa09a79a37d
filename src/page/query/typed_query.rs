//! Queries of the frame of a target, with typed answers.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    error::{ErrorCode, Result, TroupeError},
    page::Page,
};

/// Whether an element exists, and its state.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElementPresence {
    pub exists: bool,
    pub visible: bool,
    pub enabled: bool,
    pub count: u64,
    pub hidden_because: Option<String>,
    pub r#ref: Option<String>,
    pub description: Option<String>,
}

impl Page {
    /// Returns whether `target` exists, and its state. If one of its parent frames is missing, it
    /// does not exist.
    pub async fn presence(&self, target: &str) -> Result<ElementPresence> {
        match self.read(Some(target), "state", json!({})).await {
            Err(error) if error.code == ErrorCode::ElementNotFound => Ok(ElementPresence {
                exists: false,
                visible: false,
                enabled: false,
                count: 0,
                hidden_because: None,
                r#ref: None,
                description: None,
            }),
            other => other,
        }
    }

    /// Returns the ref of the element that `target` refers to. Fails with `ELEMENT_NOT_FOUND` if
    /// nothing matches. The error names similar elements.
    pub async fn require(&self, target: &str) -> Result<String> {
        let found: Value = self.read(Some(target), "resolve", json!({})).await?;
        Ok(found["ref"].as_str().unwrap_or_default().to_owned())
    }

    /// Calls `name` of the injected script in the frame of `target`, or in the main frame if there
    /// is no target.
    pub(in crate::page) async fn read<T: DeserializeOwned>(
        &self,
        target: Option<&str>,
        name: &str,
        arguments: Value,
    ) -> Result<T> {
        let answer = self
            .in_one_document(|| {
                let mut arguments = arguments.clone();
                Box::pin(async move {
                    let frame = match target {
                        None => self.main_frame().clone(),
                        Some(target) => {
                            let resolved = self.locate(target).await?;
                            arguments["target"] = resolved.target.into();
                            resolved.frame
                        }
                    };
                    self.call_injected_in(&frame, name, arguments).await
                })
            })
            .await?;
        parse_answer(name, answer)
    }
}

/// Parses the answer of the function `name` of the injected script.
pub(in crate::page) fn parse_answer<T: DeserializeOwned>(name: &str, answer: Value) -> Result<T> {
    serde_json::from_value(answer).map_err(|error| {
        TroupeError::new(
            ErrorCode::InternalError,
            format!("the injected script's `{name}` returned an unexpected result: {error}"),
        )
    })
}
