//! The WebKit engine. It controls WebKitGTK's MiniBrowser through WebKitWebDriver, with the classic
//! WebDriver protocol and the `thirtyfour` crate.
//!
//! The driver supports one session per browser, so each session has its own driver and browser. The
//! [`Browser`](super::Browser) of this engine is only the display of their windows. The protocol
//! has no events, so changes are found by polling. Every script also returns the state of the
//! document in which it ran. The page is polled while an operation is pending or the session is in
//! use. Troupe's script runs in the page's own world, because WebDriver has no isolated worlds.
//!
//! | Module | Task |
//! |---|---|
//! | `display`, `launch`, `pool` | start and end processes |
//! | `driver` | sends commands, one after the other |
//! | `windows` | keeps the list of a session's windows and polls them |
//! | `context`, `page` | implement the engine's traits |
//! | `frames` | converts the results of polls into [`PageEvent`](super::PageEvent)s |
//! | `jar`, `session_cookies`, `downloads` | track the cookies and downloads of a session |
//! | `press_history` | keeps separate clicks from becoming a double click |
//! | `cookies`, `emulation`, `error_pages` | translate data |
//!
//! Features that classic WebDriver does not have fail with [`EngineError::Unsupported`].

mod context;
mod cookies;
mod display;
mod downloads;
mod driver;
mod emulation;
mod error_pages;
mod frames;
mod jar;
mod launch;
mod page;
mod pool;
mod press_history;
mod session_cookies;
mod windows;

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use self::{context::WebkitContext, display::Display, pool::Pool};
use super::{
    Browser, Capabilities, Context, ContextObserver, ContextOptions, Engine, EngineError,
    EngineResult, locked_folder,
};
use crate::config::Config;

const CAPABILITIES: Capabilities = Capabilities {
    mocks: false,
    closed_shadow_roots: false,
    calls_during_input: false,
    combined_clicks: false,
};

/// The suggestion for features that WebKit's driver does not support.
const OTHER_ENGINES: &str = "use --browser chromium or firefox";

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Starts displays, and a browser on them for each session.
pub struct Webkit {
    config: Arc<Config>,
}

impl Webkit {
    pub fn new(config: Arc<Config>) -> Self {
        Self { config }
    }
}

#[async_trait]
impl Engine for Webkit {
    async fn launch(&self) -> EngineResult<Arc<dyn Browser>> {
        if self.config.browser_endpoint.is_some() {
            return Err(unsupported("attaching to a running browser (--browser-endpoint)"));
        }
        if self.config.user_data_dir.is_some() {
            return Err(unsupported("a persistent profile (--user-data-dir)"));
        }
        let programs = launch::programs(&self.config)?;
        let display = locked_folder::with_sweep(Display::open(&self.config)).await?;
        let pool = Pool::new(self.config.clone(), programs, display);
        Ok(Arc::new(WebkitBrowser { version: "WebKit".to_owned(), pool }))
    }
}

fn unsupported(what: &'static str) -> EngineError {
    EngineError::Unsupported { what, instead: OTHER_ENGINES }
}

/// The display of the sessions' browsers, and the programs that start them.
struct WebkitBrowser {
    version: String,
    pool: Arc<Pool>,
}

#[async_trait]
impl Browser for WebkitBrowser {
    fn version(&self) -> &str {
        &self.version
    }

    fn pid(&self) -> Option<u32> {
        self.pool.display().pid()
    }

    fn gone(&self) -> CancellationToken {
        self.pool.display().gone()
    }

    async fn new_context(
        &self,
        options: &ContextOptions,
        observer: Arc<dyn ContextObserver>,
    ) -> EngineResult<Arc<dyn Context>> {
        let options = emulation::read(options)?;
        let process = self.pool.browser(&options).await?;
        Ok(WebkitContext::open(process, options.viewport, observer).await?)
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}
