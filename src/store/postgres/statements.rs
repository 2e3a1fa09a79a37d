//! Runs statements on one connection.

use std::{borrow::Cow, cell::Cell};

use deadpool_postgres::Object;
use futures_util::future;
use tokio_postgres::{
    Row, Statement,
    types::{FromSql, ToSql},
};

use super::connections::{Connections, database_error};
use crate::store::failures::{DatabaseError, DatabaseResult, FailureKind};

/// The parameters of a statement.
pub(super) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Begins a transaction. The database ends it when this server is frozen or cut off during it.
/// Its locks would otherwise block the other servers. The time is that of a lease.
const BEGIN: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '3s'";

/// The tables, on one connection.
pub(super) struct PostgresTables<'a> {
    connections: &'a Connections,
    client: &'a Object,
    /// Whether `BEGIN` is still to be sent. It is sent together with the first statement.
    begins: Cell<bool>,
}

impl<'a> PostgresTables<'a> {
    /// Runs each statement on its own.
    pub fn new(connections: &'a Connections, client: &'a Object) -> Self {
        Self { connections, client, begins: Cell::new(false) }
    }

    /// Runs all statements in one transaction.
    pub fn in_transaction(connections: &'a Connections, client: &'a Object) -> Self {
        Self { begins: Cell::new(true), ..Self::new(connections, client) }
    }

    /// Commits the transaction.
    pub fn commit(&self) -> DatabaseResult<()> {
        if self.begins.get() {
            return Ok(());
        }
        self.batch("COMMIT")
    }

    /// Rolls the transaction back.
    pub fn roll_back(&self) -> DatabaseResult<()> {
        if self.begins.get() {
            return Ok(());
        }
        self.batch("ROLLBACK")
    }

    fn batch(&self, sql: &str) -> DatabaseResult<()> {
        let run = async { self.client.batch_execute(sql).await };
        self.connections.wait(async { run.await.map_err(|error| database_error(&error)) })
    }

    /// Sends `BEGIN` if it is still to be sent.
    async fn begin(&self) -> Result<(), tokio_postgres::Error> {
        match self.begins.replace(false) {
            true => self.client.batch_execute(BEGIN).await,
            false => Ok(()),
        }
    }

    /// Runs a statement. Returns the number of changed rows.
    pub fn execute(&self, sql: &str, parameters: Parameters<'_>) -> DatabaseResult<u64> {
        self.run(sql, async |statement| self.client.execute(&statement, parameters).await)
    }

    /// Runs a query.
    pub fn query(&self, sql: &str, parameters: Parameters<'_>) -> DatabaseResult<Vec<Row>> {
        self.run(sql, async |statement| self.client.query(&statement, parameters).await)
    }

    /// Prepares the statement `sql` and runs it with `send`.
    fn run<T>(
        &self,
        sql: &str,
        send: impl AsyncFnOnce(Statement) -> Result<T, tokio_postgres::Error>,
    ) -> DatabaseResult<T> {
        self.connections.wait(async {
            let run = async {
                let statement = self.client.prepare_cached(sql).await?;
                let ((), result) = future::try_join(self.begin(), send(statement)).await?;
                Ok(result)
            };
            run.await.map_err(|error| database_error(&error))
        })
    }

    /// Runs a query. Returns its first row.
    pub fn query_first(
        &self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> DatabaseResult<Option<Row>> {
        Ok(self.query(sql, parameters)?.into_iter().next())
    }

    /// Returns the value of a column.
    pub fn column<'row, T: FromSql<'row>>(
        &self,
        row: &'row Row,
        index: usize,
    ) -> DatabaseResult<T> {
        row.try_get(index)
            .map_err(|error| DatabaseError { kind: FailureKind::Other, message: error.to_string() })
    }

    /// Returns a count or a time.
    pub fn number(&self, row: &Row, index: usize) -> DatabaseResult<u64> {
        Ok(u64::try_from(self.column::<i64>(row, index)?).unwrap_or(0))
    }

    /// Returns a count or a time that can be missing.
    pub fn optional_number(&self, row: &Row, index: usize) -> DatabaseResult<Option<u64>> {
        let number: Option<i64> = self.column(row, index)?;
        Ok(number.map(|number| u64::try_from(number).unwrap_or(0)))
    }
}

/// Converts a number for a `BIGINT`.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Replaces U+0000, which PostgreSQL cannot store in a text, as HTML parsers do.
pub(super) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}").into() } else { text.into() }
}
