//! Deletes calls and sessions: the oldest ones, and those that a user selects. PostgreSQL's
//! autovacuum reclaims the space.

use super::{
    servers::IS_RUNNING,
    statements::{PostgresTables, signed},
};
use crate::{
    config::Retention,
    store::{failures::DatabaseResult, retention::SNAPSHOT_DIVISOR, time::now},
};

/// Maximum number of calls that are deleted at once. It limits how long a write waits.
const SLICE: usize = 10;
/// Maximum number of calls that one transaction of a purge deletes.
const PURGE_SLICE: usize = 100;
/// The key of the lock that one server holds while it deletes the oldest data: `trim`.
const LOCK: i64 = 0x7472_696d;

/// The condition for sessions that have ended, whose server has ended, or that were released.
const HAS_ENDED: &str =
    "(sessions.state <> 'active' OR sessions.server_id NOT IN (SELECT server_id FROM servers))";

/// Deletes the cursors that belong to no call and no session.
const DELETE_CURSORS: &str = "
    DELETE FROM diff_cursors
    WHERE NOT EXISTS (SELECT 1 FROM requests WHERE requests.ref_id = diff_cursors.ref_id)
        AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.session_id = diff_cursors.ref_id)";

/// Returns the condition for sessions that a running server uses.
fn in_use() -> String {
    format!(
        "(sessions.state = 'active' AND EXISTS (
             SELECT 1 FROM servers WHERE servers.server_id = sessions.server_id AND {IS_RUNNING}))"
    )
}

impl PostgresTables<'_> {
    pub(super) fn purge_calls(&self, session: Option<&str>) -> DatabaseResult<usize> {
        let in_use = in_use();
        // A call without a session belongs to its server.
        let deleted = self.execute(
            &format!(
                "DELETE FROM requests WHERE ref_id IN (
                     SELECT requests.ref_id FROM requests LEFT JOIN sessions USING (session_id)
                     WHERE ($1::text IS NULL OR session_id = $1) AND NOT coalesce({in_use}, FALSE)
                         AND NOT (session_id IS NULL AND EXISTS (
                             SELECT 1 FROM servers
                             WHERE servers.server_id = requests.server_id AND {IS_RUNNING}))
                     LIMIT {PURGE_SLICE})"
            ),
            &[&session],
        )?;
        Ok(usize::try_from(deleted).unwrap_or(usize::MAX))
    }

    pub(super) fn purge_sessions(&self, session: Option<&str>) -> DatabaseResult<(usize, usize)> {
        let (selected, in_use) = ("($1::text IS NULL OR session_id = $1)", in_use());
        let delete = format!("DELETE FROM sessions WHERE {selected} AND NOT {in_use}");
        let deleted = self.execute(&delete, &[&session])?;
        self.execute(DELETE_CURSORS, &[])?;
        let count = format!("SELECT count(*) FROM sessions WHERE {selected} AND {in_use}");
        let row = self.query_first(&count, &[&session])?;
        let kept = row.map_or(Ok(0), |row| self.number(&row, 0))?;
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Ok((count(deleted), count(kept)))
    }

    pub(super) fn delete_oldest(&self, retention: Retention) -> DatabaseResult<bool> {
        // Another server may be deleting the same data.
        let lock = self.query_first("SELECT pg_try_advisory_xact_lock($1)", &[&LOCK])?;
        if !lock.map_or(Ok(false), |row| self.column(&row, 0))? {
            return Ok(false);
        }
        let oldest = signed(now().saturating_sub(retention.age));
        let size = "SELECT ((SELECT coalesce(sum(bytes), 0) FROM requests)
                        + (SELECT coalesce(sum(bytes), 0) FROM session_snapshots))::bigint";
        let size = self.query_first(size, &[])?;
        let size = size.map_or(Ok(0), |row| self.number(&row, 0))?;
        let is_too_large = size > retention.bytes;
        let mut deleted = 0;
        if is_too_large {
            deleted = self.delete_oldest_state(retention)?;
        }
        if deleted == 0 {
            deleted = self.execute(
                &format!(
                    "DELETE FROM requests
                     WHERE number IN (SELECT number FROM requests ORDER BY number LIMIT {SLICE})
                         AND ($1::boolean OR timestamp < $2)"
                ),
                &[&is_too_large, &oldest],
            )?;
        }
        // A session is deleted after its last call.
        deleted += self.execute(
            &format!(
                "DELETE FROM sessions WHERE last_activity < $1 AND {HAS_ENDED}
                     AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.session_id = sessions.session_id)"
            ),
            &[&oldest],
        )?;
        if deleted == 0 && is_too_large {
            // No calls are left.
            let oldest = format!(
                "DELETE FROM sessions WHERE session_id IN
                     (SELECT session_id FROM sessions WHERE {HAS_ENDED} ORDER BY last_activity LIMIT {SLICE})"
            );
            deleted = self.execute(&oldest, &[])?;
        }
        if deleted > 0 {
            self.execute(DELETE_CURSORS, &[])?;
        }
        Ok(deleted > 0)
    }

    /// Deletes the oldest saved state of an ended session, if such states use more than their part
    /// of the limit. Returns the number of deleted states.
    fn delete_oldest_state(&self, retention: Retention) -> DatabaseResult<u64> {
        let part = signed(retention.bytes / SNAPSHOT_DIVISOR);
        let oldest = format!(
            "DELETE FROM session_snapshots WHERE session_id =
                 (SELECT session_id FROM session_snapshots JOIN sessions USING (session_id)
                  WHERE {HAS_ENDED} ORDER BY saved_at LIMIT 1)
             AND EXISTS (SELECT 1 FROM requests)
             AND (SELECT coalesce(sum(bytes), 0) > $1::bigint
                  FROM session_snapshots JOIN sessions USING (session_id) WHERE {HAS_ENDED})"
        );
        self.execute(&oldest, &[&part])
    }
}
