//! Events of a session, for programs that listen to them (the Node library).

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::broadcast;

use crate::engine::{ConsoleMessage, PageEvent, network::RequestEvent};

/// Maximum number of events that are queued for a listener. A slower listener loses the oldest.
const CAPACITY: usize = 1024;

/// An event in a session.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SessionEvent {
    /// A page logged a message.
    Console {
        page_id: String,
        /// `debug`, `info`, `warn` or `error`.
        level: String,
        text: String,
        /// Milliseconds since 1970.
        at: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// From 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
        /// From 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        column: Option<u64>,
    },
    /// A page sent a request.
    Request { page_id: String, url: String, method: String, resource_type: String },
    /// The headers of a response arrived.
    Response { page_id: String, url: String, status: u16 },
    /// A page opened a dialog and waits until `handleDialog` is called.
    Dialog {
        page_id: String,
        /// `alert`, `confirm`, `prompt` or `beforeunload`.
        kind: String,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        default_value: Option<String>,
    },
    /// A download began (`inProgress`) or ended.
    Download {
        url: String,
        suggested_filename: String,
        /// `inProgress`, `completed` or `failed`.
        state: String,
        /// The file of a completed download.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Why the download failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    /// A page opened.
    Page { page_id: String, url: String },
    /// The session ended.
    Close {
        /// `closed`, `expired`, or `released` when the server stops.
        reason: String,
    },
}

/// Publishes the events of a session. Has no cost without listeners.
#[derive(Debug, Clone, Default)]
pub struct Events(Arc<OnceLock<broadcast::Sender<SessionEvent>>>);

impl Events {
    /// Returns a receiver of the events from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<SessionEvent> {
        self.0.get_or_init(|| broadcast::Sender::new(CAPACITY)).subscribe()
    }

    /// Publishes the result of `event` if there are listeners. Otherwise, does not call `event`.
    pub fn publish(&self, event: impl FnOnce() -> Option<SessionEvent>) {
        if let Some(sender) = self.0.get().filter(|sender| sender.receiver_count() > 0)
            && let Some(event) = event()
        {
            // Sending fails if the last listener has unsubscribed in the meantime.
            let _ = sender.send(event);
        }
    }

    /// Publishes an event of the page `page_id` to listeners. `url_of` returns the URL of a request
    /// by its ID.
    pub(in crate::page) fn of_page(
        &self,
        page_id: &str,
        event: &PageEvent,
        url_of: impl FnOnce(&str) -> Option<String>,
    ) {
        self.publish(|| {
            let page_id = page_id.to_owned();
            Some(match event {
                PageEvent::Console { message, .. } if message.kind.has_text() => {
                    let ConsoleMessage { level, text, at, url, line, column, .. } = message.clone();
                    let level = level.as_str().to_owned();
                    SessionEvent::Console { page_id, level, text, at, url, line, column }
                }
                PageEvent::Request(RequestEvent::Sent { url, method, kind, .. }) => {
                    SessionEvent::Request {
                        page_id,
                        url: url.clone(),
                        method: method.clone(),
                        resource_type: kind.as_str().to_owned(),
                    }
                }
                PageEvent::Request(RequestEvent::Answered { id, status, .. }) => {
                    SessionEvent::Response { page_id, url: url_of(id)?, status: *status }
                }
                PageEvent::DialogOpened(dialog) => SessionEvent::Dialog {
                    page_id,
                    kind: dialog.kind.clone(),
                    message: dialog.message.clone(),
                    default_value: dialog.default_value.clone(),
                },
                _ => return None,
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: usize) -> SessionEvent {
        SessionEvent::Page { page_id: format!("page-{number}"), url: "about:blank".to_owned() }
    }

    #[test]
    fn events_are_not_created_without_a_listener() {
        let events = Events::default();
        events.publish(|| panic!("there is no listener"));
        drop(events.subscribe());
        events.publish(|| panic!("the listener is gone"));
    }

    #[tokio::test]
    async fn a_slow_listener_loses_the_oldest_events() {
        let events = Events::default();
        let mut listener = events.subscribe();
        (0..CAPACITY + 3).for_each(|number| events.publish(|| Some(page(number))));
        assert_eq!(listener.recv().await, Err(broadcast::error::RecvError::Lagged(3)));
        assert_eq!(listener.recv().await, Ok(page(3)));
    }
}
