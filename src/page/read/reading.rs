//! Reads texts, attributes and tables. Each query goes to the frame of its target.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    config::Viewport,
    engine::World,
    error::Result,
    page::{
        Page,
        query::{area, parse_answer},
    },
};

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
    links: Vec<PageLink>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
struct PageLink {
    text: String,
    url: String,
    r#ref: String,
}

/// The metadata in the head of a page, and its headings.
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
    /// Null if the element has none.
    value: Option<String>,
    /// The values of a `<select multiple>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
    /// true, false or "mixed".
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<Value>,
}

/// One of the elements that a target matches.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListedElement {
    pub r#ref: String,
    pub description: String,
    pub tag: String,
    pub text: String,
    pub visible: bool,
    pub attributes: Map<String, Value>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Elements {
    pub elements: Vec<ListedElement>,
    /// The number of matches, including those that are not listed.
    pub count: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ElementTexts {
    pub text: String,
    #[serde(default)]
    pub texts: Vec<String>,
    pub count: u64,
}

/// One element by its ref, with its box in the page's viewport.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElementDescription {
    pub description: String,
    pub role: String,
    pub name: String,
    pub tag: String,
    pub text: String,
    pub attributes: Map<String, Value>,
    /// x, y, width and height; zero if the element is not rendered.
    pub r#box: [f64; 4],
    pub visible: bool,
    pub enabled: bool,
    /// A CSS selector of the element.
    pub path: String,
}

/// A document to convert to Markdown.
#[derive(Debug, Clone, Deserialize)]
pub struct HtmlDocument {
    pub html: String,
    pub title: String,
    pub url: String,
}

impl Page {
    /// Returns the visible text of the first match of `target`, or of the whole page.
    pub async fn text(&self, target: Option<&str>) -> Result<ElementTexts> {
        self.read(target, "text", json!({})).await
    }

    /// Returns the visible text of every match.
    pub async fn texts(&self, target: &str) -> Result<ElementTexts> {
        self.read(Some(target), "text", json!({"all": true})).await
    }

    /// Returns the attribute as it is written; `None` if the element does not have it.
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

    /// Returns the page's current HTML.
    pub async fn html(&self) -> Result<HtmlDocument> {
        self.read(None, "html", json!({})).await
    }

    /// Describes every match.
    pub async fn elements(&self, target: &str) -> Result<Elements> {
        self.read(Some(target), "list", json!({})).await
    }

    /// Describes the element with the ref `reference`. Fails with `ELEMENT_NOT_FOUND` if it was
    /// removed.
    pub async fn describe(&self, reference: &str) -> Result<ElementDescription> {
        let answer = self
            .in_one_document(|| {
                Box::pin(async move {
                    let resolved = self.locate(reference).await?;
                    let arguments = json!({"ref": resolved.target});
                    let mut answer =
                        self.call_injected_in(&resolved.frame, "describe", arguments).await?;
                    let found =
                        self.transform_of(&resolved.owners).await?.bounds(area(&answer["box"]));
                    answer["box"] = json!([found.x, found.y, found.width, found.height]);
                    Ok(answer)
                })
            })
            .await?;
        parse_answer("describe", answer)
    }

    /// Returns the width and height of the viewport in CSS pixels.
    pub async fn viewport(&self) -> Result<(u64, u64)> {
        let size = "[innerWidth, innerHeight]";
        let size =
            self.guarded(self.engine.evaluate(self.main_frame(), World::Isolated, size)).await?;
        Ok((size[0].as_u64().unwrap_or_default(), size[1].as_u64().unwrap_or_default()))
    }

    pub async fn set_viewport(&self, size: Viewport) -> Result<()> {
        self.guarded(self.engine.set_viewport(size)).await
    }
}
