//! Tools for the network of a session: all of its pages, their frames and workers.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    answer::{Changed, changed},
    tool::{Group, PageCall, Tool, tool},
};
use crate::{
    engine::{
        network::{Mock, ResourceType, Throttling, WorkerKind},
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
            "Refuse requests of a type in the whole session; block false lifts it.",
        )
        .page(block_resource),
        tool(
            "mock_response",
            Group::Network,
            "Answer requests to a URL in the server's place; without response no more.",
        )
        .page(mock_response),
        tool(
            "set_offline",
            Group::Network,
            "Cut the session off the network, or connect it again.",
        )
        .page(set_offline),
        tool(
            "set_throttling",
            Group::Network,
            "Slow the session's network down (bytes/s, ms); 0 or none lifts a limit.",
        )
        .page(set_throttling),
        tool(
            "get_request_log",
            Group::Network,
            "List the page's latest requests with status, type, time and failure.",
        )
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

async fn block_resource(call: PageCall, given: BlockParameters) -> Result<Changed> {
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
    /// Whole, a part, or a glob
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

async fn mock_response(call: PageCall, given: MockParameters) -> Result<Changed> {
    let url = UrlPattern::for_requests(given.url.trim()).map_err(|reason| {
        TroupeError::new(
            ErrorCode::InvalidUrl,
            format!("neither a URL, a part of one nor a glob: `{}` ({reason})", given.url),
        )
        .detail("url", given.url.as_str())
        .suggestion("give a whole URL, or a glob such as **/api/users*")
    })?;
    let Some(response) = given.response else {
        let known = call.session.network_rules().await.mocks.iter().any(|mock| mock.url == url);
        if !known {
            let problem = format!(
                "`response` is missing, and no mock for `{}` could be removed",
                url.as_str()
            );
            return Err(TroupeError::new(ErrorCode::InvalidParameters, problem.clone())
                .detail("reason", "MISSING_PARAMETER")
                .detail("violations", json!([{"parameter": "response", "problem": problem}])));
        }
        call.session.change_network(|rules| rules.mocks.retain(|mock| mock.url != url)).await?;
        return Ok(changed(format!("The mock for {} is removed.", url.as_str())));
    };
    let mock = response.mock(url.clone())?;
    let message = format!("{} is answered with status {}.", url.as_str(), mock.status);
    let set = call.session.change_network(|rules| {
        rules.mocks.retain(|mock| mock.url != url);
        // The newest counts.
        rules.mocks.insert(0, Arc::new(mock));
    });
    set.await?;
    Ok(changed(message))
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
                return Err(wrong("headers", &format!("`{name}` is no header")));
            }
            headers.push((name, value));
        }
        let (body, guess) = match (self.body, self.json) {
            (Some(_), Some(_)) => {
                return Err(wrong("json", "it stands beside `body`; one of them is the answer"));
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

/// The default content type of a body: by the end of the URL's path, else by its first character.
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

async fn set_offline(call: PageCall, given: OfflineParameters) -> Result<Changed> {
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

async fn set_throttling(call: PageCall, given: ThrottlingParameters) -> Result<Changed> {
    let limit = |speed: Option<f64>| speed.filter(|speed| *speed > 0.0);
    let throttling = Throttling {
        download: limit(given.download_speed),
        upload: limit(given.upload_speed),
        latency: given.latency.unwrap_or(0.0).max(0.0),
    };
    call.session.change_network(|rules| rules.throttling = throttling).await?;
    if throttling == Throttling::default() {
        return Ok(changed("The network is as fast as it can be."));
    }
    let told = |limit: Option<f64>| {
        limit.map_or("no limit".to_owned(), |limit| format!("{limit} bytes/s"))
    };
    let Throttling { download, upload, latency } = throttling;
    Ok(changed(format!(
        "Download: {}; upload: {}; latency: {latency} ms.",
        told(download),
        told(upload)
    )))
}

#[derive(Deserialize, JsonSchema)]
struct LogParameters {
    /// Part of the URL, a type (fetch), a status (404, 4xx) or failed
    filter: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Log {
    /// The newest last.
    requests: Vec<RequestAnswer>,
    /// How many there are; where `requests` are fewer, the oldest are left out.
    count: usize,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct RequestAnswer {
    url: String,
    method: String,
    /// Absent while there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    resource_type: &'static str,
    /// Milliseconds since 1970.
    start_time: f64,
    /// Milliseconds; absent while it is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<f64>,
    /// Bytes over the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_mock: Option<bool>,
    /// URL of the frame that made it, where it is not the page itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<String>,
    /// `shared` and `service` workers are the session's: every page tells of their requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<WorkerKind>,
}

impl From<(LoggedRequest, Option<String>)> for RequestAnswer {
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

async fn get_request_log(call: PageCall, given: LogParameters) -> Result<Log> {
    call.page.check_requests()?;
    let found = call.page.requests(given.filter.as_deref());
    let count = found.len();
    // The newest that fit, with space for the fields around them.
    let mut room = call.config.result_budget.saturating_sub(200);
    let mut requests = Vec::new();
    for entry in found.into_iter().rev().map(RequestAnswer::from) {
        let length = serde_json::to_string(&entry).map_or(0, |text| text.chars().count() + 1);
        if length > room {
            break;
        }
        room -= length;
        requests.push(entry);
    }
    requests.reverse();
    Ok(Log { requests, count })
}
