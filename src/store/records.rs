//! The recorded calls and their results.

use std::{borrow::Cow, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Value, json};

use super::{NewSession, Store, ledger::ensure_row, servers, time::now};
use crate::error::Result;

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
#[derive(Debug, Clone)]
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

/// Selects the last answered request of some sessions, or with `?2` the last one that has a page
/// snapshot. Reads each session's requests backward through the index, because the time for sorting
/// all of them would grow with the record.
const NEWEST: &str = "SELECT max(newest) FROM (
    SELECT (SELECT asked.rowid FROM requests AS asked WHERE asked.session_id = value
                AND EXISTS (SELECT 1 FROM responses WHERE responses.ref_id = asked.ref_id
                            AND (NOT ?2 OR page_snapshot IS NOT NULL))
            ORDER BY asked.rowid DESC LIMIT 1) AS newest FROM json_each(?1))";

impl Store {
    /// Queues a write of a call. The returned future resolves when the call is on disk.
    pub fn request(&self, request: Arc<NewRequest>) -> impl Future<Output = ()> + Send + use<> {
        self.retry_sessions();
        self.0.calls.begun(&request);
        let (server, session) = (self.0.server.id.clone(), self.row_of(&request));
        self.0.writer.write(request.params.len(), move |connection| {
            write_request(connection, &request, session.as_deref(), &server)
        })
    }

    /// Returns the row of the session of `request`, if it is open.
    fn row_of(&self, request: &NewRequest) -> Option<Arc<NewSession>> {
        self.0.ledger.row(request.session_id.as_deref()?)
    }

    /// Queues a write of the result of a call and of the call's current data. The returned future
    /// resolves when they are on disk.
    pub fn answer(
        &self,
        request: Arc<NewRequest>,
        answer: NewAnswer,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (server, session) = (self.0.server.id.clone(), self.row_of(&request));
        let bytes = answer.result.len()
            + answer.page_snapshot.as_ref().map_or(0, |text| text.len())
            + answer.content.as_ref().map_or(0, |text| text.len())
            + answer.pictures.iter().map(|picture| picture.data.len()).sum::<usize>()
            + answer.page_picture.as_ref().map_or(0, |picture| picture.data.len());
        let at = now();
        self.0.calls.ended(&request, &answer, at);
        self.0.writer.write(bytes, move |connection| {
            write_request(connection, &request, session.as_deref(), &server)?;
            write_answer(connection, &request, &answer, at)
        })
    }

    /// Returns the call `ref_id`.
    pub async fn record(&self, ref_id: &str) -> Result<Option<Record>> {
        let ref_id = ref_id.to_owned();
        self.read(move |connection| {
            let sql = format!("{SELECT_RECORD} WHERE ref_id = ?1");
            connection.prepare_cached(&sql)?.query_row([ref_id], record).optional()
        })
        .await
    }

    /// Returns the last call that was answered in one of `sessions`; with `has_page`, the last one
    /// whose answer shows the page.
    pub async fn newest_record(
        &self,
        sessions: Vec<String>,
        has_page: bool,
    ) -> Result<Option<Record>> {
        self.read(move |connection| {
            let sql = format!("{SELECT_RECORD} WHERE requests.rowid = ({NEWEST})");
            let values = params![json!(sessions).to_string(), has_page];
            connection.prepare_cached(&sql)?.query_row(values, record).optional()
        })
        .await
    }

    /// Returns the `refId`s of the calls of a session, oldest first. `record` reads one call at a
    /// time, because all calls together may be too large for memory.
    pub async fn history(&self, session: &str) -> Result<Vec<String>> {
        let session = session.to_owned();
        self.read(move |connection| {
            connection
                .prepare_cached("SELECT ref_id FROM requests WHERE session_id = ?1 ORDER BY rowid")?
                .query_map([session], |row| row.get(0))?
                .collect()
        })
        .await
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
        self.read(move |connection| {
            connection
                .prepare_cached(
                    "SELECT mime_type, data FROM pictures WHERE ref_id = ?1 AND number >= ?2
                     ORDER BY number = 0, number",
                )?
                .query_map(params![ref_id, first.cast_signed()], |row| {
                    Ok(Picture { mime_type: row.get(0)?, data: row.get(1)? })
                })?
                .collect()
        })
        .await
    }

    /// Returns the picture `number` of a call: an image of its result (from 1), or the page after
    /// the call (0).
    pub async fn picture(&self, ref_id: &str, number: u64) -> Result<Option<Picture>> {
        let values = (ref_id.to_owned(), i64::try_from(number).unwrap_or(i64::MAX));
        self.read(move |connection| {
            connection
                .prepare_cached(
                    "SELECT mime_type, data FROM pictures WHERE ref_id = ?1 AND number = ?2",
                )?
                .query_row(values, |row| Ok(Picture { mime_type: row.get(0)?, data: row.get(1)? }))
                .optional()
        })
        .await
    }

