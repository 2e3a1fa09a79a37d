//! Connections to the database, in two pools: for writes and for reads. A runtime of its own drives
//! them, so that a busy server does not delay the heartbeat.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime as PoolRuntime,
};
use tokio::{runtime::Runtime, sync::Mutex, task::JoinHandle};
use tokio_postgres::{Error, NoTls, config::SslMode, types::WrongType};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::schema;
use crate::{
    error::{ErrorCode, Result, TRUST_CERTIFICATE, TroupeError, rejected_certificate, with_causes},
    store::{
        failures::{DatabaseError, DatabaseResult, FailureKind},
        location::DatabaseUrl,
    },
};

/// Maximum number of connections that write: that of the writer and that of the heartbeat.
const WRITE_CONNECTIONS: usize = 2;
/// Maximum number of connections that read.
const READ_CONNECTIONS: usize = 4;
/// Timeout for a new connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of one statement. A large session state is one statement.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long sent data may stay unacknowledged, and a connection idle without a probe.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(10);

/// The use of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionUse {
    Write,
    Read,
}

pub(super) struct Connections {
    /// `None` after the end.
    runtime: Option<Runtime>,
    writes: Pool,
    reads: Pool,
    /// Whether the tables have the version of this program.
    is_migrated: AtomicBool,
    migration: Mutex<()>,
}

impl Connections {
    /// Creates the pools. Connects when a connection is needed. `timeout` limits the wait for one.
    pub fn new(url: &DatabaseUrl, timeout: Duration) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("troupe-postgres")
            .enable_all()
            .build()
            .map_err(|error| failure(ErrorCode::InternalError, &error))?;
        let pool = |connections: usize| -> Result<Pool> {
            let config = client_config(url)?;
            let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
            let manager = match config.get_ssl_mode() {
                SslMode::Disable => Manager::from_config(config, NoTls, recycling),
                _ => Manager::from_config(config, tls()?, recycling),
            };
            Pool::builder(manager)
                .max_size(connections)
                .runtime(PoolRuntime::Tokio1)
                .wait_timeout(Some(timeout))
                .create_timeout(Some(CONNECT_TIMEOUT))
                .build()
                .map_err(|error| failure(ErrorCode::InternalError, &error))
        };
        Ok(Self {
            writes: pool(WRITE_CONNECTIONS)?,
            reads: pool(READ_CONNECTIONS)?,
            runtime: Some(runtime),
            is_migrated: AtomicBool::new(false),
            migration: Mutex::default(),
        })
    }

    /// Runs a task until the end of the connections.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Option<JoinHandle<()>> {
        Some(self.runtime.as_ref()?.spawn(task))
    }

    /// Blocks the thread until `statement` completes or times out. Must not be called on the thread
    /// of an async runtime.
    pub fn wait<T>(&self, statement: impl Future<Output = DatabaseResult<T>>) -> DatabaseResult<T> {
        let Some(runtime) = &self.runtime else { return Err(unavailable("the store is closed")) };
        let timeout = async { tokio::time::timeout(STATEMENT_TIMEOUT, statement).await };
        runtime.handle().block_on(timeout).unwrap_or_else(|_| Err(unavailable("no answer in time")))
    }

    /// Returns a connection to a database with the tables of this version.
    pub async fn get(&self, purpose: ConnectionUse) -> DatabaseResult<Object> {
        let pool = match purpose {
            ConnectionUse::Write => &self.writes,
            ConnectionUse::Read => &self.reads,
        };
        let mut client = pool.get().await.map_err(|error| pool_error(&error))?;
        if !self.is_migrated.load(Ordering::Acquire) {
            self.migrate(&mut client).await?;
        }
        Ok(client)
    }

    async fn migrate(&self, client: &mut Object) -> DatabaseResult<()> {
        let _one_at_a_time = self.migration.lock().await;
        if self.is_migrated.load(Ordering::Acquire) {
            return Ok(());
        }
        let newer = schema::migrate(client).await.map_err(|error| {
            // Retries do not change a conflict with the tables of another program.
            let error = database_error(&error);
            DatabaseError { message: format!("its tables: {}", error.message), ..error }
        })?;
        if let Some(found) = newer {
            return Err(DatabaseError {
                kind: FailureKind::Damaged,
                message: format!(
                    "it was made by a newer version of Troupe: its tables are version {found}, this one knows {}",
                    schema::VERSION
                ),
            });
        }
        self.is_migrated.store(true, Ordering::Release);
        Ok(())
    }

    /// Connects, and creates the tables if they are missing. Blocks the thread.
    pub fn connect(self: &Arc<Self>) -> DatabaseResult<()> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let connections = self.clone();
        self.spawn(async move {
            let connected = connections.get(ConnectionUse::Write).await.map(drop);
            let _ = sender.send(connected);
        });
        receiver
            .recv_timeout(2 * CONNECT_TIMEOUT)
            .unwrap_or_else(|_| Err(unavailable("no answer in time")))
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        // Waiting for its thread is not allowed on a thread of another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn client_config(url: &DatabaseUrl) -> Result<tokio_postgres::Config> {
    let invalid = |why: &dyn std::fmt::Display| {
        TroupeError::new(
            ErrorCode::InvalidParameters,
            format!("`--store {url}` is not a valid database URL: {why}"),
        )
        .suggestion("pass postgres://USER:PASSWORD@HOST/DATABASE?sslmode=require")
    };
    // The driver verifies the certificate and the host name with every mode that uses TLS.
    let text = url.secret().replace("sslmode=verify-full", "sslmode=require");
    let mut config: tokio_postgres::Config =
        text.parse().map_err(|error: Error| invalid(&message(&error)))?;
    if config.get_dbname().is_none() {
        return Err(invalid(&"it names no database"));
    }
    config
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_user_timeout(NETWORK_TIMEOUT)
        .keepalives_idle(NETWORK_TIMEOUT);
    if config.get_application_name().is_none() {
        config.application_name("troupe");
    }
    let is_local = config.get_hosts().iter().all(is_local_host)
        && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback);
    if is_local && !url.secret().contains("sslmode=") {
        // A database on the same machine rarely has a certificate that is trusted.
        config.ssl_mode(SslMode::Disable);
    }
    Ok(config)
}

