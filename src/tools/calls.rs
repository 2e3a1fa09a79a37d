//! Counts the calls of each tool by outcome, with their durations.

use std::{borrow::Cow, sync::atomic::AtomicU64, time::Instant};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::{Family, MetricConstructor},
        histogram::Histogram,
    },
};

use tokio::sync::watch;

use super::answer::CallOutcome;

/// Bounds of the histogram in seconds: from half a millisecond to half a minute.
const BOUNDS: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// The labels of a counted call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct CallLabels {
    tool: Cow<'static, str>,
    /// `ok`, the error's code, `cancelled`, or `failed` for an error of the upstream server without
    /// a code.
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ToolLabels {
    tool: Cow<'static, str>,
}

#[derive(Debug, Clone)]
pub struct SecondsHistogram;

impl MetricConstructor<Histogram> for SecondsHistogram {
    fn new_metric(&self) -> Histogram {
        Histogram::new(BOUNDS)
    }
}

/// The call counters of a server. Clones share them.
#[derive(Debug, Clone)]
pub struct Calls {
    pub counts: Family<CallLabels, Counter<u64, AtomicU64>>,
    pub seconds: Family<ToolLabels, Histogram, SecondsHistogram>,
    /// Number of running calls.
    running: watch::Sender<usize>,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            counts: Family::default(),
            seconds: Family::new_with_constructor(SecondsHistogram),
            running: watch::Sender::new(0),
        }
    }
}

impl Calls {
    /// Begins to count a call to `tool`.
    pub(super) fn begin(&self, tool: Cow<'static, str>, outcome: CallOutcome) -> RunningCall<'_> {
        self.running.send_modify(|running| *running += 1);
        RunningCall { calls: self, tool, begun: Instant::now(), outcome: Some(outcome) }
    }

    /// Returns when no call runs.
    pub async fn wait_until_idle(&self) {
        // `self` owns the sender, so the channel cannot be closed.
        let _ = self.running.subscribe().wait_for(|running| *running == 0).await;
    }
}

/// A running call. At its end it is counted and logged in one line. If it is dropped before, it
/// counts as canceled.
pub(super) struct RunningCall<'a> {
    calls: &'a Calls,
    tool: Cow<'static, str>,
    begun: Instant,
    outcome: Option<CallOutcome>,
}

impl RunningCall<'_> {
    /// Returns the outcome so far.
    pub fn outcome(&mut self) -> &mut CallOutcome {
        self.outcome.get_or_insert_with(CallOutcome::default)
    }

    /// Ends the call with its current outcome.
    pub fn finish(mut self) -> CallOutcome {
        let outcome = self.outcome.take().unwrap_or_default();
        let result = match &outcome.result {
            Ok(answer) if answer.is_failure() => "failed",
            Ok(_) => "ok",
            Err(error) => error.code.as_str(),
        };
        self.count_and_log(result, &outcome);
        outcome
    }

    fn count_and_log(&self, result: &'static str, outcome: &CallOutcome) {
        let took = self.begun.elapsed();
        self.calls
            .counts
            .get_or_create(&CallLabels { tool: self.tool.clone(), outcome: result })
            .inc();
        self.calls
            .seconds
            .get_or_create(&ToolLabels { tool: self.tool.clone() })
            .observe(took.as_secs_f64());
        tracing::info!(
            tool = &*self.tool,
            session = outcome.session_id,
            duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            result,
            ref_id = outcome.ref_id,
            "call"
        );
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        if let Some(outcome) = self.outcome.take() {
            self.count_and_log("cancelled", &outcome);
        }
        self.calls.running.send_modify(|running| *running = running.saturating_sub(1));
    }
}
