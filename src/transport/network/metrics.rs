//! The Prometheus metrics at `/metrics`: clients, sessions, browsers, memory, requests, and the
//! calls of each tool.

use std::{
    fmt,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::header,
    middleware::Next,
    response::{IntoResponse, Response},
};
use parking_lot::Mutex;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text::encode},
    metrics::{
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::ConstGauge,
    },
    registry::Registry as Exposition,
};

use super::{ServerState, clients::Clients, problem};
use crate::{
    server::Server,
    session::{BrowserCounts, ResidentMemory, SessionManager, available_memory},
};

/// How long the metrics wait for the number of open sessions in the record.
const COUNT_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    path: String,
    status: u16,
}

/// The counters of a server.
pub(super) struct Metrics {
    exposition: Exposition,
    requests: Family<RequestLabels, Counter<u64, AtomicU64>>,
    measured: Arc<Mutex<Measurements>>,
}

/// Values that are slow to read. They are measured before the other values are collected.
#[derive(Debug, Clone, Copy, Default)]
struct Measurements {
    browsers: BrowserCounts,
    resident: Option<ResidentMemory>,
    available: Option<u64>,
    /// The open sessions of all servers, if they have a limit.
    all_sessions: Option<usize>,
}

impl Metrics {
    pub fn new(server: &Arc<Server>, clients: &Arc<Clients>) -> Self {
        let mut exposition = Exposition::with_prefix("troupe");
        let requests = Family::default();
        exposition.register("http_requests", "Requests, by path and status", requests.clone());
        let calls = server.registry().calls();
        exposition.register("calls", "Calls, by tool and outcome", calls.counts.clone());
        exposition.register("call_seconds", "How long calls took, by tool", calls.seconds.clone());
        let measured = Arc::<Mutex<Measurements>>::default();
        let now = CurrentValues {
            server: server.clone(),
            clients: clients.clone(),
            measured: measured.clone(),
        };
        exposition.register_collector(Box::new(now));
        Self { exposition, requests, measured }
    }
}

/// Values that are read when the metrics are requested.
struct CurrentValues {
    server: Arc<Server>,
    clients: Arc<Clients>,
    measured: Arc<Mutex<Measurements>>,
}

impl fmt::Debug for CurrentValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CurrentValues")
    }
}

impl Collector for CurrentValues {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let manager = self.server.registry().manager();
        let Measurements { browsers, resident, available, all_sessions } = *self.measured.lock();
        let count = |count: usize| u64::try_from(count).ok();
        let record = manager.store().status();
        for (name, help, value) in [
            ("sessions", "Open browser sessions", count(manager.list().len())),
            ("session_limit", "Maximum number of browser sessions", count(manager.limit().count)),
            (
                "all_sessions",
                "Open browser sessions of all servers that share the record",
                all_sessions.and_then(count),
            ),
            (
                "all_session_limit",
                "Maximum number of browser sessions of all servers that share the record",
                manager.config().max_sessions_total.and_then(count),
            ),
            ("session_queue", "Calls that wait for a free session", count(manager.waiting())),
            (
                "clients",
                "Clients that are attached over HTTP and WebSocket",
                count(self.clients.count()),
            ),
            ("browsers", "Running browsers", count(browsers.running)),
            (
                "record_available",
                "1 if the last write to the record succeeded",
                count(usize::from(record.failure.is_none())),
            ),
            ("record_queue", "Entries that wait to be written to the record", count(record.queued)),
            ("memory_available_bytes", "Memory that is available without swapping", available),
            (
                "server_memory_bytes",
                "Resident memory of the server",
                resident.map(|memory| memory.server),
            ),
            (
                "child_memory_bytes",
                "Resident memory of the browsers and of the other child processes, shared pages counted for each",
                resident.map(|memory| memory.descendants),
            ),
        ] {
            let Some(value) = value else { continue };
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        let longest_wait = ConstGauge::new(manager.longest_wait().as_secs_f64());
        longest_wait.encode(encoder.encode_descriptor(
            "session_queue_seconds",
            "How long the oldest waiting call has waited for a free session",
            None,
            longest_wait.metric_type(),
        )?)?;
        for (name, help, value) in [
            ("browser_restarts", "Browsers that were restarted after a crash", browsers.restarts),
            ("record_lost_entries", "Entries that could not be written to the record", record.lost),
        ] {
            let counter = ConstCounter::new(value);
            counter.encode(encoder.encode_descriptor(
                name,
                help,
                None,
                counter.metric_type(),
            )?)?;
        }
        Ok(())
    }
}

/// Counts a request by route and status. It does not use the path, of which there is no limited
/// number.
pub(super) async fn count(
    State(state): State<ServerState>,
    request: Request,
    next: Next,
) -> Response {
    let path =
        request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let response = next.run(request).await;
    let labels = RequestLabels { path, status: response.status().as_u16() };
    state.metrics.requests.get_or_create(&labels).inc();
    response
}

/// Returns the number of open sessions of all servers. `None` if they have no limit, or if the
/// record does not respond in time.
async fn count_all_sessions(manager: &SessionManager) -> Option<usize> {
    manager.config().max_sessions_total?;
    let count = manager.store().count_open_sessions();
    tokio::time::timeout(COUNT_TIMEOUT, count).await.ok()?.ok()
}

/// Returns the metrics in the OpenMetrics text format.
pub(super) async fn text(state: &ServerState) -> Result<String, fmt::Error> {
    let manager = state.server.registry().manager();
    let browsers = manager.browser_counts();
    let memory = tokio::task::spawn_blocking(|| (ResidentMemory::read(), available_memory()));
    let (memory, all_sessions) = tokio::join!(memory, count_all_sessions(manager));
    let (resident, available) = memory.unwrap_or_default();
    let measured = Measurements { browsers, resident, available, all_sessions };
    *state.metrics.measured.lock() = measured;
    let mut text = String::new();
    encode(&mut text, &state.metrics.exposition)?;
    Ok(text)
}

pub(super) async fn show(State(state): State<ServerState>) -> Response {
    match text(&state).await {
        Ok(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => problem(
            axum::http::StatusCode::INTERNAL_SERVER_ERROR,
            "INTERNAL_ERROR",
            format!("the metrics could not be written: {error}"),
        ),
    }
}
