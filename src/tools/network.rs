//! Tools for the network of a session: all of its pages, their frames and workers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    answer::{ChangedAnswer, changed},
    budget,
    tool::{Group, PageCall, Tool, tool},
};
use crate::{
    engine::{
        network::{Mock, NetworkRules, ResourceType, Route, Throttling, WorkerKind},
        url_pattern::UrlPattern,
    },
    error::{ErrorCode, Result, TroupeError},
    offload::{self, json_size},
    page::LoggedRequest,
};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "block_resource",
            Group::Network,
            "Block requests of a type in the whole session; block false unblocks.",
        )
        .command("block", &["resourceType"], "troupe block image")
        .page(block_resource),
        tool(
            "mock_response",
            Group::Network,
            "Mock the response to requests; omit response to remove the mock.",
        )
        .command(
            "mock",
            &["url", "response"],
            r#"troupe mock '**/api/user' '{"json": {"name": "Ada"}}'"#,
        )
        .page(mock_response),
        tool("set_offline", Group::Network, "Take the session offline, or online again.")
            .command("offline", &["offline"], "troupe offline true")
            .page(set_offline),
        tool(
            "set_throttling",
            Group::Network,
            "Throttle the session's network (bytes/s, ms); 0 or none removes a limit.",
        )
        .page(set_throttling),
        tool(
            "get_request_log",
            Group::Network,
            "List the page's latest requests with status, type, time and failure.",
        )
        .command("network", &["filter"], "troupe network failed")
        .read_only()
        .works_in_dialog()
        .page(get_request_log),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct BlockParameters {
    resource_type: ResourceType,
    block: Option<bool>,
}

async fn block_resource(call: PageCall, given: BlockParameters) -> Result<ChangedAnswer> {
    let kind = given.resource_type;
    let rules = call.session.change_network(|rules| {
        rules.blocked.retain(|blocked| *blocked != kind);
        if given.block.unwrap_or(true) {
            rules.blocked.push(kind);
        }
    });
    let blocked: Vec<&str> = rules.await?.blocked.iter().map(|kind| kind.as_str()).collect();
    let blocked = if blocked.is_empty() { "nothing".to_owned() } else { blocked.join(", ") };
    Ok(changed(format!("Blocked now: {blocked}.")))
}

#[derive(Deserialize, JsonSchema)]
struct MockParameters {
    /// URL, part of it, or a glob
    url: String,
    response: Option<MockResponse>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct MockResponse {
    #[schemars(range(min = 200, max = 599))]
    status: Option<u16>,
    headers: Option<Map<String, Value>>,
    body: Option<String>,
    /// Instead of body
    json: Option<Value>,
    content_type: Option<String>,
}

async fn mock_response(call: PageCall, given: MockParameters) -> Result<ChangedAnswer> {
    let url = UrlPattern::for_requests(given.url.trim()).map_err(|reason| {
        TroupeError::new(
            ErrorCode::InvalidUrl,
            format!("`{}` is not a URL, part of a URL, or glob ({reason})", given.url),
        )
        .detail("url", given.url.as_str())
        .suggestion("pass a complete URL, or a glob such as **/api/users*")
    })?;
    let Some(response) = given.response else {
        let known =
            call.session.network_rules().await.routes.iter().any(|route| is_mock_for(route, &url));
        if !known {
            let problem = format!(
                "`response` is missing, and there is no mock for `{}` to remove",
                url.as_str()
            );
            return Err(TroupeError::new(ErrorCode::InvalidParameters, problem.clone())
                .detail("reason", "MISSING_PARAMETER")
                .detail("violations", json!([{"parameter": "response", "problem": problem}]))
                .suggestion("pass `response`, such as {json: []} or {status: 404}"));
        }
        let remove = |rules: &mut NetworkRules| {
            rules.routes.retain(|route| !is_mock_for(route, &url));
        };
        call.session.change_network(remove).await?;
        return Ok(changed(format!("Removed the mock for {}.", url.as_str())));
    };
    let mock = response.mock(url.clone())?;
    let message =
        format!("Requests to {} get a mock response with status {}.", url.as_str(), mock.status);
    call.session.change_network(|rules| rules.add_route(mock.into())).await?;
    Ok(changed(message))
}

fn is_mock_for(route: &Route, url: &UrlPattern) -> bool {
    route.mock().is_some_and(|mock| mock.url == *url)
}

impl MockResponse {
    fn mock(self, url: UrlPattern) -> Result<Mock> {
        let wrong = |parameter: &str, problem: &str| {
            TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("`response.{parameter}`: {problem}"),
            )
            .detail(
                "violations",
                json!([{"parameter": format!("response.{parameter}"), "problem": problem}]),
            )
        };
        let mut headers = Vec::new();
        for (name, value) in self.headers.into_iter().flatten() {
            let value = match value {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                _ => return Err(wrong("headers", &format!("`{name}` must be a string"))),
            };
            let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            if name.is_empty() || !name.chars().all(token) || value.contains(char::is_control) {
                return Err(wrong(
                    "headers",
                    &format!("`{name}` is not a valid header name, or its value is not valid"),
                ));
            }
            headers.push((name, value));
        }
        let (body, guess) = match (self.body, self.json) {
            (Some(_), Some(_)) => {
                return Err(wrong("json", "`body` is also given; pass only one of them"));
            }
            (Some(body), None) => {
                let guess = content_type(url.as_str(), &body);
                (body, Some(guess))
            }
            (None, Some(json)) => {
                let body = offload::in_place(json_size(&json), || json.to_string());
                (body, Some("application/json"))
            }
            (None, None) => (String::new(), None),
        };
        let named = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        match (self.content_type, guess) {
            (Some(named), _) => {
                headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
                headers.push(("content-type".to_owned(), named));
            }
            (None, Some(guess)) if !named => {
                headers.push(("content-type".to_owned(), guess.to_owned()))
            }
            (None, _) => {}
        }
        Ok(Mock::new(url, self.status.unwrap_or(200), headers, body.as_bytes()))
    }
}

