//! Requests and their answers.

use std::{borrow::Cow, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Value, json};

use super::{Store, time::now, unreadable};
use crate::error::Result;

/// A call, as it is written before it runs.
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

/// How a call was answered.
#[derive(Debug, Clone, Default)]
pub struct NewAnswer {
    /// As it was sent, JSON: `{"content": […]}`, pictures named by their number.
    pub result: String,
    /// The page afterwards.
    pub page_snapshot: Option<Arc<str>>,
    /// The whole of what was too long for one answer.
    pub content: Option<Arc<str>>,
    /// Set where the call failed.
    pub error_message: Option<String>,
    /// What the pages have logged since the answer before.
    pub console: Vec<Message>,
    pub pictures: Vec<Picture>,
}

/// A message in a page's console.
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
    /// With its level and its place, as people read it.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "[{}] {}", self.level, self.text)?;
        let Some(url) = self.url.as_ref().filter(|url| !url.is_empty()) else { return Ok(()) };
        write!(out, " ({url}")?;
        [self.line, self.column].into_iter().flatten().try_for_each(|number| write!(out, ":{number}"))?;
        write!(out, ")")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub mime_type: String,
    pub data: Vec<u8>,
}

impl Picture {
    /// One that is written in base64; `None` where it is not.
    pub fn decoded(mime_type: &str, data: &str) -> Option<Self> {
        Some(Self { mime_type: mime_type.to_owned(), data: BASE64_STANDARD.decode(data).ok()? })
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
    /// None while it runs.
    pub answer: Option<Answered>,
}

/// The answer of a call in the record.
#[derive(Debug, Clone)]
pub struct Answered {
    pub success: bool,
    /// None where its server died.
    pub result: Option<String>,
    pub page_snapshot: Option<String>,
    pub content: Option<String>,
    pub error_message: Option<String>,
    pub at: u64,
}

impl Record {
    /// What `get_content` reads: the whole of what the call read, or the page after what it did.
    pub fn content(&self) -> String {
        let Some(answer) = &self.answer else { return String::new() };
        if let Some(whole) = answer.content.as_ref().or(answer.page_snapshot.as_ref()) {
            return whole.clone();
        }
        answer.result.as_deref().map(text_of).or_else(|| answer.error_message.clone()).unwrap_or_default()
    }
}

/// The text parts of a result; a picture is told as what it is.
fn text_of(result: &str) -> String {
    let result: Value = serde_json::from_str(result).unwrap_or_default();
    let parts = result["content"].as_array().into_iter().flatten().map(|part| match part["text"].as_str() {
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
    /// None while it runs.
    pub success: Option<bool>,
    pub answered_at: Option<u64>,
    pub has_snapshot: bool,
    pub console_messages: u64,
    pub console_errors: u64,
}

/// Whose calls are listed: those of any of these sessions, and those of the connection that were in no session.
#[derive(Debug, Clone, Default)]
pub struct RecordFilter {
    pub sessions: Vec<String>,
    pub connection: Option<String>,
    pub limit: u64,
}

/// The last answered request of some sessions: of each the last one by the index, which knows their order. All of them
/// sorted would take the longer the longer the record is.
const NEWEST: &str = "SELECT max(newest) FROM (
    SELECT (SELECT asked.rowid FROM requests AS asked WHERE asked.session_id = value
                AND EXISTS (SELECT 1 FROM responses WHERE responses.ref_id = asked.ref_id)
            ORDER BY asked.rowid DESC LIMIT 1) AS newest FROM json_each(?1))";

impl Store {
    /// Writes a call; the future is ready when it is on disk.
    pub fn request(&self, request: Arc<NewRequest>) -> impl Future<Output = ()> + Send + use<> {
        let server = self.0.server.id.clone();
        self.0
            .writer
            .write(request.params.len(), move |connection| write_request(connection, &request, &server))
    }

    /// Writes a call's answer, and the call as it is known by then; the future is ready when it is on disk.
    pub fn answer(
        &self,
        request: Arc<NewRequest>,
        answer: NewAnswer,
    ) -> impl Future<Output = ()> + Send + use<> {
        let server = self.0.server.id.clone();
        let bytes = answer.result.len()
            + answer.page_snapshot.as_ref().map_or(0, |text| text.len())
            + answer.content.as_ref().map_or(0, |text| text.len())
            + answer.pictures.iter().map(|picture| picture.data.len()).sum::<usize>();
        let at = now();
        self.0.writer.write(bytes, move |connection| {
            write_request(connection, &request, &server)?;
            write_answer(connection, &request, &answer, at)
        })
    }

    /// The call `ref_id`.
    pub async fn record(&self, ref_id: &str) -> Result<Option<Record>> {
        let ref_id = ref_id.to_owned();
        self.read(move |connection| {
            let sql = format!("{SELECT_RECORD} WHERE ref_id = ?1");
            connection.prepare_cached(&sql)?.query_row([ref_id], record).optional()
        })
        .await
    }

    /// The last call that was answered in one of `sessions`.
    pub async fn newest_record(&self, sessions: Vec<String>) -> Result<Option<Record>> {
        self.read(move |connection| {
            let sql = format!("{SELECT_RECORD} WHERE requests.rowid = ({NEWEST})");
            connection.prepare_cached(&sql)?.query_row([json!(sessions).to_string()], record).optional()
        })
        .await
    }

    /// Every call of a session, the oldest first.
    pub async fn history(&self, session: &str) -> Result<Vec<Record>> {
        let session = session.to_owned();
        self.read(move |connection| {
            let sql = format!("{SELECT_RECORD} WHERE session_id = ?1 ORDER BY requests.rowid");
            connection.prepare_cached(&sql)?.query_map([session], record)?.collect()
        })
        .await
    }

    /// The pictures of a call's answer, in order.
    pub async fn pictures(&self, ref_id: &str) -> Result<Vec<Picture>> {
        let ref_id = ref_id.to_owned();
        self.read(move |connection| {
            connection
                .prepare_cached("SELECT mime_type, data FROM pictures WHERE ref_id = ?1 ORDER BY number")?
                .query_map([ref_id], |row| Ok(Picture { mime_type: row.get(0)?, data: row.get(1)? }))?
                .collect()
        })
        .await
    }

    /// The calls that `filter` means, the newest first.
    pub async fn requests(&self, filter: RecordFilter) -> Result<Vec<Summary>> {
        self.read(move |connection| {
            connection
                .prepare_cached(
                    "SELECT ref_id, session_id, tool_name, requests.timestamp, status, responses.timestamp,
                            page_snapshot IS NOT NULL,
                            (SELECT count(*) FROM console_logs WHERE console_logs.ref_id = requests.ref_id),
                            (SELECT count(*) FROM console_logs
                             WHERE console_logs.ref_id = requests.ref_id AND level = 'error')
                     FROM requests LEFT JOIN responses USING (ref_id)
                     WHERE session_id IN (SELECT value FROM json_each(?1))
                         OR (session_id IS NULL AND connection_id = ?2)
                     ORDER BY requests.rowid DESC LIMIT ?3",
                )?
                .query_map(
                    params![json!(filter.sessions).to_string(), filter.connection, filter.limit],
                    |row| {
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
                    },
                )?
                .collect()
        })
        .await
    }

    /// The console messages of the call `ref_id`; all of them, whatever was read before.
    pub async fn console_of_record(&self, ref_id: &str, level: Option<&str>) -> Result<Vec<Message>> {
        self.console("ref_id = ?1", ref_id, level).await
    }

    /// The console messages of the calls of a session.
    pub async fn console_of_session(&self, session: &str, level: Option<&str>) -> Result<Vec<Message>> {
        self.console("ref_id IN (SELECT ref_id FROM requests WHERE session_id = ?1)", session, level).await
    }

    async fn console(&self, of: &'static str, id: &str, level: Option<&str>) -> Result<Vec<Message>> {
        let (id, level) = (id.to_owned(), level.map(str::to_owned));
        self.read(move |connection| {
            let sql = format!(
                "SELECT level, message, timestamp, location FROM console_logs
                 WHERE {of} AND (?2 IS NULL OR level = ?2) ORDER BY id"
            );
            connection.prepare_cached(&sql)?.query_map(params![id, level], message)?.collect()
        })
        .await
    }

    /// Forgets everything but the sessions that live; how many calls that were.
    pub async fn purge(&self) -> Result<usize> {
        let purged = self
            .ask_writer(|connection| {
                let gone = connection.execute("DELETE FROM requests", [])?;
                connection.execute("DELETE FROM diff_cursors", [])?;
                connection.execute(
                    "DELETE FROM sessions
                     WHERE state <> 'active' OR server_id NOT IN (SELECT server_id FROM servers)",
                    [],
                )?;
                Ok(gone)
            })
            .await?
            .map_err(|error| unreadable(&error))?;
        self.flush().await;
        let path = self.path().map(std::path::Path::to_owned);
        if let Some(path) = path {
            let shrink = move || -> rusqlite::Result<()> {
                let connection = Connection::open(path)?;
                connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")
            };
            let shrunk = tokio::task::spawn_blocking(shrink).await;
            if !matches!(shrunk, Ok(Ok(()))) {
                tracing::warn!("the record is empty, but another server keeps its file from shrinking now");
            }
        }
        Ok(purged)
    }
}

/// The call, or what has become known of it since. A session that the record does not know is left out.
fn write_request(connection: &Connection, request: &NewRequest, server: &str) -> rusqlite::Result<()> {
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
    let logs: Vec<Value> = answer.console.iter().map(as_json).collect();
    connection
        .prepare_cached(
            "INSERT INTO responses
                 (ref_id, status, result, page_snapshot, console_logs, error_message, timestamp, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            ref_id,
            if answer.error_message.is_none() { "success" } else { "error" },
            answer.result,
            answer.page_snapshot.as_deref(),
            (!logs.is_empty()).then(|| Value::Array(logs).to_string()),
            answer.error_message,
            at,
            answer.content.as_deref()
        ])?;
    for message in &answer.console {
        connection
            .prepare_cached(
                "INSERT INTO console_logs (ref_id, level, message, timestamp, location) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                ref_id,
                message.level,
                message.text,
                message.at,
                location(message).map(|place| place.to_string())
            ])?;
    }
    for (number, picture) in (1_u64..).zip(&answer.pictures) {
        connection
            .prepare_cached("INSERT INTO pictures (ref_id, number, mime_type, data) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![ref_id, number, picture.mime_type, picture.data])?;
    }
    if let Some(session) = &request.session_id {
        // To the second: it is a page more to write.
        connection
            .prepare_cached(
                "UPDATE sessions SET last_activity = ?2 WHERE session_id = ?1 AND last_activity < ?2 - 1000",
            )?
            .execute(params![&**session, at])?;
    }
    Ok(())
}

const SELECT_RECORD: &str = "
SELECT ref_id, session_id, tool_name, params, requests.timestamp, status, result, page_snapshot, content,
       error_message, responses.timestamp
FROM requests LEFT JOIN responses USING (ref_id)";

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let status: Option<String> = row.get(5)?;
    let answer = match status {
        None => None,
        Some(status) => Some(Answered {
            success: status == "success",
            result: row.get(6)?,
            page_snapshot: row.get(7)?,
            content: row.get(8)?,
            error_message: row.get(9)?,
            at: row.get(10)?,
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

/// Where a message came from, in the words of seed 002.
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
    fn the_last_record_is_found_without_sorting_all() {
        let connection = crate::store::schema::open_in_memory().unwrap();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {NEWEST}")).unwrap();
        let steps: Vec<String> =
            plan.query_map(["[]"], |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap();
        let told = steps.join("\n");
        assert!(told.contains("requests_of_session"), "{told}");
        assert!(!told.contains("TEMP B-TREE"), "{told}");
    }
}
