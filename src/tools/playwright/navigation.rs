//! Navigation, waiting, the viewport and media features.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use super::{
    call::{API, NoArguments, PlaywrightCall, error, with_log},
    code,
    response::Response,
};
use crate::{
    config::{Config, Viewport},
    error::{ErrorCode, Result, TroupeError},
    page::{MediaEmulation, Page, TimeLimit, WaitUntil},
    policy,
};

/// How long a navigation waits for the load event after the document was parsed.
const LOAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time of `browser_wait_for` in seconds.
const MAX_WAIT: f64 = 30.0;

#[derive(Deserialize)]
pub(super) struct Navigate {
    url: String,
}

pub(super) async fn navigate(call: PlaywrightCall, given: Navigate) -> Result<Response> {
    let url = target_url(&call.config, &given.url)?;
    let mut response = Response::default();
    let page = call.page().await?;
    open(&call, &page, &url, &given.url, &mut response).await?;
    Ok(response)
}

/// Parses a URL as @playwright/mcp does: without a scheme, it is completed.
pub(super) fn target_url(config: &Config, given: &str) -> Result<Url> {
    let complete = match Url::parse(given) {
        // `localhost:3000` has no scheme either.
        Ok(url) if url.scheme() != "localhost" => Ok(url),
        _ if given.starts_with("localhost") => Url::parse(&format!("http://{given}")),
        _ => Url::parse(&format!("https://{given}")),
    };
    let url = complete.map_err(|_| {
        let problem =
            format!("{API}: Protocol error (Page.navigate): Cannot navigate to invalid URL");
        error(with_log(&problem, &[&log_line(&format!("https://{given}"))]))
    })?;
    if url.scheme() == "file" && !config.security.allow_file_access {
        return Err(error(format!(
            "Access to \"file:\" protocol is blocked. Attempted URL: \"{url}\""
        )));
    }
    policy::check_navigation(config, &url)?;
    Ok(url)
}

/// Navigates `page` to `url`, and waits until it has loaded. `given` is the URL as the client wrote
/// it, for the code.
pub(super) async fn open(
    call: &PlaywrightCall,
    page: &Arc<Page>,
    url: &Url,
    given: &str,
    response: &mut Response,
) -> Result<()> {
    call.state().begin_navigation(page);
    let timeout = call.config.timeout_navigation;
    let navigated = page.navigate(url, WaitUntil::DomContentLoaded, timeout).await;
    let navigated = navigated.map_err(|error| navigation_error(url, timeout, error))?;
    if navigated.dialog.is_none() && navigated.download.is_none() {
        // A page that is still loading is shown as it is.
        let _ = page.wait_for_load(WaitUntil::Load, LOAD_TIMEOUT).await;
    }
    response.show_page();
    response.add_action(format!("await page.goto({});", code::quote(given)));
    Ok(())
}

/// Returns the line of the call log about a navigation.
fn log_line(url: &str) -> String {
    format!("navigating to \"{url}\", waiting until \"domcontentloaded\"")
}

/// Returns the error of a failed navigation as Playwright reports it.
fn navigation_error(url: &Url, timeout: Duration, error: TroupeError) -> TroupeError {
    let log = log_line(url.as_str());
    let reason = error.details.get("reason").and_then(Value::as_str);
    if error.code == ErrorCode::Timeout || reason == Some("timeout") {
        let problem = format!("{API}: Timeout {}ms exceeded.", timeout.as_millis());
        return TroupeError { message: with_log(&problem, &[&log]), ..error }
            .detail("class", "TimeoutError");
    }
    if error.code != ErrorCode::NavigationFailed {
        return error;
    }
    let reason = match reason {
        Some(reason) if reason.starts_with("net::") || reason.starts_with("NS_") => {
            format!("{reason} at {url}")
        }
        _ => error.message.clone(),
    };
    TroupeError { message: with_log(&format!("{API}: {reason}"), &[&log]), ..error }
}

pub(super) async fn go_back(call: PlaywrightCall, _given: NoArguments) -> Result<Response> {
    let page = call.page().await?;
    page.traverse_history(-1, call.config.timeout_navigation).await?;
    Ok(Response::default().with_code("await page.goBack();").showing_page())
}

