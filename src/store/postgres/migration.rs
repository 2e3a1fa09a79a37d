//! The queries that copy rows.

use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};

use super::statements::{PostgresTables, storable};
use crate::store::{
    failures::DatabaseResult,
    table_rows::{Cell, ColumnKind, CopiedTable},
};

impl PostgresTables<'_> {
    pub(super) fn list_keys(
        &self,
        table: &CopiedTable,
        last: i64,
        most: usize,
    ) -> DatabaseResult<Vec<(i64, String)>> {
        let sql = format!(
            "SELECT number, {} FROM {} WHERE number > $1 ORDER BY number LIMIT $2",
            table.key, table.name
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.query(&sql, &[&last, &most])?;
        rows.iter().map(|row| Ok((self.column(row, 0)?, self.column(row, 1)?))).collect()
    }

    pub(super) fn list_rows(
        &self,
        table: &CopiedTable,
        keys: &[String],
    ) -> DatabaseResult<Vec<Vec<Cell>>> {
        let sql = format!(
            "SELECT {} FROM {} WHERE {} = ANY($1) ORDER BY {}",
            table.column_names(),
            table.name,
            table.key,
            table.order
        );
        let mut list = Vec::new();
        for row in self.query(&sql, &[&keys])? {
            let cells = table.columns.iter().enumerate().map(|(index, (_, kind))| {
                Ok(match kind {
                    ColumnKind::Text => self.column::<Option<_>>(&row, index)?.map(Cell::Text),
                    ColumnKind::Number => self.column::<Option<_>>(&row, index)?.map(Cell::Number),
                    ColumnKind::Flag => self.column::<Option<_>>(&row, index)?.map(Cell::Flag),
                    ColumnKind::Bytes => self.column::<Option<_>>(&row, index)?.map(Cell::Bytes),
                }
                .unwrap_or(Cell::Null))
            });
            list.push(cells.collect::<DatabaseResult<_>>()?);
        }
        Ok(list)
    }

    pub(super) fn insert_missing(
        &self,
        table: &CopiedTable,
        row: &[Cell],
        size: usize,
    ) -> DatabaseResult<bool> {
        let size = Cell::Number(i64::try_from(size).unwrap_or(i64::MAX));
        let cells: Vec<&Cell> = row.iter().chain(table.has_size.then_some(&size)).collect();
        let values: Vec<String> = (1..=cells.len()).map(|number| format!("${number}")).collect();
        let sql = format!(
            "INSERT INTO {} ({}{}) VALUES ({}) ON CONFLICT DO NOTHING",
            table.name,
            table.column_names(),
            if table.has_size { ", bytes" } else { "" },
            values.join(", ")
        );
        let parameters: Vec<&(dyn ToSql + Sync)> =
            cells.iter().map(|cell| *cell as &(dyn ToSql + Sync)).collect();
        Ok(self.execute(&sql, &parameters)? > 0)
    }
}

impl ToSql for Cell {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Text(text) => storable(text).to_sql(kind, out),
            Self::Number(number) => number.to_sql(kind, out),
            Self::Flag(flag) => flag.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
