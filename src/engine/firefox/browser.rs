//! The browser: the start of the BiDi session, and the creation of user contexts.

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    Bidi,
    context::FirefoxContext,
    emulation::{self, SettingsScope},
    launch::FirefoxProcess,
    network::FirefoxNetwork,
    page::SANDBOX,
    pending_tabs::PendingTabs,
    privileged::PrivilegedScript,
    routing::{CHANNEL, ContextHandles, DEFAULT_USER_CONTEXT, FirefoxListener, FirefoxState},
    session_tabs::FirefoxSessionTabs,
    startup_cache::StartupCache,
};
use crate::{
    config::{Config, display_present},
    engine::{
        Browser, Context, ContextObserver, ContextOptions, EngineError, EngineResult,
        launching::DOCTOR_HINT,
        network_policy::{Egress, Gateway},
        process::{self, BrowserShutdown},
    },
};

const LAUNCH_TIMEOUT: Duration = Duration::from_secs(45);

/// Maximum bytes of the data of a request or a response that the browser keeps.
const MAX_BODY: u32 = 10 * 1024 * 1024;

/// The events to subscribe to.
const EVENTS: &[&str] = &[
    "browsingContext",
    "input.fileDialogOpened",
    "log.entryAdded",
    "network.beforeRequestSent",
    "network.fetchError",
    "network.responseCompleted",
    "network.responseStarted",
    "script.message",
];

/// Runs in Troupe's sandbox of each document, before its scripts. Focuses the page, and reports
/// same-document navigations that BiDi does not report (back from `#hash`).
const LOCATION_SCRIPT: &str = "
  if (window === top) window.focus();
  for (const event of ['hashchange', 'popstate']) addEventListener(event, () => report(location.href), true);
";

/// Passes Troupe's script to `input_actor.js`, which runs outside of the document. Pages cannot
/// observe the event.
const REGISTRATION_SCRIPT: &str = "
  if (window === top) window.dispatchEvent(new CustomEvent('troupe:script', {detail: {call: (name, given) => __troupe[name](JSON.parse(given))}}));
";

/// A Firefox with a BiDi session.
pub(super) struct FirefoxBrowser {
    version: String,
    pid: Option<u32>,
    shared: Arc<FirefoxState>,
    config: Arc<Config>,
    headed: bool,
    downloads: PathBuf,
    /// The proxy for the browser itself and its default context, if a network policy applies.
    gateway: Option<Arc<Gateway>>,
    startup: Option<StartupCache>,
    /// Whether this server has created the BiDi session, and not a Selenium Grid.
    owns_session: bool,
    ending: BrowserShutdown,
}

#[derive(Deserialize)]
struct SessionCreated {
    capabilities: NegotiatedCapabilities,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NegotiatedCapabilities {
    browser_name: String,
    browser_version: String,
}

impl FirefoxBrowser {
    /// Sets the download folder of a user context, and installs the script of its isolated worlds.
    async fn prepare(&self, user_context: &Arc<str>, prelude: &str) -> EngineResult<()> {
        let FirefoxState { bidi, files, privileged, .. } = &*self.shared;
        let has_folder = files.as_ref().is_some_and(|files| files.has_download_folder());
        let downloads = json!({
            "downloadBehavior": {"type": "allowed", "destinationFolder": self.downloads},
            "userContexts": [user_context],
        });
        let set_folder = || bidi.post("browser.setDownloadBehavior", downloads);
        let downloads = (!has_folder).then(set_folder).transpose()?;
        let registration = if privileged.is_open() { REGISTRATION_SCRIPT } else { "" };
        let script = json!({
            "functionDeclaration": format!("(report) => {{ {LOCATION_SCRIPT}{prelude}{registration} }}"),
            "arguments": [{"type": "channel", "value": {"channel": CHANNEL}}],
            "sandbox": SANDBOX,
            "userContexts": [user_context],
        });
        let script = bidi.post("script.addPreloadScript", script)?;
        for sent in downloads.into_iter().chain([script]) {
            sent.raw().await.map_err(super::convert_error)?;
        }
        Ok(())
    }