    /// Returns the calls that `filter` selects, newest first.
    pub async fn requests(&self, filter: RecordFilter) -> Result<Vec<Summary>> {
        self.read(move |connection| {
            let sql = format!(
                "{SELECT_SUMMARY}
                 WHERE session_id IN (SELECT value FROM json_each(?1))
                     OR (session_id IS NULL AND connection_id = ?2)
                 ORDER BY requests.rowid DESC LIMIT ?3"
            );
            let values =
                params![json!(filter.sessions).to_string(), filter.connection, filter.limit];
            connection.prepare_cached(&sql)?.query_map(values, summary)?.collect()
        })
        .await
    }

    /// Returns the summary and the error message of the call `ref_id`.
    pub async fn summary(&self, ref_id: &str) -> Result<Option<(Summary, Option<String>)>> {
        let ref_id = ref_id.to_owned();
        self.read(move |connection| {
            let sql = format!("{SELECT_SUMMARY} WHERE ref_id = ?1");
            let row = |row: &Row<'_>| Ok((summary(row)?, row.get(9)?));
            connection.prepare_cached(&sql)?.query_row([ref_id], row).optional()
        })
        .await
    }

    /// Returns the newest console messages of the call `ref_id` that fit into `budget` characters.
    /// Does not use the cursor.
    pub async fn console_of_record(
        &self,
        ref_id: &str,
        level: Option<&str>,
        budget: usize,
    ) -> Result<NewestMessages> {
        self.console("ref_id = ?1", ref_id, level, budget).await
    }

    /// Returns the newest console messages of the calls of a session that fit into `budget`
    /// characters.
    pub async fn console_of_session(
        &self,
        session: &str,
        level: Option<&str>,
        budget: usize,
    ) -> Result<NewestMessages> {
        let condition =
            "NOT is_repeated AND ref_id IN (SELECT ref_id FROM requests WHERE session_id = ?1)";
        self.console(condition, session, level, budget).await
    }

    /// Returns the newest console messages that match the SQL `condition`, in which `?1` is `id`.
    async fn console(
        &self,
        condition: &'static str,
        id: &str,
        level: Option<&str>,
        mut budget: usize,
    ) -> Result<NewestMessages> {
        let (id, level) = (id.to_owned(), level.map(str::to_owned));
        self.read(move |connection| {
            let matching =
                format!("FROM console_logs WHERE {condition} AND (?2 IS NULL OR level = ?2)");
            let count = format!("SELECT count(*) {matching}");
            let count: usize = connection
                .prepare_cached(&count)?
                .query_row(params![id, level], |row| row.get(0))?;
            let newest =
                format!("SELECT level, message, timestamp, location {matching} ORDER BY id DESC");
            let mut newest = connection.prepare_cached(&newest)?;
            let mut rows = newest.query(params![id, level])?;
            let mut messages = Vec::new();
            while let Some(row) = rows.next()? {
                let message = message(row)?;
                let length = message.to_string().chars().count() + 1;
                if length > budget {
                    break;
                }
                budget -= length;
                messages.push(message);
            }
            messages.reverse();
            Ok(NewestMessages { earlier: count - messages.len(), messages })
        })
        .await
    }
}

/// Writes the call, or its new data, and the row of its session if that is missing. Does nothing
/// for a session that is neither open nor in the record.
fn write_request(
    connection: &Connection,
    request: &NewRequest,
    session: Option<&NewSession>,
    server: &str,
) -> rusqlite::Result<()> {
    match session {
        Some(session) => ensure_row(connection, session, server)?,
        None => servers::ensure_row(connection, server)?,
    }
    connection
        .prepare_cached(
            "INSERT INTO requests (ref_id, session_id, tool_name, params, timestamp, server_id, connection_id)
             VALUES (?1, (SELECT session_id FROM sessions WHERE session_id = ?2), ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (ref_id) DO UPDATE SET session_id = excluded.session_id, params = excluded.params
             WHERE session_id IS NOT excluded.session_id OR params IS NOT excluded.params",
        )?
        .execute(params![
            &*request.ref_id,
            request.session_id.as_deref(),
            request.tool,
            request.params,
            request.at,
            server,
            &*request.connection_id
        ])?;
    Ok(())
}

fn write_answer(
    connection: &Connection,
    request: &NewRequest,
    answer: &NewAnswer,
    at: u64,
) -> rusqlite::Result<()> {
    let ref_id = &*request.ref_id;
    let repeated = answer.repeated_console.iter().map(|message| (message, true));
    let console = repeated.chain(answer.console.iter().map(|message| (message, false)));
    let logs: Vec<Value> = console.clone().map(|(message, _)| as_json(message)).collect();
    connection
        .prepare_cached(
            "INSERT INTO responses
                 (ref_id, status, result, page_snapshot, console_logs, error_message, timestamp, content,
                  test_ids)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            ref_id,
            if answer.error_message.is_none() { "success" } else { "error" },
            answer.result,
            answer.page_snapshot.as_deref(),
            (!logs.is_empty()).then(|| Value::Array(logs).to_string()),
            answer.error_message,
            at,
            answer.content.as_deref(),
            answer.test_ids
        ])?;
    for (message, is_repeated) in console {
        connection
            .prepare_cached(
                "INSERT INTO console_logs (ref_id, level, message, timestamp, location, is_repeated)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                ref_id,
                message.level,
                message.text,
                message.at,
                location(message).map(|location| location.to_string()),
                is_repeated
            ])?;
    }
    let page_picture = answer.page_picture.iter().map(|picture| (PAGE_PICTURE, picture));
    for (number, picture) in (FIRST_PICTURE..).zip(&answer.pictures).chain(page_picture) {
        connection
            .prepare_cached(
                "INSERT INTO pictures (ref_id, number, mime_type, data) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![ref_id, number, picture.mime_type, picture.data])?;
    }
    if let Some(session) = &request.session_id {
        // At most once a second, because the update writes one more page of the file.
        connection
            .prepare_cached(
                "UPDATE sessions SET last_activity = ?2 WHERE session_id = ?1 AND last_activity < ?2 - 1000",
            )?
            .execute(params![&**session, at])?;
    }
    Ok(())
}

