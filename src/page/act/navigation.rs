//! Navigates to a URL and waits until the page has loaded.

use std::{sync::atomic::Ordering, time::Duration};

use scopeguard::ScopeGuard;
use serde_json::{Map, Value, json};
use url::Url;

use crate::{
    engine::{DownloadStart, EngineResult, NavigationStart},
    error::{ErrorCode, Result, TroupeError},
    page::{
        Page,
        act::{DOWNLOAD_TIMEOUT, LoadOutcome, WaitUntil},
        read::whole_page,
        script::{ANSWER_TIMEOUT, millis},
        state::{ConnectionFailure, DocumentFailure, EventSequence, OpenDialog},
    },
};

/// Timeout for an event loop tick, after which the page counts as unresponsive.
const TICK_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum time to read a title for a list of pages.
const TITLE_TIMEOUT: Duration = Duration::from_millis(300);

/// The URL schemes that browsers open. The policy blocks some of them.
const SCHEMES: &[&str] = &[
    "http",
    "https",
    "data",
    "about",
    "blob",
    "file",
    "view-source",
    "chrome",
    "devtools",
    "javascript",
];

/// The result of a navigation.
#[derive(Debug, Clone)]
pub struct Navigation {
    pub url: String,
    pub title: String,
    /// HTTP status of the document's last response; 0 if there is none.
    pub status: u16,
    /// Milliseconds since the navigation began, as the page measured them.
    pub timing: Map<String, Value>,
    pub dialog: Option<OpenDialog>,
    pub download: Option<DownloadStart>,
    /// Whether the scripts of the page may still render content.
    pub may_load: bool,
}

/// Parses a URL. A host without a scheme gets `https://`, or `http://` if it is a host of this
/// machine.
pub fn normalize_url(given: &str) -> Result<Url> {
    let given = given.trim();
    let invalid = |reason: String| {
        TroupeError::new(ErrorCode::InvalidUrl, format!("not a URL: `{given}` ({reason})"))
            .detail("url", given)
            .suggestion("pass a complete `url`, such as https://example.com/")
    };
    let beginning = given.split(['/', '?', '#']).next().unwrap_or_default();
    let (name, port) = beginning.split_once(':').unwrap_or((beginning, ""));
    let begins_with_host = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
        && port.chars().all(|c| c.is_ascii_digit())
        && (name == "localhost"
            || name.contains('.')
            || (!port.is_empty() && beginning.contains(':')));
    if begins_with_host {
        let is_local =
            name == "localhost" || name.ends_with(".localhost") || name.starts_with("127.");
        let scheme = if is_local { "http" } else { "https" };
        return Url::parse(&format!("{scheme}://{given}"))
            .map_err(|error| invalid(error.to_string()));
    }
    let url = Url::parse(given).map_err(|error| invalid(error.to_string()))?;
    if !SCHEMES.contains(&url.scheme()) {
        return Err(invalid(format!("no browser opens `{}:` URLs", url.scheme())));
    }
    if matches!(url.scheme(), "http" | "https") && url.host_str().is_none_or(str::is_empty) {
        return Err(invalid("it names no host".into()));
    }
    Ok(url)
}

impl Page {
    /// Navigates to `url` for the client, and waits until it has loaded.
    pub async fn navigate(
        &self,
        url: &Url,
        until: WaitUntil,
        timeout: Duration,
    ) -> Result<Navigation> {
        if let Some(network_policy) = &self.network_policy {
            network_policy.allow_client_navigation(url, || self.engine.check_each_request()).await;
        }
        let navigate = async |mark| {
            self.start_and_load(url, until, mark, self.engine.navigate(url.as_str())).await
        };
        self.navigate_by(url.as_str(), navigate, timeout).await.map_err(|error| match error.code {
            // A navigation restores a crashed page, so another attempt may succeed.
            ErrorCode::BrowserCrashed => error.retryable(true),
            _ => error,
        })
    }

    /// Navigates to `url` for internal purposes, without an entry in the page's history. Takes no
    /// snapshot, so that elements keep their refs.
    pub async fn visit(&self, url: &Url, until: WaitUntil, timeout: Duration) -> Result<()> {
        let navigate = async |mark| {
            self.start_and_load(url, until, mark, self.engine.navigate_and_replace(url.as_str()))
                .await
        };
        self.load_by(url.as_str(), navigate, timeout).await.map(drop)
    }

    /// Waits until a new page has committed a document, or has started a download instead.
    pub async fn await_first_document(&self) {
        let start = EventSequence::default();
        let first_result = self.state.await_some(|facts| {
            let committed = facts.committed_since(start);
            let ended = facts.closed || facts.crashed.is_some() || facts.abandoned_since(start);
            (committed || ended).then_some(committed)
        });
        if self.within(self.config.timeout_settle, first_result).await == Some(false) {
            let download = self.state.await_some(|facts| facts.download_since(start));
            let _ = self.within(DOWNLOAD_TIMEOUT, download).await;
        }
    }

