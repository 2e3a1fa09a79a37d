//! Random sequences of calls, takeovers and faults on several servers with one database, compared
//! with a model of who holds each session.
//!
//! A killed server loses its queue; a frozen one has no lease and writes late. A partitioned server
//! cannot log in to the database, so that its writes wait. The clock of the servers plays no role.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use proptest::{
    prelude::*,
    test_runner::{Config as RunnerConfig, TestRunner},
};

use super::{
    super::*,
    database::{TestDatabase, claims, page, request, session, state},
    shared::saved,
};

const SERVERS: usize = 3;
const SESSIONS: usize = 2;
/// The number of sequences, and the steps of each.
const CASES: u32 = 24;
const STEPS: usize = 30;
/// How long a write waits for the database.
const TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy)]
enum Step {
    Call {
        server: usize,
        session: usize,
    },
    Save {
        server: usize,
        session: usize,
    },
    Release {
        server: usize,
        session: usize,
    },
    Claim {
        server: usize,
        session: usize,
    },
    /// All servers claim the session at the same time.
    Race {
        session: usize,
    },
    Kill {
        server: usize,
    },
    Freeze {
        server: usize,
    },
    /// Ends the connections of a server, which connects again.
    Disconnect {
        server: usize,
    },
    /// Cuts a server off from the database, or connects it again.
    Partition {
        server: usize,
    },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let (server, session) = (0..SERVERS, 0..SESSIONS);
    let pair = (server.clone(), session.clone());
    prop_oneof![
        8 => pair.clone().prop_map(|(server, session)| Step::Call { server, session }),
        4 => pair.clone().prop_map(|(server, session)| Step::Save { server, session }),
        2 => pair.clone().prop_map(|(server, session)| Step::Release { server, session }),
        6 => pair.prop_map(|(server, session)| Step::Claim { server, session }),
        2 => session.prop_map(|session| Step::Race { session }),
        1 => server.clone().prop_map(|server| Step::Kill { server }),
        4 => server.clone().prop_map(|server| Step::Freeze { server }),
        1 => server.clone().prop_map(|server| Step::Disconnect { server }),
        1 => server.prop_map(|server| Step::Partition { server }),
        1 => Just(Step::Restart),
    ]
}

/// The state of a server's lease in the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lease {
    Held,
    Expired,
    /// The server has no heartbeat. A write may have extended its lease.
    Unknown,
}

struct TestServer {
    store: Store,
    lease: Lease,
    is_partitioned: bool,
    /// The sessions that it has opened, also those that it has lost.
    opened: HashSet<usize>,
}

struct TestSession {
    id: String,
    /// The server that holds it; `None` if it was released.
    holder: Option<usize>,
    /// The ids of the servers that have claimed it, in order.
    claims: Vec<String>,
    /// The states that can be in the record. The last one is the newest.
    states: Vec<String>,
    /// The calls whose results a client has received.
    answered: Vec<String>,
}

struct Cluster<'a> {
    database: &'a TestDatabase,
    servers: Vec<TestServer>,
    sessions: Vec<TestSession>,
    next: usize,
}

/// The name of the role and the URL of a server in `database`.
fn open(database: &TestDatabase, server: usize) -> Store {
    let config = database.config();
    let url = config.store.as_deref().unwrap().replace("postgres@", &format!("server{server}@"));
    let store_timeout = Some(TIMEOUT);
    Store::open(&Config { store: Some(url), store_timeout, ..config }).unwrap()
}

impl<'a> Cluster<'a> {
    async fn start(database: &'a TestDatabase) -> Self {
        static CASE: AtomicUsize = AtomicUsize::new(0);
        let case = CASE.fetch_add(1, Ordering::AcqRel);
        let new = |server| TestServer {
            store: open(database, server),
            lease: Lease::Held,
            is_partitioned: false,
            opened: HashSet::new(),
        };
        let mut servers: Vec<_> = (0..SERVERS).map(new).collect();
        let mut sessions = Vec::new();
        for number in 0..SESSIONS {
            let (id, holder) = (format!("case {case}, session {number}"), number % SERVERS);
            let store = &servers[holder].store;
            store.record_session_begin(session(&id));
            store.save_state(&id, saved("first", &[]));
            store.flush().await;
            let (claims, states) = (vec![store.server_id().to_owned()], vec!["first".to_owned()]);
            servers[holder].opened.insert(number);
            sessions.push(TestSession {
                id,
                holder: Some(holder),
                claims,
                states,
                answered: Vec::new(),
            });
        }
        for server in &servers {
            server.store.flush().await;
        }
        Self { database, servers, sessions, next: 0 }
    }

