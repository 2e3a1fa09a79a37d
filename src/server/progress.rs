//! Sends progress notifications for a call to a client that has requested them.

use std::time::Duration;

use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::Peer,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::tools::{Progress, Stage};

/// Interval of progress notifications for a call without stages, shorter than the timeouts of
/// clients.
const NOTIFICATION_INTERVAL: Duration = Duration::from_secs(1);

/// Sends notifications of `progress` until `call_ended` is canceled or the client has disconnected.
/// If `notifies_periodically`, also notifies at an interval that the call is running, until it
/// reports its first stage. For a call without stages, `wait_reason` returns the reason for its
/// wait, if known.
pub(super) async fn notify(
    peer: &Peer<RoleServer>,
    token: ProgressToken,
    tool: &str,
    notifies_periodically: bool,
    progress: &Progress,
    wait_reason: impl Fn() -> Option<&'static str>,
    call_ended: &CancellationToken,
) {
    let begun = Instant::now();
    let mut stages = progress.stages();
    // Includes a stage that was reached before this function was called.
    stages.mark_changed();
    let mut interval =
        tokio::time::interval_at(begun + NOTIFICATION_INTERVAL, NOTIFICATION_INTERVAL);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut reported: Option<f64> = None;
    loop {
        let params = tokio::select! {
            biased;
            _ = stages.changed() => {
                let stage: Option<Stage> = stages.borrow_and_update().clone();
                match stage {
                    Some(Stage { done, total, step }) if reported.is_none_or(|reported| done > reported) => {
                        reported = Some(done);
                        let mut params = ProgressNotificationParam::new(token.clone(), done);
                        (params.total, params.message) = (total, step);
                        params
                    }
                    _ => continue,
                }
            }
            () = call_ended.cancelled() => return,
            // Progress values must increase, so a call that reports stages gets no periodic ones.
            _ = interval.tick(), if notifies_periodically && reported.is_none() => {
                let seconds = begun.elapsed().as_secs_f64().round();
                ProgressNotificationParam::new(token.clone(), seconds)
                    .with_message(match wait_reason() {
                        Some(what) => format!("{tool} has been {what} for {seconds} s"),
                        None => format!("{tool} has been running for {seconds} s"),
                    })
            }
        };
        if peer.notify_progress(params).await.is_err() {
            return;
        }
    }
}
