//! Tools that query elements and wait for them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::tool::{Group, PageCall, Tool, tool};
use crate::{
    config::AfterAction,
    error::{ErrorCode, Result, TroupeError},
    page::{Element, ElementState, Elements, TimeLimit},
};

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, description| tool(name, Group::Element, description);
    vec![
        tool(
            "find_element",
            "Wait for an element and get its role, text, attributes, box and state.",
        )
        .read_only()
        .concurrent()
        .page(find_element),
        tool("find_elements", "List all matches with refs.")
            .command("elements", &["selector"], "troupe elements 'role=button'")
            .read_only()
            .page(find_elements),
        tool("element_exists", "Check whether anything matches, without waiting.")
            .read_only()
            .page(element_exists),
        tool("is_visible", "Check whether an element is visible, and if not, why.")
            .read_only()
            .page(is_visible),
        tool("is_enabled", "Check whether an element is enabled.").read_only().page(is_enabled),
        tool("wait_for_selector", "Wait until an element appears or disappears.")
            .read_only()
            .concurrent()
            .page(wait_for_selector),
        tool("wait_for", "Wait until every given condition holds.")
            .command("wait", &["text"], "troupe wait 'Saved'")
            .read_only()
            .concurrent()
            .page(wait_for),
    ]
}

fn time_limit(call: &PageCall, given: Option<u64>) -> TimeLimit {
    TimeLimit::new(call.action_timeout(given))
}

#[derive(Deserialize, JsonSchema)]
struct ElementTarget {
    selector: String,
}

#[derive(Deserialize, JsonSchema)]
struct FindElementParameters {
    selector: String,
    /// ms
    timeout: Option<u64>,
}

async fn find_element(call: PageCall, given: FindElementParameters) -> Result<Element> {
    call.page.find_element(&given.selector, time_limit(&call, given.timeout)).await
}

async fn find_elements(call: PageCall, given: ElementTarget) -> Result<Elements> {
    call.page.elements(&given.selector).await
}

#[derive(Serialize, JsonSchema)]
struct Existence {
    exists: bool,
    /// Number of matches.
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

async fn element_exists(call: PageCall, given: ElementTarget) -> Result<Existence> {
    let found = call.page.presence(&given.selector).await?;
    Ok(Existence {
        exists: found.exists,
        count: found.count,
        r#ref: found.r#ref,
        description: found.description,
    })
}

#[derive(Serialize, JsonSchema)]
struct Visibility {
    visible: bool,
    exists: bool,
    /// Why it is not visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

async fn is_visible(call: PageCall, given: ElementTarget) -> Result<Visibility> {
    let found = call.page.presence(&given.selector).await?;
    let reason =
        if found.exists { found.hidden_because } else { Some("nothing matches".to_owned()) };
    Ok(Visibility { visible: found.visible, exists: found.exists, reason })
}

#[derive(Serialize, JsonSchema)]
struct Enablement {
    enabled: bool,
}

async fn is_enabled(call: PageCall, given: ElementTarget) -> Result<Enablement> {
    let found = call.page.presence(&given.selector).await?;
    if !found.exists {
        // A missing element is an error: it is neither enabled nor disabled.
        call.page.require(&given.selector).await?;
    }
    Ok(Enablement { enabled: found.enabled })
}

#[derive(Deserialize, JsonSchema)]
struct WaitForSelectorParameters {
    selector: String,
    state: Option<ElementState>,
    /// ms
    timeout: Option<u64>,
}

#[derive(Default, Serialize, JsonSchema)]
struct WaitedAnswer {
    success: bool,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Lines of the snapshot that were added (+), removed (-) or changed (~) since the last result.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<String>,
    /// A short snapshot, if the client was not shown this document.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<String>,
}

impl WaitedAnswer {
    /// Adds the changes of the page since the client's last result, or a short snapshot of a
    /// document that no result has contained.
    async fn with_page(mut self, call: &PageCall) -> Self {
        if call.config.after_action != AfterAction::Changes {
            return self;
        }
        if call.page.is_shown() {
            self.changes = call.page.changes_since_shown().await;
        } else if call.overview {
            self.snapshot = call.page.overview().await;
        }
        self
    }
}

async fn wait_for_selector(
    call: PageCall,
    given: WaitForSelectorParameters,
) -> Result<WaitedAnswer> {
    let state = given.state.unwrap_or(ElementState::Visible);
    let begun = Instant::now();
    let found = call
        .page
        .wait_for_element(&given.selector, state, time_limit(&call, given.timeout))
        .await?;
    let message = format!(
        "`{}` is {} after {} ms",
        given.selector,
        state.as_str(),
        begun.elapsed().as_millis()
    );
    let (r#ref, description) = (found.r#ref, found.description);
    let waited =
        WaitedAnswer { success: true, message, r#ref, description, ..WaitedAnswer::default() };
    Ok(waited.with_page(&call).await)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WaitForParameters {
    text: Option<String>,
    text_gone: Option<String>,
    /// URL, part of it, or a glob
    url: Option<String>,
    /// ms
    time: Option<u64>,
    /// ms
    timeout: Option<u64>,
}

/// Waits for the time first, then for the other conditions, so that they are true at the end.
async fn wait_for(call: PageCall, given: WaitForParameters) -> Result<WaitedAnswer> {
    let WaitForParameters { text, text_gone, url, time, timeout } = given;
    if text.is_none() && text_gone.is_none() && url.is_none() && time.is_none() {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            "`wait_for` needs `text`, `textGone`, `url` or `time`",
        )
        .detail("reason", "MISSING_PARAMETER")
        .suggestion("`wait_for` {text: \"Saved\"} waits until the page shows a text"));
    }
    let page = &call.page;
    if let Some(time) = time {
        page.wait_for_time(Duration::from_millis(time)).await?;
    }
    let time_limit = time_limit(&call, timeout);
    let begun = Instant::now();
    let mut outcomes = Vec::new();
    outcomes.extend(time.map(|time| format!("{time} ms have passed")));
    if let Some(url) = &url {
        page.wait_for_url(url, time_limit).await?;
        outcomes.push(format!("the page is at `{}`", page.url()));
    }
    if let Some(text) = &text_gone {
        page.wait_for_text_gone(text, time_limit).await?;
        outcomes.push(format!("the text `{text}` is gone"));
    }
    let mut waited = WaitedAnswer { success: true, ..WaitedAnswer::default() };
    if let Some(text) = &text {
        let found = page.wait_for_text(text, time_limit).await?;
        let form = found.r#as.map(|what| format!(" as a {what}")).unwrap_or_default();
        outcomes.push(format!("the text `{text}` is visible{form}"));
        (waited.r#ref, waited.description) = (found.r#ref, found.description);
    }
    waited.message = outcomes.join(", ");
    if outcomes.len() > usize::from(time.is_some()) {
        waited.message.push_str(&format!(" after {} ms", begun.elapsed().as_millis()));
    }
    Ok(waited.with_page(&call).await)
}