    fn new_name(&mut self, what: &str) -> String {
        self.next += 1;
        format!("{what} {} of {}", self.next, self.sessions[0].id)
    }

    /// Records that a write without a heartbeat may have extended the lease of `server`.
    fn wrote(&mut self, server: usize) {
        let lease = &mut self.servers[server].lease;
        if *lease == Lease::Expired {
            *lease = Lease::Unknown;
        }
    }

    async fn run(&mut self, step: Step) {
        match step {
            Step::Call { server, session } if self.has_opened(server, session) => {
                self.call(server, session).await;
            }
            Step::Save { server, session } if self.has_opened(server, session) => {
                self.save(server, session).await;
            }
            Step::Release { server, session } if self.has_opened(server, session) => {
                self.release(server, session).await;
            }
            Step::Claim { server, session } if !self.servers[server].is_partitioned => {
                let expected = self.expected_claim(server, session);
                let claimed = claims(&self.servers[server].store, &self.sessions[session].id).await;
                self.check_claim(server, session, expected, claimed).await;
            }
            Step::Race { session } => self.race(session).await,
            Step::Kill { server } => self.kill(server).await,
            Step::Freeze { server } => {
                self.database.kill(&self.servers[server].store).await;
                self.servers[server].lease = Lease::Expired;
            }
            Step::Disconnect { server } => self.disconnect(server).await,
            Step::Partition { server } => {
                let is_partitioned = !self.servers[server].is_partitioned;
                self.set_partitioned(server, is_partitioned).await;
            }
            Step::Restart => self.restart().await,
            _ => {}
        }
    }

    fn has_opened(&self, server: usize, session: usize) -> bool {
        self.servers[server].opened.contains(&session)
    }

    /// Makes a call. A client receives its result if both writes succeed.
    async fn call(&mut self, server: usize, session: usize) {
        let ref_id = self.new_name("call");
        self.wrote(server);
        let (store, held) = (&self.servers[server].store, &mut self.sessions[session]);
        let mut outcome = store.request(request(&ref_id, Some(&held.id))).await;
        if outcome.is_ok() {
            outcome = store.answer(request(&ref_id, Some(&held.id)), page(&ref_id)).await;
        }
        match outcome {
            Ok(()) => {
                assert_eq!(held.holder, Some(server), "a call without the session: {ref_id}");
                held.answered.push(ref_id);
            }
            Err(RecordingFailure::TakenOver) => assert_ne!(held.holder, Some(server), "{ref_id}"),
            // The entry may be written later, unless another server has the session by then.
            Err(RecordingFailure::Unavailable(_)) => {}
            Err(error @ RecordingFailure::Invalid(_)) => panic!("{ref_id}: {error}"),
        }
    }

    async fn save(&mut self, server: usize, session: usize) {
        let name = self.new_name("state");
        self.wrote(server);
        let held = &self.sessions[session];
        self.servers[server].store.save_state(&held.id, saved(&name, &[]));
        let is_written = self.flushed(server).await;
        let held = &mut self.sessions[session];
        if held.holder == Some(server) {
            if is_written {
                held.states.clear();
            }
            held.states.push(name);
        }
    }

    /// Waits until the writes of `server` are complete. Returns whether they are.
    async fn flushed(&self, server: usize) -> bool {
        let TestServer { store, is_partitioned, .. } = &self.servers[server];
        if !is_partitioned {
            store.flush().await;
        }
        store.status().queued == 0
    }

    async fn release(&mut self, server: usize, session: usize) {
        if self.servers[server].is_partitioned {
            return;
        }
        self.servers[server].opened.remove(&session);
        let held = &self.sessions[session];
        self.servers[server].store.record_session_end(&held.id, SessionState::Recoverable);
        assert!(self.flushed(server).await, "the release was not written");
        let held = &mut self.sessions[session];
        if held.holder == Some(server) {
            held.holder = None;
        }
    }

