//! Tests of the record that run with each kind of database.

use std::sync::{Arc, LazyLock};

use super::{
    super::*,
    database::{TestDatabase, claims, page, record, request, session, state},
};

/// Returns a state with the storage of these origins: its hash and its text.
pub fn saved(state: &str, origins: &[(&str, &'static str, &'static str)]) -> NewState {
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

pub async fn only_calls_that_ran_when_their_server_died_get_an_error(database: TestDatabase) {
    let (dead, living) = (database.open(), database.open());
    dead.request(request("dead", None)).await.unwrap();
    living.request(request("living", None)).await.unwrap();
    database.kill(&dead).await;
    let next = database.open();
    next.flush().await;
    let answer = next.record("dead").await.unwrap().unwrap().answer.unwrap();
    assert!(!answer.success);
    assert_eq!(answer.error_message.unwrap(), "the server died during the call");
    assert!(next.record("living").await.unwrap().unwrap().answer.is_none());
}

pub async fn after_the_end_of_its_server_a_session_is_recoverable_or_closed_if_nothing_was_saved(
    database: TestDatabase,
) {
    let (store, other) = (database.open(), database.open());
    for id in ["saved", "bare", "old", "closed", "expired"] {
        store.record_session_begin(session(id));
    }
    for id in ["saved", "old", "closed", "expired"] {
        store.save_state(id, saved(&format!("state of {id}"), &[]));
    }
    store.record_session_end("closed", SessionState::Closed);
    store.record_session_end("expired", SessionState::Expired);
    store.flush().await;
    let long_ago = now() - 25 * 3_600_000;
    let update = "UPDATE session_snapshots SET saved_at =";
    database.sql(&format!("{update} {long_ago} WHERE session_id = 'old'")).await;
    assert_eq!(state(&other, "saved").await, Some(SessionState::Active));
    assert!(!claims(&other, "saved").await);
    database.kill(&store).await;
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
    assert!(claims(&other, "saved").await);
    assert!(!claims(&other, "closed").await);
    assert_eq!(state(&other, "saved").await, Some(SessionState::Active));
    let mine = SessionFilter { user: Some("me".into()), ..SessionFilter::default() };
    assert_eq!(other.sessions(mine).await.unwrap().len(), 5);
    let foreign =
        SessionFilter { working_folder: Some("/elsewhere".into()), ..SessionFilter::default() };
    assert!(other.sessions(foreign).await.unwrap().is_empty());
}

pub async fn only_origins_with_another_hash_are_written(database: TestDatabase) {
    let store = database.open();
    store.record_session_begin(session("s"));
    store.save_state(
        "s",
        saved("1", &[("a", "1", "a one"), ("b", "1", "b one"), ("c", "1", "c one")]),
    );
    store.flush().await;
    // Creating the text of `b` again would panic in the writer.
    store.save_state("s", saved("2", &[("a", "2", "a two"), ("b", "1", "")]));
    assert_eq!(store.saved_origins("s").await.unwrap(), ["a two", "b one"]);
    assert_eq!(store.saved_state("s").await.unwrap().unwrap().state, "2");
    store.record_session_end("s", SessionState::Closed);
    assert!(store.saved_origins("s").await.unwrap().is_empty());
}

pub async fn of_several_states_of_a_session_the_newest_is_kept(database: TestDatabase) {
    for store in [Store::none().unwrap(), database.open()] {
        store.record_session_begin(session("s"));
        for number in 0..100 {
            store.save_state("s", saved(&number.to_string(), &[]));
        }
        assert_eq!(store.saved_state("s").await.unwrap().unwrap().state, "99");
    }
}

pub async fn the_oldest_calls_are_deleted_when_the_record_is_too_large(database: TestDatabase) {
    let retention = Retention { age: u64::MAX, bytes: 2 * 1024 * 1024 };
    let store = Store::open(&Config { retention, ..database.config() }).unwrap();
    store.record_session_begin(session("s"));
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
    let size = database.size().await;
    assert!(size < 3 * 1024 * 1024, "{size} bytes");
}

pub async fn calls_that_are_too_old_are_deleted_with_their_session(database: TestDatabase) {
    let store = database.open();
    store.record_session_begin(session("s"));
    record(&store, "r", Some("s"), page("a")).await;
    store.close().await;
    drop(store);
    let later = Store::open(&Config {
        retention: Retention { age: 0, bytes: u64::MAX },
        ..database.config()
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

pub async fn a_purge_of_one_session_deletes_that_session_and_its_calls(database: TestDatabase) {
    let store = database.open();
    for id in ["one", "other"] {
        store.record_session_begin(session(id));
        record(&store, &format!("call of {id}"), Some(id), page("a")).await;
        store.record_session_end(id, SessionState::Expired);
    }
    let purged = store.purge(Some("one")).await.unwrap();
    assert_eq!(purged, PurgeCounts { calls: 1, sessions: 1, in_use: 0 });
    assert_eq!(state(&store, "one").await, None);
    assert!(store.record("call of one").await.unwrap().is_none());
    assert_eq!(state(&store, "other").await, Some(SessionState::Expired));
    assert!(store.record("call of other").await.unwrap().is_some());
}

pub async fn a_purge_of_everything_keeps_the_sessions_in_use_and_their_calls(
    database: TestDatabase,
) {
    let store = database.open();
    store.record_session_begin(session("in use"));
    store.record_session_begin(session("over"));
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
    store.record_session_end("over", SessionState::Expired);
    assert_eq!(
        store.purge(None).await.unwrap(),
        PurgeCounts { calls: 250, sessions: 1, in_use: 1 }
    );
    assert_eq!(state(&store, "over").await, None);
    assert_eq!(state(&store, "in use").await, Some(SessionState::Active));
    assert!(
        store.record("kept").await.unwrap().is_some()
            && store.record("kept too").await.unwrap().is_some()
    );
    let size = database.size().await;
    assert!(size < 200 * 1024, "{size} bytes");
}

pub async fn a_state_that_does_not_fit_into_the_queue_does_not_block_later_states(
    database: TestDatabase,
) {
    let store = database.open();
    store.record_session_begin(session("s"));
    // More bytes than the queue of writes can hold.
    store.save_state("s", saved(&"x".repeat(129 * 1024 * 1024), &[]));
    store.save_state("s", saved("small", &[]));
    store.flush().await;
    let saved = database.sql("SELECT state FROM session_snapshots").await;
    assert_eq!(saved, [["small"]]);
}

pub async fn saved_states_of_ended_sessions_are_deleted_before_calls(database: TestDatabase) {
    let retention = Retention { age: u64::MAX, bytes: 2 * 1024 * 1024 };
    let store = Store::open(&Config { retention, ..database.config() }).unwrap();
    store.record_session_begin(session("open"));
    store.save_state("open", saved(&"x".repeat(300_000), &[]));
    record(&store, "oldest", Some("open"), page("a")).await;
    let storage = "x".repeat(300_000).leak();
    for number in 0..20 {
        let id = number.to_string();
        store.record_session_begin(session(&id));
        store.save_state(&id, saved("state", &[("a", "1", storage)]));
        let end = if number % 2 == 0 { SessionState::Expired } else { SessionState::Recoverable };
        store.record_session_end(&id, end);
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

pub async fn a_released_session_is_recoverable_while_its_server_runs_and_is_deleted_when_it_is_too_old(
    database: TestDatabase,
) {
    let store = Store::open(&Config {
        retention: Retention { age: 0, bytes: u64::MAX },
        ..database.config()
    })
    .unwrap();
    for id in ["open", "released", "unsaved"] {
        store.record_session_begin(session(id));
    }
    store.save_state("released", saved("state", &[]));
    for id in ["released", "unsaved"] {
        store.record_session_end(id, SessionState::Recoverable);
    }
    assert_eq!(
        state(&store, "unsaved").await.unwrap_or(SessionState::Closed),
        SessionState::Closed
    );
    let mut checks = 0;
    while let Some(state) = state(&store, "released").await {
        assert_eq!(state, SessionState::Recoverable);
        store.request(request(&checks.to_string(), None)).await.unwrap();
        checks += 1;
        assert!(checks < 10_000, "the session is still in the record");
    }
    assert_eq!(state(&store, "open").await, Some(SessionState::Active));
}

pub async fn a_thousand_concurrent_writes_become_few_transactions(database: TestDatabase) {
    let store = database.open();
    let started = std::time::Instant::now();
    let writes = (0..1000).map(|number| record_later(&store, number));
    futures_util::future::join_all(writes).await;
    assert!(store.record("999").await.unwrap().is_some());
    // One transaction for each write would take longer, and a sync to disk for each much longer.
    let limit = if database.is_file() { 5 } else { 60 };
    assert!(started.elapsed().as_secs() < limit, "{:?}", started.elapsed());
}

pub async fn the_state_of_a_session_is_stored_once_its_server_has_ended_and_not_before(
    database: TestDatabase,
) {
    let store = database.open();
    store.record_session_begin(session("open"));
    store.record_session_begin(session("released"));
    store.save_state("released", saved("state", &[]));
    store.record_session_end("released", SessionState::Recoverable);
    store.change(|tables| tables.store_states_of_ended_servers()).await.unwrap();
    let stored = database.sql("SELECT session_id, state FROM sessions ORDER BY session_id").await;
    assert_eq!(stored, [["open", "active"], ["released", "recoverable"]]);
}

pub async fn of_servers_that_need_the_last_free_session_at_the_same_time_one_gets_it(
    database: TestDatabase,
) {
    let servers: Vec<Store> = (0..4).map(|_| database.open()).collect();
    servers[0].record_session_begin(session("saved"));
    servers[0].save_state("saved", saved("state", &[]));
    servers[0].record_session_end("saved", SessionState::Recoverable);
    servers[0].flush().await;
    for round in 1..=5 {
        let new = servers.iter().enumerate().map(|(number, server)| {
            server.reserve_session(session(&format!("{round} of {number}")), round)
        });
        let (new, claimed) = tokio::join!(
            futures_util::future::join_all(new),
            servers[3].claim_session("saved", Some(round))
        );
        let reservations = new.into_iter().chain([claimed]).map(Result::unwrap);
        let reserved = reservations.filter(|it| *it == Reservation::Reserved).count();
        assert_eq!(reserved, 1, "round {round}");
        assert_eq!(servers[0].count_open_sessions().await.unwrap(), round);
    }
}

pub async fn only_open_sessions_of_running_servers_count_for_the_limit_of_all(
    database: TestDatabase,
) {
    let (dead, living, own) = (database.open(), database.open(), database.open());
    for (server, ids) in
        [(&dead, ["dead 1", "dead 2"]), (&living, ["open", "closed"]), (&own, ["own", "released"])]
    {
        for id in ids {
            server.record_session_begin(session(id));
            server.save_state(id, saved("state", &[]));
        }
    }
    living.record_session_end("closed", SessionState::Closed);
    own.record_session_end("released", SessionState::Recoverable);
    for server in [&dead, &living, &own] {
        server.flush().await;
    }
    let reserve = async |id: &str, limit| own.reserve_session(session(id), limit).await.unwrap();
    assert_eq!(own.count_open_sessions().await.unwrap(), 4);
    assert_eq!(reserve("new", 4).await, Reservation::LimitReached);
    assert_eq!(own.claim_session("released", Some(4)).await.unwrap(), Reservation::LimitReached);
    // A session that the server has already does not count twice.
    assert_eq!(own.claim_session("own", Some(4)).await.unwrap(), Reservation::Reserved);
    database.kill(&dead).await;
    assert_eq!(own.count_open_sessions().await.unwrap(), 2);
    assert_eq!(own.claim_session("dead 1", Some(3)).await.unwrap(), Reservation::Reserved);
    assert_eq!(own.claim_session("dead 2", Some(3)).await.unwrap(), Reservation::LimitReached);
    assert_eq!(state(&own, "dead 2").await, Some(SessionState::Recoverable));
    assert_eq!(reserve("new", 4).await, Reservation::Reserved);
    assert_eq!(living.count_open_sessions().await.unwrap(), 4);
    own.record_session_end("new", SessionState::Closed);
    own.flush().await;
    assert_eq!(living.count_open_sessions().await.unwrap(), 3);
}

fn record_later(store: &Store, number: u32) -> impl Future<Output = ()> + use<> {
    let store = store.clone();
    async move { record(&store, &number.to_string(), None, page("a")).await }
}

async fn read(store: &Store, ref_id: &str, of: CursorOwner) -> CursorRead {
    let record = store.record(ref_id).await.unwrap().unwrap();
    store.read_from_cursor(&record, of, false).await.unwrap()
}

pub async fn a_record_is_read_once_and_then_has_nothing_new_until_its_cursor_is_reset(
    database: TestDatabase,
) {
    let store = database.open();
    record(&store, "r", None, page("a\nb\n")).await;
    assert_eq!(read(&store, "r", CursorOwner::Record).await, CursorRead::Whole("a\nb\n".into()));
    assert_eq!(read(&store, "r", CursorOwner::Record).await, CursorRead::Changes(String::new()));
    store.close().await;
    // The next server continues at the cursor of this one.
    let store = database.open();
    assert_eq!(read(&store, "r", CursorOwner::Record).await, CursorRead::Changes(String::new()));
    let record = store.record("r").await.unwrap().unwrap();
    let again = store.read_from_cursor(&record, CursorOwner::Record, true).await.unwrap();
    assert_eq!(again, CursorRead::Whole("a\nb\n".into()));
}

pub async fn the_cursor_of_a_session_advances_from_record_to_record(database: TestDatabase) {
    let of = || CursorOwner::Session("s".into());
    let long = "the same line\n".repeat(20);
    let store = database.open();
    store.record_session_begin(session("s"));
    record(&store, "1", Some("s"), page(&format!("{long}a\n"))).await;
    assert_eq!(read(&store, "1", of()).await, CursorRead::Whole(format!("{long}a\n")));
    record(&store, "2", Some("s"), page(&format!("{long}b\n"))).await;
    drop(store);
    let store = database.open();
    let newest = store.newest_record(vec!["s".into()], false).await.unwrap().unwrap();
    assert_eq!(newest.ref_id, "2");
    let changes = CursorRead::Changes("@@ -21 +21 @@\n-a\n+b\n".into());
    assert_eq!(read(&store, "2", of()).await, changes);
    assert_eq!(read(&store, "2", of()).await, CursorRead::Changes(String::new()));
    // A completely different page: the changes would be longer than the content.
    record(&store, "3", Some("s"), page("c\n")).await;
    assert_eq!(read(&store, "3", of()).await, CursorRead::Whole("c\n".into()));
}

pub async fn the_console_of_a_record_is_filtered_by_level_and_does_not_use_the_cursor(
    database: TestDatabase,
) {
    let store = database.open();
    let message = |level: &str| Message {
        level: level.into(),
        text: format!("a {level}"),
        at: 5,
        url: Some("http://a/".into()),
        line: Some(3),
        column: None,
    };
    let console = ["debug", "info", "warn", "error"].map(message).to_vec();
    store.record_session_begin(session("s"));
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