    /// Reloads the document.
    pub async fn reload(&self, ignore_cache: bool, timeout: Duration) -> Result<Navigation> {
        let navigate = async |mark: EventSequence| {
            self.engine.reload(ignore_cache).await.map_err(|error| self.error(error))?;
            let reached = self.await_load_outcome(WaitUntil::Load, mark).await?;
            self.check_document().map(|()| reached)
        };
        self.navigate_by(&self.url(), navigate, timeout).await
    }

    /// Moves by the given number of entries in the history.
    pub async fn traverse_history(&self, entries: i64, timeout: Duration) -> Result<Navigation> {
        let navigate = async |mark: EventSequence| {
            if !self.engine.traverse_history(entries).await.map_err(|error| self.error(error))? {
                let direction = if entries < 0 { "back" } else { "forward" };
                return Err(TroupeError::new(
                    ErrorCode::NavigationFailed,
                    format!("there is no history entry to go {direction} to from `{}`", self.url()),
                )
                .detail("reason", "no history entry")
                .suggestion("open a page with `navigate` {url}"));
            }
            let reached = tokio::select! {
                reached = self.await_load_outcome(WaitUntil::Load, mark) => reached?,
                () = self.state.await_some(|facts| (facts.main_frame().url_changed > mark).then_some(())) => {
                    LoadOutcome::Loaded
                }
            };
            self.check_document().map(|()| reached)
        };
        self.navigate_by(&self.url(), navigate, timeout).await
    }

    /// Fails if the browser shows an error page because a document failed to load.
    fn check_document(&self) -> Result<()> {
        let shown = self.state.read(|facts| facts.main_frame().url.clone());
        match self.document_failure(&shown) {
            None => Ok(()),
            Some(DocumentFailure { url, reason }) => {
                Err(self.navigation_failure(&url, &reason, Duration::ZERO))
            }
        }
    }

    /// Waits until the current document, or one that replaces it, has reached the state `until`.
    pub async fn wait_for_load(&self, until: WaitUntil, timeout: Duration) -> Result<Navigation> {
        let waiting = self.await_load_outcome(until, EventSequence::default());
        match tokio::time::timeout(timeout, waiting).await {
            Ok(reached) => self.navigation_result(reached?).await,
            Err(_) => Err(self.timed_out("the page did not finish loading", timeout)),
        }
    }

    /// Awaits the navigation `navigate`, and returns its result.
    async fn navigate_by(
        &self,
        to: &str,
        navigate: impl AsyncFnOnce(EventSequence) -> Result<LoadOutcome>,
        timeout: Duration,
    ) -> Result<Navigation> {
        let reached = self.load_by(to, navigate, timeout).await?;
        self.navigation_result(reached).await
    }

    /// Awaits the navigation `navigate` and its document. Stops loading at the timeout or when the
    /// caller is dropped, because a loading page does not respond to other calls.
    async fn load_by(
        &self,
        to: &str,
        navigate: impl AsyncFnOnce(EventSequence) -> Result<LoadOutcome>,
        timeout: Duration,
    ) -> Result<LoadOutcome> {
        let mark = self.state.mark();
        let stop = scopeguard::guard((), |()| self.engine.stop_loading());
        let reached = tokio::time::timeout(timeout, navigate(mark)).await;
        if reached.is_ok() {
            ScopeGuard::into_inner(stop);
        }
        match reached {
            Ok(reached) => reached,
            Err(_) if self.state.read(|facts| facts.committed_since(mark)) => {
                Err(self.navigation_failure(to, "timeout", timeout).worded(format!(
                    "`{to}` responded but did not finish loading within {} ms",
                    timeout.as_millis()
                )))
            }
            Err(_) => Err(self.navigation_failure(to, "timeout", timeout)),
        }
    }

    async fn navigation_result(&self, reached: LoadOutcome) -> Result<Navigation> {
        match reached {
            LoadOutcome::Loaded => self.read_navigation_result(None, None).await,
            LoadOutcome::Dialog(dialog) => self.read_navigation_result(Some(dialog), None).await,
            LoadOutcome::Download(download) => {
                self.read_navigation_result(None, Some(download)).await
            }
        }
    }