    /// Returns whether a claim must succeed; `None` if both results are correct.
    fn expected_claim(&self, server: usize, session: usize) -> Option<bool> {
        let Some(holder) = self.sessions[session].holder else { return Some(true) };
        match self.servers[holder].lease {
            _ if holder == server => Some(true),
            // Without a connection, its lease expires at some time.
            Lease::Held if self.servers[holder].is_partitioned => None,
            Lease::Held => Some(false),
            Lease::Expired => Some(true),
            Lease::Unknown => None,
        }
    }

    /// Checks the result of a claim. A server that has claimed a session opens it.
    async fn check_claim(
        &mut self,
        server: usize,
        session: usize,
        expected: Option<bool>,
        claimed: bool,
    ) {
        let held = &mut self.sessions[session];
        let holder = held.holder.map(|holder| self.servers[holder].lease);
        assert!(
            expected.is_none_or(|expected| expected == claimed),
            "{server} claims {session}: {claimed}; holder: {:?} with lease {holder:?}",
            held.holder
        );
        if !claimed {
            return;
        }
        held.holder = Some(server);
        let store = &self.servers[server].store;
        held.claims.push(store.server_id().to_owned());
        let found = store.saved_state(&held.id).await.unwrap().unwrap().state;
        assert!(held.states.contains(&found), "`{found}` is none of {:?}", held.states);
        held.states = vec![found];
        store.record_session_begin(super::database::session(&held.id));
        store.flush().await;
        self.servers[server].opened.insert(session);
        self.wrote(server);
    }

    async fn race(&mut self, session: usize) {
        let connected: Vec<usize> =
            (0..SERVERS).filter(|server| !self.servers[*server].is_partitioned).collect();
        let others =
            connected.iter().filter(|server| Some(**server) != self.sessions[session].holder);
        let others: Vec<usize> = others.copied().collect();
        let expected = others.first().and_then(|server| self.expected_claim(*server, session));
        let id = &self.sessions[session].id;
        let claimed = others.iter().map(|server| claims(&self.servers[*server].store, id));
        let claimed = futures_util::future::join_all(claimed).await;
        let winners: Vec<usize> =
            others.iter().zip(claimed).filter_map(|(server, has)| has.then_some(*server)).collect();
        assert!(winners.len() <= 1, "several servers have resumed {session}: {winners:?}");
        match winners[..] {
            [winner] => self.check_claim(winner, session, expected, true).await,
            _ => assert_ne!(expected, Some(true), "no server has resumed {session}"),
        }
    }

    async fn kill(&mut self, server: usize) {
        self.set_partitioned(server, false).await;
        self.database.kill(&self.servers[server].store).await;
        for (number, held) in self.sessions.iter_mut().enumerate() {
            if held.holder == Some(server) {
                // The next server finds it without a holder.
                held.holder = None;
                assert!(self.servers[server].opened.contains(&number));
            }
        }
        self.servers[server] = TestServer {
            store: open(self.database, server),
            lease: Lease::Held,
            is_partitioned: false,
            opened: HashSet::new(),
        };
        self.servers[server].store.flush().await;
    }

    async fn disconnect(&self, server: usize) {
        let end = "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE usename =";
        self.database.sql(&format!("{end} 'server{server}'")).await;
    }

    async fn set_partitioned(&mut self, server: usize, is_partitioned: bool) {
        let login = if is_partitioned { "NOLOGIN" } else { "LOGIN" };
        self.database.sql(&format!("ALTER ROLE server{server} {login}")).await;
        self.servers[server].is_partitioned = is_partitioned;
        if is_partitioned {
            self.disconnect(server).await;
        } else {
            self.wait_connected(server).await;
        }
    }

    /// Waits until a server is connected and its queue is written. Extends its lease, as its next
    /// heartbeat would.
    async fn wait_connected(&mut self, server: usize) {
        let TestServer { store, lease, .. } = &self.servers[server];
        let started = Instant::now();
        loop {
            store.flush().await;
            let id = store.server_id().to_owned();
            let is_extended = *lease != Lease::Held
                || store.change(move |tables| tables.begin_server(&id)).await.is_ok();
            if is_extended && store.status().queued == 0 {
                break;
            }
            assert!(started.elapsed() < Duration::from_secs(20), "{server} does not connect");
        }
        self.wrote(server);
    }

