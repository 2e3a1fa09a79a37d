//! The queries for recorded calls.

use tokio_postgres::{Row, types::ToSql};

use super::{
    sessions::SessionHolder,
    statements::{PostgresTables, signed, storable},
};
use crate::store::{
    calls::{CallEnd, CallFilter, MAX_RESULT, RecordedCall, SEARCH_LIMIT},
    cursors::Cursor,
    failures::DatabaseResult,
    records::{
        ConsoleScope, FIRST_PICTURE, Message, NewAnswer, NewRequest, NewestMessages, Picture,
        Record, RecordFilter, RecordedAnswer, SELECT_RECORD, SELECT_SUMMARY, Summary,
    },
    sessions::NewSession,
};

/// Selects the number of the last answered request of some sessions, or with `$2` the last one that
/// has a page snapshot. Reads the requests of each session backward through the index.
const NEWEST: &str = "
SELECT max(newest) FROM unnest($1::text[]) AS wanted (id), LATERAL (
    SELECT asked.number AS newest FROM requests AS asked WHERE asked.session_id = wanted.id
        AND EXISTS (SELECT 1 FROM responses WHERE responses.ref_id = asked.ref_id
                    AND (NOT $2::boolean OR page_snapshot IS NOT NULL))
    ORDER BY asked.number DESC LIMIT 1) AS of_session";

/// Inserts a call, and returns the server of its session. One statement, because each takes a round
/// trip.
const INSERT_REQUEST: &str = "
WITH holder AS MATERIALIZED (
    SELECT session_id, server_id, state, released FROM sessions
    WHERE session_id = $2 FOR SHARE),
request AS (
    INSERT INTO requests
        (ref_id, session_id, tool_name, params, timestamp, server_id, connection_id, bytes)
    VALUES ($1, (SELECT session_id FROM holder), $3, $4, $5, $6, $7, $8)
    ON CONFLICT (ref_id) DO UPDATE SET session_id = excluded.session_id, params = excluded.params
    WHERE requests.session_id IS DISTINCT FROM excluded.session_id
        OR requests.params IS DISTINCT FROM excluded.params)
SELECT server_id, state, released FROM holder";

/// Inserts the result of a call with its messages and pictures, and updates the size of the call
/// and the last activity of its session, at most once a second.
///
/// Another server may have recorded that this one died. An answer that is complete was written by a
/// former attempt, whose commit was not acknowledged. It is not changed.
const INSERT_ANSWER: &str = "
WITH answer AS (
    INSERT INTO responses
        (ref_id, status, result, page_snapshot, console_logs, error_message, timestamp, content, test_ids)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (ref_id) DO UPDATE SET
        status = excluded.status, result = excluded.result,
        page_snapshot = excluded.page_snapshot, console_logs = excluded.console_logs,
        error_message = excluded.error_message, timestamp = excluded.timestamp,
        content = excluded.content, test_ids = excluded.test_ids
    WHERE responses.result IS NULL
    RETURNING ref_id, timestamp),
messages AS (
    INSERT INTO console_logs (ref_id, level, message, timestamp, location, is_repeated)
    SELECT ref_id, level, message, sent, location, is_repeated
    FROM answer, unnest($10::text[], $11::text[], $12::bigint[], $13::text[], $14::boolean[])
        WITH ORDINALITY AS message (level, message, sent, location, is_repeated, position)
    ORDER BY position),
images AS (
    INSERT INTO pictures (ref_id, number, mime_type, data)
    SELECT ref_id, number, mime_type, data
    FROM answer, unnest($15::bigint[], $16::text[], $17::bytea[]) AS image (number, mime_type, data)
    ON CONFLICT DO NOTHING),
size AS (
    UPDATE requests SET bytes = $18 FROM answer WHERE requests.ref_id = answer.ref_id)
UPDATE sessions SET last_activity = answer.timestamp FROM answer
WHERE session_id = $19 AND last_activity < answer.timestamp - 1000";

