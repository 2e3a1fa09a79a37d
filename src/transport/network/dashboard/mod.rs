//! The dashboard at `/dashboard/`: its page, its JSON API and its WebSocket.
//!
//! - `links` decides who may use it.
//! - `files` has the files of the page, and `figures` the data of its charts.
//! - `routes` has the HTTP interface, and `live` the WebSocket.

mod figures;
mod files;
mod links;
mod live;
mod routes;

pub(super) use self::{
    links::AccessGrants,
    routes::{link_routes, routes},
};
