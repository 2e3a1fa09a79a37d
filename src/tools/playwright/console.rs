//! Console messages, and the events of a page in results.

use serde::Deserialize;

use super::{
    call::PlaywrightCall,
    output::{self, FileName, LogFile},
    response::Response,
};
use crate::{
    config::ConsoleThreshold,
    engine::{ConsoleKind, ConsoleMessage, Log},
    error::Result,
    page::{Download, DownloadState, Page, check_log},
    tools::extraction::run_blocking,
};

/// Returns the level at which a message is shown.
fn level(message: &ConsoleMessage) -> ConsoleThreshold {
    match message.kind.as_str() {
        "assert" | "error" | "pageError" => ConsoleThreshold::Error,
        "warning" => ConsoleThreshold::Warning,
        "clear"
        | "debug"
        | "endGroup"
        | "profile"
        | "profileEnd"
        | "startGroup"
        | "startGroupCollapsed"
        | "trace" => ConsoleThreshold::Debug,
        _ => ConsoleThreshold::Info,
    }
}

fn line(message: &ConsoleMessage) -> String {
    if message.kind == ConsoleKind::PageError {
        return message.stack.clone().unwrap_or_else(|| message.text.clone());
    }
    let url = message.url.as_deref().unwrap_or_default();
    // Playwright's line numbers count from 0.
    let line = if url.is_empty() { 0 } else { message.line.unwrap_or(1).saturating_sub(1) };
    format!("[{}] {} @ {url}:{line}", message.kind.as_str().to_uppercase(), message.text)
}

#[derive(Deserialize)]
pub(super) struct Messages {
    level: ConsoleThreshold,
    all: Option<bool>,
    filename: Option<String>,
}

pub(super) async fn messages(call: PlaywrightCall, given: Messages) -> Result<Response> {
    let page = call.page().await?;
    check_log(call.config.browser, Log::Console)?;
    let (total, errors, warnings) = page.console_counts();
    let mut messages = page.console_messages(given.all != Some(true));
    messages.retain(|message| level(message) <= given.level);
    // Playwright lists page errors last.
    messages.sort_by_key(|message| message.kind == ConsoleKind::PageError);
    let mut lines =
        vec![format!("Total messages: {total} (Errors: {errors}, Warnings: {warnings})")];
    if messages.len() != total {
        lines.push(format!(
            "Returning {} messages for level \"{}\"",
            messages.len(),
            given.level.as_str()
        ));
    }
    lines.push(String::new());
    lines.extend(messages.iter().map(line));
    let mut response = Response::default();
    response.add_result(&call, "Console", lines.join("\n"), given.filename).await?;
    Ok(response)
}

/// Returns the lines about new console messages and downloads of a page.
pub(super) async fn events(call: &PlaywrightCall, page: &Page) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    if let Some(link) = new_messages(call, page).await? {
        lines.push(format!("- New console entries: {link}"));
    }
    let downloads = page.download_changes().await;
    let state = call.state();
    let mut state = state.lock();
    let page_state = state.pages.entry(page.id.clone()).or_default();
    for Download { url, suggested_filename: name, state } in downloads {
        if !page_state.announced_downloads.remove(&url) {
            lines.push(format!("- Downloading file {name} ..."));
        }
        match state {
            DownloadState::InProgress => drop(page_state.announced_downloads.insert(url)),
            DownloadState::Completed(path) => {
                let path = output::location_in_results(&call.config, &path);
                lines.push(format!("- Downloaded file {name} to \"{path}\""));
            }
            DownloadState::Failed(_) => {}
        }
    }
    Ok(lines)
}

/// Writes the messages that no response has mentioned to a file. Returns a link to them.
async fn new_messages(call: &PlaywrightCall, page: &Page) -> Result<Option<String>> {
    let threshold = call.config.console_level;
    let state = call.state();
    let (entries, next, log) = {
        let mut state = state.lock();
        let page_state = state.pages.entry(page.id.clone()).or_default();
        let (messages, next) = page.console_messages_since(page_state.next_message);
        let entries: Vec<(u64, String)> = messages
            .iter()
            .filter(|message| level(message) <= threshold)
            .map(|message| {
                let mut line = line(message);
                call.session.secrets.mask_text(&mut line);
                (message.at, line)
            })
            .collect();
        (entries, next, page_state.console_file.clone())
    };
    let Some((first, _)) = entries.first().cloned() else {
        state.lock().pages.entry(page.id.clone()).or_default().next_message = next;
        return Ok(None);
    };
    if call.files().has_bucket() {
        // Nothing can be added to an object.
        let name = FileName::new(None, "console", "log");
        let text = output::log_text(first, &entries);
        let lines = text.matches('\n').count();
        let file = output::write(call, name, text.into_bytes()).await?;
        state.lock().pages.entry(page.id.clone()).or_default().next_message = next;
        return Ok(Some(output::link_to_lines(&file.name, 1, lines)));
    }
    let config = call.config.clone();
    let (log, link) = run_blocking(move || {
        let mut log = match log {
            Some(log) => log,
            None => LogFile::create(&config, "console", first)?,
        };
        let link = log.add(&entries)?;
        Ok((log, link))
    })
    .await?;
    let mut state = state.lock();
    let page_state = state.pages.entry(page.id.clone()).or_default();
    (page_state.console_file, page_state.next_message) = (Some(log), next);
    Ok(Some(link))
}
