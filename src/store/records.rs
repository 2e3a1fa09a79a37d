//! The recorded calls and their results.

use std::{borrow::Cow, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{NewSession, Store, failures::WriteResult, time::now};
use crate::error::Result;

/// The columns of a [`Record`].
pub(super) const SELECT_RECORD: &str = "
SELECT ref_id, session_id, tool_name, params, requests.timestamp, status, result, page_snapshot, content,
       error_message, responses.timestamp, test_ids
FROM requests LEFT JOIN responses USING (ref_id)";

/// The columns of a [`Summary`] and the message of its error.
pub(super) const SELECT_SUMMARY: &str = "
SELECT ref_id, session_id, tool_name, requests.timestamp, status, responses.timestamp,
       page_snapshot IS NOT NULL,
       (SELECT count(*) FROM console_logs WHERE console_logs.ref_id = requests.ref_id),
       (SELECT count(*) FROM console_logs WHERE console_logs.ref_id = requests.ref_id AND level = 'error'),
       error_message
FROM requests LEFT JOIN responses USING (ref_id)";

/// A call that is about to run.
#[derive(Debug, Clone)]
pub struct NewRequest {
    pub ref_id: Arc<str>,
    pub session_id: Option<Arc<str>>,
    pub connection_id: Arc<str>,
    pub tool: Cow<'static, str>,
    /// JSON.
    pub params: String,
    /// Milliseconds since 1970.
    pub at: u64,
}

/// The result of a call.
#[derive(Debug, Clone, Default)]
pub struct NewAnswer {
    /// The sent result as JSON: `{"content": […]}`. Images are replaced by their numbers.
    pub result: String,
    /// The snapshot of the page after the call.
    pub page_snapshot: Option<Arc<str>>,
    /// The complete text, if it was too long for one result.
    pub content: Option<Arc<str>>,
    /// The test ids of the elements that the call acted on, by their refs: JSON.
    pub test_ids: Option<String>,
    /// Set if the call failed.
    pub error_message: Option<String>,
    /// The console messages of pages since the last result.
    pub console: Vec<Message>,
    /// Messages of the result that were also in an earlier result of the session.
    pub repeated_console: Vec<Message>,
    pub pictures: Vec<Picture>,
    /// A small picture of the page after the call.
    pub page_picture: Option<Picture>,
}

/// A console message of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// `debug`, `info`, `warn` or `error`.
    pub level: String,
    pub text: String,
    /// Milliseconds since 1970.
    pub at: u64,
    pub url: Option<String>,
    pub line: Option<u64>,
    pub column: Option<u64>,
}

impl std::fmt::Display for Message {
    /// Returns the message with its level and location, as readable text.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "[{}] {}", self.level, self.text)?;
        let Some(url) = self.url.as_ref().filter(|url| !url.is_empty()) else { return Ok(()) };
        write!(out, " ({url}")?;
        [self.line, self.column]
            .into_iter()
            .flatten()
            .try_for_each(|number| write!(out, ":{number}"))?;
        write!(out, ")")
    }
}

/// The newest console messages, in order, and the number of omitted earlier ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NewestMessages {
    pub messages: Vec<Message>,
    pub earlier: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub mime_type: String,
    pub data: Vec<u8>,
}

impl Picture {
    /// Decodes an image from base64. Returns `None` if it is invalid.
    pub fn decoded(mime_type: &str, data: &str) -> Option<Self> {
        Some(Self { mime_type: mime_type.to_owned(), data: BASE64_STANDARD.decode(data).ok()? })
    }

    /// Returns the image in base64.
    pub fn encoded(&self) -> String {
        BASE64_STANDARD.encode(&self.data)
    }
}

/// A call in the record.
#[derive(Debug, Clone)]
pub struct Record {
    pub ref_id: String,
    pub session_id: Option<String>,
    pub tool: String,
    /// JSON.
    pub params: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// `None` while it runs.
    pub answer: Option<RecordedAnswer>,
}

/// The result of a call in the record.
#[derive(Debug, Clone)]
pub struct RecordedAnswer {
    pub success: bool,
    /// `None` if its server died.
    pub result: Option<String>,
    pub page_snapshot: Option<String>,
    pub content: Option<String>,
    /// JSON, by ref.
    pub test_ids: Option<String>,
    pub error_message: Option<String>,
    pub at: u64,
}

impl Record {
    /// Returns whether its result contains a page snapshot.
    pub fn shows_page(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.page_snapshot.is_some())
    }

    /// Returns the approximate number of bytes that `content` reads.
    pub fn bytes(&self) -> usize {
        let Some(answer) = &self.answer else { return 0 };
        let texts = [&answer.content, &answer.page_snapshot, &answer.result];
        texts.into_iter().flatten().map(String::len).max().unwrap_or_default()
    }

    /// Returns the content for `get_content`: the text that the call read, or the page after the
    /// call.
    pub fn content(&self) -> String {
        let Some(answer) = &self.answer else { return String::new() };
        if let Some(whole) = answer.content.as_ref().or(answer.page_snapshot.as_ref()) {
            return whole.clone();
        }
        answer
            .result
            .as_deref()
            .map(text_of)
            .or_else(|| answer.error_message.clone())
            .unwrap_or_default()
    }
}

