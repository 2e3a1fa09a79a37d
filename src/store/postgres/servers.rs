//! Tracks the servers that share a database. Each has a lease, which its heartbeat extends. All
//! times are those of the database's clock.

use super::statements::PostgresTables;
use crate::store::{failures::DatabaseResult, sessions::STALE_AGE, time::now};

/// The condition for rows of `servers` whose lease has not expired. After a start of the database,
/// each server has the time of one lease for its heartbeat.
pub(super) const IS_RUNNING: &str = "greatest(servers.last_seen, pg_postmaster_start_time()) > clock_timestamp() - interval '3 seconds'";

/// Inserts the row of a server, or extends its lease. Returns whether the row, or its URL, was
/// missing.
pub(super) const HEARTBEAT: &str = "
    WITH former AS (SELECT url FROM servers WHERE server_id = $1)
    INSERT INTO servers (server_id, pid, started_at, last_seen, url, secret)
    VALUES ($1, $2, $3, clock_timestamp(), $4::text, $5)
    ON CONFLICT (server_id) DO UPDATE SET
        last_seen = excluded.last_seen, url = excluded.url, secret = excluded.secret
    RETURNING NOT EXISTS (SELECT 1 FROM former WHERE url IS NOT DISTINCT FROM $4::text)";

/// Like `HEARTBEAT`. The next heartbeat adds the URL to a new row.
const EXTENSION: &str = "
    INSERT INTO servers (server_id, pid, started_at, last_seen)
    VALUES ($1, $2, $3, clock_timestamp())
    ON CONFLICT (server_id) DO UPDATE SET last_seen = excluded.last_seen";

impl PostgresTables<'_> {
    pub(super) fn extend_lease(&self, server: &str) -> DatabaseResult<()> {
        let pid = i64::from(std::process::id());
        self.execute(EXTENSION, &[&server, &pid, &now().cast_signed()])?;
        Ok(())
    }

    pub(super) fn begin_lease(&self, server: &str) -> DatabaseResult<()> {
        self.extend_lease(server)?;
        self.remove_ended_servers()?;
        self.delete_absent_clients()?;
        self.store_states()
    }

    pub(super) fn end_lease(&self, server: &str) -> DatabaseResult<()> {
        self.remove(server, "the server ended during the call")?;
        self.store_states()
    }

    /// Removes the servers whose lease has expired.
    pub(super) fn remove_ended_servers(&self) -> DatabaseResult<()> {
        let expired = format!("SELECT server_id FROM servers WHERE NOT ({IS_RUNNING}) FOR UPDATE");
        for row in self.query(&expired, &[])? {
            let server: String = self.column(&row, 0)?;
            self.remove(&server, "the server died during the call")?;
        }
        Ok(())
    }

    /// Removes `server`. Records the error `why` for its calls without a result.
    fn remove(&self, server: &str, why: &str) -> DatabaseResult<()> {
        self.execute(
            "INSERT INTO responses (ref_id, status, error_message, timestamp)
             SELECT ref_id, 'error', $2::text, $3::bigint FROM requests
             WHERE server_id = $1
                 AND NOT EXISTS (SELECT 1 FROM responses WHERE responses.ref_id = requests.ref_id)
             ON CONFLICT DO NOTHING",
            &[&server, &why, &now().cast_signed()],
        )?;
        self.execute("DELETE FROM servers WHERE server_id = $1", &[&server])?;
        Ok(())
    }

    pub(super) fn store_states(&self) -> DatabaseResult<()> {
        self.execute(
            "UPDATE sessions SET state = coalesce(
                 (SELECT CASE WHEN saved_at >= $1 THEN 'recoverable' ELSE 'stale' END
                  FROM session_snapshots WHERE session_snapshots.session_id = sessions.session_id),
                 'closed')
             WHERE state IN ('active', 'recoverable')
                 AND (released OR server_id NOT IN (SELECT server_id FROM servers))",
            &[&now().saturating_sub(STALE_AGE).cast_signed()],
        )?;
        Ok(())
    }
}