#[cfg(unix)]
fn is_local_host(host: &tokio_postgres::config::Host) -> bool {
    match host {
        tokio_postgres::config::Host::Tcp(name) => is_loopback(name),
        tokio_postgres::config::Host::Unix(_) => true,
    }
}

#[cfg(not(unix))]
fn is_local_host(host: &tokio_postgres::config::Host) -> bool {
    let tokio_postgres::config::Host::Tcp(name) = host;
    is_loopback(name)
}

fn is_loopback(name: &str) -> bool {
    let address = name.parse::<std::net::IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// TLS with the certificates that the machine trusts, including a CA in `SSL_CERT_FILE`.
fn tls() -> Result<MakeRustlsConnect> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let loaded = MakeRustlsConnect::with_native_certs();
    let (tls, _) = loaded.map_err(|_| {
        TroupeError::new(ErrorCode::InternalError, "the machine trusts no certificates")
            .suggestion(TRUST_CERTIFICATE)
    })?;
    Ok(tls)
}

fn failure(code: ErrorCode, error: &dyn std::fmt::Display) -> TroupeError {
    TroupeError::new(code, format!("the connections to the record could not be created: {error}"))
}

pub(super) fn unavailable(message: &str) -> DatabaseError {
    DatabaseError { kind: FailureKind::Unavailable, message: message.to_owned() }
}

fn pool_error(error: &PoolError) -> DatabaseError {
    match error {
        PoolError::Backend(error) => database_error(error),
        error => unavailable(&error.to_string()),
    }
}

/// Classifies an error by its SQLSTATE. See Appendix A of the manual of PostgreSQL.
pub(super) fn database_error(error: &Error) -> DatabaseError {
    if let Some(tls) = rejected_certificate(error) {
        return DatabaseError {
            kind: FailureKind::Other,
            message: format!("its certificate is not trusted: {tls}; {TRUST_CERTIFICATE}"),
        };
    }
    let class = error.code().and_then(|code| code.code().get(..2)).unwrap_or_default();
    let source = std::error::Error::source(error);
    let kind = match class {
        // A parameter of another type than the statement expects.
        _ if source.is_some_and(|source| source.is::<WrongType>()) => FailureKind::InvalidEntry,
        // A data exception, a violated constraint, or a value that is too large for an index.
        "22" | "23" | "54" => FailureKind::InvalidEntry,
        // A deadlock, or another conflict between transactions.
        "40" => FailureKind::Conflict,
        // A wrong password, a missing database, missing permissions or tables.
        "28" | "3D" | "42" => FailureKind::Other,
        // No connection, a restart, a full disk, too many connections, a read-only replica…
        _ => FailureKind::Unavailable,
    };
    DatabaseError { kind, message: message(error) }
}

/// Returns the error and its cause, in one line.
fn message(error: &Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    with_causes(error)
}
