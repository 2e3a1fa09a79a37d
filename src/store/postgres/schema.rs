//! Creates the tables in a PostgreSQL database and migrates them.

use tokio_postgres::{Client, Error};

/// The migrations of the tables. `troupe_schema` counts those that were applied. Times are
/// milliseconds since 1970, except `servers.last_seen`, which uses the clock of the database.
/// JSON is text, because `json` columns reject U+0000 and `jsonb` changes the order of keys.
const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE servers (
    server_id TEXT PRIMARY KEY,
    pid BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    last_seen TIMESTAMPTZ NOT NULL
);
CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,
    created_at BIGINT NOT NULL,
    last_activity BIGINT NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('active', 'closed', 'expired', 'error', 'recoverable', 'stale')),
    metadata TEXT NOT NULL,
    server_id TEXT NOT NULL,
    -- The order of the sessions.
    number BIGINT GENERATED ALWAYS AS IDENTITY
);
CREATE TABLE session_snapshots (
    session_id TEXT PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
    saved_at BIGINT NOT NULL,
    state TEXT NOT NULL,
    -- The size of the state and of the storage of all origins.
    bytes BIGINT NOT NULL
);
CREATE TABLE session_origins (
    session_id TEXT NOT NULL REFERENCES session_snapshots ON DELETE CASCADE,
    origin TEXT NOT NULL,
    hash TEXT NOT NULL,
    storage TEXT NOT NULL,
    PRIMARY KEY (session_id, origin)
);
CREATE TABLE requests (
    ref_id TEXT PRIMARY KEY,
    session_id TEXT REFERENCES sessions ON DELETE CASCADE,
    tool_name TEXT NOT NULL,
    params TEXT NOT NULL,
    timestamp BIGINT NOT NULL,
    server_id TEXT NOT NULL,
    connection_id TEXT NOT NULL,
    -- The order of the calls.
    number BIGINT GENERATED ALWAYS AS IDENTITY,
    -- The size of the call and its result.
    bytes BIGINT NOT NULL
);
CREATE UNIQUE INDEX requests_by_number ON requests (number);
CREATE INDEX requests_of_session ON requests (session_id, number);
CREATE INDEX requests_of_server ON requests (server_id);
CREATE TABLE responses (
    ref_id TEXT PRIMARY KEY REFERENCES requests ON DELETE CASCADE,
    status TEXT NOT NULL CHECK (status IN ('success', 'error')),
    result TEXT,
    page_snapshot TEXT,
    console_logs TEXT,
    error_message TEXT,
    timestamp BIGINT NOT NULL,
    -- The complete text that was too long for one result.
    content TEXT,
    -- The test ids of the elements that the call acted on, by their refs.
    test_ids TEXT
);
CREATE TABLE console_logs (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ref_id TEXT NOT NULL REFERENCES responses ON DELETE CASCADE,
    level TEXT NOT NULL CHECK (level IN ('debug', 'info', 'warn', 'error')),
    message TEXT NOT NULL,
    timestamp BIGINT NOT NULL,
    location TEXT,
    -- True if an earlier call of the session has the same message.
    is_repeated BOOLEAN NOT NULL
);
CREATE INDEX console_logs_of_response ON console_logs (ref_id);
CREATE TABLE pictures (
    ref_id TEXT NOT NULL REFERENCES responses ON DELETE CASCADE,
    number BIGINT NOT NULL,
    mime_type TEXT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (ref_id, number)
);
-- The cursors of records. With a session's id as `ref_id`, the cursor of all its records.
CREATE TABLE diff_cursors (
    ref_id TEXT PRIMARY KEY,
    cursor_position BIGINT NOT NULL,
    last_snapshot_hash TEXT NOT NULL,
    last_read BIGINT NOT NULL,
    -- The record whose content was read.
    last_ref_id TEXT NOT NULL
);
",
    "
-- Where other servers reach this one, and what proves that they share the record.
ALTER TABLE servers ADD COLUMN url TEXT, ADD COLUMN secret TEXT;
-- The clients of HTTP servers. Their state is JSON.
CREATE TABLE clients (
    client_id TEXT PRIMARY KEY,
    server_id TEXT NOT NULL,
    state TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);
",
    "
-- Whether the last server of a session has released it. It keeps the id of that server.
ALTER TABLE sessions ADD COLUMN released BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE sessions SET released = TRUE WHERE server_id = '';
-- For the number of open sessions.
CREATE INDEX open_sessions ON sessions (server_id) WHERE state = 'active';
",
];

/// The key of the lock that keeps two servers from migrating at the same time: `troupe`.
const LOCK: i64 = 0x7472_6f75_7065;

/// Creates the tables, or applies the missing migrations. Returns the version that was found if it
/// is newer than that of this program.
pub(super) async fn migrate(client: &mut Client) -> Result<Option<usize>, Error> {
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let exists = "SELECT to_regclass('troupe_schema') IS NOT NULL";
    if !transaction.query_one(exists, &[]).await?.try_get::<_, bool>(0)? {
        let create = "CREATE TABLE troupe_schema (version BIGINT NOT NULL);
                      INSERT INTO troupe_schema VALUES (0)";
        transaction.batch_execute(create).await?;
    }
    let version = "SELECT version FROM troupe_schema";
    let version: i64 = transaction.query_one(version, &[]).await?.try_get(0)?;
    let applied = usize::try_from(version).unwrap_or(0);
    if applied > MIGRATIONS.len() {
        return Ok(Some(applied));
    }
    if applied == MIGRATIONS.len() {
        return Ok(None);
    }
    for migration in &MIGRATIONS[applied..] {
        transaction.batch_execute(migration).await?;
    }
    let version = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    transaction.execute("UPDATE troupe_schema SET version = $1", &[&version]).await?;
    transaction.commit().await?;
    Ok(None)
}

/// The version of the tables of this program.
pub(super) const VERSION: usize = MIGRATIONS.len();