#[derive(Deserialize)]
pub(super) struct Resize {
    width: f64,
    height: f64,
}

pub(super) async fn resize(call: PlaywrightCall, given: Resize) -> Result<Response> {
    let Resize { width, height } = given;
    let pixels = |name: &str, length: f64| {
        if length.fract() != 0.0 {
            return Err(error(format!(
                "{API}: viewportSize.{name}: expected integer, got float {length}"
            )));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        Ok(length.clamp(0.0, 10_000.0) as u32)
    };
    let (wide, high) = (pixels("width", width)?, pixels("height", height)?);
    let page = call.page().await?;
    page.set_viewport(Viewport { width: wide, height: high }).await?;
    Ok(Response::default()
        .with_code(format!("await page.setViewportSize({{ width: {width}, height: {height} }});")))
}

#[derive(Deserialize)]
pub(super) struct Wait {
    time: Option<f64>,
    text: Option<String>,
    #[serde(rename = "textGone")]
    text_gone: Option<String>,
}

pub(super) async fn wait_for(call: PlaywrightCall, given: Wait) -> Result<Response> {
    let text = given.text.filter(|text| !text.is_empty());
    let text_gone = given.text_gone.filter(|text| !text.is_empty());
    let requested = given.time.filter(|time| *time != 0.0);
    if text.is_none() && text_gone.is_none() && requested.is_none() {
        return Err(error("Either time, text or textGone must be provided"));
    }
    let mut response = Response::default();
    let page = match &call.page_id {
        Some(id) => call.session.page(Some(id)).await,
        None => call.session.current_page().ok_or_else(|| error("No open pages available.")),
    };
    let time = requested.map(|time| time.min(MAX_WAIT));
    if let Some(time) = time {
        response.add_code(format!("await new Promise(f => setTimeout(f, {time} * 1000));"));
        let wait = Duration::from_secs_f64(time.max(0.0));
        match &page {
            Ok(page) if page.dialog().is_none() => page.wait_for_time(wait).await?,
            _ => tokio::time::sleep(wait).await,
        }
    }
    let page = page?;
    let time_limit = TimeLimit::new(call.config.timeout_action);
    for (text, state) in [(&text_gone, "hidden"), (&text, "visible")] {
        let Some(text) = text else { continue };
        response.add_code(format!(
            "await page.getByText({}).first().waitFor({{ state: '{state}' }});",
            Value::from(text.as_str())
        ));
        let waited = match state {
            "hidden" => page.wait_for_text_gone(text, time_limit).await,
            _ => page.wait_for_text(text, time_limit).await.map(drop),
        };
        waited.map_err(|error| {
            let timeout = call.config.timeout_action.as_millis();
            let line =
                format!("waiting for getByText({}).first() to be {state}", code::quote(text));
            let message = with_log(&format!("Timeout {timeout}ms exceeded."), &[&line]);
            TroupeError::new(error.code, message).detail("class", "TimeoutError")
        })?;
    }
    let waited = match (text.or(text_gone), time, requested) {
        (Some(text), ..) => format!("Waited for {text}"),
        (None, Some(time), Some(requested)) if requested > time => {
            format!("Waited for {time} seconds (requested {requested}, maximum is {MAX_WAIT})")
        }
        (None, time, _) => format!("Waited for {} seconds", time.unwrap_or_default()),
    };
    response.add_text(waited);
    response.show_page();
    Ok(response)
}

pub(super) async fn emulate_media(
    call: PlaywrightCall,
    given: Map<String, Value>,
) -> Result<Response> {
    if given.is_empty() {
        return Ok(Response::error("Error: Specify at least one media feature to emulate."));
    }
    let feature = |name: &str| given.get(name).map(|value| value.as_str().map(str::to_owned));
    let media = MediaEmulation {
        media: feature("media"),
        color_scheme: feature("colorScheme"),
        reduced_motion: feature("reducedMotion"),
        forced_colors: feature("forcedColors"),
        contrast: feature("contrast"),
    };
    let page = call.page().await?;
    page.emulate_media(&media).await?;
    let code = format!("await page.emulateMedia({});", code::inline_object(&given.into()));
    Ok(Response::default().with_code(code))
}
