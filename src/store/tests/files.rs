//! Tests of records in files and in memory.

use rusqlite::Connection;
use serde_json::json;

use super::{
    super::*,
    database::{TestDatabase, claims, page, record, request, session, state},
    shared::saved,
};

#[tokio::test]
async fn only_the_user_can_access_the_file_and_it_is_created_once() {
    let folder = TestDatabase::file();
    let store = folder.open();
    record(&store, "r", None, page("a")).await;
    #[cfg(unix)]
    for name in ["record.db", "record.db-wal"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(folder.folder().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    store.close().await;
    assert!(folder.open().record("r").await.unwrap().unwrap().answer.unwrap().success);
}

#[test]
fn servers_that_start_at_the_same_time_all_open_a_new_file() {
    for _ in 0..50 {
        let folder = TestDatabase::file();
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    start.wait();
                    drop(sqlite::open(&folder.path()).unwrap());
                });
            }
        });
    }
}

#[tokio::test]
async fn a_newer_file_is_rejected_and_not_changed() {
    let folder = TestDatabase::file();
    drop(folder.open());
    let raw = Connection::open(folder.path()).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    raw.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(raw);
    let before = std::fs::read(folder.path()).unwrap();
    let error = Store::open(&folder.config()).err().unwrap();
    assert!(error.message.contains("newer version"), "{error}");
    assert_eq!(std::fs::read(folder.path()).unwrap(), before);
}

#[tokio::test]
async fn a_file_that_is_not_a_record_is_rejected_and_moved_only_on_request() {
    let folder = TestDatabase::file();
    for content in [vec![b'x'; 5000], b"SQLite format 3\0 and then nonsense".repeat(200)] {
        std::fs::write(folder.path(), &content).unwrap();
        let error = Store::open(&folder.config()).err().unwrap();
        assert!(error.message.contains("damaged"), "{error}");
        assert!(error.suggestion.unwrap().contains("--store PATH"));
        assert_eq!(std::fs::read(folder.path()).unwrap(), content);
        let aside = set_aside(&folder.path()).unwrap();
        assert_eq!(std::fs::read(aside).unwrap(), content);
    }
    let other = Connection::open(folder.path()).unwrap();
    other.execute_batch("CREATE TABLE recipes (name)").unwrap();
    assert!(Store::open(&folder.config()).err().unwrap().message.contains("another program"));
}

#[tokio::test]
async fn without_a_writable_file_the_record_is_kept_in_memory() {
    let config = Config { store: Some("/proc/no/such/place.db".to_owned()), ..Config::default() };
    let store = Store::open(&config).unwrap();
    assert_eq!(store.path(), None);
    record(&store, "r", None, page("a")).await;
    assert_eq!(store.record("r").await.unwrap().unwrap().content(), "a");
}