    /// Starts the BiDi session and listens to the browser's events.
    pub async fn open(
        process: FirefoxProcess,
        config: Arc<Config>,
    ) -> EngineResult<Arc<dyn Browser>> {
        let bidi = Bidi { connection: process.connection };
        let owns_session = process.session.is_none();
        let headless =
            config.effective_headless(display_present()).is_ok_and(|(headless, _)| headless);
        let start = async {
            let capabilities = match process.session {
                Some(capabilities) => serde_json::from_value(capabilities.into())
                    .map_err(|error| EngineError::Refused(error.to_string()))?,
                None => new_session(&bidi, &config, process.gateway.as_deref()).await?,
            };
            let privileged =
                PrivilegedScript::open(&bidi, headless && process.pid.is_some()).await?;
            Ok::<_, EngineError>((capabilities, privileged))
        };
        let (capabilities, privileged) = match tokio::time::timeout(LAUNCH_TIMEOUT, start).await {
            Ok(Ok(session)) => session,
            Ok(Err(error)) => return Err(connection_failed(&error.to_string())),
            Err(_) => return Err(connection_failed("no response within 45 s")),
        };
        let shared = Arc::new(FirefoxState::new(bidi.clone(), privileged, process.files));
        bidi.connection.listen(None, Arc::new(FirefoxListener(Arc::downgrade(&shared))));
        bidi.run("session.subscribe", json!({"events": EVENTS})).await?;
        if config.keeps_request_details {
            let bodies =
                json!({"dataTypes": ["request", "response"], "maxEncodedDataSize": MAX_BODY});
            bidi.run("network.addDataCollector", bodies).await?;
        }
        let name = capabilities.browser_name;
        let (first, rest) = name.split_at(name.len().min(1));
        let version = format!("{}{rest}/{}", first.to_uppercase(), capabilities.browser_version);
        tracing::info!(version, pid = process.pid, "the browser is ready");
        Ok(Arc::new(Self {
            version,
            pid: process.pid,
            shared,
            config,
            headed: !headless,
            downloads: process.downloads,
            gateway: process.gateway,
            startup: process.startup,
            owns_session,
            ending: process.ending,
        }))
    }
}

async fn new_session(
    bidi: &Bidi,
    config: &Config,
    gateway: Option<&Gateway>,
) -> EngineResult<NegotiatedCapabilities> {
    // The parameters of a user context have the names of capabilities. Those of the default user
    // context, which the sessions of a profile share, cannot be set later.
    let mut capabilities = match config.user_data_dir {
        Some(_) => emulation::user_context(&config.context, gateway)?,
        None => json!({}),
    };
    // Troupe answers all dialogs, including `beforeunload`.
    capabilities["unhandledPromptBehavior"] =
        json!({"default": "ignore", "beforeUnload": "ignore"});
    let params = json!({"capabilities": {"alwaysMatch": capabilities}});
    let session: SessionCreated = bidi.call("session.new", params).await?;
    Ok(session.capabilities)
}

fn connection_failed(reason: &str) -> EngineError {
    EngineError::Launch {
        reason: format!("the WebDriver BiDi session could not be started: {reason}"),
        suggestion: Some(DOCTOR_HINT.to_owned()),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreatedUserContext {
    user_context: Arc<str>,
}

#[async_trait]
impl Browser for FirefoxBrowser {
    fn version(&self) -> &str {
        &self.version
    }

    fn pid(&self) -> Option<u32> {
        self.pid
    }

    fn gone(&self) -> CancellationToken {
        self.shared.bidi.connection.closed()
    }

    async fn new_context(
        &self,
        options: &ContextOptions,
        observer: Arc<dyn ContextObserver>,
    ) -> EngineResult<Arc<dyn Context>> {
        let shared = &self.shared;
        let bidi = &shared.bidi;
        let in_profile = self.config.user_data_dir.is_some();
        let egress = Egress::of_context(options, self.gateway.as_ref(), in_profile).await?;
        let keeps_details = self.config.keeps_request_details;
        if in_profile {
            let id: Arc<str> = DEFAULT_USER_CONTEXT.into();
            shared.prepare_default_context(self.prepare(&id, options.prelude)).await?;
            let network =
                FirefoxNetwork::new(bidi.clone(), &shared.intercept, egress, keeps_details);
            let tabs = FirefoxSessionTabs::open(shared, observer, options, network, self.headed)?;
            return Ok(Arc::new(tabs));
        }
        emulation::check(&options.config)?;
        let gateway = egress.as_ref().map(|egress| &*egress.gateway);
        let params = emulation::user_context(&options.config, gateway)?;
        let CreatedUserContext { user_context: id } =
            bidi.call("browser.createUserContext", params).await?;
        let scope = SettingsScope::UserContext(id.clone());
        let settings = emulation::apply(bidi, &scope, options, self.headed)?;
        let (applied, prepared) = tokio::join!(
            emulation::await_applied(settings, &options.config),
            self.prepare(&id, options.prelude),
        );
        applied.and(prepared)?;
        let network = FirefoxNetwork::new(bidi.clone(), &shared.intercept, egress, keeps_details);
        let tabs: Arc<PendingTabs> = Arc::default();
        let handles = ContextHandles {
            observer,
            network: network.clone(),
            tabs: tabs.clone(),
            tab_settings: None,
        };
        shared.add_context(&id, handles);
        let touch = options.config.has_touch;
        Ok(Arc::new(FirefoxContext::new(id, shared.clone(), network, tabs, touch, self.headed)))
    }

    async fn close(&self) {
        let bidi = &self.shared.bidi;
        let leave = async {
            if self.owns_session {
                let _ = bidi.run("session.end", json!({})).await;
            }
            bidi.connection.close();
        };
        // Its files are deleted with the profile, unless the profile is kept or the next browser
        // needs them.
        let is_kept = self.config.user_data_dir.is_some()
            || self.startup.as_ref().is_some_and(StartupCache::is_outdated);
        let ask = || match self.pid.filter(|_| !is_kept) {
            Some(pid) => process::kill(pid),
            None => drop(bidi.post("browser.close", json!({}))),
        };
        self.ending.close(ask, leave).await;
    }
}
