//! Tools that navigate.

use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use super::{
    answer::{self, DialogAnswer, DownloadAnswer},
    tool::{Group, PageCall, SessionCall, Tool, tool},
};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
    page::{ANSWER_BEFORE_UNLOAD, Navigation, Page, WaitUntil, normalize_url},
    policy,
    session::{PageInfo, Session},
};

pub(super) fn tools() -> Vec<Tool> {
    let goes =
        |name, description| tool(name, Group::Navigation, description).unprinted(&["timing"]);
    vec![
        goes("navigate", "Go to a URL and wait until it has loaded.")
            .command("open", &["url"], "troupe open http://localhost:3000")
            .opens_session()
            .page(navigate),
        goes("go_back", "Go back in the history.")
            .command("back", &[], "troupe back")
            .page(go_back),
        goes("go_forward", "Go forward in the history.")
            .command("forward", &[], "troupe forward")
            .page(go_forward),
        goes("reload", "Reload the page from its server.")
            .command("reload", &[], "troupe reload")
            .page(reload),
        goes("wait_for_load", "Wait until the page has loaded, or its network is idle.")
            .read_only()
            .concurrent()
            .page(wait_for_load),
        tool(
            "pages",
            Group::Pages,
            "List, open (at a url), select or close tabs, or adopt a tab of the user (--attach). A popup is not selected automatically.",
        )
        .command("tab", &["action", "pageId"], "troupe tab new --url http://localhost:3000")
        .session(pages),
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
struct NavigateAnswer {
    success: bool,
    title: String,
    /// The URL of the page, after redirects.
    url: String,
    /// HTTP status of the document's last response; 0 if there was none.
    status: u16,
    /// Milliseconds since the navigation began: responseStart, domContentLoaded, load.
    timing: Map<String, Value>,
    /// A short snapshot of the page (controls, headings and messages), if the configuration returns
    /// one.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<String>,
    /// A dialog that the page opened; it waits until `handle_dialog`.
    #[serde(skip_serializing_if = "Option::is_none")]
    dialog: Option<DialogAnswer>,
    /// Set if the page has not been left yet, because it asks whether to leave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// Set if the URL was a download; the page does not navigate.
    #[serde(skip_serializing_if = "Option::is_none")]
    download: Option<DownloadAnswer>,
    /// Further downloads, also of other pages or not reported before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    downloads: Vec<DownloadAnswer>,
}

impl NavigateAnswer {
    /// `overview`: whether it contains a short snapshot.
    async fn of(page: &Page, mut navigation: Navigation, overview: bool) -> Self {
        let snapshot = if overview && navigation.dialog.is_none() && navigation.download.is_none() {
            if page.await_content(navigation.may_load).await {
                navigation.url = page.url();
                navigation.title = page.title().await.unwrap_or(navigation.title);
            }
            page.overview().await
        } else {
            None
        };
        let (download, downloads) = answer::downloads(page).await;
        let asks = navigation.dialog.as_ref().is_some_and(|open| open.dialog.is_before_unload());
        Self {
            success: true,
            message: asks.then(|| format!("The page was not left yet; {ANSWER_BEFORE_UNLOAD}.")),
            title: navigation.title,
            url: navigation.url,
            status: navigation.status,
            timing: navigation.timing,
            snapshot,
            dialog: navigation.dialog.map(Into::into),
            download,
            downloads,
        }
    }
}

async fn navigate(call: PageCall, given: NavigateParameters) -> Result<NavigateAnswer> {
    let url = allowed_url(&call.config, &given.url)?;
    let timeout = call.navigation_timeout(given.timeout);
    let navigation =
        call.page.navigate(&url, given.wait_until.unwrap_or_default(), timeout).await?;
    Ok(NavigateAnswer::of(&call.page, navigation, call.overview).await)
}

/// Parses a URL and checks that the client may navigate to it.
fn allowed_url(config: &Config, given: &str) -> Result<Url> {
    let url = normalize_url(given)?;
    policy::check_navigation(config, &url)?;
    Ok(url)
}

#[derive(Deserialize, JsonSchema)]
struct NoParameters {}

async fn go_back(call: PageCall, _given: NoParameters) -> Result<NavigateAnswer> {
    let navigation = call.page.traverse_history(-1, call.navigation_timeout(None)).await?;
    Ok(NavigateAnswer::of(&call.page, navigation, call.overview).await)
}

async fn go_forward(call: PageCall, _given: NoParameters) -> Result<NavigateAnswer> {
    let navigation = call.page.traverse_history(1, call.navigation_timeout(None)).await?;
    Ok(NavigateAnswer::of(&call.page, navigation, call.overview).await)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReloadParameters {
    ignore_cache: Option<bool>,
}

async fn reload(call: PageCall, given: ReloadParameters) -> Result<NavigateAnswer> {
    let timeout = call.navigation_timeout(None);
    let navigation = call.page.reload(given.ignore_cache.unwrap_or(false), timeout).await?;
    Ok(NavigateAnswer::of(&call.page, navigation, call.overview).await)
}

#[derive(Deserialize, JsonSchema)]
struct LoadParameters {
    state: Option<WaitUntil>,
    /// ms
    timeout: Option<u64>,
}

async fn wait_for_load(call: PageCall, given: LoadParameters) -> Result<NavigateAnswer> {
    let timeout = call.navigation_timeout(given.timeout);
    let navigation = call.page.wait_for_load(given.state.unwrap_or_default(), timeout).await?;
    Ok(NavigateAnswer::of(&call.page, navigation, call.overview).await)
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum PagesAction {
    List,
    New,
    Select,
    Close,
    Adopt,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PagesParameters {
    action: PagesAction,
    page_id: Option<String>,
    url: Option<String>,
    /// adopt: its title or URL, or a part
    tab: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PagesAnswer {
    success: bool,
    pages: Vec<TitledPage>,
    /// The page that calls without a `pageId` use.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<String>,
    /// The navigation of the new page.
    #[serde(skip_serializing_if = "Option::is_none")]
    navigation: Option<NavigateAnswer>,
}

/// A page with its title, unless it has none or does not respond.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct TitledPage {
    #[serde(flatten)]
    info: PageInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
}

async fn pages(call: SessionCall, given: PagesParameters) -> Result<PagesAnswer> {
    let session = &call.session;
    let missing = |message, suggestion: &str| {
        TroupeError::new(ErrorCode::InvalidParameters, message)
            .detail("reason", "MISSING_PARAMETER")
            .suggestion(suggestion)
    };
    let named = || {
        given.page_id.as_deref().ok_or_else(|| {
            missing(
                "`pages` {action: \"select\"} and {action: \"close\"} need `pageId`",
                "get the ids with `pages` {action: \"list\"}",
            )
        })
    };
    let mut navigation = None;
    match given.action {
        PagesAction::List => {}
        PagesAction::New => {
            let url = given.url.as_deref().map(|url| allowed_url(&call.config, url)).transpose()?;
            let page = session.new_page().await?;
            if let Some(url) = url {
                let arrived =
                    page.navigate(&url, WaitUntil::Load, call.config.timeout_navigation).await?;
                navigation = Some(NavigateAnswer::of(&page, arrived, call.overview).await);
            }
        }
        PagesAction::Select => session.select_page(named()?).await?,
        PagesAction::Close => session.page(Some(named()?)).await?.close().await?,
        PagesAction::Adopt => {
            let tab =
                given.tab.as_deref().filter(|tab| !tab.trim().is_empty()).ok_or_else(|| {
                    missing(
                        "`pages` {action: \"adopt\"} needs `tab`",
                        "pass the title or the URL of the tab that the user named",
                    )
                })?;
            session.adopt_tab(tab).await?;
        }
    }
    let current = session.current_page().map(|page| page.id.clone());
    Ok(PagesAnswer { success: true, pages: titled_pages(session).await, current, navigation })
}

async fn titled_pages(session: &Session) -> Vec<TitledPage> {
    let titled = session.open_pages().into_iter().map(async |page| {
        let title = page.title_if_responsive().await.filter(|title| !title.is_empty());
        TitledPage { info: PageInfo::of(&page), title }
    });
    join_all(titled).await
}
