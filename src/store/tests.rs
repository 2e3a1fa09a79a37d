//! Tests of the record alone, without browsers.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use rusqlite::Connection;
use serde_json::json;

use super::*;

/// A folder that is removed after the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("troupe-store-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("record.db")
    }

    fn config(&self) -> Config {
        Config { store: Some(self.file().display().to_string()), ..Config::default() }
    }

    fn open(&self) -> Store {
        Store::open(&self.config()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn session(id: &str) -> NewSession {
    NewSession {
        id: id.into(),
        created_at: now(),
        metadata: json!({"user": "me", "workingFolder": "/home/me"}).to_string(),
    }
}

fn request(ref_id: &str, session: Option<&str>) -> Arc<NewRequest> {
    Arc::new(NewRequest {
        ref_id: ref_id.into(),
        session_id: session.map(Into::into),
        connection_id: "c".into(),
        tool: "click".into(),
        params: "{}".into(),
        at: now(),
    })
}

fn page(text: &str) -> NewAnswer {
    NewAnswer {
        result: json!({"content": [{"type": "text", "text": "done"}]}).to_string(),
        page_snapshot: Some(text.into()),
        ..NewAnswer::default()
    }
}

async fn record(store: &Store, ref_id: &str, session: Option<&str>, answer: NewAnswer) {
    store.request(request(ref_id, session)).await;
    store.answer(request(ref_id, session), answer).await;
}

async fn state(store: &Store, id: &str) -> Option<SessionState> {
    let filter = SessionFilter { id: Some(id.to_owned()), ..SessionFilter::default() };
    store.sessions(filter).await.unwrap().first().map(|row| row.state)
}

/// Simulates SIGKILL: the record has no end of the server, and the lock is free.
fn kill(store: &Store) {
    let lock = store.0.server.folder.as_ref().unwrap().join(&*store.0.server.id);
    store.0.server.unregister();
    std::fs::write(lock, "").unwrap();
}

#[tokio::test]
async fn only_the_user_can_access_the_file_and_it_is_created_once() {
    let folder = Folder::new();
    let store = folder.open();
    record(&store, "r", None, page("a")).await;
    #[cfg(unix)]
    for name in ["record.db", "record.db-wal"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(folder.0.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    store.close().await;
    assert!(folder.open().record("r").await.unwrap().unwrap().answer.unwrap().success);
}

#[test]
fn servers_that_start_at_the_same_time_all_open_a_new_file() {
    for _ in 0..50 {
        let folder = Folder::new();
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    start.wait();
                    drop(schema::open(&folder.file()).unwrap());
                });
            }
        });
    }
}

#[tokio::test]
async fn a_newer_file_is_rejected_and_not_changed() {
    let folder = Folder::new();
    drop(folder.open());
    let raw = Connection::open(folder.file()).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    raw.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(raw);
    let before = std::fs::read(folder.file()).unwrap();
    let error = Store::open(&folder.config()).err().unwrap();
    assert!(error.message.contains("newer version"), "{error}");
    assert_eq!(std::fs::read(folder.file()).unwrap(), before);
}