/// Returns the default content type of a body: by the end of the URL's path, else by its first
/// character.
fn content_type(url: &str, body: &str) -> &'static str {
    let path = url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('*');
    match path.rsplit('.').next().unwrap_or_default() {
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        _ if body.trim_start().starts_with('<') => "text/html; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    }
}

#[derive(Deserialize, JsonSchema)]
struct OfflineParameters {
    offline: bool,
}

async fn set_offline(call: PageCall, given: OfflineParameters) -> Result<ChangedAnswer> {
    call.session.change_network(|rules| rules.offline = given.offline).await?;
    Ok(changed(if given.offline { "The session is offline." } else { "The session is online." }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ThrottlingParameters {
    /// bytes/s
    download_speed: Option<f64>,
    /// bytes/s
    upload_speed: Option<f64>,
    /// ms
    latency: Option<f64>,
}

async fn set_throttling(call: PageCall, given: ThrottlingParameters) -> Result<ChangedAnswer> {
    let limit = |speed: Option<f64>| speed.filter(|speed| *speed > 0.0);
    let throttling = Throttling {
        download: limit(given.download_speed),
        upload: limit(given.upload_speed),
        latency: given.latency.unwrap_or(0.0).max(0.0),
    };
    call.session.change_network(|rules| rules.throttling = throttling).await?;
    if throttling == Throttling::default() {
        return Ok(changed("The network is not throttled."));
    }
    let describe = |limit: Option<f64>| {
        limit.map_or("no limit".to_owned(), |limit| format!("{limit} bytes/s"))
    };
    let Throttling { download, upload, latency } = throttling;
    Ok(changed(format!(
        "Download: {}; upload: {}; latency: {latency} ms.",
        describe(download),
        describe(upload)
    )))
}

#[derive(Deserialize, JsonSchema)]
struct LogParameters {
    /// Part of the URL, a type (fetch), a status (404, 4xx) or failed
    filter: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct RequestLog {
    /// The newest last.
    requests: Vec<RequestLogEntry>,
    /// Total number; if `requests` has fewer, the oldest are left out.
    count: usize,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct RequestLogEntry {
    url: String,
    method: String,
    /// Absent until there is a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    resource_type: &'static str,
    /// Milliseconds since 1970.
    start_time: f64,
    /// Milliseconds; absent while the request is in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<f64>,
    /// Bytes over the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_mock: Option<bool>,
    /// URL of the frame that made the request, if it is not the main frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<String>,
    /// Shared and service workers belong to the session: the log of every page has their requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<WorkerKind>,
}

impl From<(LoggedRequest, Option<String>)> for RequestLogEntry {
    fn from((logged, frame): (LoggedRequest, Option<String>)) -> Self {
        Self {
            url: logged.url,
            method: logged.method,
            status: logged.status,
            resource_type: logged.kind.as_str(),
            start_time: logged.started.round(),
            duration: logged.duration.map(|duration| (duration * 10.0).round() / 10.0),
            size: logged.size,
            failure: logged.failure,
            from_mock: logged.from_mock.then_some(true),
            frame,
            worker: logged.worker,
        }
    }
}

async fn get_request_log(call: PageCall, given: LogParameters) -> Result<RequestLog> {
    call.page.check_requests()?;
    let found = call.page.requests(given.filter.as_deref());
    let count = found.len();
    let newest_first = found.into_iter().rev().map(RequestLogEntry::from);
    let mut requests = budget::entries_within(newest_first, call.config.result_budget);
    requests.reverse();
    Ok(RequestLog { requests, count })
}
