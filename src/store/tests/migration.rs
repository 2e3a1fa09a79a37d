//! Tests of the migration between an SQLite file and PostgreSQL.

use super::{
    super::*,
    database::{TestDatabase, claims, page, record, session, state},
    shared::saved,
};

/// Writes two sessions, one of which is closed, calls with all kinds of data, and cursors.
async fn write(database: &TestDatabase) {
    let store = database.open();
    for id in ["open", "closed"] {
        store.record_session_begin(session(id));
        store.save_state(id, saved(&format!("state of {id}"), &[("https://a", "1", "storage")]));
    }
    for number in 0..25 {
        record(&store, &format!("call {number}"), Some("open"), page(&format!("page {number}")))
            .await;
    }
    let message = |text: &str| Message {
        level: "warn".to_owned(),
        text: text.to_owned(),
        at: now(),
        url: Some("https://a/".to_owned()),
        line: Some(1),
        column: None,
    };
    let picture = |data: &[u8]| Picture { mime_type: "image/png".to_owned(), data: data.to_vec() };
    let rich = NewAnswer {
        console: vec![message("first"), message("second")],
        pictures: vec![picture(&[0, 1, 255])],
        content: Some("the whole text".into()),
        test_ids: Some("{}".to_owned()),
        ..page("rich page")
    };
    record(&store, "rich", None, rich).await;
    store.record_session_end("closed", SessionState::Closed);
    let newest = store.record("call 24").await.unwrap().unwrap();
    store.read_from_cursor(&newest, CursorOwner::Session("open".to_owned()), false).await.unwrap();
    store.close().await;
}

/// Compares the records as a user reads them.
async fn assert_same(one: &Store, other: &Store) {
    let sessions = |rows: Vec<SessionRow>| -> Vec<_> {
        rows.into_iter().map(|row| (row.id, row.state, row.requests, row.created_at)).collect()
    };
    let all = SessionFilter::default;
    assert_eq!(
        sessions(one.sessions(all()).await.unwrap()),
        sessions(other.sessions(all()).await.unwrap())
    );
    let history = one.history("open").await.unwrap();
    assert_eq!(history.len(), 25);
    assert_eq!(other.history("open").await.unwrap(), history);
    for ref_id in history.iter().map(String::as_str).chain(["rich"]) {
        let [one, other] = [one.record(ref_id).await.unwrap(), other.record(ref_id).await.unwrap()];
        assert_eq!(format!("{:?}", other.unwrap()), format!("{:?}", one.unwrap()));
    }
    let console = one.console_of_record("rich", None, 1_000).await.unwrap();
    assert_eq!(console.messages.len(), 2);
    assert_eq!(other.console_of_record("rich", None, 1_000).await.unwrap(), console);
    let pictures = other.pictures("rich").await.unwrap();
    assert_eq!(pictures.len(), 1);
    assert_eq!((&*pictures[0].mime_type, &*pictures[0].data), ("image/png", &[0, 1, 255][..]));
    assert_eq!(other.saved_state("open").await.unwrap().unwrap().state, "state of open");
    assert_eq!(other.saved_origins("open").await.unwrap(), ["storage"]);
    assert!(other.saved_state("closed").await.unwrap().is_none());
    let newest = other.record("call 24").await.unwrap().unwrap();
    let read =
        other.read_from_cursor(&newest, CursorOwner::Session("open".to_owned()), false).await;
    assert_eq!(read.unwrap(), CursorRead::Changes(String::new()));
}

#[tokio::test]
async fn a_migrated_record_is_the_same_in_each_kind_of_database() {
    let (file, postgres, back) =
        (TestDatabase::file(), TestDatabase::postgres(), TestDatabase::file());
    write(&file).await;
    let (source, target, last) = (file.open(), postgres.open(), back.open());
    let expected = MigrationCounts { sessions: 2, calls: 26, kept: 0 };
    assert_eq!(source.migrate(&target).await.unwrap(), expected);
    assert_same(&source, &target).await;
    assert_eq!(target.migrate(&last).await.unwrap(), expected);
    assert_same(&source, &last).await;
    assert!(claims(&last, "open").await);
    let sizes = postgres.sql("SELECT bytes::text FROM requests WHERE ref_id = 'rich'").await;
    assert!(sizes[0][0].parse::<usize>().unwrap() > "rich page the whole text".len());
}

#[tokio::test]
async fn a_repeated_migration_changes_nothing_that_the_target_has() {
    let (file, postgres) = (TestDatabase::file(), TestDatabase::postgres());
    write(&file).await;
    let (source, target) = (file.open(), postgres.open());
    source.migrate(&target).await.unwrap();
    assert!(claims(&target, "open").await);
    target.record_session_begin(session("open"));
    target.save_state("open", saved("newer state", &[]));
    target.flush().await;
    postgres.sql("DELETE FROM requests WHERE ref_id = 'rich'").await;
    let again = source.migrate(&target).await.unwrap();
    assert_eq!(again, MigrationCounts { sessions: 0, calls: 1, kept: 27 });
    assert_eq!(target.saved_state("open").await.unwrap().unwrap().state, "newer state");
    assert_eq!(state(&target, "open").await, Some(SessionState::Active));
    let error = target.migrate(&source).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidParameters, "{error}");
    assert!(error.message.contains("running servers use 1 session"), "{error}");
}
