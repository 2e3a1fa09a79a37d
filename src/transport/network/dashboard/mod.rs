//! The dashboard at `/dashboard/`: its page, its JSON API and its WebSocket.
//!
//! `links` decides who may use it, `files` has the files of the page, `figures` what it
//! draws as charts, `routes` the HTTP interface, `live` the WebSocket.

mod figures;
mod files;
mod links;
mod live;
mod routes;

pub(super) use self::{
    links::AccessGrants,
    routes::{link_routes, routes},
};
