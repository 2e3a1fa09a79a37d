//! `troupe dashboard`: prints a link that opens the dashboard of a running server.

use super::{OK, report, screen::Screen};
use crate::{
    config::Config,
    transport::{DashboardLink, create_dashboard_link},
};

pub(super) async fn run(
    config: &Config,
    url: Option<String>,
    session: Option<String>,
    screen: &Screen,
) -> i32 {
    let url = url.unwrap_or_else(|| config.local_url());
    let link = DashboardLink { url, read_only: config.read_only, session };
    match create_dashboard_link(config, &link).await {
        Ok(url) => {
            screen.out(&url);
            OK
        }
        Err(error) => {
            report(screen, &error);
            error.code.row().exit.into()
        }
    }
}
