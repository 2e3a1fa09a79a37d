//! The queue of messages for a viewer.

use axum::extract::ws::{Message, WebSocket};
use futures_util::{SinkExt, stream::SplitSink};
use tokio::sync::mpsc;

/// Maximum number of messages that wait for a slow viewer.
pub(super) const UNSENT: usize = 64;

/// Writes the messages of a viewer. Ends when the socket is closed.
pub(super) async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    mut queue: mpsc::Receiver<Message>,
) {
    while let Some(message) = queue.recv().await {
        if sink.send(message).await.is_err() {
            return;
        }
    }
}
