//! How many calls there were of each tool, how they ended and how long they took.

use std::{
    borrow::Cow,
    sync::atomic::AtomicU64,
    time::{Duration, Instant},
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::{Family, MetricConstructor},
        histogram::Histogram,
    },
};

use super::answer::Outcome;

/// Bounds of the histogram, in seconds: a call may take half a millisecond or half a minute.
const BOUNDS: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// What a call is counted under.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Called {
    tool: Cow<'static, str>,
    /// `ok`, the error's code, or `failed` where the upstream server says no more.
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OfTool {
    tool: Cow<'static, str>,
}

#[derive(Debug, Clone)]
pub struct Seconds;

impl MetricConstructor<Histogram> for Seconds {
    fn new_metric(&self) -> Histogram {
        Histogram::new(BOUNDS)
    }
}

/// The calls of a server; a clone counts on in the same.
#[derive(Debug, Clone)]
pub struct Calls {
    pub counts: Family<Called, Counter<u64, AtomicU64>>,
    pub seconds: Family<OfTool, Histogram, Seconds>,
}

impl Default for Calls {
    fn default() -> Self {
        Self { counts: Family::default(), seconds: Family::new_with_constructor(Seconds) }
    }
}

impl Calls {
    pub(super) fn count(&self, tool: Cow<'static, str>, outcome: &Outcome, begun: Instant) {
        let how = match &outcome.result {
            Ok(answer) if answer.is_failure() => "failed",
            Ok(_) => "ok",
            Err(error) => error.code.as_str(),
        };
        self.counts.get_or_create(&Called { tool: tool.clone(), outcome: how }).inc();
        let took: Duration = begun.elapsed();
        self.seconds.get_or_create(&OfTool { tool }).observe(took.as_secs_f64());
    }
}
