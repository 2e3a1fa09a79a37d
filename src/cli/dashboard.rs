//! `troupe dashboard`: serves a dashboard of all servers of this user, and prints a link that opens
//! it. With `--url`, only prints a link of the dashboard of that server.

use tokio_util::sync::CancellationToken;

use super::{report_result, screen::Screen};
use crate::{
    config::Config,
    error::Result,
    transport::{DashboardLink, Endpoint, create_dashboard_link},
};

pub(super) async fn run(
    config: Config,
    url: Option<String>,
    session: Option<String>,
    screen: &Screen,
    stop: CancellationToken,
) -> i32 {
    let done = match url {
        Some(url) => {
            let link = DashboardLink { url, read_only: config.read_only, session };
            create_dashboard_link(&config, &link).await.map(|url| screen.out(&url))
        }
        None => serve(config, session, screen, stop).await,
    };
    report_result(screen, done)
}

async fn serve(
    config: Config,
    session: Option<String>,
    screen: &Screen,
    stop: CancellationToken,
) -> Result<()> {
    let (server, link) = Endpoint::open_dashboard(config, session.as_deref()).await?;
    screen.out(&link);
    screen.err("troupe: this link works once; the dashboard shows the servers of this user until you press Ctrl+C");
    server.run(stop).await
}