#[tokio::test]
async fn a_locked_file_delays_no_call_and_is_written_when_it_is_unlocked() {
    let folder = TestDatabase::file();
    let store = folder.open();
    store.flush().await;
    let other = Connection::open(folder.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = std::time::Instant::now();
    for number in 0..20 {
        record(&store, &number.to_string(), None, page("a")).await;
    }
    assert!(started.elapsed().as_millis() < 1500, "{:?}", started.elapsed());
    other.execute_batch("ROLLBACK").unwrap();
    store.flush().await;
    assert_eq!(store.record("19").await.unwrap().unwrap().content(), "a");
}

#[tokio::test]
async fn a_server_whose_row_could_not_be_written_at_its_start_still_has_its_sessions_and_calls() {
    let folder = TestDatabase::file();
    let store = folder.open();
    store.record_session_begin(session("former"));
    store.record_session_end("former", SessionState::Expired);
    store.flush().await;
    let raw = Connection::open(folder.path()).unwrap();
    let delete_server_row = || raw.execute("DELETE FROM servers", []).unwrap();
    let stored = |id: &str| -> String {
        raw.query_row("SELECT state FROM sessions WHERE session_id = ?1", [id], |row| row.get(0))
            .unwrap()
    };
    delete_server_row();
    store.record_session_begin(session("new"));
    store.flush().await;
    folder.open().close().await;
    assert_eq!(stored("new"), "active");
    delete_server_row();
    record(&store, "r", Some("new"), page("a")).await;
    store.flush().await;
    folder.open().close().await;
    assert_eq!(stored("new"), "active");
    delete_server_row();
    assert!(claims(&store, "former").await);
    folder.open().close().await;
    assert_eq!(stored("former"), "active");
    delete_server_row();
    store.request(request("running", None)).await.unwrap();
    store.flush().await;
    // Keeps the folder of the locks.
    let _other = folder.open();
    folder.kill(&store).await;
    let next = folder.open();
    next.flush().await;
    let answer = next.record("running").await.unwrap().unwrap().answer.unwrap();
    assert_eq!(answer.error_message.unwrap(), "the server died during the call");
}

/// Creates a table whose references to calls are checked at the commit, then runs `more`.
async fn check_references_at_commit(store: &Store, more: &'static str) {
    let changed = store.ask_writer(FLUSH_TIMEOUT, move |tables| {
        let connection = tables.connection().unwrap();
        connection.execute_batch(
            "CREATE TABLE refers (ref_id TEXT REFERENCES requests (ref_id) DEFERRABLE INITIALLY DEFERRED)",
        )?;
        Ok(connection.execute_batch(more)?)
    });
    changed.await.unwrap();
}

#[tokio::test]
async fn a_purge_that_cannot_be_committed_fails() {
    let folder = TestDatabase::file();
    let store = folder.open();
    store.record_session_begin(session("s"));
    record(&store, "r", Some("s"), page("a")).await;
    store.record_session_end("s", SessionState::Expired);
    store.flush().await;
    check_references_at_commit(&store, "INSERT INTO refers VALUES ('r')").await;
    let error = store.purge(Some("s")).await.unwrap_err();
    assert!(error.message.contains("was not committed"), "{}", error.message);
    assert!(store.record("r").await.unwrap().is_some());
}

#[tokio::test]
async fn a_claim_of_a_session_that_cannot_be_committed_fails() {
    let folder = TestDatabase::file();
    let store = folder.open();
    store.record_session_begin(session("s"));
    store.record_session_end("s", SessionState::Expired);
    store.flush().await;
    let trigger = "CREATE TRIGGER refer AFTER UPDATE ON sessions BEGIN INSERT INTO refers VALUES ('missing'); END";
    check_references_at_commit(&store, trigger).await;
    let error = store.claim_session("s", None).await.unwrap_err();
    assert!(error.message.contains("was not committed"), "{}", error.message);
    assert_eq!(state(&store, "s").await, Some(SessionState::Expired));
}

/// Lets the file grow by this many pages from now on, and no further.
async fn allow_pages(store: &Store, more: i64) {
    let allowed = store.ask_writer(FLUSH_TIMEOUT, move |tables| {
        let connection = tables.connection().unwrap();
        let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        Ok(connection.pragma_update(None, "max_page_count", pages + more)?)
    });
    allowed.await.unwrap();
}

#[tokio::test]
async fn a_session_that_begins_while_the_disk_is_full_is_recorded_when_there_is_space() {
    let folder = TestDatabase::file();
    let store = folder.open();
    store.flush().await;
    allow_pages(&store, 0).await;
    store.record_session_begin(NewSession {
        metadata: json!({"long": "x".repeat(50_000)}).to_string(),
        ..session("s")
    });
    store.save_state("s", saved(&"x".repeat(50_000), &[]));
    store.flush().await;
    assert_eq!(state(&store, "s").await, None, "the disk is full");
    allow_pages(&store, 1_000_000).await;
    record(&store, "r", Some("s"), page("a")).await;
    // On a busy machine, a call does not wait until its record is written.
    store.flush().await;
    assert_eq!(store.record("r").await.unwrap().unwrap().session_id.as_deref(), Some("s"));
    // It is written with the first call after the back-off.
    let started = std::time::Instant::now();
    let saved = async || store.sessions(SessionFilter::default()).await.unwrap()[0].saved_at;
    while saved().await.is_none() {
        store.request(request("r", Some("s"))).await.unwrap();
        assert!(started.elapsed().as_secs() < 20, "the state is not saved again");
    }
    assert_eq!(store.saved_state("s").await.unwrap().unwrap().state.len(), 50_000);
}

#[tokio::test]
async fn a_record_in_memory_is_small() {
    let store = Store::open(&Config { store: Some("memory".into()), ..Config::default() }).unwrap();
    for number in 0..150 {
        record(&store, &number.to_string(), None, page(&"x".repeat(1_000_000))).await;
    }
    let size = store.ask_writer(FLUSH_TIMEOUT, |tables| {
        let connection = tables.connection().unwrap();
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u64>(0));
        Ok(number("PRAGMA page_count")? * number("PRAGMA page_size")?)
    });
    let size = size.await.unwrap();
    assert!(size < MAX_MEMORY + MAX_MEMORY / 8, "{size} bytes");
    assert!(store.record("149").await.unwrap().is_some());
}
