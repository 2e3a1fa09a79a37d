//! The WebSocket of a dashboard that shows other servers. Each viewer has one connection to each
//! server. Messages about a session go to its server, and the lists of sessions are merged.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::{Path, PathBuf},
    time::Duration,
};

use axum::{
    body::Bytes,
    extract::ws::{Message, WebSocket},
};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::MissedTickBehavior};
use tokio_tungstenite::{
    client_async,
    tungstenite::{self, client::IntoClientRequest},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    super::ServerState,
    links::Access,
    peers::{PeerServers, add_access, sort_sessions},
    viewer_queue,
};
use crate::transport::local;

/// The time between two searches for new servers.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout for a connection to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of messages that wait for a server.
const UNSENT: usize = 1024;
const LIVE: &str = "ws://localhost/dashboard/api/live";

/// A message from a server, or the end of its connection.
enum PeerMessage {
    Text(Value),
    Image(Bytes),
    End,
}

/// A connection to a server.
struct PeerLink {
    outgoing: mpsc::Sender<String>,
    /// The live sessions of the server. `None` until it has sent them.
    sessions: Option<Vec<Value>>,
    _task: AbortOnDropHandle<()>,
}

/// The servers that a viewer sees.
struct PeerLinks<'a> {
    access: &'a Access,
    links: BTreeMap<PathBuf, PeerLink>,
    /// The server of each live session.
    owners: HashMap<String, PathBuf>,
    /// The sessions that the viewer watches.
    watched: Vec<Value>,
    viewer: mpsc::Sender<Message>,
    peer_messages: mpsc::Sender<(PathBuf, PeerMessage)>,
}