impl PostgresTables<'_> {
    pub(super) fn find_record(&self, ref_id: &str) -> DatabaseResult<Option<Record>> {
        let sql = format!("{SELECT_RECORD} WHERE ref_id = $1");
        let row = self.query_first(&sql, &[&ref_id])?;
        row.map(|row| self.read_record(&row)).transpose()
    }

    pub(super) fn find_newest_record(
        &self,
        sessions: &[String],
        has_page: bool,
    ) -> DatabaseResult<Option<Record>> {
        let sql = format!("{SELECT_RECORD} WHERE requests.number = ({NEWEST})");
        let row = self.query_first(&sql, &[&sessions, &has_page])?;
        row.map(|row| self.read_record(&row)).transpose()
    }

    fn read_record(&self, row: &Row) -> DatabaseResult<Record> {
        let status: Option<String> = self.column(row, 5)?;
        let answer = match status {
            None => None,
            Some(status) => Some(RecordedAnswer {
                success: status == "success",
                result: self.column(row, 6)?,
                page_snapshot: self.column(row, 7)?,
                content: self.column(row, 8)?,
                error_message: self.column(row, 9)?,
                at: self.number(row, 10)?,
                test_ids: self.column(row, 11)?,
            }),
        };
        Ok(Record {
            ref_id: self.column(row, 0)?,
            session_id: self.column(row, 1)?,
            tool: self.column(row, 2)?,
            params: self.column(row, 3)?,
            at: self.number(row, 4)?,
            answer,
        })
    }

    pub(super) fn list_history(&self, session: &str) -> DatabaseResult<Vec<String>> {
        let sql = "SELECT ref_id FROM requests WHERE session_id = $1 ORDER BY number";
        self.query(sql, &[&session])?.iter().map(|row| self.column(row, 0)).collect()
    }

    pub(super) fn list_pictures(&self, ref_id: &str, first: u64) -> DatabaseResult<Vec<Picture>> {
        let sql = "SELECT mime_type, data FROM pictures WHERE ref_id = $1 AND number >= $2
                   ORDER BY number = 0, number";
        let rows = self.query(sql, &[&ref_id, &signed(first)])?;
        rows.iter().map(|row| self.read_picture(row)).collect()
    }

    pub(super) fn find_picture(
        &self,
        ref_id: &str,
        number: u64,
    ) -> DatabaseResult<Option<Picture>> {
        let sql = "SELECT mime_type, data FROM pictures WHERE ref_id = $1 AND number = $2";
        let row = self.query_first(sql, &[&ref_id, &signed(number)])?;
        row.map(|row| self.read_picture(&row)).transpose()
    }

    fn read_picture(&self, row: &Row) -> DatabaseResult<Picture> {
        Ok(Picture { mime_type: self.column(row, 0)?, data: self.column(row, 1)? })
    }

    pub(super) fn list_requests(&self, filter: &RecordFilter) -> DatabaseResult<Vec<Summary>> {
        let sql = format!(
            "{SELECT_SUMMARY}
             WHERE session_id = ANY($1) OR (session_id IS NULL AND connection_id = $2::text)
             ORDER BY requests.number DESC LIMIT $3"
        );
        let rows =
            self.query(&sql, &[&filter.sessions, &filter.connection, &signed(filter.limit)])?;
        rows.iter().map(|row| self.read_summary(row)).collect()
    }

    pub(super) fn find_summary(
        &self,
        ref_id: &str,
    ) -> DatabaseResult<Option<(Summary, Option<String>)>> {
        let sql = format!("{SELECT_SUMMARY} WHERE ref_id = $1");
        let row = self.query_first(&sql, &[&ref_id])?;
        row.map(|row| Ok((self.read_summary(&row)?, self.column(&row, 9)?))).transpose()
    }

    fn read_summary(&self, row: &Row) -> DatabaseResult<Summary> {
        let status: Option<String> = self.column(row, 4)?;
        Ok(Summary {
            ref_id: self.column(row, 0)?,
            session_id: self.column(row, 1)?,
            tool: self.column(row, 2)?,
            at: self.number(row, 3)?,
            success: status.map(|status| status == "success"),
            answered_at: self.optional_number(row, 5)?,
            has_snapshot: self.column(row, 6)?,
            console_messages: self.number(row, 7)?,
            console_errors: self.number(row, 8)?,
        })
    }

    pub(super) fn list_console(
        &self,
        scope: &ConsoleScope,
        level: Option<&str>,
        budget: usize,
    ) -> DatabaseResult<NewestMessages> {
        /// Rows of one query. Together, all messages of a session may be too large for memory.
        const PAGE: usize = 500;
        let (condition, id) = match scope {
            ConsoleScope::Record(id) => ("ref_id = $1", id),
            ConsoleScope::Session(id) => (
                "NOT is_repeated AND ref_id IN (SELECT ref_id FROM requests WHERE session_id = $1)",
                id,
            ),
        };
        let matching =
            format!("FROM console_logs WHERE {condition} AND ($2::text IS NULL OR level = $2)");
        let count = self.query(&format!("SELECT count(*) {matching}"), &[id, &level])?;
        let count = count.first().map_or(Ok(0), |row| self.number(row, 0))?;
        let newest = format!(
            "SELECT level, message, timestamp, location, id {matching} AND id < $3
             ORDER BY id DESC LIMIT {PAGE}"
        );
        let (mut before, mut page) = (Some(i64::MAX), Vec::new().into_iter());
        let messages = std::iter::from_fn(|| {
            if page.len() == 0 {
                let rows = match self.query(&newest, &[id, &level, &before?]) {
                    Ok(rows) => rows,
                    Err(error) => {
                        before = None;
                        return Some(Err(error));
                    }
                };
                let last = rows.last().filter(|_| rows.len() == PAGE);
                before = last.and_then(|row| row.try_get(4).ok());
                page = rows.into_iter();
            }
            page.next().map(|row| self.read_message(&row))
        });
        NewestMessages::fitting(usize::try_from(count).unwrap_or(usize::MAX), budget, messages)
    }

    fn read_message(&self, row: &Row) -> DatabaseResult<Message> {
        let location: Option<String> = self.column(row, 3)?;
        Ok(Message::from_columns(
            self.column(row, 0)?,
            self.column(row, 1)?,
            self.number(row, 2)?,
            location.as_deref(),
        ))
    }

    pub(super) fn list_calls(&self, filter: &CallFilter) -> DatabaseResult<Vec<RecordedCall>> {
        let (mut conditions, mut values) =
            (vec!["TRUE".to_owned()], Vec::<Box<dyn ToSql + Sync>>::new());
        if let Some(session) = &filter.session {
            values.push(Box::new(session.clone()));
            conditions.push(format!("session_id = ${}", values.len()));
        }
        if let Some(id) = &filter.id {
            values.push(Box::new(id.clone()));
            conditions.push(format!("ref_id = ${}", values.len()));
        }
        if let Some(before) = filter.before {
            values.push(Box::new(signed(before)));
            conditions.push(format!("requests.number < ${}", values.len()));
        }
        if let Some(text) = &filter.text {
            values.push(Box::new(storable(&text.to_ascii_lowercase()).into_owned()));
            let at = values.len();
            // The collation "C" changes only ASCII letters.
            let contains = |column: &str| {
                format!(r#"position(${at}::text IN lower({column} COLLATE "C")) > 0"#)
            };
            let columns = ["tool_name", "params", "result", "error_message"].map(contains);
            conditions.push(format!("({})", columns.join(" OR ")));
            conditions.push(format!(
                "requests.number > (SELECT max(number) FROM requests) - {SEARCH_LIMIT}"
            ));
        }
        let sql = format!(
            "SELECT requests.number, ref_id, session_id, tool_name, params, requests.timestamp, status,
                    left(result, {MAX_RESULT}), error_message, responses.timestamp,
                    (SELECT least(max(number), {FIRST_PICTURE}) FROM pictures
                     WHERE pictures.ref_id = requests.ref_id)
             FROM requests LEFT JOIN responses USING (ref_id)
             WHERE {} ORDER BY requests.number DESC LIMIT {}",
            conditions.join(" AND "),
            filter.limit
        );
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| &**value).collect();
        self.query(&sql, &values)?.iter().map(|row| self.read_call(row)).collect()
    }

    fn read_call(&self, row: &Row) -> DatabaseResult<RecordedCall> {
        let status: Option<String> = self.column(row, 6)?;
        let end = match status {
            None => None,
            Some(status) => Some(CallEnd {
                success: status == "success",
                result: self.column(row, 7)?,
                error_message: self.column(row, 8)?,
                at: self.number(row, 9)?,
                picture: self.optional_number(row, 10)?,
            }),
        };
        Ok(RecordedCall {
            number: self.number(row, 0)?,
            ref_id: self.column(row, 1)?,
            session_id: self.column(row, 2)?,
            tool: self.column(row, 3)?,
            params: self.column(row, 4)?,
            at: self.number(row, 5)?,
            end,
        })
    }

    pub(super) fn find_cursor(&self, key: &str) -> DatabaseResult<Option<Cursor>> {
        let sql = "SELECT last_snapshot_hash, last_ref_id, cursor_position, last_read
                   FROM diff_cursors WHERE ref_id = $1";
        let Some(row) = self.query_first(sql, &[&key])? else { return Ok(None) };
        Ok(Some(Cursor {
            hash: self.column(&row, 0)?,
            last_ref_id: self.column(&row, 1)?,
            position: usize::try_from(self.number(&row, 2)?).unwrap_or(usize::MAX),
            read_at: self.number(&row, 3)?,
        }))
    }

    pub(super) fn write_cursor(&self, key: &str, cursor: &Cursor) -> DatabaseResult<()> {
        let Cursor { hash, last_ref_id, position, read_at } = cursor;
        let position = i64::try_from(*position).unwrap_or(i64::MAX);
        self.execute(
            "INSERT INTO diff_cursors
                 (ref_id, cursor_position, last_snapshot_hash, last_read, last_ref_id)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (ref_id) DO UPDATE SET
                 cursor_position = excluded.cursor_position,
                 last_snapshot_hash = excluded.last_snapshot_hash,
                 last_read = excluded.last_read, last_ref_id = excluded.last_ref_id",
            &[&key, &position, hash, &signed(*read_at), last_ref_id],
        )?;
        Ok(())
    }

    pub(super) fn write_call(
        &self,
        request: &NewRequest,
        session: Option<&NewSession>,
        server: &str,
    ) -> DatabaseResult<()> {
        let mut holder = self.insert_request(request, server)?;
        let Some(session) = session else { return Ok(()) };
        if holder.is_none() {
            self.insert_open_session(session, server)?;
            holder = self.insert_request(request, server)?;
        }
        match holder {
            Some(holder) => self.require_holder(session, &holder, server),
            None => Ok(()),
        }
    }

    /// Inserts a call. Returns the server of its session, which no other server can take over until
    /// the end of the transaction; `None` if the session is not in the record.
    fn insert_request(
        &self,
        request: &NewRequest,
        server: &str,
    ) -> DatabaseResult<Option<SessionHolder>> {
        let bytes = i64::try_from(request.params.len()).unwrap_or(i64::MAX);
        let holder = self.query_first(
            INSERT_REQUEST,
            &[
                &&*request.ref_id,
                &request.session_id.as_deref(),
                &&*storable(&request.tool),
                &&*storable(&request.params),
                &signed(request.at),
                &server,
                &&*storable(&request.connection_id),
                &bytes,
            ],
        )?;
        holder.map(|row| self.read_holder(&row)).transpose()
    }

    pub(super) fn write_result(
        &self,
        request: &NewRequest,
        answer: &NewAnswer,
        at: u64,
    ) -> DatabaseResult<()> {
        let (mut levels, mut texts, mut times) = (Vec::new(), Vec::new(), Vec::new());
        let (mut locations, mut repeated) = (Vec::new(), Vec::new());
        for (message, is_repeated) in answer.messages() {
            levels.push(message.level.as_str());
            texts.push(storable(&message.text).into_owned());
            times.push(signed(message.at));
            locations.push(message.location().map(|location| location.to_string()));
            repeated.push(is_repeated);
        }
        let (mut numbers, mut types, mut images) = (Vec::new(), Vec::new(), Vec::new());
        for (number, picture) in answer.numbered_pictures() {
            numbers.push(signed(number));
            types.push(picture.mime_type.as_str());
            images.push(picture.data.as_slice());
        }
        let bytes = i64::try_from(request.params.len() + answer.bytes()).unwrap_or(i64::MAX);
        self.execute(
            INSERT_ANSWER,
            &[
                &&*request.ref_id,
                &answer.status(),
                &&*storable(&answer.result),
                &answer.page_snapshot.as_deref().map(storable).as_deref(),
                &answer.messages_as_json(),
                &answer.error_message.as_deref().map(storable).as_deref(),
                &signed(at),
                &answer.content.as_deref().map(storable).as_deref(),
                &answer.test_ids,
                &levels,
                &texts,
                &times,
                &locations,
                &repeated,
                &numbers,
                &types,
                &images,
                &bytes,
                &request.session_id.as_deref(),
            ],
        )?;
        Ok(())
    }
}
