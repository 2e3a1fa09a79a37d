//! Reads and sets the cookies of a session through its windows. WebDriver reads and writes only the
//! cookies of the current document. So the cookies of a page are stored before the page navigates.
//! To change a host-only cookie, a separate window visits its host.

use std::time::Duration;

use thirtyfour::common::command::Command;
use tokio::time::Instant;
use url::Url;

use super::{
    cookies,
    driver::{CommandGuard, into_engine_result},
    page::WebkitPage,
    windows::SessionWindows,
};
use crate::engine::{EngineResult, network::Cookie};

/// Time within which a window begins to navigate.
const NAVIGATION_TIMEOUT: Duration = Duration::from_secs(2);
/// Polling interval while the window starts to navigate.
const PAUSE: Duration = Duration::from_millis(2);

impl SessionWindows {
    /// Reads the cookies of all pages. Returns all cookies of the session that are known.
    pub async fn cookies(&self) -> EngineResult<Vec<Cookie>> {
        let mut commands = self.commands_without_dialog().await;
        for page in self.pages() {
            self.store_cookies(&mut commands, &page).await;
        }
        Ok(self.jar.all())
    }

    /// Reads and stores the cookies of the document that `page` shows.
    pub async fn store_cookies(&self, commands: &mut CommandGuard<'_>, page: &WebkitPage) {
        let Some(url) = page.url().filter(|url| matches!(url.scheme(), "http" | "https")) else {
            return;
        };
        if page.select_main_frame(commands).await.is_err() {
            return;
        }
        // Fails while a dialog is open.
        if let Ok(answer) = commands.send(Command::GetAllCookies).await {
            self.jar.replace_cookies(&url, cookies::from_driver(answer));
        }
    }

    pub async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()> {
        let mut commands = self.commands_without_dialog().await;
        for cookie in cookies {
            let url = self.jar.host_only_url(cookie);
            let mut stored = cookies::to_driver(cookie);
            match &url {
                Some(url) => self.visit(&mut commands, url).await?,
                None => {
                    stored.domain = Some(cookie.domain.clone());
                    let window = self.any_window(&mut commands).await?;
                    into_engine_result(commands.select_frame(&window, &[]).await)?;
                }
            }
            into_engine_result(commands.send(Command::AddCookie(stored)).await)?;
            self.jar.put(cookie);
        }
        Ok(())
    }

    /// Navigates the separate window to `url`, so that the cookie commands apply to its host.
    async fn visit(&self, commands: &mut CommandGuard<'_>, url: &Url) -> EngineResult<()> {
        let cookie_window = self.cookie_window(commands).await?;
        into_engine_result(commands.select_window(&cookie_window).await)?;
        let deadline = Instant::now() + NAVIGATION_TIMEOUT;
        into_engine_result(commands.send(Command::NavigateTo(url.as_str().into())).await)?;
        while into_engine_result(commands.send(Command::GetCurrentUrl).await)? != url.as_str()
            && Instant::now() < deadline
        {
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }
}
