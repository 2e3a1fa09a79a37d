//! Tools that read a page as text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run_blocking;
use crate::{
    error::{ErrorCode, Result, TroupeError},
    page::{FieldValue, MAX_MATCHES, Query, markdown},
    tools::{answer::TextAnswer, tool::PageCall},
};

#[derive(Deserialize, JsonSchema)]
pub(super) struct FindParameters {
    /// Case-insensitive
    text: Option<String>,
    /// JavaScript, case-insensitive
    regex: Option<String>,
}

pub(super) async fn find(call: PageCall, given: FindParameters) -> Result<TextAnswer> {
    let (query, pattern) = match (given.text, given.regex) {
        (Some(text), None) => (Query::Text(text.clone()), text),
        (None, Some(regex)) => (Query::Regex(regex.clone()), regex),
        _ => {
            return Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                "`find` needs either `text` or `regex`",
            )
            .detail("reason", "MISSING_PARAMETER")
            .suggestion("`find` {text: \"price\"} lists the lines that contain a text"));
        }
    };
    let found = call.page.find(&query).await?;
    let page = call.page.url();
    Ok(TextAnswer(match found.count {
        // The text says where the search of a very large page has stopped.
        0 if !found.text.is_empty() => {
            format!(
                "Nothing at {page} matches `{pattern}`, as far as it was searched.\n{}",
                found.text
            )
        }
        0 => format!("Nothing at {page} matches `{pattern}`."),
        1 => format!("1 match at {page}\n{}", found.text),
        count if count > MAX_MATCHES => {
            format!("{count} matches at {page}, the first {MAX_MATCHES}:\n{}", found.text)
        }
        count => format!("{count} matches at {page}\n{}", found.text),
    }))
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadPageParameters {}

pub(super) async fn read_page(call: PageCall, _given: ReadPageParameters) -> Result<TextAnswer> {
    let html = call.page.html().await?;
    run_blocking(move || Ok(TextAnswer(markdown(&html)))).await
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct OptionalTarget {
    selector: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct RequiredTarget {
    pub selector: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ShownText {
    text: String,
}

pub(super) async fn get_text(call: PageCall, given: OptionalTarget) -> Result<ShownText> {
    Ok(ShownText { text: call.page.text(given.selector.as_deref()).await?.text })
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ShownTexts {
    texts: Vec<String>,
    count: u64,
}

pub(super) async fn get_all_text(call: PageCall, given: RequiredTarget) -> Result<ShownTexts> {
    let found = call.page.texts(&given.selector).await?;
    Ok(ShownTexts { texts: found.texts, count: found.count })
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct AttributeParameters {
    selector: String,
    attribute: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct AttributeValue {
    /// Null if the element has no such attribute.
    value: Option<String>,
}

pub(super) async fn get_attribute(
    call: PageCall,
    given: AttributeParameters,
) -> Result<AttributeValue> {
    Ok(AttributeValue { value: call.page.attribute(&given.selector, &given.attribute).await? })
}

pub(super) async fn get_value(call: PageCall, given: RequiredTarget) -> Result<FieldValue> {
    call.page.value(&given.selector).await
}