    /// Restarts the database. Each lease lasts until the heartbeats can have arrived.
    async fn restart(&mut self) {
        self.database.sql("UPDATE leases.started SET at = 'infinity'").await;
        self.database.server().stop(Signal::SIGQUIT);
        self.database.server().start();
        let connected: Vec<usize> =
            (0..SERVERS).filter(|server| !self.servers[*server].is_partitioned).collect();
        for held in &self.sessions {
            let holder = held.holder.filter(|holder| self.servers[*holder].lease == Lease::Held);
            let Some(holder) = holder else { continue };
            if let Some(other) = connected.iter().find(|server| **server != holder) {
                let claimed = claims(&self.servers[*other].store, &held.id).await;
                assert!(!claimed, "a claim right after the start of the database");
            }
        }
        for server in connected {
            self.wait_connected(server).await;
        }
        self.database.sql("UPDATE leases.started SET at = NULL").await;
    }

    /// Checks that another server can resume each session with its newest state and all results.
    async fn check_end(mut self) {
        for server in 0..SERVERS {
            if self.servers[server].is_partitioned {
                self.set_partitioned(server, false).await;
            }
            self.servers[server].store.flush().await;
            self.database.kill(&self.servers[server].store).await;
        }
        let last = open(self.database, 0);
        for held in &mut self.sessions {
            assert!(claims(&last, &held.id).await, "{} is lost", held.id);
            held.claims.push(last.server_id().to_owned());
            let found = last.saved_state(&held.id).await.unwrap().unwrap().state;
            assert!(held.states.contains(&found), "`{found}` is none of {:?}", held.states);
            last.record_session_begin(session(&held.id));
            last.request(request(&format!("last of {}", held.id), Some(&held.id))).await.unwrap();
            assert_eq!(state(&last, &held.id).await, Some(SessionState::Active));
            for ref_id in &held.answered {
                let record = last.record(ref_id).await.unwrap().expect("the call is recorded");
                assert_eq!(record.session_id.as_deref(), Some(&*held.id));
                assert!(record.answer.as_ref().is_some_and(|answer| answer.success), "{ref_id}");
                assert_eq!(record.content(), *ref_id);
            }
            // The calls of a server were all written before the claim of the next one.
            let by_server = format!(
                "SELECT server_id FROM requests WHERE session_id = '{}' ORDER BY number",
                held.id
            );
            let mut writers: Vec<String> =
                self.database.sql(&by_server).await.into_iter().flatten().collect();
            writers.dedup();
            let mut claims = held.claims.iter();
            let is_in_order = writers.iter().all(|writer| claims.any(|claim| claim == writer));
            assert!(is_in_order, "writers {writers:?}, claims {:?}", held.claims);
        }
    }
}

/// Prepares roles for the servers, and a function that replaces the one with the start time of the
/// database: a lease need not be awaited after each start.
async fn prepare(database: &TestDatabase) {
    let roles: String =
        (0..SERVERS).map(|server| format!("CREATE ROLE server{server} SUPERUSER LOGIN;")).collect();
    let sql = format!(
        "{roles}
         CREATE SCHEMA leases;
         CREATE TABLE leases.started (at TIMESTAMPTZ);
         INSERT INTO leases.started VALUES (NULL);
         CREATE FUNCTION leases.pg_postmaster_start_time() RETURNS TIMESTAMPTZ
             LANGUAGE sql STABLE AS 'SELECT at FROM leases.started';
         ALTER DATABASE postgres SET search_path = public, leases, pg_catalog;"
    );
    database.sql(&sql).await;
}

#[test]
fn each_session_has_one_writer_and_is_resumed_once_for_each_loss_whatever_fails() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let database = TestDatabase::postgres();
    runtime.block_on(prepare(&database));
    let config = RunnerConfig {
        cases: CASES,
        max_shrink_iters: 100,
        failure_persistence: None,
        ..RunnerConfig::default()
    };
    let steps = proptest::collection::vec(step(), STEPS);
    let outcome = TestRunner::new(config).run(&steps, |steps| {
        runtime.block_on(async {
            let mut cluster = Cluster::start(&database).await;
            for step in steps {
                cluster.run(step).await;
            }
            cluster.check_end().await;
        });
        Ok(())
    });
    outcome.unwrap();
}
