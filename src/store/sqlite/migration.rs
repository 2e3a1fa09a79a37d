//! The queries that copy rows.

use rusqlite::{
    Connection, ToSql, params, params_from_iter,
    types::{ToSqlOutput, ValueRef},
};
use serde_json::json;

use crate::store::table_rows::{Cell, ColumnKind, CopiedTable};

pub(super) fn keys_after(
    connection: &Connection,
    table: &CopiedTable,
    last: i64,
    most: usize,
) -> rusqlite::Result<Vec<(i64, String)>> {
    let sql = format!(
        "SELECT rowid, {} FROM {} WHERE rowid > ?1 ORDER BY rowid LIMIT ?2",
        table.key, table.name
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params![last, most], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

pub(super) fn rows_of(
    connection: &Connection,
    table: &CopiedTable,
    keys: &[String],
) -> rusqlite::Result<Vec<Vec<Cell>>> {
    let sql = format!(
        "SELECT {} FROM {} WHERE {key} IN (SELECT value FROM json_each(?1)) ORDER BY {}",
        table.column_names(),
        table.name,
        table.order,
        key = table.key,
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([json!(keys).to_string()], |row| {
        let cells = table.columns.iter().enumerate().map(|(index, (_, kind))| {
            Ok(match (row.get_ref(index)?, kind) {
                (ValueRef::Null, _) => Cell::Null,
                (_, ColumnKind::Text) => Cell::Text(row.get(index)?),
                (_, ColumnKind::Number) => Cell::Number(row.get(index)?),
                (_, ColumnKind::Flag) => Cell::Flag(row.get(index)?),
                (_, ColumnKind::Bytes) => Cell::Bytes(row.get(index)?),
            })
        });
        cells.collect()
    })?;
    rows.collect()
}

pub(super) fn insert_row(
    connection: &Connection,
    table: &CopiedTable,
    row: &[Cell],
) -> rusqlite::Result<bool> {
    let values: Vec<String> = (1..=row.len()).map(|number| format!("?{number}")).collect();
    let sql = format!(
        "INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO NOTHING",
        table.name,
        table.column_names(),
        values.join(", ")
    );
    Ok(connection.prepare_cached(&sql)?.execute(params_from_iter(row))? > 0)
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Number(number) => ValueRef::Integer(*number),
            Self::Flag(flag) => ValueRef::Integer(i64::from(*flag)),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
