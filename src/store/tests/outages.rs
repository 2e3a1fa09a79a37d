//! Tests of records in PostgreSQL: leases, outages, and values that only SQLite can store.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::{
    super::*,
    database::{TestDatabase, claims, page, record, request, session, state},
    shared::saved,
};

/// Calls `attempt` until it returns a value.
async fn eventually<T>(what: &str, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = attempt().await {
            return value;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "timed out: {what}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_text_with_a_null_character_is_recorded_with_a_replacement_character() {
    let database = TestDatabase::postgres();
    let store = database.open();
    store.record_session_begin(session("s"));
    let message = Message {
        level: "info".into(),
        text: "a\0b".into(),
        at: 5,
        url: None,
        line: None,
        column: None,
    };
    let answer = NewAnswer {
        error_message: Some("e\0".into()),
        console: vec![message],
        page_picture: Some(Picture { mime_type: "image/png".into(), data: vec![0, 1, 255] }),
        ..page("page \0 end")
    };
    record(&store, "r", Some("s"), answer).await;
    assert_eq!(store.record("r").await.unwrap().unwrap().content(), "page \u{FFFD} end");
    let console = store.console_of_record("r", None, usize::MAX).await.unwrap();
    assert_eq!(console.messages[0].text, "a\u{FFFD}b");
    assert_eq!(store.picture("r", 0).await.unwrap().unwrap().data, [0, 1, 255]);
}

#[tokio::test]
async fn the_calls_of_the_dashboard_are_listed_searched_and_paged() {
    let database = TestDatabase::postgres();
    let store = database.open();
    store.record_session_begin(session("s"));
    for number in 0..5 {
        record(&store, &number.to_string(), Some("s"), page("a")).await;
    }
    let filter = |text: Option<&str>, before| CallFilter {
        session: Some("s".into()),
        text: text.map(str::to_owned),
        before,
        limit: 2,
        ..CallFilter::default()
    };
    let ids = |calls: &[RecordedCall]| -> Vec<String> {
        calls.iter().map(|call| call.ref_id.clone()).collect()
    };
    let first = store.calls(filter(None, None)).await.unwrap();
    assert_eq!(ids(&first), ["4", "3"]);
    let second = store.calls(filter(Some("DONE"), Some(first[1].number))).await.unwrap();
    assert_eq!(ids(&second), ["2", "1"]);
    assert!(store.calls(filter(Some("absent"), None)).await.unwrap().is_empty());
    let history = store.history("s").await.unwrap();
    assert_eq!(history, ["0", "1", "2", "3", "4"]);
}

#[tokio::test]
async fn a_list_omits_sessions_without_pages_and_cookies_on_request() {
    let database = TestDatabase::postgres();
    let store = database.open();
    let blank = r#"{"cookies": [], "pages": [{"url": "about:blank"}]}"#;
    let used = r#"{"cookies": [], "pages": [{"url": "https://a.example/"}]}"#;
    for (id, state) in [("blank", blank), ("used", used), ("invalid", "no JSON")] {
        store.record_session_begin(session(id));
        store.save_state(id, saved(state, &[]));
    }
    store.record_session_begin(session("stored"));
    store.save_state("stored", saved(blank, &[("a", "1", "text")]));
    let filter = SessionFilter { without_blank: true, ..SessionFilter::default() };
    let mut listed: Vec<String> =
        store.sessions(filter).await.unwrap().into_iter().map(|row| row.id).collect();
    listed.sort();
    assert_eq!(listed, ["invalid", "stored", "used"]);
}

#[tokio::test]
async fn during_an_outage_calls_fail_and_their_entries_are_written_after_it() {
    let database = TestDatabase::postgres();
    let timeout = Some(Duration::from_millis(300));
    let config = Config { store_timeout: timeout, ..database.config() };
    let store = Store::open(&config).unwrap();
    store.record_session_begin(session("s"));
    record(&store, "before", Some("s"), page("a")).await;
    database.server().stop(Signal::SIGINT);
    let started = Instant::now();
    let error = store.request(request("during", Some("s"))).await.unwrap_err();
    assert!(matches!(error, RecordingFailure::Unavailable(_)), "{error}");
    assert!(started.elapsed() >= Duration::from_millis(300));
    let error = store.record("before").await.unwrap_err();
    assert_eq!((error.code, error.retryable), (ErrorCode::ResourceExhausted, true), "{error}");
    let status = eventually("the failure", async || {
        Some(store.status()).filter(|status| status.failure.is_some())
    })
    .await;
    assert!(status.refuses && status.queued > 0, "{status:?}");
    database.server().start();
    let after = eventually("the entry", async || store.record("during").await.ok().flatten()).await;
    assert!(after.answer.is_none());
    record(&store, "after", Some("s"), page("a")).await;
    let status = store.status();
    assert_eq!((status.failure, status.lost), (None, 0));
}

#[tokio::test]
async fn with_store_failure_continue_an_outage_delays_one_call_and_loses_no_entry() {
    let database = TestDatabase::postgres();
    let config = Config {
        store_timeout: Some(Duration::from_millis(300)),
        store_failure: Some(StoreFailure::Continue),
        ..database.config()
    };
    let store = Store::open(&config).unwrap();
    store.flush().await;
    database.server().stop(Signal::SIGQUIT);
    let started = Instant::now();
    for number in 0..20 {
        record(&store, &number.to_string(), None, page("a")).await;
    }
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    database.server().start();
    let last = eventually("the entry", async || store.record("19").await.ok().flatten()).await;
    assert_eq!(last.content(), "a");
    assert_eq!(store.status().lost, 0);
}

#[tokio::test]
async fn during_an_outage_the_limit_of_all_servers_rejects_new_sessions_or_is_not_checked() {
    for (failure, expected) in
        [(StoreFailure::Refuse, None), (StoreFailure::Continue, Some(Reservation::Reserved))]
    {
        let database = TestDatabase::postgres();
        let store_timeout = Some(Duration::from_millis(300));
        let store_failure = Some(failure);
        let config = Config { store_timeout, store_failure, ..database.config() };
        let store = Store::open(&config).unwrap();
        store.flush().await;
        database.server().stop(Signal::SIGQUIT);
        for id in ["first", "second"] {
            let reserved = store.reserve_session(session(id), 1).await;
            match &reserved {
                Ok(reservation) => assert_eq!(Some(*reservation), expected),
                Err(error) => {
                    assert!(expected.is_none() && error.retryable, "{error}");
                    assert_eq!(error.code, ErrorCode::ResourceExhausted);
                    store.record_session_end(id, SessionState::Closed);
                }
            }
            if reserved.is_ok() {
                store.record_session_begin(session(id));
            }
        }
        database.server().start();
        // Sessions that began during the outage count after it.
        let open = if expected.is_some() { 2 } else { 0 };
        eventually("the open sessions", async || {
            (store.count_open_sessions().await.ok()? == open).then_some(())
        })
        .await;
        // The writer connects again after a pause, which may exceed the timeout.
        let begun = eventually("a reservation", async || {
            store.reserve_session(session("after"), 1).await.ok()
        })
        .await;
        let full = expected.map_or(Reservation::Reserved, |_| Reservation::LimitReached);
        assert_eq!(begun, full);
    }
}

#[tokio::test]
async fn a_server_that_starts_during_an_outage_connects_after_it() {
    let database = TestDatabase::postgres();
    database.server().stop(Signal::SIGINT);
    let store = database.open();
    database.server().start();
    let recorded = eventually("the entry", async || {
        store.request(request("r", None)).await.ok()?;
        store.record("r").await.ok().flatten()
    });
    assert_eq!(recorded.await.ref_id, "r");
}

#[tokio::test]
async fn the_writes_of_a_server_whose_session_was_taken_over_are_rejected() {
    let database = TestDatabase::postgres();
    let (frozen, next) = (database.open(), database.open());
    frozen.record_session_begin(session("s"));
    frozen.save_state("s", saved("old", &[]));
    record(&frozen, "first", Some("s"), page("a")).await;
    frozen.flush().await;
    assert!(!claims(&next, "s").await);
    // A frozen server writes no heartbeat.
    database.kill(&frozen).await;
    assert!(claims(&next, "s").await);
    next.record_session_begin(session("s"));
    next.save_state("s", saved("new", &[]));
    next.flush().await;
    let late = frozen.request(request("late", Some("s"))).await.unwrap_err();
    assert!(matches!(late, RecordingFailure::TakenOver), "{late}");
    frozen.save_state("s", saved("late", &[]));
    frozen.record_session_end("s", SessionState::Closed);
    frozen.flush().await;
    assert_eq!(next.saved_state("s").await.unwrap().unwrap().state, "new");
    assert_eq!(state(&next, "s").await, Some(SessionState::Active));
    assert!(next.record("late").await.unwrap().is_none());
    assert!(!claims(&frozen, "s").await);
    record(&next, "second", Some("s"), page("a")).await;
}

#[tokio::test]
async fn a_server_that_freezes_during_a_transaction_does_not_block_the_others() {
    let database = TestDatabase::postgres();
    let (frozen, other) = (database.open(), database.open());
    let (begun, has_begun) = std::sync::mpsc::channel();
    let (thaw, thawed) = std::sync::mpsc::channel::<()>();
    let held = tokio::spawn(async move {
        let work = move |tables: &dyn RecordTables| {
            tables.write_client("c", "{}", "frozen")?;
            let _ = begun.send(());
            // Returns when `thaw` is dropped.
            let _ = thawed.recv_timeout(Duration::from_secs(60));
            Ok(())
        };
        frozen.change(work).await
    });
    let wait = move || has_begun.recv_timeout(Duration::from_secs(30));
    tokio::task::spawn_blocking(wait).await.unwrap().unwrap();
    let started = Instant::now();
    other.change(|tables| tables.write_client("c", "{}", "other")).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    drop(thaw);
    let _ = held.await.unwrap();
}

#[tokio::test]
async fn of_several_servers_that_claim_a_session_at_the_same_time_one_gets_it() {
    let database = TestDatabase::postgres();
    let dead = database.open();
    dead.record_session_begin(session("s"));
    dead.save_state("s", saved("state", &[]));
    dead.flush().await;
    let servers: Vec<Store> = (0..5).map(|_| database.open()).collect();
    database.kill(&dead).await;
    let claimed = servers.iter().map(|server| claims(server, "s"));
    let claimed = futures_util::future::join_all(claimed).await;
    assert_eq!(claimed.into_iter().filter(|claimed| *claimed).count(), 1);
}

#[tokio::test]
async fn a_client_that_a_server_with_an_expired_lease_has_claimed_belongs_to_it() {
    let database = TestDatabase::postgres();
    let (dead, next, other) = (database.open(), database.open(), database.open());
    dead.save_client("c", "{}".to_owned());
    dead.flush().await;
    for server in [&dead, &next] {
        database.kill(server).await;
    }
    assert_eq!(next.claim_client("c").await.unwrap().as_deref(), Some("{}"));
    assert_eq!(other.claim_client("c").await.unwrap(), None);
}

#[tokio::test]
async fn a_server_whose_client_was_claimed_is_removed_and_notices_it() {
    let database = TestDatabase::postgres();
    let (former, other) = (database.open(), database.open());
    former.save_client("c", "{}".into());
    former.flush().await;
    database.kill(&former).await;
    assert_eq!(other.claim_client("c").await.unwrap().as_deref(), Some("{}"));
    let row = format!("SELECT pid::text FROM servers WHERE server_id = '{}'", former.server_id());
    assert!(database.sql(&row).await.is_empty());
}

#[tokio::test]
async fn a_server_notices_that_its_row_was_removed_although_it_exists_again() {
    let database = TestDatabase::postgres();
    let store = database.open();
    store.register_url("http://127.0.0.1:1".into());
    let id = store.server_id().to_owned();
    let registered =
        format!("SELECT url FROM servers WHERE server_id = '{id}' AND url IS NOT NULL");
    eventually("the first heartbeat", async || {
        (!database.sql(&registered).await.is_empty()).then_some(())
    })
    .await;
    assert_eq!(store.losses(), 0);
    // As a heartbeat whose response was lost inserts the row.
    database.sql(&format!("UPDATE servers SET started_at = 1 WHERE server_id = '{id}'")).await;
    eventually("the next heartbeat", async || (store.losses() == 1).then_some(())).await;
}

#[tokio::test]
async fn sessions_are_claimed_while_the_leases_of_their_server_are_ended() {
    let database = TestDatabase::postgres();
    let (first, second) = (database.open(), database.open());
    for round in 0..5 {
        let ended = database.open();
        let ids: Vec<_> = (0..40).map(|number| format!("{round}-{number}")).collect();
        for id in &ids {
            ended.record_session_begin(session(id));
            ended.save_state(id, saved("{}", &[]));
        }
        ended.flush().await;
        database.kill(&ended).await;
        let claim = async {
            for id in &ids {
                assert!(claims(&first, id).await, "{id}");
            }
        };
        let end = async {
            for _ in 0..40 {
                second.change(|tables| tables.store_states_of_ended_servers()).await.unwrap();
            }
        };
        tokio::join!(claim, end);
    }
}

#[tokio::test]
async fn a_server_that_continues_while_its_lease_is_ended_keeps_its_sessions_or_is_removed() {
    let database = TestDatabase::postgres();
    let (frozen, other) = (database.open(), database.open());
    frozen.record_session_begin(session("s"));
    frozen.flush().await;
    database.kill(&frozen).await;
    let id = frozen.server_id();
    // As a frozen server that continues: it locks its session, and then writes a heartbeat.
    let continues = format!(
        "BEGIN; SELECT 1 FROM sessions WHERE session_id = 's' FOR SHARE; SELECT pg_sleep(1);
         UPDATE servers SET last_seen = clock_timestamp() WHERE server_id = '{id}'; COMMIT"
    );
    let end = async {
        let sleeping = "SELECT pid::text FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        eventually("the lock", async || (!database.sql(sleeping).await.is_empty()).then_some(()))
            .await;
        other.change(|tables| tables.store_states_of_ended_servers()).await.unwrap();
    };
    tokio::join!(database.sql(&continues), end);
    let row =
        database.sql(&format!("SELECT pid::text FROM servers WHERE server_id = '{id}'")).await;
    let is_kept = state(&other, "s").await == Some(SessionState::Active);
    assert_eq!(is_kept, !row.is_empty());
}

#[tokio::test]
async fn a_server_whose_lease_expired_while_nobody_took_its_session_keeps_it() {
    let database = TestDatabase::postgres();
    let (store, other) = (database.open(), database.open());
    store.record_session_begin(session("s"));
    store.save_state("s", saved("state", &[]));
    store.request(request("running", Some("s"))).await.unwrap();
    store.flush().await;
    database.kill(&store).await;
    // Another server regards it as ended.
    other.change(|tables| tables.begin_server("a third server")).await.unwrap();
    let answer = other.record("running").await.unwrap().unwrap().answer.unwrap();
    assert_eq!(answer.error_message.unwrap(), "the server died during the call");
    // It runs again, and its call completes.
    store.answer(request("running", Some("s")), page("done")).await.unwrap();
    let answer = other.record("running").await.unwrap().unwrap();
    assert!(answer.answer.as_ref().unwrap().success);
    assert_eq!(answer.content(), "done");
    assert_eq!(state(&other, "s").await, Some(SessionState::Active));
}

#[tokio::test]
async fn a_newer_database_and_one_of_another_program_are_rejected() {
    let database = TestDatabase::postgres();
    database.open().close().await;
    database.sql("UPDATE troupe_schema SET version = 99").await;
    let error = Store::open(&database.config()).err().unwrap();
    assert!(error.message.contains("newer version"), "{error}");
    database.sql("DROP TABLE troupe_schema").await;
    let error = Store::open(&database.config()).err().unwrap();
    assert!(error.message.contains("already exists"), "{error}");
}

#[tokio::test]
async fn servers_that_start_at_the_same_time_create_the_tables_once() {
    let database = TestDatabase::postgres();
    let config = database.config();
    let opened = std::thread::scope(|threads| {
        let threads: Vec<_> =
            (0..4).map(|_| threads.spawn(|| Store::open(&config).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for (number, store) in opened.iter().enumerate() {
        record(store, &number.to_string(), None, page("a")).await;
    }
    assert_eq!(database.sql("SELECT version FROM troupe_schema").await, [["3"]]);
}

#[test]
fn a_url_that_names_no_database_is_rejected() {
    for url in ["postgres://host", "postgres://user:hidden@host:none/db"] {
        let config = Config { store: Some(url.to_owned()), ..Config::default() };
        let error = Store::open(&config).err().unwrap();
        assert_eq!(error.code, ErrorCode::InvalidParameters);
        assert!(!error.to_string().contains("hidden"), "{error}");
    }
}