/// Serves a viewer until it disconnects.
pub(super) async fn serve(
    peers: &PeerServers,
    state: &ServerState,
    access: &Access,
    socket: WebSocket,
) {
    let (sink, mut stream) = socket.split();
    let (viewer, queue) = mpsc::channel(viewer_queue::UNSENT);
    let (peer_messages, mut arrived) = mpsc::channel(viewer_queue::UNSENT);
    let (links, owners, watched) = Default::default();
    let mut shown = PeerLinks { access, links, owners, watched, viewer, peer_messages };
    let expiry = async {
        match access.expires_at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    let work = async {
        let mut search = tokio::time::interval(SEARCH_INTERVAL);
        search.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                message = stream.next() => match message {
                    Some(Ok(Message::Text(text))) => shown.send_to_peers(text.as_bytes()).await,
                    Some(Ok(Message::Binary(bytes))) => shown.send_to_peers(&bytes).await,
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                },
                Some((peer, message)) = arrived.recv() => shown.receive(&peer, message).await,
                _ = search.tick() => shown.connect(peers.sockets().await).await,
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = viewer_queue::write(sink, queue) => {}
        () = expiry => {}
        () = state.stop.cancelled() => {}
    }
}

impl PeerLinks<'_> {
    /// Connects to new servers.
    async fn connect(&mut self, sockets: Vec<PathBuf>) {
        let has_none = sockets.is_empty();
        for socket in sockets {
            if self.links.contains_key(&socket) {
                continue;
            }
            let (outgoing, queue) = mpsc::channel(UNSENT);
            let work =
                exchange(socket.clone(), self.access.clone(), queue, self.peer_messages.clone());
            let task = AbortOnDropHandle::new(tokio::spawn(work));
            self.links.insert(socket, PeerLink { outgoing, sessions: None, _task: task });
        }
        // The page shows that there are no sessions.
        if has_none && self.links.is_empty() {
            self.send(json!({"type": "sessions", "sessions": []})).await;
        }
    }

    async fn send(&self, message: Value) {
        // Fails only while the connection ends.
        let _ = self.viewer.send(Message::text(message.to_string())).await;
    }

    /// Passes on a message of a server, or merges its list of sessions.
    async fn receive(&mut self, peer: &Path, message: PeerMessage) {
        match message {
            PeerMessage::Image(image) => {
                let _ = self.viewer.send(Message::Binary(image)).await;
            }
            PeerMessage::Text(mut message) if message["type"] == "sessions" => {
                let Some(link) = self.links.get_mut(peer) else { return };
                let sessions = message["sessions"].take();
                link.sessions = Some(sessions.as_array().cloned().unwrap_or_default());
                self.update_sessions().await;
            }
            PeerMessage::Text(message) => self.send(message).await,
            PeerMessage::End => {
                self.links.remove(peer);
                self.update_sessions().await;
            }
        }
    }

    /// Sends the merged list of sessions, and watches sessions at the servers that now have them.
    async fn update_sessions(&mut self) {
        let mut owners = HashMap::new();
        let mut merged = Vec::new();
        for (peer, link) in &self.links {
            for session in link.sessions.iter().flatten() {
                let id = session["id"].as_str().unwrap_or_default();
                owners.insert(id.to_owned(), peer.clone());
                merged.push(session.clone());
            }
        }
        sort_sessions(&mut merged);
        self.send(json!({"type": "sessions", "sessions": merged})).await;
        if owners != self.owners {
            let before = std::mem::replace(&mut self.owners, owners);
            for id in before.keys().filter(|id| !self.owners.contains_key(*id)) {
                self.send(json!({"type": "gone", "id": id})).await;
            }
            self.watch();
        }
    }

    /// Tells each server which of its sessions the viewer watches.
    fn watch(&mut self) {
        let mut unreachable = HashSet::new();
        for (peer, link) in &self.links {
            let is_owned = |watched: &&Value| {
                let owner = watched["id"].as_str().and_then(|id| self.owners.get(id));
                owner == Some(peer)
            };
            let sessions: Vec<&Value> = self.watched.iter().filter(is_owned).collect();
            let message = json!({"type": "watch", "sessions": sessions}).to_string();
            if link.outgoing.try_send(message).is_err() {
                unreachable.insert(peer.clone());
            }
        }
        self.links.retain(|peer, _| !unreachable.contains(peer));
    }

    /// Sends a message of the viewer to the server of its session.
    async fn send_to_peers(&mut self, text: &[u8]) {
        let Ok(mut message) = serde_json::from_slice::<Value>(text) else { return };
        if message["type"] == "watch" {
            let sessions = message["sessions"].take();
            self.watched = sessions.as_array().cloned().unwrap_or_default();
            self.watch();
            return;
        }
        let id = message["id"].as_str().unwrap_or_default();
        let link = self.owners.get(id).and_then(|peer| self.links.get(peer));
        match link {
            // The messages to a server that does not read are dropped, so that it does not delay
            // the other servers.
            Some(link) => drop(link.outgoing.try_send(message.to_string())),
            None => self.send(json!({"type": "gone", "id": id})).await,
        }
    }
}

/// Connects to a server, and passes on messages in both directions until either side ends.
async fn exchange(
    socket: PathBuf,
    access: Access,
    mut queue: mpsc::Receiver<String>,
    peer_messages: mpsc::Sender<(PathBuf, PeerMessage)>,
) {
    let connecting = async {
        let stream = local::connect(&socket).await.ok()?;
        let mut request = LIVE.into_client_request().ok()?;
        add_access(request.headers_mut(), &access);
        Some(client_async(request, stream).await.ok()?.0)
    };
    if let Ok(Some(connection)) = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
        let (mut sink, mut stream) = connection.split();
        let writing = async {
            while let Some(text) = queue.recv().await {
                if sink.send(tungstenite::Message::text(text)).await.is_err() {
                    return;
                }
            }
        };
        let reading = async {
            while let Some(Ok(message)) = stream.next().await {
                let message = match message {
                    tungstenite::Message::Binary(image) => PeerMessage::Image(image),
                    tungstenite::Message::Text(text) => match serde_json::from_str(&text) {
                        Ok(message) => PeerMessage::Text(message),
                        Err(_) => continue,
                    },
                    tungstenite::Message::Close(_) => return,
                    _ => continue,
                };
                if peer_messages.send((socket.clone(), message)).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = writing => {}
            () = reading => {}
        }
    }
    // Fails only if the viewer has disconnected.
    let _ = peer_messages.send((socket, PeerMessage::End)).await;
}
