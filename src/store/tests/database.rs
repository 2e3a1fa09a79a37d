//! The databases of the tests.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::json;

use super::{super::*, postgres::Postgres};

/// A database that is removed after the test.
pub struct TestDatabase {
    folder: PathBuf,
    postgres: Option<Postgres>,
}

impl TestDatabase {
    /// An SQLite file.
    pub fn file() -> Self {
        Self { folder: new_folder(), postgres: None }
    }

    /// A PostgreSQL server with an empty database.
    #[cfg(target_os = "linux")]
    pub fn postgres() -> Self {
        let folder = new_folder();
        let postgres = Postgres::create(&folder);
        Self { folder, postgres: Some(postgres) }
    }

    /// Whether it is an SQLite file.
    pub fn is_file(&self) -> bool {
        self.postgres.is_none()
    }

    /// The folder of the file.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        self.folder.join("record.db")
    }

    #[cfg(target_os = "linux")]
    pub fn server(&self) -> &Postgres {
        self.postgres.as_ref().unwrap()
    }

    pub fn config(&self) -> Config {
        let Some(postgres) = &self.postgres else {
            let store = Some(self.path().display().to_string());
            return Config { store, ..Config::default() };
        };
        // On a busy machine, many calls may wait for longer than by default.
        let store_timeout = Some(Duration::from_secs(60));
        Config { store: Some(postgres.url()), store_timeout, ..Config::default() }
    }

    pub fn open(&self) -> Store {
        Store::open(&self.config()).unwrap()
    }

    /// Runs a statement as another program would. Returns its rows.
    pub async fn sql(&self, sql: &str) -> Vec<Vec<String>> {
        if let Some(postgres) = &self.postgres {
            return postgres.sql(sql).await;
        }
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        let mut statement = connection.prepare(sql).unwrap();
        let columns = statement.column_count();
        if columns == 0 {
            statement.execute([]).unwrap();
            return Vec::new();
        }
        let row = |row: &rusqlite::Row<'_>| (0..columns).map(|at| row.get(at)).collect();
        statement.query_map([], row).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    /// Simulates SIGKILL of the server of `store`: it leaves its row in the record.
    pub async fn kill(&self, store: &Store) {
        let server = store.server_id();
        match &store.0.presence {
            ServerPresence::None => {}
            ServerPresence::Lock(lock) => {
                let file = self.folder.join("record.db-servers").join(server);
                lock.release();
                std::fs::write(file, "").unwrap();
            }
            ServerPresence::Heartbeat(heartbeat) => {
                heartbeat.stop().await;
                let expire = "UPDATE servers SET last_seen = to_timestamp(0) WHERE server_id =";
                self.sql(&format!("{expire} '{server}'")).await;
                // Every lease lasts 3 seconds from the start of the database.
                self.sql(
                    "SELECT pg_sleep(greatest(0, 3.1 - extract(epoch FROM
                         clock_timestamp() - pg_postmaster_start_time())))::text",
                )
                .await;
            }
        }
    }

    /// The size of the data in bytes.
    pub async fn size(&self) -> u64 {
        if self.postgres.is_some() {
            let sum = "SELECT ((SELECT coalesce(sum(bytes), 0) FROM requests)
                           + (SELECT coalesce(sum(bytes), 0) FROM session_snapshots))::text";
            return self.sql(sum).await[0][0].parse().unwrap();
        }
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        std::fs::metadata(self.path()).unwrap().len()
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        drop(self.postgres.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn new_folder() -> PathBuf {
    let path = std::env::temp_dir().join(format!("troupe-store-{}", uuid::Uuid::new_v4()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

pub fn session(id: &str) -> NewSession {
    NewSession {
        id: id.into(),
        created_at: now(),
        metadata: json!({"user": "me", "workingFolder": "/home/me"}).to_string(),
    }
}

pub fn request(ref_id: &str, session: Option<&str>) -> Arc<NewRequest> {
    Arc::new(NewRequest {
        ref_id: ref_id.into(),
        session_id: session.map(Into::into),
        connection_id: "c".into(),
        tool: "browser_tool".into(),
        params: "{}".into(),
        at: now(),
    })
}

pub fn page(text: &str) -> NewAnswer {
    NewAnswer {
        result: json!({"content": [{"type": "text", "text": "done"}]}).to_string(),
        page_snapshot: Some(text.into()),
        ..NewAnswer::default()
    }
}

pub async fn record(store: &Store, ref_id: &str, session: Option<&str>, answer: NewAnswer) {
    store.request(request(ref_id, session)).await.unwrap();
    store.answer(request(ref_id, session), answer).await.unwrap();
}

pub async fn state(store: &Store, id: &str) -> Option<SessionState> {
    store.find_session(id).await.unwrap().map(|row| row.state)
}

/// Claims a session. Returns whether `store` has it.
pub async fn claims(store: &Store, id: &str) -> bool {
    store.claim_session(id, None).await.unwrap() == Reservation::Reserved
}