/// Returns the text parts of a result. Images are stored separately; other parts are replaced by
/// their type.
fn text_of(result: &str) -> String {
    let result: Value = serde_json::from_str(result).unwrap_or_default();
    let parts =
        result["content"].as_array().into_iter().flatten().filter(|part| part["picture"].is_null());
    let parts = parts.map(|part| match part["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("[{}]", part["mimeType"].as_str().unwrap_or("picture")),
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// A call in a list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Summary {
    pub ref_id: String,
    pub session_id: Option<String>,
    pub tool: String,
    pub at: u64,
    /// `None` while it runs.
    pub success: Option<bool>,
    pub answered_at: Option<u64>,
    pub has_snapshot: bool,
    pub console_messages: u64,
    pub console_errors: u64,
}

/// The filter of a list. It selects the calls of these sessions, and the calls of the connection
/// that have no session.
#[derive(Debug, Clone, Default)]
pub struct RecordFilter {
    pub sessions: Vec<String>,
    pub connection: Option<String>,
    pub limit: u64,
}

/// The calls whose console messages are read.
#[derive(Debug, Clone)]
pub(super) enum ConsoleScope {
    /// One call, by its `refId`.
    Record(String),
    /// All calls of this session, without repeated messages.
    Session(String),
}

impl Store {
    /// Queues a write of a call. The returned future resolves when the call is in the record.
    pub fn request(
        &self,
        request: Arc<NewRequest>,
    ) -> impl Future<Output = WriteResult> + Send + use<> {
        self.retry_sessions();
        self.0.calls.record_call_begin(&request);
        let (server, session) = (self.0.server.clone(), self.row_of(&request));
        self.write_of_call(request.params.len(), move |tables| {
            tables.write_request(&request, session.as_deref(), &server)
        })
    }

    /// Returns the row of the session of `request`, if it is open.
    fn row_of(&self, request: &NewRequest) -> Option<Arc<NewSession>> {
        self.0.ledger.row(request.session_id.as_deref()?)
    }

    /// Queues a write of the result of a call and of the call's current data. The returned future
    /// resolves when they are in the record.
    pub fn answer(
        &self,
        request: Arc<NewRequest>,
        answer: NewAnswer,
    ) -> impl Future<Output = WriteResult> + Send + use<> {
        let (server, session) = (self.0.server.clone(), self.row_of(&request));
        let bytes = answer.bytes();
        let at = now();
        self.0.calls.record_call_end(&request, &answer, at);
        self.write_of_call(bytes, move |tables| {
            tables.write_request(&request, session.as_deref(), &server)?;
            tables.write_answer(&request, &answer, at)
        })
    }

    /// Returns the call `ref_id`.
    pub async fn record(&self, ref_id: &str) -> Result<Option<Record>> {
        let ref_id = ref_id.to_owned();
        self.read(move |tables| tables.record(&ref_id)).await
    }

    /// Returns the last call that was answered in one of `sessions`; with `has_page`, the last one
    /// whose answer shows the page.
    pub async fn newest_record(
        &self,
        sessions: Vec<String>,
        has_page: bool,
    ) -> Result<Option<Record>> {
        self.read(move |tables| tables.newest_record(&sessions, has_page)).await
    }

    /// Returns the `refId`s of the calls of a session, oldest first. `record` reads one call at a
    /// time, because all calls together may be too large for memory.
    pub async fn history(&self, session: &str) -> Result<Vec<String>> {
        let session = session.to_owned();
        self.read(move |tables| tables.history(&session)).await
    }

    /// Returns the images of the result of a call, in order.
    pub async fn pictures(&self, ref_id: &str) -> Result<Vec<Picture>> {
        self.pictures_from(ref_id, FIRST_PICTURE).await
    }

    /// Returns the images of the result of a call, in order, and then the page after the call.
    pub async fn all_pictures(&self, ref_id: &str) -> Result<Vec<Picture>> {
        self.pictures_from(ref_id, PAGE_PICTURE).await
    }

    async fn pictures_from(&self, ref_id: &str, first: u64) -> Result<Vec<Picture>> {
        let ref_id = ref_id.to_owned();
        self.read(move |tables| tables.pictures_from(&ref_id, first)).await
    }

    /// Returns the picture `number` of a call: an image of its result (from 1), or the page after
    /// the call (0).
    pub async fn picture(&self, ref_id: &str, number: u64) -> Result<Option<Picture>> {
        let ref_id = ref_id.to_owned();
        self.read(move |tables| tables.picture(&ref_id, number)).await
    }

    /// Returns the calls that `filter` selects, newest first.
    pub async fn requests(&self, filter: RecordFilter) -> Result<Vec<Summary>> {
        self.read(move |tables| tables.requests(&filter)).await
    }

    /// Returns the summary and the error message of the call `ref_id`.
    pub async fn summary(&self, ref_id: &str) -> Result<Option<(Summary, Option<String>)>> {
        let ref_id = ref_id.to_owned();
        self.read(move |tables| tables.summary(&ref_id)).await
    }

    /// Returns the newest console messages of the call `ref_id` that fit into `budget` characters.
    /// Does not use the cursor.
    pub async fn console_of_record(
        &self,
        ref_id: &str,
        level: Option<&str>,
        budget: usize,
    ) -> Result<NewestMessages> {
        self.console(ConsoleScope::Record(ref_id.to_owned()), level, budget).await
    }

    /// Returns the newest console messages of the calls of a session that fit into `budget`
    /// characters.
    pub async fn console_of_session(
        &self,
        session: &str,
        level: Option<&str>,
        budget: usize,
    ) -> Result<NewestMessages> {
        self.console(ConsoleScope::Session(session.to_owned()), level, budget).await
    }

    async fn console(
        &self,
        scope: ConsoleScope,
        level: Option<&str>,
        budget: usize,
    ) -> Result<NewestMessages> {
        let level = level.map(str::to_owned);
        self.read(move |tables| tables.console(&scope, level.as_deref(), budget)).await
    }
}

impl NewAnswer {
    /// Returns the approximate number of bytes in the record.
    pub(super) fn bytes(&self) -> usize {
        let texts = self.page_snapshot.iter().chain(&self.content).map(|text| text.len());
        let pictures =
            self.pictures.iter().chain(&self.page_picture).map(|picture| picture.data.len());
        self.result.len() + texts.sum::<usize>() + pictures.sum::<usize>()
    }

    /// Returns the console messages in their order, and whether each is repeated.
    pub(super) fn messages(&self) -> impl Iterator<Item = (&Message, bool)> + Clone {
        let repeated = self.repeated_console.iter().map(|message| (message, true));
        repeated.chain(self.console.iter().map(|message| (message, false)))
    }

    /// Returns the console messages as a JSON array; `None` if there are none.
    pub(super) fn messages_as_json(&self) -> Option<String> {
        let messages: Vec<Value> = self.messages().map(|(message, _)| message.as_json()).collect();
        (!messages.is_empty()).then(|| Value::Array(messages).to_string())
    }

    /// Returns the pictures and their numbers.
    pub(super) fn numbered_pictures(&self) -> impl Iterator<Item = (u64, &Picture)> {
        let page = self.page_picture.iter().map(|picture| (PAGE_PICTURE, picture));
        (FIRST_PICTURE..).zip(&self.pictures).chain(page)
    }

    /// Returns the value of `responses.status`.
    pub(super) fn status(&self) -> &'static str {
        if self.error_message.is_none() { "success" } else { "error" }
    }
}

/// The number of the picture of the page.
pub(super) const PAGE_PICTURE: u64 = 0;
/// The number of the first image of the result.
pub(super) const FIRST_PICTURE: u64 = 1;

impl Message {
    /// Returns the location as JSON: `url`, `lineNumber` and `columnNumber`.
    pub(super) fn location(&self) -> Option<Value> {
        let url = self.url.as_ref()?;
        Some(json!({"url": url, "lineNumber": self.line, "columnNumber": self.column}))
    }

    fn as_json(&self) -> Value {
        json!({
            "level": self.level, "message": self.text, "timestamp": self.at,
            "location": self.location(),
        })
    }

    /// Creates a message from its columns in the record.
    pub(super) fn from_columns(
        level: String,
        text: String,
        at: u64,
        location: Option<&str>,
    ) -> Self {
        let location: Value =
            location.and_then(|location| serde_json::from_str(location).ok()).unwrap_or_default();
        Self {
            level,
            text,
            at,
            url: location["url"].as_str().map(str::to_owned),
            line: location["lineNumber"].as_u64(),
            column: location["columnNumber"].as_u64(),
        }
    }
}

impl NewestMessages {
    /// Returns the messages that fit into `budget` characters. `newest` yields `count` messages,
    /// the newest first.
    pub(super) fn fitting<E>(
        count: usize,
        mut budget: usize,
        newest: impl Iterator<Item = Result<Message, E>>,
    ) -> Result<Self, E> {
        let mut messages = Vec::new();
        for message in newest {
            let message = message?;
            let length = message.to_string().chars().count() + 1;
            if length > budget {
                break;
            }
            budget -= length;
            messages.push(message);
        }
        messages.reverse();
        Ok(Self { earlier: count.saturating_sub(messages.len()), messages })
    }
}
