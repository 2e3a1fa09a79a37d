//! The queries for the clients of servers, and for the servers that hold sessions.

use super::{
    servers::IS_RUNNING,
    statements::{PostgresTables, signed, storable},
};
use crate::store::{
    clients::{ClientServer, ServerEndpoint},
    failures::DatabaseResult,
    time::now,
};

/// How long an absent client is kept, in ms. A server detaches it after the same time.
const MAX_AGE: u64 = 24 * 3_600_000;

impl PostgresTables<'_> {
    pub(super) fn find_session_holder(
        &self,
        session: &str,
        own: &str,
    ) -> DatabaseResult<Option<ServerEndpoint>> {
        let sql = format!(
            "SELECT url, secret FROM sessions JOIN servers USING (server_id)
             WHERE session_id = $1 AND state = 'active' AND sessions.server_id <> $2
                 AND url IS NOT NULL AND {IS_RUNNING}"
        );
        let Some(row) = self.query_first(&sql, &[&session, &own])? else { return Ok(None) };
        Ok(Some(ServerEndpoint { url: self.column(&row, 0)?, secret: self.column(&row, 1)? }))
    }

    pub(super) fn has_other_holder(&self, session: &str, own: &str) -> DatabaseResult<bool> {
        let sql = "SELECT server_id <> $2 FROM sessions WHERE session_id = $1";
        let row = self.query_first(sql, &[&session, &own])?;
        row.map_or(Ok(false), |row| self.column(&row, 0))
    }

    pub(super) fn find_client_holder(
        &self,
        client: &str,
        own: &str,
    ) -> DatabaseResult<Option<ClientServer>> {
        let sql = format!(
            "SELECT clients.server_id, url, secret
             FROM clients LEFT JOIN servers
                 ON servers.server_id = clients.server_id AND {IS_RUNNING}
             WHERE client_id = $1"
        );
        let Some(row) = self.query_first(&sql, &[&client])? else { return Ok(None) };
        let server: String = self.column(&row, 0)?;
        if server == own {
            return Ok(Some(ClientServer::Own));
        }
        let (url, secret): (Option<String>, Option<String>) =
            (self.column(&row, 1)?, self.column(&row, 2)?);
        Ok(Some(match url.zip(secret) {
            Some((url, secret)) => ClientServer::Other(ServerEndpoint { url, secret }),
            None => ClientServer::Ended,
        }))
    }

    pub(super) fn take_client(&self, client: &str, own: &str) -> DatabaseResult<Option<String>> {
        let select = "SELECT server_id, state FROM clients WHERE client_id = $1 FOR UPDATE";
        let Some(row) = self.query_first(select, &[&client])? else { return Ok(None) };
        let (holder, state): (String, String) = (self.column(&row, 0)?, self.column(&row, 1)?);
        if holder != own && !self.remove_if_expired(&holder)? {
            return Ok(None);
        }
        self.extend_lease(own)?;
        let claim = "UPDATE clients SET server_id = $2, updated_at = $3 WHERE client_id = $1";
        self.execute(claim, &[&client, &own, &signed(now())])?;
        Ok(Some(state))
    }

    /// Writes the state of a client, unless another server has claimed it.
    pub(super) fn save_client(&self, client: &str, state: &str, own: &str) -> DatabaseResult<()> {
        self.execute(
            "INSERT INTO clients (client_id, server_id, state, updated_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (client_id) DO UPDATE SET
                 state = excluded.state, updated_at = excluded.updated_at
             WHERE clients.server_id = excluded.server_id",
            &[&client, &own, &&*storable(state), &signed(now())],
        )?;
        Ok(())
    }

    pub(super) fn delete_client(&self, client: &str, own: &str) -> DatabaseResult<()> {
        let sql = "DELETE FROM clients WHERE client_id = $1 AND server_id = $2";
        self.execute(sql, &[&client, &own])?;
        Ok(())
    }

    /// Removes the clients of ended servers that did not return.
    pub(super) fn delete_absent_clients(&self) -> DatabaseResult<()> {
        self.execute(
            "DELETE FROM clients
             WHERE updated_at < $1 AND server_id NOT IN (SELECT server_id FROM servers)",
            &[&signed(now().saturating_sub(MAX_AGE))],
        )?;
        Ok(())
    }
}
