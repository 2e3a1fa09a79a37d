//! The dashboard at `/dashboard/`: its page, its JSON API and its WebSocket.
//!
//! - `links` decides who may use it.
//! - `files` has the files of the page, and `figures` the data of its charts.
//! - `routes` has the HTTP interface, and `live` the WebSocket.
//! - `peers` and `peers_live` show other servers in one dashboard.
//! - `user_links` has the links in questions of agents, and `viewer_queue` the messages that wait
//!   for a viewer.

mod figures;
mod files;
mod links;
mod live;
mod peers;
mod peers_live;
mod routes;
mod user_links;
mod viewer_queue;

pub(super) use self::{
    links::AccessGrants,
    peers::PeerServers,
    routes::{link_routes, routes},
    user_links::UserLinks,
};
