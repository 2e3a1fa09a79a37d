//! Keeps long computations off the async threads.
//!
//! The server has one worker thread on a small machine. While it parses 14 MB of JSON, no other
//! session gets an answer.

use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};

/// The size in bytes from which work moves to another thread. A move takes about as long as parsing
/// this much.
pub const LARGE: usize = 128 * 1024;

/// Runs `work`, which processes about `bytes` bytes. If that is [`LARGE`], the other tasks of this
/// thread move to another thread first.
pub fn in_place<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let can_move =
        || Handle::try_current().is_ok_and(|it| it.runtime_flavor() == RuntimeFlavor::MultiThread);
    if bytes >= LARGE && can_move() { tokio::task::block_in_place(work) } else { work() }
}

/// About how many bytes `value` has as JSON.
pub fn json_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(|value| 2 + json_size(value)).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| 4 + key.len() + json_size(value)).sum(),
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    }

    #[test]
    fn other_tasks_run_during_large_work() {
        runtime().block_on(async {
            let (sender, receiver) = std::sync::mpsc::channel();
            let large = tokio::spawn(async move {
                let other = tokio::spawn(async move { sender.send(()).unwrap() });
                let has_run =
                    in_place(LARGE, || receiver.recv_timeout(Duration::from_secs(10)).is_ok());
                other.await.unwrap();
                has_run
            });
            assert!(large.await.unwrap(), "the other task waited for the large work");
        });
    }

    #[test]
    fn small_work_stays_on_its_thread_without_a_move() {
        runtime().block_on(async {
            tokio::spawn(async {
                let before = thread::current().id();
                assert_eq!(in_place(LARGE - 1, || thread::current().id()), before);
            })
            .await
            .unwrap();
        });
    }

    #[tokio::test]
    async fn a_runtime_with_one_thread_runs_the_work_as_it_is() {
        assert_eq!(in_place(LARGE, || 7), 7);
    }

    #[test]
    fn work_outside_of_a_runtime_runs_as_it_is() {
        assert_eq!(in_place(LARGE, || 7), 7);
    }
}
