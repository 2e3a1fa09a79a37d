//! Opens sessions in the record, at most as many as all servers together may have.

use super::{
    Store,
    failures::{DatabaseResult, FailureKind},
    not_changed,
    sessions::NewSession,
    tables::RecordTables,
};
use crate::error::Result;

/// The result of an attempt to open a session in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reservation {
    /// The session belongs to this server.
    Reserved,
    /// Another running server uses the session, or it is closed.
    NotClaimable,
    /// All servers together have as many open sessions as allowed.
    LimitReached,
}

impl Store {
    /// Writes a session that begins, unless all servers together have `limit` open sessions. With
    /// `--store-failure continue`, the number is not checked while the record is unavailable.
    ///
    /// If the future is dropped or fails, the session may still be written: record its end.
    pub async fn reserve_session(&self, session: NewSession, limit: usize) -> Result<Reservation> {
        let writer = &self.0.writer;
        if !writer.refuses() && writer.failure().is_some() {
            return Ok(Reservation::Reserved);
        }
        let server = self.0.server.clone();
        let reserved = self.ask_writer(writer.timeout(), move |tables| {
            if !has_free_session(tables, limit, &server, None)? {
                return Ok(Reservation::LimitReached);
            }
            tables.begin_session(&session, &server)?;
            Ok(Reservation::Reserved)
        });
        match reserved.await {
            Err(error) if error.kind == FailureKind::Unavailable && !writer.refuses() => {
                Ok(Reservation::Reserved)
            }
            reserved => reserved.map_err(|error| not_changed(&error)),
        }
    }

    /// Claims a session that no running server uses, unless all servers together have `limit` other
    /// open sessions.
    ///
    /// If the future is dropped or fails, the session may still be claimed: record its end.
    pub async fn claim_session(&self, id: &str, limit: Option<usize>) -> Result<Reservation> {
        let (id, server) = (id.to_owned(), self.0.server.clone());
        self.change(move |tables| {
            if let Some(limit) = limit
                && !has_free_session(tables, limit, &server, Some(&id))?
            {
                return Ok(Reservation::LimitReached);
            }
            Ok(match tables.claim_session(&id, &server)? {
                true => Reservation::Reserved,
                false => Reservation::NotClaimable,
            })
        })
        .await
    }

    /// Returns the number of open sessions of all running servers.
    pub async fn count_open_sessions(&self) -> Result<usize> {
        let server = self.0.server.clone();
        self.read(move |tables| tables.count_open_sessions(&server, None)).await
    }
}

/// Returns whether all running servers together have fewer than `limit` open sessions, without
/// `except`. This does not change until the end of the transaction.
fn has_free_session(
    tables: &dyn RecordTables,
    limit: usize,
    server: &str,
    except: Option<&str>,
) -> DatabaseResult<bool> {
    tables.lock_session_count()?;
    Ok(tables.count_open_sessions(server, except)? < limit)
}
