//! Tabs, and the session as a whole.

use serde::Deserialize;
use serde_json::Value;

use super::{
    call::{NoArguments, PlaywrightCall, error},
    navigation,
    response::{self, Response},
};
use crate::{
    config::{Config, redacted_proxy, with_playwright_keys},
    error::Result,
};

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum TabAction {
    List,
    New,
    Close,
    Select,
}

#[derive(Deserialize)]
pub(super) struct Tabs {
    action: TabAction,
    index: Option<f64>,
    url: Option<String>,
}

pub(super) async fn tabs(call: PlaywrightCall, given: Tabs) -> Result<Response> {
    let mut response = Response::default();
    let tab = |index: f64| {
        let pages = call.session.open_pages();
        let found = pages.into_iter().enumerate().find(|(at, _)| *at as f64 == index);
        found.ok_or_else(|| error(format!("Tab {index} not found")))
    };
    match given.action {
        TabAction::List => drop(call.page().await?),
        TabAction::New => {
            let url = match &given.url {
                Some(given) => Some((navigation::target_url(&call.config, given)?, given)),
                None => None,
            };
            let page = call.session.new_page().await?;
            if let Some((url, given)) = url {
                navigation::open(&call, &page, &url, given, &mut response).await?;
            }
        }
        TabAction::Close => {
            let pages = call.session.open_pages();
            let current = call.session.current_page().map(|page| page.id.clone());
            let (at, page) = match given.index {
                Some(index) => tab(index)?,
                None => pages
                    .iter()
                    .cloned()
                    .enumerate()
                    .find(|(_, page)| Some(&page.id) == current.as_ref())
                    .ok_or_else(|| error("Tab undefined not found"))?,
            };
            page.close().await?;
            let remaining = call.session.open_pages();
            if Some(&page.id) == current.as_ref()
                && let Some(next) = remaining.get(at).or(remaining.last())
            {
                call.session.select_page(&next.id).await?;
            }
        }
        TabAction::Select => {
            let index = given.index.ok_or_else(|| error("Tab index is required"))?;
            let (_, page) = tab(index)?;
            call.session.select_page(&page.id).await?;
        }
    }
    let headers = response::read_headers(&call).await;
    response.add_text(response::tab_lines(&headers).join("\n"));
    Ok(response)
}

pub(super) async fn close_browser(call: PlaywrightCall, _given: NoArguments) -> Result<Response> {
    call.server.connection.close(&call.server.manager, &call.session.id).await?;
    Ok(Response::text(response::tab_lines(&[]).join("\n"))
        .with_code("await page.close()")
        .closing())
}

pub(super) async fn get_config(call: PlaywrightCall, _given: NoArguments) -> Result<Response> {
    let config = with_playwright_keys(&without_credentials(&call.config));
    let config = serde_json::to_string_pretty(&config);
    Ok(Response::text(config.unwrap_or_default()))
}

/// Returns the configuration without tokens, and without settings that can contain credentials.
fn without_credentials(config: &Config) -> Value {
    let mut shown = serde_json::to_value(config).unwrap_or_default();
    let Some(settings) = shown.as_object_mut() else { return shown };
    for name in ["authToken", "browserArgs", "browserEndpoint", "connect", "store", "upstream"] {
        settings.remove(name);
    }
    if let Some(proxy) = settings["context"]["proxyServer"].as_str() {
        settings["context"]["proxyServer"] = redacted_proxy(proxy).into();
    }
    shown
}
