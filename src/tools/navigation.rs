//! Tools that lead a page somewhere.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    answer::{DialogAnswer, DownloadAnswer},
    tool::{Group, PageCall, Tool, tool},
};
use crate::{
    error::Result,
    page::{WaitUntil, normalise_url},
    policy,
};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "navigate",
            Group::Navigation,
            "Go to a URL and wait until it has loaded. Look at the page with snapshot.",
        )
        .page(navigate),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NavigateParameters {
    url: String,
    wait_until: Option<WaitUntil>,
    /// ms
    timeout: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct Navigated {
    success: bool,
    title: String,
    /// Where the page is now, after redirects.
    url: String,
    /// HTTP status of the document's last response; 0 where there was none.
    status: u16,
    /// Milliseconds since the navigation began: responseStart, domContentLoaded, load.
    timing: Map<String, Value>,
    /// A dialog that the page opened; it waits until `handle_dialog`.
    #[serde(skip_serializing_if = "Option::is_none")]
    dialog: Option<DialogAnswer>,
    /// Set where the URL was a download; the page stays where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    download: Option<DownloadAnswer>,
}

async fn navigate(call: PageCall, given: NavigateParameters) -> Result<Navigated> {
    let url = normalise_url(&given.url)?;
    policy::check_navigation(&call.config, &url)?;
    let timeout = given.timeout.map_or(call.config.timeout_navigation, Duration::from_millis);
    let navigation = call.page.navigate(&url, given.wait_until.unwrap_or_default(), timeout).await?;
    Ok(Navigated {
        success: true,
        title: navigation.title,
        url: navigation.url,
        status: navigation.status,
        timing: navigation.timing,
        dialog: navigation.dialog.map(Into::into),
        download: navigation.download.map(Into::into),
    })
}
