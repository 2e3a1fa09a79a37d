//! The requests of a page.

use serde::Deserialize;

use super::{
    call::PlaywrightCall,
    find::invalid_regex,
    output::{self, FileName},
    response::Response,
};
use crate::{
    engine::network::ResourceType,
    error::Result,
    page::{LoggedRequest, Page},
};

/// A request of a page.
struct NumberedRequest {
    /// From 1, since `browser_navigate`. It stays the same if the log has removed older requests.
    index: usize,
    /// The number in the page's log.
    number: usize,
    request: LoggedRequest,
}

/// Returns the requests since `browser_navigate`.
fn requests_of(call: &PlaywrightCall, page: &Page) -> Vec<NumberedRequest> {
    let state = call.state();
    let first = state.lock().pages.get(&page.id).map_or(0, |page_state| page_state.first_request);
    let numbered = page.requests_since(first).into_iter();
    numbered
        .map(|(number, request)| NumberedRequest { index: number - first + 1, number, request })
        .collect()
}

/// Shortens a `data:` URL, which contains a whole document.
fn short(url: &str) -> String {
    match url.strip_prefix("data:").and_then(|rest| rest.split_once(',')) {
        Some((kind, _)) => format!("data:{kind},…"),
        None => url.to_owned(),
    }
}

/// Returns the result of a request: `[200] OK` or `[FAILED] net::ERR_…`.
fn outcome(request: &LoggedRequest) -> Option<String> {
    match (request.status, &request.failure) {
        (Some(status), _) => Some(format!("[{status}] {}", status_text(request))),
        (None, Some(reason)) => Some(format!("[FAILED] {reason}")),
        (None, None) => None,
    }
}

fn summary(request: &LoggedRequest) -> String {
    let method = request.method.to_uppercase();
    let outcome = outcome(request).map(|outcome| format!(" => {outcome}")).unwrap_or_default();
    format!("[{method}] {}{outcome}", short(&request.url))
}

fn is_static(request: &LoggedRequest) -> bool {
    let is_fetch = matches!(request.kind, ResourceType::Fetch | ResourceType::Xhr);
    let succeeded = request.failure.is_none() && request.status.is_some_and(|status| status < 400);
    !is_fetch && succeeded
}

#[derive(Deserialize)]
pub(super) struct Requests {
    r#static: bool,
    filter: Option<String>,
    filename: Option<String>,
}

pub(super) async fn requests(call: PlaywrightCall, given: Requests) -> Result<Response> {
    let page = call.page().await?;
    page.check_requests()?;
    let requests = requests_of(&call, &page);
    let shown: Vec<bool> = match given.filter.filter(|filter| !filter.is_empty()) {
        None => vec![true; requests.len()],
        Some(filter) => {
            let urls: Vec<String> =
                requests.iter().map(|numbered| numbered.request.url.clone()).collect();
            let matching = page.regex_matches(&filter, "", &urls).await;
            matching.map_err(|_| invalid_regex("browser_network_requests", "filter"))?
        }
    };
    let mut lines = Vec::new();
    let mut hidden = 0;
    for (NumberedRequest { index, request, .. }, shown) in requests.iter().zip(shown) {
        if !given.r#static && is_static(request) {
            hidden += 1;
        } else if shown {
            lines.push(format!("{index}. {}", summary(request)));
        }
    }
    if hidden > 0 {
        let (ending, pronoun) = if hidden == 1 { ("", "it") } else { ("s", "them") };
        lines.push(format!(
            "\nNote: {hidden} static request{ending} not shown, run with \"static\" option to see {pronoun}."
        ));
    }
    let mut response = Response::default();
    response.add_result(&call, "Network", lines.join("\n"), given.filename).await?;
    Ok(response)
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Part {
    RequestHeaders,
    RequestBody,
    ResponseHeaders,
    ResponseBody,
}

#[derive(Deserialize)]
pub(super) struct Request {
    index: usize,
    part: Option<Part>,
    filename: Option<String>,
}

pub(super) async fn request(call: PlaywrightCall, given: Request) -> Result<Response> {
    let page = call.page().await?;
    page.check_requests()?;
    let requests = requests_of(&call, &page);
    let found = requests.iter().find(|numbered| numbered.index == given.index);
    let Some(NumberedRequest { number, request, .. }) = found else {
        return Ok(Response::error(format!(
            "Request #{} not found. Use browser_network_requests to see available indexes.",
            given.index
        )));
    };
    let mut response = Response::default();
    let filename = given.filename;
    let (title, text) = match given.part {
        None => ("Request", Some(details(given.index, request))),
        Some(Part::RequestHeaders) => ("Request headers", Some(headers(request_headers(request)))),
        Some(Part::RequestBody) => ("Request body", post_data(request)),
        Some(Part::ResponseHeaders) => {
            ("Response headers", request.status.map(|_| headers(response_headers(request))))
        }
        Some(Part::ResponseBody) => {
            let Some(body) = page.response_body(*number).await? else { return Ok(response) };
            let content_type = header(response_headers(request), "content-type");
            if is_textual(content_type.unwrap_or_default()) {
                ("Response body", Some(String::from_utf8_lossy(&body).into_owned()))
            } else if body.is_empty() {
                ("Response body", None)
            } else {
                let extension = extension_of(content_type.unwrap_or_default());
                let name = FileName::new(filename, "response", extension);
                let file = output::write(&call, name, body).await?;
                response.add_text(file.name);
                return Ok(response);
            }
        }
    };
    if let Some(text) = text {
        response.add_result(&call, title, text, filename).await?;
    }
    Ok(response)
}

