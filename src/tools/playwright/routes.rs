//! Mock responses to requests, and changes of request headers.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    call::{NoArguments, PlaywrightCall, error},
    code,
    response::Response,
};
use crate::{
    engine::{
        network::{HeaderChanges, Mock, Route},
        url_pattern::UrlPattern,
    },
    error::Result,
};

/// Maximum characters of a body in the list of routes.
const MAX_BODY_LENGTH: usize = 50;

/// A route as `browser_route_list` shows it.
#[derive(Debug, Clone)]
pub(super) struct ListedRoute {
    pattern: String,
    details: String,
    rule: Route,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewRoute {
    pattern: String,
    status: Option<f64>,
    body: Option<String>,
    content_type: Option<String>,
    headers: Option<Vec<String>>,
    remove_headers: Option<String>,
}

pub(super) async fn add(call: PlaywrightCall, given: NewRoute) -> Result<Response> {
    let mut added = Vec::new();
    for header in given.headers.iter().flatten() {
        let Some((name, value)) = header.split_once(':').filter(|(name, _)| !name.is_empty())
        else {
            return Ok(Response::error(format!(
                "Invalid header \"{header}\": expected \"Name: Value\""
            )));
        };
        added.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    let removed: Vec<String> = given
        .remove_headers
        .iter()
        .filter(|names| !names.is_empty())
        .flat_map(|names| names.split(','))
        .map(|name| name.trim().to_owned())
        .collect();
    let pattern = UrlPattern::for_requests(&given.pattern)
        .map_err(|problem| error(format!("`{}`: {problem}", given.pattern)))?;
    let rule: Route = if given.body.is_some() || given.status.is_some() {
        let status = given.status.unwrap_or(200.0);
        if !(100.0..=599.0).contains(&status) || status.fract() != 0.0 {
            return Err(error(format!("`{status}` is not an HTTP status")));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        let status = status as u16;
        let headers = given.content_type.iter();
        let headers = headers.map(|kind| ("content-type".to_owned(), kind.clone())).collect();
        let body = given.body.as_deref().unwrap_or_default().as_bytes();
        Mock::new(pattern, status, headers, body).into()
    } else {
        HeaderChanges { url: pattern, add: added.clone(), remove: removed.clone() }.into()
    };
    call.session.change_network(|rules| rules.routes.insert(0, rule.clone())).await?;
    let mut details = Vec::new();
    details.extend(given.status.map(|status| format!("status={status}")));
    details.extend(given.body.map(|body| format!("body={}", shortened(&body))));
    let kind = given.content_type.filter(|kind| !kind.is_empty());
    details.extend(kind.map(|kind| format!("contentType={kind}")));
    if given.headers.is_some() {
        let headers: Map<String, Value> =
            added.into_iter().map(|(name, value)| (name, value.into())).collect();
        details.push(format!("addHeaders={}", Value::Object(headers)));
    }
    if !removed.is_empty() {
        details.push(format!("removeHeaders={}", removed.join(",")));
    }
    let pattern = given.pattern;
    let state = call.state();
    let details = details.join(", ");
    state.lock().routes.push(ListedRoute { pattern: pattern.clone(), details, rule });
    Ok(Response::text(format!("Route added for pattern: {pattern}")).with_code(format!(
        "await page.context().route({}, async route => {{ /* route handler */ }});",
        code::quote(&pattern)
    )))
}

fn shortened(body: &str) -> String {
    match body.char_indices().nth(MAX_BODY_LENGTH) {
        Some((end, _)) => format!("{}...", &body[..end]),
        None => body.to_owned(),
    }
}

pub(super) async fn list(call: PlaywrightCall, _given: NoArguments) -> Result<Response> {
    let state = call.state();
    let state = state.lock();
    if state.routes.is_empty() {
        return Ok(Response::text("No active routes"));
    }
    let line = |(index, route): (usize, &ListedRoute)| {
        let ListedRoute { pattern, details, .. } = route;
        let details = if details.is_empty() { String::new() } else { format!(" ({details})") };
        format!("{}. {pattern}{details}", index + 1)
    };
    let lines: Vec<String> = state.routes.iter().enumerate().map(line).collect();
    Ok(Response::text(lines.join("\n")))
}

#[derive(Deserialize)]
pub(super) struct RemovedRoute {
    pattern: Option<String>,
}

pub(super) async fn remove(call: PlaywrightCall, given: RemovedRoute) -> Result<Response> {
    let pattern = given.pattern.filter(|pattern| !pattern.is_empty());
    let state = call.state();
    let is_removed =
        |route: &ListedRoute| pattern.as_ref().is_none_or(|pattern| route.pattern == *pattern);
    let removed: Vec<ListedRoute> =
        state.lock().routes.iter().filter(|route| is_removed(route)).cloned().collect();
    call.session
        .change_network(|rules| {
            rules.routes.retain(|rule| !removed.iter().any(|route| route.rule == *rule));
        })
        .await?;
    state.lock().routes.retain(|route| !is_removed(route));
    Ok(Response::text(match pattern {
        Some(pattern) => format!("Removed {} route(s) for pattern: {pattern}", removed.len()),
        None => format!("Removed all {} route(s)", removed.len()),
    }))
}