/// The number of the picture of the page.
pub(super) const PAGE_PICTURE: u64 = 0;
/// The number of the first image of the result.
pub(super) const FIRST_PICTURE: u64 = 1;

const SELECT_RECORD: &str = "
SELECT ref_id, session_id, tool_name, params, requests.timestamp, status, result, page_snapshot, content,
       error_message, responses.timestamp, test_ids
FROM requests LEFT JOIN responses USING (ref_id)";

const SELECT_SUMMARY: &str = "
SELECT ref_id, session_id, tool_name, requests.timestamp, status, responses.timestamp, page_snapshot IS NOT NULL,
       (SELECT count(*) FROM console_logs WHERE console_logs.ref_id = requests.ref_id),
       (SELECT count(*) FROM console_logs WHERE console_logs.ref_id = requests.ref_id AND level = 'error'),
       error_message
FROM requests LEFT JOIN responses USING (ref_id)";

fn summary(row: &Row<'_>) -> rusqlite::Result<Summary> {
    let status: Option<String> = row.get(4)?;
    Ok(Summary {
        ref_id: row.get(0)?,
        session_id: row.get(1)?,
        tool: row.get(2)?,
        at: row.get(3)?,
        success: status.map(|status| status == "success"),
        answered_at: row.get(5)?,
        has_snapshot: row.get(6)?,
        console_messages: row.get(7)?,
        console_errors: row.get(8)?,
    })
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let status: Option<String> = row.get(5)?;
    let answer = match status {
        None => None,
        Some(status) => Some(RecordedAnswer {
            success: status == "success",
            result: row.get(6)?,
            page_snapshot: row.get(7)?,
            content: row.get(8)?,
            error_message: row.get(9)?,
            at: row.get(10)?,
            test_ids: row.get(11)?,
        }),
    };
    Ok(Record {
        ref_id: row.get(0)?,
        session_id: row.get(1)?,
        tool: row.get(2)?,
        params: row.get(3)?,
        at: row.get(4)?,
        answer,
    })
}

/// Returns the location of a message as JSON: `url`, `lineNumber` and `columnNumber`.
fn location(message: &Message) -> Option<Value> {
    message
        .url
        .as_ref()
        .map(|url| json!({"url": url, "lineNumber": message.line, "columnNumber": message.column}))
}

fn as_json(message: &Message) -> Value {
    json!({
        "level": message.level, "message": message.text, "timestamp": message.at, "location": location(message),
    })
}

fn message(row: &Row<'_>) -> rusqlite::Result<Message> {
    let location: Option<String> = row.get(3)?;
    let location: Value =
        location.and_then(|location| serde_json::from_str(&location).ok()).unwrap_or_default();
    Ok(Message {
        level: row.get(0)?,
        text: row.get(1)?,
        at: row.get(2)?,
        url: location["url"].as_str().map(str::to_owned),
        line: location["lineNumber"].as_u64(),
        column: location["columnNumber"].as_u64(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_for_the_newest_record_does_not_sort_all_records() {
        let connection = crate::store::schema::open_in_memory().unwrap();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {NEWEST}")).unwrap();
        let steps: Vec<String> = plan
            .query_map(params!["[]", true], |row| row.get(3))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let shown = steps.join("\n");
        assert!(shown.contains("requests_of_session"), "{shown}");
        assert!(!shown.contains("TEMP B-TREE"), "{shown}");
    }
}