type HeaderList = [(String, String)];

fn request_headers(request: &LoggedRequest) -> &HeaderList {
    request.request_details.as_ref().map_or(&[], |details| &details.headers)
}

fn response_headers(request: &LoggedRequest) -> &HeaderList {
    request.response_details.as_ref().map_or(&[], |details| &details.headers)
}

fn status_text(request: &LoggedRequest) -> &str {
    request.response_details.as_ref().map_or("", |details| &details.status_text)
}

fn post_data(request: &LoggedRequest) -> Option<String> {
    let data = request.request_details.as_ref()?.post_data.as_ref()?;
    Some(String::from_utf8_lossy(data).into_owned())
}

fn header<'a>(headers: &'a HeaderList, name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

fn headers(headers: &HeaderList) -> String {
    let lines: Vec<String> =
        headers.iter().map(|(name, value)| format!("{}: {value}", name.to_lowercase())).collect();
    lines.join("\n")
}

fn details(index: usize, request: &LoggedRequest) -> String {
    let method = request.method.to_uppercase();
    let mut lines = vec![format!("#{index} [{method}] {}", short(&request.url))];
    lines.push(String::new());
    lines.push("  General".to_owned());
    lines.extend(outcome(request).map(|outcome| format!("    status:    {outcome}")));
    let duration = request.duration.filter(|_| request.failure.is_none());
    lines.extend(duration.map(|duration| format!("    duration:  {}ms", duration.round())));
    lines.push(format!("    type:      {}", request.resource_type()));
    if let Some(kind) = header(response_headers(request), "content-type") {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        lines.push(format!("    mimeType:  {kind}"));
    }
    for (title, headers) in [
        ("Request headers", request_headers(request)),
        ("Response headers", response_headers(request)),
    ] {
        if !headers.is_empty() {
            lines.push(String::new());
            lines.push(format!("  {title}"));
            let line =
                |(name, value): &(String, String)| format!("    {}: {value}", name.to_lowercase());
            lines.extend(headers.iter().map(line));
        }
    }
    let mut hints = Vec::new();
    let hint = |part: &str, subject: &str| {
        format!("Call browser_network_request with part=\"{part}\" to read the {subject}.")
    };
    if post_data(request).is_some() {
        hints.push(hint("request-body", "request body"));
    }
    if request.status.is_some_and(|status| !matches!(status, 204 | 304 | 100..200)) {
        hints.push(hint("response-body", "response body"));
    }
    if !hints.is_empty() {
        lines.push(String::new());
        lines.extend(hints);
    }
    lines.join("\n")
}

/// Returns whether a body of this content type is text.
fn is_textual(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_lowercase();
    let Some((class, subtype)) = kind.split_once('/') else { return false };
    class == "text"
        || kind == "image/svg+xml"
        || (class == "application"
            && (matches!(
                subtype,
                "json"
                    | "javascript"
                    | "x-javascript"
                    | "ecmascript"
                    | "graphql"
                    | "x-www-form-urlencoded"
            ) || subtype.starts_with("xml")
                || subtype.ends_with("+json")
                || subtype.ends_with("+xml")))
}

/// Returns the extension of a file with this content type.
fn extension_of(content_type: &str) -> String {
    let kind = content_type.split(';').next().unwrap_or_default();
    let subtype = kind.split('/').nth(1).unwrap_or_default().trim().to_lowercase();
    let tail = subtype.rsplit('+').next().unwrap_or_default();
    match tail {
        "plain" => "txt".to_owned(),
        "javascript" | "ecmascript" => "js".to_owned(),
        "jpeg" => "jpg".to_owned(),
        tail => {
            let plain: String = tail.chars().filter(char::is_ascii_alphanumeric).collect();
            if plain.is_empty() { "bin".to_owned() } else { plain }
        }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Connectivity {
    Online,
    Offline,
}

#[derive(Deserialize)]
pub(super) struct NetworkStateArguments {
    state: Connectivity,
}

pub(super) async fn set_state(
    call: PlaywrightCall,
    given: NetworkStateArguments,
) -> Result<Response> {
    let (name, offline) = match given.state {
        Connectivity::Online => ("online", false),
        Connectivity::Offline => ("offline", true),
    };
    call.session.change_network(|rules| rules.offline = offline).await?;
    Ok(Response::text(format!("Network is now {name}"))
        .with_code(format!("await page.context().setOffline({offline});")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_text_or_files_by_their_content_type() {
        for (content_type, textual, extension) in [
            ("text/html; charset=utf-8", true, "html"),
            ("application/json", true, "json"),
            ("application/ld+json", true, "json"),
            ("image/png", false, "png"),
            ("image/svg+xml", true, "xml"),
            ("", false, "bin"),
        ] {
            assert_eq!(is_textual(content_type), textual, "{content_type}");
            assert_eq!(extension_of(content_type), extension, "{content_type}");
        }
        assert_eq!(short("data:text/html,<h1>"), "data:text/html,…");
    }
}
