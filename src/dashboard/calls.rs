//! The calls of sessions.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Dashboard;
use crate::{
    error::Result,
    offload,
    store::{CallEnd, CallFilter, Message, Record, RecordedCall, iso8601},
};

/// Maximum number of characters of the summary of a result, and of a text in the arguments of a
/// call in a list.
const SUMMARY: usize = 300;
/// Maximum number of characters of a result.
const RESULT: usize = 64 * 1024;
/// Maximum number of characters of the console messages of a call.
const CONSOLE: usize = 64 * 1024;
/// Maximum number of calls in a page.
pub const MAX_CALLS: usize = 200;

/// A page of calls.
#[derive(Debug, Clone, Serialize)]
pub struct CallPage {
    pub calls: Vec<CallView>,
    /// Where the next page begins; `None` on the last page.
    pub next: Option<u64>,
}

/// A call in a list.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallView {
    pub id: String,
    pub session: Option<String>,
    pub tool: String,
    /// ISO 8601.
    pub started_at: String,
    pub duration_ms: Option<u64>,
    pub status: ShownStatus,
    pub arguments: Value,
    /// The beginning of the result.
    pub summary: String,
    pub error: Option<ErrorView>,
    /// Relative to `/dashboard/`.
    pub picture_url: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShownStatus {
    Ok,
    Error,
    Running,
    /// The server crashed during the call.
    Unknown,
}

/// The error of a call.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorView {
    /// `None` for an error of an upstream server without a code.
    pub code: Option<String>,
    pub message: String,
    pub suggestion: Option<String>,
}

/// A call with its result.
#[derive(Debug, Clone, Serialize)]
pub struct CallDetails {
    #[serde(flatten)]
    pub call: CallView,
    pub result: String,
    /// The changes that the call made in the page.
    pub changes: Option<String>,
    pub console: Vec<String>,
}

impl Dashboard {
    /// Returns the calls that `filter` selects, newest first.
    pub async fn calls(&self, filter: CallFilter) -> Result<CallPage> {
        let limit = filter.limit.clamp(1, MAX_CALLS);
        // One more call is read, to find out whether there is a next page.
        let mut found = self.store().calls(CallFilter { limit: limit + 1, ..filter }).await?;
        let next = found.get(limit - 1).filter(|_| found.len() > limit).map(|call| call.number);
        found.truncate(limit);
        let bytes = found.iter().map(size).sum();
        let calls = offload::in_place(bytes, || found.iter().map(CallView::brief).collect());
        Ok(CallPage { calls, next })
    }

    /// Returns the call `ref_id`.
    pub async fn call(&self, ref_id: &str) -> Result<Option<CallDetails>> {
        let filter = CallFilter { id: Some(ref_id.to_owned()), limit: 1, ..CallFilter::default() };
        let Some(call) = self.store().calls(filter).await?.pop() else { return Ok(None) };
        let Some(record) = self.store().record(ref_id).await? else { return Ok(None) };
        let console = self.store().console_of_record(ref_id, None, CONSOLE).await?;
        let bytes = record.params.len() + record.bytes();
        Ok(Some(offload::in_place(bytes, || details(call, &record, &console.messages))))
    }
}

fn size(call: &RecordedCall) -> usize {
    let result = call.end.as_ref().and_then(|end| end.result.as_ref());
    call.params.len() + result.map_or(0, String::len)
}

/// Returns `call` with what `record` has of its result, which is cut in `call`.
fn details(mut call: RecordedCall, record: &Record, console: &[Message]) -> CallDetails {
    let result = record.answer.as_ref().and_then(|answer| answer.result.clone());
    let text = result.as_deref().map(text_of).unwrap_or_default();
    let content = record.content();
    if let Some(end) = &mut call.end {
        end.result = result;
    }
    let facts: Value = serde_json::from_str(&text).unwrap_or_default();
    CallDetails {
        call: CallView::whole(&call),
        result: cut(if text.is_empty() { &content } else { &text }, RESULT),
        changes: facts["changes"].as_str().map(str::to_owned),
        console: console.iter().map(Message::to_string).collect(),
    }
}

impl CallView {
    /// Returns the call with its complete arguments.
    fn whole(call: &RecordedCall) -> Self {
        let end = call.end.as_ref();
        let text = end.and_then(|end| end.result.as_deref()).map(text_of).unwrap_or_default();
        Self {
            id: call.ref_id.clone(),
            session: call.session_id.clone(),
            tool: call.tool.clone(),
            started_at: iso8601(call.at),
            duration_ms: end.map(|end| end.at.saturating_sub(call.at)),
            status: match end {
                None => ShownStatus::Running,
                Some(CallEnd { success: true, .. }) => ShownStatus::Ok,
                Some(CallEnd { result: None, .. }) => ShownStatus::Unknown,
                Some(_) => ShownStatus::Error,
            },
            arguments: serde_json::from_str(&call.params).unwrap_or_default(),
            error: end.and_then(|end| end.error_message.as_deref()).map(|why| error(&text, why)),
            summary: cut(
                end.and_then(|end| end.error_message.as_deref()).unwrap_or(&text),
                SUMMARY,
            ),
            picture_url: end
                .and_then(|end| end.picture)
                .map(|number| format!("api/calls/{}/pictures/{number}", call.ref_id)),
        }
    }

    /// Returns the call for a list. Its arguments are cut.
    pub fn brief(call: &RecordedCall) -> Self {
        let mut view = Self::whole(call);
        shorten(&mut view.arguments);
        view
    }
}

/// Returns the error of a call whose result is `text`.
fn error(text: &str, message: &str) -> ErrorView {
    let facts: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    let fact = |name: &str| facts.get(name).and_then(Value::as_str).map(str::to_owned);
    ErrorView {
        code: fact("errorCode"),
        message: cut(message, RESULT),
        suggestion: fact("suggestion"),
    }
}

/// Returns the texts of a result. A result that was cut is not valid JSON, and is returned
/// unchanged.
fn text_of(result: &str) -> String {
    let Ok(result) = serde_json::from_str::<Value>(result) else { return result.to_owned() };
    let parts = result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}

/// Cuts the long texts in the arguments of a call.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > SUMMARY => *text = cut(text, SUMMARY),
        Value::Array(list) => list.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Cuts a text after `characters` characters, and appends an ellipsis.
pub(super) fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
