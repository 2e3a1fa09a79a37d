//! What Prometheus reads at `/metrics`: clients, sessions, requests, and the calls of each tool.

use std::{
    fmt,
    sync::{Arc, atomic::AtomicU64},
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::header,
    middleware::Next,
    response::{IntoResponse, Response},
};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text::encode},
    metrics::{counter::Counter, family::Family, gauge::ConstGauge},
    registry::Registry as Exposition,
};

use super::{Shared, clients::Clients, problem};
use crate::server::Server;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    path: String,
    status: u16,
}

/// The counters of a server.
pub(super) struct Metrics {
    exposition: Exposition,
    requests: Family<Asked, Counter<u64, AtomicU64>>,
}

impl Metrics {
    pub fn new(server: &Arc<Server>, clients: &Arc<Clients>) -> Self {
        let mut exposition = Exposition::with_prefix("troupe");
        let requests = Family::default();
        exposition.register("http_requests", "Requests, by path and status", requests.clone());
        let calls = server.registry().calls();
        exposition.register("calls", "Calls, by tool and outcome", calls.counts.clone());
        exposition.register("call_seconds", "How long calls took, by tool", calls.seconds.clone());
        let now = Now { server: server.clone(), clients: clients.clone() };
        exposition.register_collector(Box::new(now));
        Self { exposition, requests }
    }
}

/// What is counted when it is asked for.
struct Now {
    server: Arc<Server>,
    clients: Arc<Clients>,
}

impl fmt::Debug for Now {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Now")
    }
}

impl Collector for Now {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, help, count) in [
            ("sessions", "Browser sessions that live", self.server.registry().manager().list().len()),
            ("clients", "Clients that are attached over HTTP and WebSocket", self.clients.count()),
        ] {
            let gauge = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}

/// Counts a request by its route (a path may be anything) and what was answered.
pub(super) async fn count(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let response = next.run(request).await;
    let asked = Asked { path, status: response.status().as_u16() };
    shared.metrics.requests.get_or_create(&asked).inc();
    response
}

pub(super) async fn show(State(shared): State<Shared>) -> Response {
    let mut text = String::new();
    match encode(&mut text, &shared.metrics.exposition) {
        Ok(()) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => problem(
            axum::http::StatusCode::INTERNAL_SERVER_ERROR,
            "internal_error",
            format!("the metrics could not be written: {error}"),
        ),
    }
}
