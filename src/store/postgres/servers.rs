//! Tracks the servers that share a database. Each has a lease, which its heartbeat extends. All
//! times are those of the database's clock.

use super::statements::PostgresTables;
use crate::store::{failures::DatabaseResult, sessions::STALE_AGE, time::now};

/// The condition for rows of `servers` whose lease has not expired. After a start of the database,
/// each server has the time of one lease for its heartbeat.
pub(super) const IS_RUNNING: &str = "greatest(servers.last_seen, pg_postmaster_start_time()) > clock_timestamp() - interval '3 seconds'";

/// Inserts the row of a server, or extends its lease. Returns when the row was inserted.
pub(super) const HEARTBEAT: &str = "
    INSERT INTO servers (server_id, pid, started_at, last_seen, url, secret)
    VALUES ($1, $2, $3, clock_timestamp(), $4::text, $5)
    ON CONFLICT (server_id) DO UPDATE SET
        last_seen = excluded.last_seen, url = excluded.url, secret = excluded.secret
    RETURNING started_at";

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
        self.delete_absent_clients()?;
        self.end_expired_leases()
    }

    pub(super) fn end_lease(&self, server: &str) -> DatabaseResult<()> {
        self.store_states(&[server.to_owned()])?;
        self.remove(server, "the server ended during the call")
    }

    /// Stores the states of the sessions of servers whose lease has expired, and removes these
    /// servers. A server that extends its lease meanwhile is removed too, and notices it at its
    /// next heartbeat. Locks sessions before servers, as a claim does.
    pub(super) fn end_expired_leases(&self) -> DatabaseResult<()> {
        let expired = format!("SELECT server_id FROM servers WHERE NOT ({IS_RUNNING})");
        let expired = self.query(&expired, &[])?;
        let expired: Vec<String> =
            expired.iter().map(|row| self.column(row, 0)).collect::<DatabaseResult<_>>()?;
        self.store_states(&expired)?;
        for server in &expired {
            self.remove(server, "the server died during the call")?;
        }
        Ok(())
    }

    /// Removes `server` if its lease has expired, and returns whether it has. Otherwise its row
    /// stays locked. The server notices the removal with its next heartbeat.
    pub(super) fn remove_if_expired(&self, server: &str) -> DatabaseResult<bool> {
        self.query("SELECT 1 FROM servers WHERE server_id = $1 FOR UPDATE", &[&server])?;
        let running = format!("SELECT 1 FROM servers WHERE server_id = $1 AND {IS_RUNNING}");
        let is_expired = self.query_first(&running, &[&server])?.is_none();
        if is_expired {
            self.remove(server, "the server died during the call")?;
        }
        Ok(is_expired)
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

    /// Stores the states of the sessions that no server uses, or one of the servers `ended`, as far
    /// as they have changed.
    fn store_states(&self, ended: &[String]) -> DatabaseResult<()> {
        let state = "coalesce(
            (SELECT CASE WHEN saved_at >= $1 THEN 'recoverable' ELSE 'stale' END
             FROM session_snapshots WHERE session_snapshots.session_id = sessions.session_id),
            'closed')";
        let update = format!(
            "UPDATE sessions SET state = {state}
             WHERE state IN ('active', 'recoverable') AND state <> {state}
                 AND (released OR server_id = ANY($2::text[])
                     OR server_id NOT IN (SELECT server_id FROM servers))"
        );
        self.execute(&update, &[&now().saturating_sub(STALE_AGE).cast_signed(), &ended])?;
        Ok(())
    }
}