    /// Returns the current document as the result of a navigation.
    async fn read_navigation_result(
        &self,
        dialog: Option<OpenDialog>,
        download: Option<DownloadStart>,
    ) -> Result<Navigation> {
        let (url, status) = (self.url(), self.state.read(|facts| facts.main_frame().status));
        let mut navigation = Navigation {
            url,
            title: String::new(),
            status,
            timing: Map::new(),
            dialog,
            download,
            may_load: false,
        };
        // The same answer contains the snapshot for the record.
        let snapshot = self.config.records().then(whole_page);
        // The search for closed roots is sent at the same time. The page awaits its end before it
        // takes the snapshot.
        let with_roots = snapshot.is_some() && self.engine.capabilities().closed_shadow_roots;
        let answer = Box::pin(async {
            let roots = async {
                if with_roots {
                    // After an error, the snapshot lacks the contents of closed roots.
                    let _ = self.pass_closed_roots(self.main_frame()).await;
                }
            };
            tokio::join!(roots, self.call_injected("readNavigation", json!({"snapshot": snapshot})))
                .1
        });
        if navigation.dialog.is_none()
            && let Ok(mut answer) = self.while_responsive(self.config.timeout_settle, answer).await
        {
            navigation.title = answer["title"].as_str().unwrap_or_default().to_owned();
            navigation.may_load = answer["loading"] == true;
            if let Value::Object(timing) = answer["timing"].take() {
                navigation.timing = timing;
            }
            // A page with possible shadow hosts that were not checked returns no snapshot.
            if answer["snapshot"].is_object() {
                Box::pin(self.cache_arrival_snapshot(answer["snapshot"].take())).await;
            }
        } else {
            // A dialog or a script blocks the page. The browser knows the title.
            navigation.dialog = navigation.dialog.or_else(|| self.dialog().map(Into::into));
            navigation.title = self.title().await.unwrap_or_default();
        }
        Ok(navigation)
    }

    /// Starts a navigation with `start`, and waits until its document has reached the state
    /// `until`.
    async fn start_and_load(
        &self,
        url: &Url,
        until: WaitUntil,
        mark: EventSequence,
        start: impl Future<Output = EngineResult<NavigationStart>>,
    ) -> Result<LoadOutcome> {
        self.stop_blocking_script(url).await;
        let dialog = self.state.await_some(|facts| facts.dialog_since(mark));
        let start = tokio::select! {
            start = start => start.map_err(|error| self.error(error))?,
            dialog = dialog => return Ok(LoadOutcome::Dialog(dialog.into())),
        };
        match start {
            NavigationStart::SameDocument => {
                // The new URL is reported shortly after the answer; an unchanged URL is not
                // reported at all.
                let moved = self.state.await_some(|facts| {
                    let frame = facts.main_frame();
                    (frame.url_changed > mark || &*frame.url == url.as_str()).then_some(())
                });
                let _ = self.within(self.config.timeout_settle, moved).await;
                Ok(LoadOutcome::Loaded)
            }
            NavigationStart::Download => {
                let download = self.state.await_some(|facts| facts.download_since(mark));
                Ok(LoadOutcome::Download(download.await))
            }
            NavigationStart::Failed { reason } => {
                // The browser commits an error page shortly afterwards. That commit must not be
                // attributed to the next navigation.
                let ended = self.state.await_some(|facts| {
                    let ended =
                        facts.closed || facts.committed_since(mark) || facts.abandoned_since(mark);
                    ended.then_some(())
                });
                let _ = self.within(self.config.timeout_settle, ended).await;
                Err(self.navigation_failure(url.as_str(), &reason, Duration::ZERO))
            }
            // The event that the navigation became a download may arrive after the answer.
            NavigationStart::Document(_) => tokio::select! {
                biased;
                reached = self.await_load_outcome(until, mark) => reached,
                download = self.await_download_instead(mark) => Ok(LoadOutcome::Download(download)),
            },
        }
    }

    /// Waits until a navigation since `mark` has become a download instead of a document.
    async fn await_download_instead(&self, mark: EventSequence) -> DownloadStart {
        let download = self.state.await_some(|facts| {
            let has_no_document = facts.abandoned_since(mark) && !facts.committed_since(mark);
            has_no_document.then(|| facts.download_since(mark)).flatten()
        });
        download.await
    }

    /// Stops a script that blocks the navigation to `url`. The navigation would end the script
    /// anyway, and once it has begun, the browser does not forward calls to the page.
    async fn stop_blocking_script(&self, url: &Url) {
        let is_same_document = Url::parse(&self.url()).is_ok_and(|mut current| {
            current.set_fragment(url.fragment());
            current == *url
        });
        if self.is_unresponsive.swap(false, Ordering::Relaxed)
            && !is_same_document
            && !self.responds(TICK_TIMEOUT).await
        {
            self.engine.terminate_script();
        }
    }

