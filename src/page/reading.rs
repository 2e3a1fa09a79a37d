//! Reads from a page. Each query goes to the frame of its target.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{Page, pictures::area};
use crate::config::Viewport;
use crate::engine::World;
use crate::error::{ErrorCode, Result, TroupeError};

/// A table with its spans filled in: each row has a text for each column.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    #[serde(skip_serializing_if = "Option::is_none")]
    caption: Option<String>,
    headers: Vec<String>,
    rows: Vec<Vec<String>>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Links {
    links: Vec<Link>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Link {
    text: String,
    url: String,
    r#ref: String,
}

/// What a page tells of itself in its head, and its headings.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    title: String,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    canonical: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    charset: String,
    meta: Map<String, Value>,
    json_ld: Vec<Value>,
    headings: Vec<Heading>,
    icons: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Heading {
    level: u8,
    text: String,
}

/// The value of a field. A password is masked.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FieldValue {
    /// Null where the element has none.
    value: Option<String>,
    /// Of a select that takes several.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
    /// true, false or "mixed".
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<Value>,
}

/// Whether an element is there, and in which state.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Presence {
    pub exists: bool,
    pub visible: bool,
    pub enabled: bool,
    pub count: u64,
    pub hidden_because: Option<String>,
    pub r#ref: Option<String>,
    pub description: Option<String>,
}

/// One of the elements that a target matches.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    pub r#ref: String,
    pub description: String,
    pub tag: String,
    pub text: String,
    pub visible: bool,
    pub attributes: Map<String, Value>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Elements {
    pub elements: Vec<Listed>,
    /// How many match, also those that are not listed.
    pub count: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Texts {
    pub text: String,
    #[serde(default)]
    pub texts: Vec<String>,
    pub count: u64,
}

/// One element by its ref, with its box in the page's viewport.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Described {
    pub description: String,
    pub role: String,
    pub name: String,
    pub tag: String,
    pub text: String,
    pub attributes: Map<String, Value>,
    /// x, y, width and height; the box of an element that is not rendered is empty.
    pub r#box: [f64; 4],
    pub visible: bool,
    pub enabled: bool,
    /// A CSS selector that leads to it.
    pub path: String,
}

/// A document for turning into Markdown.
#[derive(Debug, Clone, Deserialize)]
pub struct Html {
    pub html: String,
    pub title: String,
    pub url: String,
}

impl Page {
    /// What users see of the first match of `target`, or of the whole page.
    pub async fn text(&self, target: Option<&str>) -> Result<Texts> {
        self.read(target, "text", json!({})).await
    }

    /// What users see of every match.
    pub async fn texts(&self, target: &str) -> Result<Texts> {
        self.read(Some(target), "text", json!({"all": true})).await
    }

    /// The attribute as it is written, or `None`.
    pub async fn attribute(&self, target: &str, attribute: &str) -> Result<Option<String>> {
        let answer: Value =
            self.read(Some(target), "attribute", json!({"attribute": attribute})).await?;
        Ok(answer["value"].as_str().map(str::to_owned))
    }

    pub async fn value(&self, target: &str) -> Result<FieldValue> {
        self.read(Some(target), "value", json!({})).await
    }

    /// Reads the table that `target` is, contains or is in.
    pub async fn table(&self, target: &str) -> Result<Table> {
        self.read(Some(target), "table", json!({})).await
    }

    pub async fn links(&self, target: Option<&str>) -> Result<Links> {
        self.read(target, "links", json!({})).await
    }

    pub async fn metadata(&self) -> Result<Metadata> {
        self.read(None, "metadata", json!({})).await
    }

    /// The page's HTML as it is rendered.
    pub async fn html(&self) -> Result<Html> {
        self.read(None, "html", json!({})).await
    }

    /// Describes every match.
    pub async fn elements(&self, target: &str) -> Result<Elements> {
        self.read(Some(target), "list", json!({})).await
    }

    /// Describes the element with the ref `reference`. Fails with `ELEMENT_NOT_FOUND` if it was removed.
    pub async fn describe(&self, reference: &str) -> Result<Described> {
        let answer = self
            .in_one_document(|| {
                Box::pin(async move {
                    let place = self.locate(reference).await?;
                    let arguments = json!({"ref": place.target});
                    let mut answer = self.inject_in(&place.frame, "describe", arguments).await?;
                    let found =
                        self.transform_of(&place.owners).await?.bounds(area(&answer["box"]));
                    answer["box"] = json!([found.x, found.y, found.width, found.height]);
                    Ok(answer)
                })
            })
            .await?;
        typed("describe", answer)
    }

    /// Width and height of what can be seen of the page, in CSS pixels.
    pub async fn viewport(&self) -> Result<(u64, u64)> {
        let size = "[innerWidth, innerHeight]";
        let size =
            self.alive(self.engine.evaluate(self.main_frame(), World::Isolated, size)).await?;
        Ok((size[0].as_u64().unwrap_or_default(), size[1].as_u64().unwrap_or_default()))
    }

    pub async fn set_viewport(&self, size: Viewport) -> Result<()> {
        self.alive(self.engine.set_viewport(size)).await
    }

    /// Whether `target` is there; a frame on the way that is missing is an answer, not a failure.
    pub async fn presence(&self, target: &str) -> Result<Presence> {
        match self.read(Some(target), "state", json!({})).await {
            Err(error) if error.code == ErrorCode::ElementNotFound => Ok(Presence {
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

    /// Fails like every read if there is no match, and says what is there instead.
    pub async fn require(&self, target: &str) -> Result<()> {
        self.read::<Value>(Some(target), "resolve", json!({})).await.map(drop)
    }

    /// Asks `name` of the frame that `target` is in; of the main frame without one.
    pub(super) async fn read<T: DeserializeOwned>(
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
                            let place = self.locate(target).await?;
                            arguments["target"] = place.target.into();
                            place.frame
                        }
                    };
                    self.inject_in(&frame, name, arguments).await
                })
            })
            .await?;
        typed(name, answer)
    }
}

fn typed<T: DeserializeOwned>(name: &str, answer: Value) -> Result<T> {
    serde_json::from_value(answer).map_err(|error| {
        TroupeError::new(
            ErrorCode::InternalError,
            format!("the page layer's `{name}` answered in another form: {error}"),
        )
    })
}
