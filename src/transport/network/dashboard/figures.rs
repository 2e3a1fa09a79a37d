//! The figures that the dashboard shows, read from the metrics of the server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The outcomes of calls that are not errors.
const NO_ERROR: &[&str] = &["ok", "cancelled"];

/// Figures of the server since its start.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Figures {
    calls: u64,
    errors_by_code: BTreeMap<String, u64>,
    latency_by_tool: BTreeMap<String, Latency>,
    /// Resident memory of the server and its child processes.
    memory_bytes: u64,
    browsers: u64,
    sessions: u64,
    /// Calls that wait for a free session.
    queued: u64,
}

/// The histogram of a tool's calls.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Latency {
    count: u64,
    /// For each bucket, its upper limit in ms and the number of calls up to this limit.
    buckets: Vec<(f64, u64)>,
    sum_ms: f64,
}

impl Figures {
    /// Reads the text of `/metrics`. The metrics library has no other interface for reading.
    pub fn of(text: &str) -> Self {
        let mut figures = Self::default();
        for sample in text.lines().filter_map(Sample::parse) {
            figures.add(&sample);
        }
        figures
    }

    /// Adds the figures of another server.
    pub fn include(&mut self, other: Self) {
        self.calls += other.calls;
        for (code, count) in other.errors_by_code {
            *self.errors_by_code.entry(code).or_default() += count;
        }
        for (tool, latency) in other.latency_by_tool {
            self.latency_by_tool.entry(tool).or_default().include(latency);
        }
        self.memory_bytes += other.memory_bytes;
        self.browsers += other.browsers;
        self.sessions += other.sessions;
        self.queued += other.queued;
    }

    fn add(&mut self, sample: &Sample<'_>) {
        let count = sample.count();
        match sample.name {
            "troupe_calls_total" => {
                self.calls += count;
                let outcome = sample.label("outcome").unwrap_or_default();
                if !NO_ERROR.contains(&outcome.as_str()) {
                    *self.errors_by_code.entry(outcome).or_default() += count;
                }
            }
            "troupe_call_seconds_count" => self.latency_of(sample).count = count,
            "troupe_call_seconds_sum" => self.latency_of(sample).sum_ms = sample.value * 1000.0,
            "troupe_call_seconds_bucket" => {
                let limit = sample.label("le").and_then(|limit| limit.parse::<f64>().ok());
                // The last bucket has no limit. Its number of calls is `count`.
                if let Some(limit) = limit.filter(|limit| limit.is_finite()) {
                    self.latency_of(sample).buckets.push((limit * 1000.0, count));
                }
            }
            "troupe_server_memory_bytes" | "troupe_child_memory_bytes" => {
                self.memory_bytes += count;
            }
            "troupe_browsers" => self.browsers = count,
            "troupe_sessions" => self.sessions = count,
            "troupe_session_queue" => self.queued = count,
            _ => {}
        }
    }

    fn latency_of(&mut self, sample: &Sample<'_>) -> &mut Latency {
        self.latency_by_tool.entry(sample.label("tool").unwrap_or_default()).or_default()
    }
}

impl Latency {
    fn include(&mut self, other: Self) {
        self.count += other.count;
        self.sum_ms += other.sum_ms;
        // All servers have the same limits.
        for (at, (limit, count)) in other.buckets.into_iter().enumerate() {
            match self.buckets.get_mut(at) {
                Some(bucket) => bucket.1 += count,
                None => self.buckets.push((limit, count)),
            }
        }
    }
}

/// A line of OpenMetrics: `name{label="value",…} value`.
struct Sample<'a> {
    name: &'a str,
    labels: &'a str,
    value: f64,
}

impl<'a> Sample<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (series, value) = line.rsplit_once(' ').filter(|_| !line.starts_with('#'))?;
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        Some(Self { name, labels, value: value.parse().ok()? })
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the counters are never negative, and JSON has no larger integers"
    )]
    fn count(&self) -> u64 {
        self.value as u64
    }

    fn label(&self, name: &str) -> Option<String> {
        let mut rest = self.labels;
        loop {
            let (key, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            if key.trim_start_matches(',') == name {
                return Some(value);
            }
            rest = after;
        }
    }
}

/// Returns the text up to the closing quotation mark, with its escapes resolved, and the rest.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    loop {
        match characters.next()? {
            (at, '"') => return Some((value, &text[at + 1..])),
            (_, '\\') => match characters.next()?.1 {
                'n' => value.push('\n'),
                escaped => value.push(escaped),
            },
            (_, character) => value.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_the_metrics() {
        let figures = Figures::of(
            "# HELP troupe_calls Calls, by tool and outcome.\n\
             # TYPE troupe_calls counter\n\
             troupe_calls_total{tool=\"click\",outcome=\"ok\"} 3\n\
             troupe_calls_total{tool=\"click\",outcome=\"TIMEOUT\"} 2\n\
             troupe_calls_total{tool=\"a \\\"b\\\" = {c}\",outcome=\"cancelled\"} 1\n\
             troupe_call_seconds_sum{tool=\"click\"} 0.25\n\
             troupe_call_seconds_count{tool=\"click\"} 5\n\
             troupe_call_seconds_bucket{le=\"0.005\",tool=\"click\"} 4\n\
             troupe_call_seconds_bucket{le=\"+Inf\",tool=\"click\"} 5\n\
             troupe_sessions 2\n\
             troupe_server_memory_bytes 100\n\
             troupe_child_memory_bytes 20\n\
             # EOF\n",
        );
        let click = Latency { count: 5, buckets: vec![(5.0, 4)], sum_ms: 250.0 };
        assert_eq!(
            figures,
            Figures {
                calls: 6,
                errors_by_code: BTreeMap::from([("TIMEOUT".to_owned(), 2)]),
                latency_by_tool: BTreeMap::from([("click".to_owned(), click)]),
                memory_bytes: 120,
                browsers: 0,
                sessions: 2,
                queued: 0,
            }
        );
    }

    #[test]
    fn a_label_is_read_with_its_escapes() {
        let sample = Sample::parse(r#"name{a="x\"y",b="{1,2}\n"} 7"#).unwrap();
        assert_eq!(sample.label("a").as_deref(), Some("x\"y"));
        assert_eq!(sample.label("b").as_deref(), Some("{1,2}\n"));
        assert_eq!(sample.label("c"), None);
    }
}
