//! The queries for recorded calls.

use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter, types::Value};
use serde_json::json;

use super::{servers::ensure_server, sessions::ensure_session};
use crate::store::{
    calls::{CallEnd, CallFilter, MAX_RESULT, RecordedCall, SEARCH_LIMIT},
    cursors::Cursor,
    records::{
        ConsoleScope, FIRST_PICTURE, Message, NewAnswer, NewRequest, NewestMessages, Picture,
        Record, RecordFilter, RecordedAnswer, SELECT_RECORD, SELECT_SUMMARY, Summary,
    },
    sessions::NewSession,
};

/// Selects the last answered request of some sessions, or with `?2` the last one that has a page
/// snapshot. Reads each session's requests backward through the index, because the time for sorting
/// all of them would grow with the record.
const NEWEST: &str = "SELECT max(newest) FROM (
    SELECT (SELECT asked.rowid FROM requests AS asked WHERE asked.session_id = value
                AND EXISTS (SELECT 1 FROM responses WHERE responses.ref_id = asked.ref_id
                            AND (NOT ?2 OR page_snapshot IS NOT NULL))
            ORDER BY asked.rowid DESC LIMIT 1) AS newest FROM json_each(?1))";

pub(super) fn record(connection: &Connection, ref_id: &str) -> rusqlite::Result<Option<Record>> {
    let sql = format!("{SELECT_RECORD} WHERE ref_id = ?1");
    connection.prepare_cached(&sql)?.query_row([ref_id], read_record).optional()
}

pub(super) fn newest_record(
    connection: &Connection,
    sessions: &[String],
    has_page: bool,
) -> rusqlite::Result<Option<Record>> {
    let sql = format!("{SELECT_RECORD} WHERE requests.rowid = ({NEWEST})");
    let values = params![json!(sessions).to_string(), has_page];
    connection.prepare_cached(&sql)?.query_row(values, read_record).optional()
}

pub(super) fn history(connection: &Connection, session: &str) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached("SELECT ref_id FROM requests WHERE session_id = ?1 ORDER BY rowid")?
        .query_map([session], |row| row.get(0))?
        .collect()
}

pub(super) fn pictures_from(
    connection: &Connection,
    ref_id: &str,
    first: u64,
) -> rusqlite::Result<Vec<Picture>> {
    connection
        .prepare_cached(
            "SELECT mime_type, data FROM pictures WHERE ref_id = ?1 AND number >= ?2
             ORDER BY number = 0, number",
        )?
        .query_map(params![ref_id, first.cast_signed()], |row| {
            Ok(Picture { mime_type: row.get(0)?, data: row.get(1)? })
        })?
        .collect()
}

pub(super) fn picture(
    connection: &Connection,
    ref_id: &str,
    number: u64,
) -> rusqlite::Result<Option<Picture>> {
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    connection
        .prepare_cached("SELECT mime_type, data FROM pictures WHERE ref_id = ?1 AND number = ?2")?
        .query_row(params![ref_id, number], |row| {
            Ok(Picture { mime_type: row.get(0)?, data: row.get(1)? })
        })
        .optional()
}

pub(super) fn requests(
    connection: &Connection,
    filter: &RecordFilter,
) -> rusqlite::Result<Vec<Summary>> {
    let sql = format!(
        "{SELECT_SUMMARY}
         WHERE session_id IN (SELECT value FROM json_each(?1))
             OR (session_id IS NULL AND connection_id = ?2)
         ORDER BY requests.rowid DESC LIMIT ?3"
    );
    let values = params![json!(filter.sessions).to_string(), filter.connection, filter.limit];
    connection.prepare_cached(&sql)?.query_map(values, read_summary)?.collect()
}

pub(super) fn summary(
    connection: &Connection,
    ref_id: &str,
) -> rusqlite::Result<Option<(Summary, Option<String>)>> {
    let sql = format!("{SELECT_SUMMARY} WHERE ref_id = ?1");
    let row = |row: &Row<'_>| Ok((read_summary(row)?, row.get(9)?));
    connection.prepare_cached(&sql)?.query_row([ref_id], row).optional()
}

pub(super) fn console(
    connection: &Connection,
    scope: &ConsoleScope,
    level: Option<&str>,
    budget: usize,
) -> rusqlite::Result<NewestMessages> {
    let (condition, id) = match scope {
        ConsoleScope::Record(id) => ("ref_id = ?1", id),
        ConsoleScope::Session(id) => (
            "NOT is_repeated AND ref_id IN (SELECT ref_id FROM requests WHERE session_id = ?1)",
            id,
        ),
    };
    let matching = format!("FROM console_logs WHERE {condition} AND (?2 IS NULL OR level = ?2)");
    let count: usize = connection
        .prepare_cached(&format!("SELECT count(*) {matching}"))?
        .query_row(params![id, level], |row| row.get(0))?;
    let newest = format!("SELECT level, message, timestamp, location {matching} ORDER BY id DESC");
    let mut newest = connection.prepare_cached(&newest)?;
    let rows = newest.query_map(params![id, level], |row| {
        let location: Option<String> = row.get(3)?;
        Ok(Message::from_columns(row.get(0)?, row.get(1)?, row.get(2)?, location.as_deref()))
    })?;
    NewestMessages::fitting(count, budget, rows)
}