#[tokio::test]
async fn a_file_that_is_not_a_record_is_rejected_and_moved_only_on_request() {
    let folder = Folder::new();
    for content in [vec![b'x'; 5000], b"SQLite format 3\0 and then nonsense".repeat(200)] {
        std::fs::write(folder.file(), &content).unwrap();
        let error = Store::open(&folder.config()).err().unwrap();
        assert!(error.message.contains("damaged"), "{error}");
        assert!(error.suggestion.unwrap().contains("--store PATH"));
        assert_eq!(std::fs::read(folder.file()).unwrap(), content);
        let aside = set_aside(&folder.file()).unwrap();
        assert_eq!(std::fs::read(aside).unwrap(), content);
    }
    let other = Connection::open(folder.file()).unwrap();
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
    let folder = Folder::new();
    let store = folder.open();
    store.flush().await;
    let other = Connection::open(folder.file()).unwrap();
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
async fn only_calls_that_ran_when_their_server_died_get_an_error() {
    let folder = Folder::new();
    let (dead, living) = (folder.open(), folder.open());
    dead.request(request("dead", None)).await;
    living.request(request("living", None)).await;
    kill(&dead);
    let next = folder.open();
    next.flush().await;
    let answer = next.record("dead").await.unwrap().unwrap().answer.unwrap();
    assert!(!answer.success);
    assert_eq!(answer.error_message.unwrap(), "the server died during the call");
    assert!(next.record("living").await.unwrap().unwrap().answer.is_none());
}

#[tokio::test]
async fn after_the_end_of_its_server_a_session_is_recoverable_or_closed_if_nothing_was_saved() {
    let folder = Folder::new();
    let (store, other) = (folder.open(), folder.open());
    for id in ["saved", "bare", "old", "closed", "expired"] {
        store.session_begun(session(id));
    }
    for id in ["saved", "old", "closed", "expired"] {
        store.save_state(id, saved(&format!("state of {id}"), &[]));
    }
    store.session_ended("closed", SessionState::Closed);
    store.session_ended("expired", SessionState::Expired);
    store.flush().await;
    let raw = Connection::open(folder.file()).unwrap();
    let long_ago = i64::try_from(now() - 25 * 3_600_000).unwrap();
    raw.execute("UPDATE session_snapshots SET saved_at = ?1 WHERE session_id = 'old'", [long_ago])
        .unwrap();
    assert_eq!(state(&other, "saved").await, Some(SessionState::Active));
    assert!(!other.claim_session("saved").await.unwrap());
    kill(&store);
    for (id, expected) in [
        ("saved", SessionState::Recoverable),
        ("bare", SessionState::Closed),
        ("old", SessionState::Stale),
        ("closed", SessionState::Closed),
        ("expired", SessionState::Expired),
    ] {
        assert_eq!(state(&other, id).await, Some(expected), "{id}");
    }
    assert_eq!(other.saved_state("closed").await.unwrap(), None);
    assert_eq!(other.saved_state("saved").await.unwrap().unwrap().state, "state of saved");
    assert!(other.claim_session("saved").await.unwrap());
    assert!(!other.claim_session("closed").await.unwrap());
    assert_eq!(state(&other, "saved").await, Some(SessionState::Active));
    let mine = SessionFilter { user: Some("me".into()), ..SessionFilter::default() };
    assert_eq!(other.sessions(mine).await.unwrap().len(), 5);
    let foreign =
        SessionFilter { working_folder: Some("/elsewhere".into()), ..SessionFilter::default() };
    assert!(other.sessions(foreign).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_state_of_a_session_is_stored_once_its_server_has_ended_and_not_before() {
    let folder = Folder::new();
    for store in [folder.open(), Store::none().unwrap()] {
        store.session_begun(session("open"));
        store.session_begun(session("released"));
        store.save_state("released", saved("state", &[]));
        store.session_ended("released", SessionState::Recoverable);
        let stored = store.ask_writer(|connection| {
            super::servers::store_states_of_ended_servers(connection)?;
            let mut rows =
                connection.prepare("SELECT session_id, state FROM sessions ORDER BY session_id")?;
            rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<Vec<_>>>()
        });
        let stored: Vec<(String, String)> = stored.await.unwrap().unwrap();
        let expected = [("open", "active"), ("released", "recoverable")];
        assert_eq!(stored, expected.map(|(id, state)| (id.to_owned(), state.to_owned())));
    }
}

#[tokio::test]
async fn a_server_whose_row_could_not_be_written_at_its_start_still_has_its_sessions_and_calls() {
    let folder = Folder::new();
    let store = folder.open();
    store.session_begun(session("former"));
    store.session_ended("former", SessionState::Expired);
    store.flush().await;
    let raw = Connection::open(folder.file()).unwrap();
    let delete_server_row = || raw.execute("DELETE FROM servers", []).unwrap();
    let stored = |id: &str| -> String {
        raw.query_row("SELECT state FROM sessions WHERE session_id = ?1", [id], |row| row.get(0))
            .unwrap()
    };
    delete_server_row();
    store.session_begun(session("new"));
    store.flush().await;
    folder.open().close().await;
    assert_eq!(stored("new"), "active");
    delete_server_row();
    record(&store, "r", Some("new"), page("a")).await;
    store.flush().await;
    folder.open().close().await;
    assert_eq!(stored("new"), "active");
    delete_server_row();
    assert!(store.claim_session("former").await.unwrap());
    folder.open().close().await;
    assert_eq!(stored("former"), "active");
    delete_server_row();
    store.request(request("running", None)).await;
    store.flush().await;
    // Keeps the folder of the locks.
    let _other = folder.open();
    kill(&store);
    let next = folder.open();
    next.flush().await;
    let answer = next.record("running").await.unwrap().unwrap().answer.unwrap();
    assert_eq!(answer.error_message.unwrap(), "the server died during the call");
}

/// Returns a state with the storage of these origins: its hash and its text.
fn saved(state: &str, origins: &[(&str, &'static str, &'static str)]) -> NewState {
    let origins = origins.iter().map(|(origin, hash, text)| {
        let text = *text;
        NewOrigin {
            origin: (*origin).to_owned(),
            hash: (*hash).to_owned(),
            bytes: text.len(),
            text: Arc::new(LazyLock::new(Box::new(move || {
                assert!(!text.is_empty(), "the text of an origin with a known hash was created");
                text.to_owned()
            }))),
        }
    });
    NewState { state: state.to_owned(), origins: origins.collect() }
}

#[tokio::test]
async fn only_origins_with_another_hash_are_written() {
    let folder = Folder::new();
    let store = folder.open();
    store.session_begun(session("s"));
    store.save_state(
        "s",
        saved("1", &[("a", "1", "a one"), ("b", "1", "b one"), ("c", "1", "c one")]),
    );
    store.flush().await;
    // Creating the text of `b` again would panic in the writer.
    store.save_state("s", saved("2", &[("a", "2", "a two"), ("b", "1", "")]));
    assert_eq!(store.saved_origins("s").await.unwrap(), ["a two", "b one"]);
    assert_eq!(store.saved_state("s").await.unwrap().unwrap().state, "2");
    store.session_ended("s", SessionState::Closed);
    assert!(store.saved_origins("s").await.unwrap().is_empty());
}

#[tokio::test]
async fn of_several_states_of_a_session_the_newest_is_kept() {
    for store in [Store::none().unwrap(), Folder::new().open()] {
        store.session_begun(session("s"));
        for number in 0..100 {
            store.save_state("s", saved(&number.to_string(), &[]));
        }
        assert_eq!(store.saved_state("s").await.unwrap().unwrap().state, "99");
    }
}

#[tokio::test]
async fn the_oldest_calls_are_deleted_when_the_record_is_too_large() {
    let folder = Folder::new();
    let retention = Retention { age: u64::MAX, bytes: 2 * 1024 * 1024 };
    let store = Store::open(&Config { retention, ..folder.config() }).unwrap();
    store.session_begun(session("s"));
    for number in 0..100 {
        record(&store, &number.to_string(), Some("s"), page(&"x".repeat(50_000))).await;
    }
    // The limits are checked after each write.
    for _ in 0..10 {
        store.flush().await;
    }
    assert!(store.record("0").await.unwrap().is_none());
    assert!(store.record("99").await.unwrap().is_some());
    store.close().await;
    drop(store);
    let raw = Connection::open(folder.file()).unwrap();
    raw.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    assert!(size(&folder.file()) < 3 * 1024 * 1024, "{} bytes", size(&folder.file()));
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len()
}

#[tokio::test]
async fn calls_that_are_too_old_are_deleted_with_their_session() {
    let folder = Folder::new();
    let store = folder.open();
    store.session_begun(session("s"));
    record(&store, "r", Some("s"), page("a")).await;
    store.close().await;
    drop(store);
    let later = Store::open(&Config {
        retention: Retention { age: 0, bytes: u64::MAX },
        ..folder.config()
    })
    .unwrap();
    // Each check follows a write. The first checks may run in the same millisecond as the call.
    let mut checks = 0;
    while later.record("r").await.unwrap().is_some() {
        later.flush().await;
        checks += 1;
        assert!(checks < 10_000, "the call is still in the record");
    }
    assert_eq!(state(&later, "s").await, None);
}

#[tokio::test]
async fn a_purge_of_one_session_deletes_that_session_and_its_calls() {
    let folder = Folder::new();
    let store = folder.open();
    for id in ["one", "other"] {
        store.session_begun(session(id));
        record(&store, &format!("call of {id}"), Some(id), page("a")).await;
        store.session_ended(id, SessionState::Expired);
    }
    let purged = store.purge(Some("one")).await.unwrap();
    assert_eq!(purged, Purged { calls: 1, sessions: 1, in_use: 0 });
    assert_eq!(state(&store, "one").await, None);
    assert!(store.record("call of one").await.unwrap().is_none());
    assert_eq!(state(&store, "other").await, Some(SessionState::Expired));
    assert!(store.record("call of other").await.unwrap().is_some());
}

#[tokio::test]
async fn a_purge_of_everything_keeps_the_sessions_in_use_and_their_calls() {
    let folder = Folder::new();
    let store = folder.open();
    store.session_begun(session("in use"));
    store.session_begun(session("over"));
    record(&store, "kept", Some("in use"), page("a")).await;
    record(&store, "kept too", None, page("a")).await;
    for number in 0..250 {
        record(
            &store,
            &format!("r{number}"),
            Some("over"),
            page(&format!("wiped {}", "x".repeat(10_000))),
        )
        .await;
    }
    store.session_ended("over", SessionState::Expired);
    assert_eq!(store.purge(None).await.unwrap(), Purged { calls: 250, sessions: 1, in_use: 1 });
    assert_eq!(state(&store, "over").await, None);
    assert_eq!(state(&store, "in use").await, Some(SessionState::Active));
    assert!(
        store.record("kept").await.unwrap().is_some()
            && store.record("kept too").await.unwrap().is_some()
    );
    let pages = store.ask_writer(|connection| {
        connection.query_row("PRAGMA page_count", [], |row| row.get::<_, u64>(0))
    });
    let pages = pages.await.unwrap().unwrap();
    assert!(pages < 50, "{pages}");
}

/// Creates a table whose references to calls are checked at the commit, then runs `more`.
async fn check_references_at_commit(store: &Store, more: &'static str) {
    let changed = store.ask_writer(move |connection| {
        connection.execute_batch(
            "CREATE TABLE refers (ref_id TEXT REFERENCES requests (ref_id) DEFERRABLE INITIALLY DEFERRED)",
        )?;
        connection.execute_batch(more)
    });
    changed.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_purge_that_cannot_be_committed_fails() {
    let folder = Folder::new();
    let store = folder.open();
    store.session_begun(session("s"));
    record(&store, "r", Some("s"), page("a")).await;
    store.session_ended("s", SessionState::Expired);
    store.flush().await;
    check_references_at_commit(&store, "INSERT INTO refers VALUES ('r')").await;
    let error = store.purge(Some("s")).await.unwrap_err();
    assert!(error.message.contains("was not committed"), "{}", error.message);
    assert!(store.record("r").await.unwrap().is_some());
}

#[tokio::test]
async fn a_claim_of_a_session_that_cannot_be_committed_fails() {
    let folder = Folder::new();
    let store = folder.open();
    store.session_begun(session("s"));
    store.session_ended("s", SessionState::Expired);
    store.flush().await;
    let trigger = "CREATE TRIGGER refer AFTER UPDATE ON sessions BEGIN INSERT INTO refers VALUES ('missing'); END";
    check_references_at_commit(&store, trigger).await;
    let error = store.claim_session("s").await.unwrap_err();
    assert!(error.message.contains("was not committed"), "{}", error.message);
    assert_eq!(state(&store, "s").await, Some(SessionState::Expired));
}

/// Lets the file grow by this many pages from now on, and no further.
async fn allow_pages(store: &Store, more: i64) {
    let allowed = store.ask_writer(move |connection| {
        let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        connection.pragma_update(None, "max_page_count", pages + more)
    });
    allowed.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_session_that_begins_while_the_disk_is_full_is_recorded_when_there_is_space() {
    let folder = Folder::new();
    let store = folder.open();
    store.flush().await;
    allow_pages(&store, 0).await;
    store.session_begun(NewSession {
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
        store.request(request("r", Some("s"))).await;
        assert!(started.elapsed().as_secs() < 20, "the state is not saved again");
    }
    assert_eq!(store.saved_state("s").await.unwrap().unwrap().state.len(), 50_000);
}

#[tokio::test]
async fn a_state_that_does_not_fit_into_the_queue_does_not_block_later_states() {
    let folder = Folder::new();
    let store = folder.open();
    store.session_begun(session("s"));
    // More bytes than the queue of writes can hold.
    store.save_state("s", saved(&"x".repeat(129 * 1024 * 1024), &[]));
    store.save_state("s", saved("small", &[]));
    store.flush().await;
    let raw = Connection::open(folder.file()).unwrap();
    let saved: String =
        raw.query_row("SELECT state FROM session_snapshots", [], |row| row.get(0)).unwrap();
    assert_eq!(saved, "small");
}

#[tokio::test]
async fn saved_states_of_ended_sessions_are_deleted_before_calls() {
    let folder = Folder::new();
    let retention = Retention { age: u64::MAX, bytes: 2 * 1024 * 1024 };
    let store = Store::open(&Config { retention, ..folder.config() }).unwrap();
    store.session_begun(session("open"));
    store.save_state("open", saved(&"x".repeat(300_000), &[]));
    record(&store, "oldest", Some("open"), page("a")).await;
    let storage = "x".repeat(300_000).leak();
    for number in 0..20 {
        let id = number.to_string();
        store.session_begun(session(&id));
        store.save_state(&id, saved("state", &[("a", "1", storage)]));
        let end = if number % 2 == 0 { SessionState::Expired } else { SessionState::Recoverable };
        store.session_ended(&id, end);
        // At most one slice is deleted after each write.
        record(&store, &id, Some(&id), page("a")).await;
        store.flush().await;
    }
    assert!(store.record("oldest").await.unwrap().is_some());
    assert_eq!(store.saved_state("0").await.unwrap(), None);
    for id in ["open", "19"] {
        assert!(store.saved_state(id).await.unwrap().is_some(), "{id}");
    }
    assert_eq!(state(&store, "18").await, Some(SessionState::Expired));
    assert_eq!(state(&store, "19").await, Some(SessionState::Recoverable));
}

#[tokio::test]
async fn a_released_session_is_recoverable_while_its_server_runs_and_is_deleted_when_it_is_too_old()
{
    let folder = Folder::new();
    let store = Store::open(&Config {
        retention: Retention { age: 0, bytes: u64::MAX },
        ..folder.config()
    })
    .unwrap();
    for id in ["open", "released", "unsaved"] {
        store.session_begun(session(id));
    }
    store.save_state("released", saved("state", &[]));
    for id in ["released", "unsaved"] {
        store.session_ended(id, SessionState::Recoverable);
    }
    assert_eq!(
        state(&store, "unsaved").await.unwrap_or(SessionState::Closed),
        SessionState::Closed
    );
    let mut checks = 0;
    while let Some(state) = state(&store, "released").await {
        assert_eq!(state, SessionState::Recoverable);
        store.request(request(&checks.to_string(), None)).await;
        checks += 1;
        assert!(checks < 10_000, "the session is still in the record");
    }
    assert_eq!(state(&store, "open").await, Some(SessionState::Active));
}

#[tokio::test]
async fn a_record_in_memory_is_small() {
    let store = Store::open(&Config { store: Some("memory".into()), ..Config::default() }).unwrap();
    for number in 0..150 {
        record(&store, &number.to_string(), None, page(&"x".repeat(1_000_000))).await;
    }
    let size = store.ask_writer(|connection| {
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u64>(0));
        Ok(number("PRAGMA page_count")? * number("PRAGMA page_size")?)
    });
    let size = size.await.unwrap().unwrap();
    assert!(size < MAX_MEMORY + MAX_MEMORY / 8, "{size} bytes");
    assert!(store.record("149").await.unwrap().is_some());
}

#[tokio::test]
async fn a_thousand_concurrent_writes_become_few_transactions() {
    let folder = Folder::new();
    let store = folder.open();
    let started = std::time::Instant::now();
    let writes = (0..1000).map(|number| record_later(&store, number));
    futures_util::future::join_all(writes).await;
    assert!(store.record("999").await.unwrap().is_some());
    // One transaction for each write would take longer, and a sync to disk for each much longer.
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

fn record_later(store: &Store, number: u32) -> impl Future<Output = ()> + use<> {
    let store = store.clone();
    async move { record(&store, &number.to_string(), None, page("a")).await }
}

mod reading {
    use super::*;

    async fn read(store: &Store, ref_id: &str, of: CursorOf) -> Reading {
        let record = store.record(ref_id).await.unwrap().unwrap();
        store.read_from_cursor(&record, of, false).await.unwrap()
    }

    #[tokio::test]
    async fn a_record_is_read_once_and_then_has_nothing_new_until_its_cursor_is_reset() {
        let folder = Folder::new();
        let store = folder.open();
        record(&store, "r", None, page("a\nb\n")).await;
        assert_eq!(read(&store, "r", CursorOf::Record).await, Reading::Whole("a\nb\n".into()));
        assert_eq!(read(&store, "r", CursorOf::Record).await, Reading::Changes(String::new()));
        store.close().await;
        // The next server continues at the cursor of this one.
        let store = folder.open();
        assert_eq!(read(&store, "r", CursorOf::Record).await, Reading::Changes(String::new()));
        let record = store.record("r").await.unwrap().unwrap();
        let again = store.read_from_cursor(&record, CursorOf::Record, true).await.unwrap();
        assert_eq!(again, Reading::Whole("a\nb\n".into()));
    }

    #[tokio::test]
    async fn the_cursor_of_a_session_advances_from_record_to_record() {
        let folder = Folder::new();
        let of = || CursorOf::Session("s".into());
        let long = "the same line\n".repeat(20);
        let store = folder.open();
        store.session_begun(session("s"));
        record(&store, "1", Some("s"), page(&format!("{long}a\n"))).await;
        assert_eq!(read(&store, "1", of()).await, Reading::Whole(format!("{long}a\n")));
        record(&store, "2", Some("s"), page(&format!("{long}b\n"))).await;
        drop(store);
        let store = folder.open();
        let newest = store.newest_record(vec!["s".into()], false).await.unwrap().unwrap();
        assert_eq!(newest.ref_id, "2");
        let changes = Reading::Changes("@@ -21 +21 @@\n-a\n+b\n".into());
        assert_eq!(read(&store, "2", of()).await, changes);
        assert_eq!(read(&store, "2", of()).await, Reading::Changes(String::new()));
        // A completely different page: the changes would be longer than the content.
        record(&store, "3", Some("s"), page("c\n")).await;
        assert_eq!(read(&store, "3", of()).await, Reading::Whole("c\n".into()));
    }

    #[tokio::test]
    async fn the_console_of_a_record_is_filtered_by_level_and_does_not_use_the_cursor() {
        let store =
            Store::open(&Config { store: Some("memory".into()), ..Config::default() }).unwrap();
        let message = |level: &str| Message {
            level: level.into(),
            text: format!("a {level}"),
            at: 5,
            url: Some("http://a/".into()),
            line: Some(3),
            column: None,
        };
        let console = ["debug", "info", "warn", "error"].map(message).to_vec();
        store.session_begun(session("s"));
        record(&store, "r", Some("s"), NewAnswer { console: console.clone(), ..page("a") }).await;
        for _ in 0..2 {
            let all = store.console_of_record("r", None, usize::MAX).await.unwrap();
            assert_eq!(all, NewestMessages { messages: console.clone(), earlier: 0 });
            let errors = store.console_of_record("r", Some("error"), usize::MAX).await.unwrap();
            assert_eq!(errors.messages, [message("error")]);
            let warnings = store.console_of_session("s", Some("warn"), usize::MAX).await.unwrap();
            assert_eq!(warnings.messages, [message("warn")]);
        }
        let filter = RecordFilter { sessions: vec!["s".into()], connection: None, limit: 10 };
        let newest = store.console_of_session("s", None, 60).await.unwrap();
        assert_eq!((newest.messages, newest.earlier), (console[2..].to_vec(), 2));
        let (call, error) = store.summary("r").await.unwrap().unwrap();
        assert_eq!((call.console_messages, call.console_errors, error), (4, 1, None));
        let listed = store.requests(filter).await.unwrap();
        assert_eq!((listed[0].console_messages, listed[0].console_errors), (4, 1));
    }
}
