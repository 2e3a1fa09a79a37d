//! The tables whose rows a migration copies. Both kinds of databases have these columns.

use ColumnKind::{Bytes, Flag, Number, Text};

/// A table whose rows are copied.
#[derive(Debug, Clone, Copy)]
pub(super) struct CopiedTable {
    pub name: &'static str,
    /// The column with the id of the session or of the call. It is the first of `columns`.
    pub key: &'static str,
    pub columns: &'static [(&'static str, ColumnKind)],
    /// The columns, other than the key, that give the order of the rows of a key.
    pub order: &'static str,
    /// Whether PostgreSQL stores the size of each row with the rows that refer to it.
    pub has_size: bool,
}

impl CopiedTable {
    /// Returns the names of the columns in a statement.
    pub fn column_names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Text,
    Number,
    Flag,
    Bytes,
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Text(String),
    Number(i64),
    Flag(bool),
    Bytes(Vec<u8>),
}

impl Cell {
    pub fn bytes(&self) -> usize {
        match self {
            Self::Null | Self::Flag(_) => 1,
            Self::Number(_) => 8,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// Returns the text, or an empty one for other values.
    pub fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }
}

const CURSORS: CopiedTable = CopiedTable {
    name: "diff_cursors",
    key: "ref_id",
    columns: &[
        ("ref_id", Text),
        ("cursor_position", Number),
        ("last_snapshot_hash", Text),
        ("last_read", Number),
        ("last_ref_id", Text),
    ],
    order: "last_read",
    has_size: false,
};

/// The tables of sessions. The others refer to the first one.
pub(super) const OF_SESSIONS: &[CopiedTable] = &[
    CopiedTable {
        name: "sessions",
        key: "session_id",
        columns: &[
            ("session_id", Text),
            ("created_at", Number),
            ("last_activity", Number),
            ("state", Text),
            ("metadata", Text),
            ("server_id", Text),
        ],
        order: "created_at",
        has_size: false,
    },
    CopiedTable {
        name: "session_snapshots",
        key: "session_id",
        columns: &[("session_id", Text), ("saved_at", Number), ("state", Text)],
        order: "saved_at",
        has_size: true,
    },
    CopiedTable {
        name: "session_origins",
        key: "session_id",
        columns: &[("session_id", Text), ("origin", Text), ("hash", Text), ("storage", Text)],
        order: "origin",
        has_size: false,
    },
    CURSORS,
];

/// The tables of calls.
pub(super) const OF_CALLS: &[CopiedTable] = &[
    CopiedTable {
        name: "requests",
        key: "ref_id",
        columns: &[
            ("ref_id", Text),
            ("session_id", Text),
            ("tool_name", Text),
            ("params", Text),
            ("timestamp", Number),
            ("server_id", Text),
            ("connection_id", Text),
        ],
        order: "timestamp",
        has_size: true,
    },
    CopiedTable {
        name: "responses",
        key: "ref_id",
        columns: &[
            ("ref_id", Text),
            ("status", Text),
            ("result", Text),
            ("page_snapshot", Text),
            ("console_logs", Text),
            ("error_message", Text),
            ("timestamp", Number),
            ("content", Text),
            ("test_ids", Text),
        ],
        order: "timestamp",
        has_size: false,
    },
    CopiedTable {
        name: "console_logs",
        key: "ref_id",
        columns: &[
            ("ref_id", Text),
            ("level", Text),
            ("message", Text),
            ("timestamp", Number),
            ("location", Text),
            ("is_repeated", Flag),
        ],
        order: "id",
        has_size: false,
    },
    CopiedTable {
        name: "pictures",
        key: "ref_id",
        columns: &[("ref_id", Text), ("number", Number), ("mime_type", Text), ("data", Bytes)],
        order: "number",
        has_size: false,
    },
    CURSORS,
];