pub(super) fn calls(
    connection: &Connection,
    filter: &CallFilter,
) -> rusqlite::Result<Vec<RecordedCall>> {
    let (mut conditions, mut values) = (vec!["TRUE".to_owned()], Vec::<Value>::new());
    // `?1 IS NULL OR session_id = ?1` would keep SQLite from using the index.
    if let Some(session) = &filter.session {
        values.push(session.clone().into());
        conditions.push(format!("session_id = ?{}", values.len()));
    }
    if let Some(id) = &filter.id {
        values.push(id.clone().into());
        conditions.push(format!("ref_id = ?{}", values.len()));
    }
    if let Some(before) = filter.before {
        values.push(i64::try_from(before).unwrap_or(i64::MAX).into());
        conditions.push(format!("requests.rowid < ?{}", values.len()));
    }
    if let Some(text) = &filter.text {
        values.push(text.to_ascii_lowercase().into());
        let at = values.len();
        let contains = |column: &str| format!("instr(lower({column}), ?{at}) > 0");
        let columns = ["tool_name", "params", "result", "error_message"].map(contains);
        conditions.push(format!("({})", columns.join(" OR ")));
        conditions
            .push(format!("requests.rowid > (SELECT max(rowid) FROM requests) - {SEARCH_LIMIT}"));
    }
    let sql = format!(
        "SELECT requests.rowid, ref_id, session_id, tool_name, params, requests.timestamp, status,
                substr(result, 1, {MAX_RESULT}), error_message, responses.timestamp,
                (SELECT min(max(number), {FIRST_PICTURE}) FROM pictures
                 WHERE pictures.ref_id = requests.ref_id)
         FROM requests LEFT JOIN responses USING (ref_id)
         WHERE {} ORDER BY requests.rowid DESC LIMIT {}",
        conditions.join(" AND "),
        filter.limit
    );
    connection.prepare_cached(&sql)?.query_map(params_from_iter(values), read_call)?.collect()
}

fn read_call(row: &Row<'_>) -> rusqlite::Result<RecordedCall> {
    let status: Option<String> = row.get(6)?;
    let end = match status {
        None => None,
        Some(status) => Some(CallEnd {
            success: status == "success",
            result: row.get(7)?,
            error_message: row.get(8)?,
            at: row.get(9)?,
            picture: row.get(10)?,
        }),
    };
    Ok(RecordedCall {
        number: row.get(0)?,
        ref_id: row.get(1)?,
        session_id: row.get(2)?,
        tool: row.get(3)?,
        params: row.get(4)?,
        at: row.get(5)?,
        end,
    })
}

pub(super) fn cursor(connection: &Connection, key: &str) -> rusqlite::Result<Option<Cursor>> {
    connection
        .prepare_cached(
            "SELECT last_snapshot_hash, last_ref_id, cursor_position, last_read
             FROM diff_cursors WHERE ref_id = ?1",
        )?
        .query_row([key], |row| {
            Ok(Cursor {
                hash: row.get(0)?,
                last_ref_id: row.get(1)?,
                position: row.get(2)?,
                read_at: row.get(3)?,
            })
        })
        .optional()
}

pub(super) fn move_cursor(
    connection: &Connection,
    key: &str,
    cursor: &Cursor,
) -> rusqlite::Result<()> {
    let Cursor { hash, last_ref_id, position, read_at } = cursor;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO diff_cursors
                 (ref_id, cursor_position, last_snapshot_hash, last_read, last_ref_id)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![key, position, hash, read_at, last_ref_id])?;
    Ok(())
}

pub(super) fn write_request(
    connection: &Connection,
    request: &NewRequest,
    session: Option<&NewSession>,
    server: &str,
) -> rusqlite::Result<()> {
    match session {
        Some(session) => ensure_session(connection, session, server)?,
        None => ensure_server(connection, server)?,
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

pub(super) fn write_answer(
    connection: &Connection,
    request: &NewRequest,
    answer: &NewAnswer,
    at: u64,
) -> rusqlite::Result<()> {
    let ref_id = &*request.ref_id;
    connection
        .prepare_cached(
            "INSERT INTO responses
                 (ref_id, status, result, page_snapshot, console_logs, error_message, timestamp, content,
                  test_ids)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            ref_id,
            answer.status(),
            answer.result,
            answer.page_snapshot.as_deref(),
            answer.messages_as_json(),
            answer.error_message,
            at,
            answer.content.as_deref(),
            answer.test_ids
        ])?;
    for (message, is_repeated) in answer.messages() {
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
                message.location().map(|location| location.to_string()),
                is_repeated
            ])?;
    }
    for (number, picture) in answer.numbered_pictures() {
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

fn read_summary(row: &Row<'_>) -> rusqlite::Result<Summary> {
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

fn read_record(row: &Row<'_>) -> rusqlite::Result<Record> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_for_the_newest_record_does_not_sort_all_records() {
        let connection = crate::store::sqlite::schema::open_in_memory().unwrap();
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