    /// Returns the error of a navigation to `url` that failed for `reason`: the browsers' name of
    /// the network error, or `timeout`.
    fn navigation_failure(&self, url: &str, reason: &str, timeout: Duration) -> TroupeError {
        let failure = self.network_policy.as_ref().and_then(|network_policy| {
            // Only the log has the URL after a redirect.
            let redirected = self.last_failed_document().map(|(url, _)| url);
            let outcome =
                |url: &str| Some((url.to_owned(), network_policy.outcome_of(url, reason)?));
            redirected.and_then(|url| outcome(&url)).or_else(|| outcome(url))
        });
        let reason = match &failure {
            Some((url, ConnectionFailure::Refused(rule))) => return rule.error(url),
            Some((_, ConnectionFailure::Failed(reason))) => reason,
            None => reason,
        };
        let cause = match reason {
            "timeout" => format!("no response within {} ms", timeout.as_millis()),
            "net::ERR_NAME_NOT_RESOLVED" => "its host name cannot be resolved".to_owned(),
            "net::ERR_CONNECTION_REFUSED" => {
                "the connection was refused: no server listens there".to_owned()
            }
            "net::ERR_UNSAFE_PORT" => "browsers block this port".to_owned(),
            "net::ERR_CONNECTION_RESET" => "the server reset the connection".to_owned(),
            "net::ERR_EMPTY_RESPONSE" => {
                "the server closed the connection without a response".to_owned()
            }
            "net::ERR_INTERNET_DISCONNECTED" => "the session or the machine is offline".to_owned(),
            "net::ERR_ABORTED" => "the server sent no document, or something stopped it".to_owned(),
            other => other.to_owned(),
        };
        let retryable = matches!(
            reason,
            "timeout"
                | "net::ERR_TIMED_OUT"
                | "net::ERR_CONNECTION_TIMED_OUT"
                | "net::ERR_CONNECTION_RESET"
                | "net::ERR_CONNECTION_CLOSED"
                | "net::ERR_CONNECTION_ABORTED"
                | "net::ERR_EMPTY_RESPONSE"
                | "net::ERR_NETWORK_CHANGED"
                | "net::ERR_INTERNET_DISCONNECTED"
        );
        let suggestion = match reason {
            "timeout" => "raise `timeout`, or pass `waitUntil`: domcontentloaded",
            "net::ERR_NAME_NOT_RESOLVED" | "net::ERR_CONNECTION_REFUSED" => {
                "check `url` and that its server runs"
            }
            reason if reason.starts_with("net::ERR_CERT") => {
                "the certificate is not trusted: start the server with --ignore-https-errors, or pass another `url`"
            }
            "net::ERR_UNSAFE_PORT" => "serve the page on another port, and pass that `url`",
            "net::ERR_INTERNET_DISCONNECTED" => {
                "`set_offline` with `offline`: false, if the session was taken offline"
            }
            _ if retryable => "`navigate` again later",
            _ => "check `url`, or open another page with `navigate`",
        };
        let error = TroupeError::new(
            ErrorCode::NavigationFailed,
            format!("`{url}` could not be loaded: {cause}"),
        );
        let error = match reason {
            "timeout" => error.detail("timeout", millis(timeout)),
            _ => error,
        };
        error
            .detail("reason", reason)
            .detail("url", url)
            .retryable(retryable)
            .suggestion(suggestion)
    }

    /// Returns the title, also while a dialog blocks the page.
    pub async fn title(&self) -> Result<String> {
        let title = async { self.engine.title().await.map_err(|error| self.error(error)) };
        self.while_responsive(ANSWER_TIMEOUT, title).await
    }

    /// Returns the title for a list of pages, which one busy page must not delay.
    pub async fn title_if_responsive(&self) -> Option<String> {
        self.within(TITLE_TIMEOUT, self.title()).await?.ok()
    }

    /// Clears the page's history.
    pub async fn forget_history(&self) -> Result<()> {
        self.guarded(self.engine.clear_history()).await?;
        self.state.restart_frame_numbers();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn urls_without_a_scheme_are_completed() {
        let cases = [
            ("example.com", "https://example.com/"),
            ("example.com/a?b#c", "https://example.com/a?b#c"),
            ("example.com:8080/x", "https://example.com:8080/x"),
            ("localhost:3000", "http://localhost:3000/"),
            ("127.0.0.1:3000/x", "http://127.0.0.1:3000/x"),
            (" https://a.b/ ", "https://a.b/"),
            ("about:blank", "about:blank"),
            ("data:text/html,hi", "data:text/html,hi"),
            ("myhost:8080", "https://myhost:8080/"),
        ];
        for (given, expected) in cases {
            assert_eq!(normalize_url(given).unwrap().as_str(), expected, "{given}");
        }
    }

    #[test]
    fn invalid_urls_are_rejected() {
        for given in ["", "not a url", "http://", "https://exa mple.com", "//x", "http://[::1"] {
            assert_eq!(normalize_url(given).unwrap_err().code, ErrorCode::InvalidUrl, "{given}");
        }
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(given in ".*") {
            let _ = normalize_url(&given);
        }
    }
}
