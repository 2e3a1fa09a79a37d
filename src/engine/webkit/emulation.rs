//! The emulation settings of a session. The language and the time zone are environment variables of
//! the session's browser process. Settings that the driver does not support are rejected.

use serde_json::Value;

use super::unsupported;
use crate::{
    config::Viewport,
    engine::{ContextOptions, EngineError, EngineResult, proxy},
};

/// The default viewport, in CSS pixels.
const DEFAULT_VIEWPORT: Viewport = Viewport { width: 1280, height: 720 };
/// The folder of the system's time zone files.
const TIME_ZONES: &str = "/usr/share/zoneinfo";

/// The parameters with which a browser is started.
pub(super) struct LaunchOptions {
    pub viewport: Viewport,
    timezone: Option<String>,
    user_agent: Option<String>,
    proxy: Option<Value>,
    ignores_https_errors: bool,
}

/// Returns the requested settings, or an error for the first one that is not supported.
pub(super) fn read(options: &ContextOptions) -> EngineResult<LaunchOptions> {
    let ContextOptions { config, init_scripts, .. } = options;
    let unsupported_settings: [(bool, &'static str); 6] = [
        (!init_scripts.is_empty(), "init scripts (--init-script)"),
        (config.is_mobile, "mobile emulation (--device)"),
        (config.has_touch, "touch emulation (--device)"),
        (
            config.device_scale_factor.is_some_and(|factor| factor != 1.0),
            "setting the device pixel ratio (--device)",
        ),
        (config.locale.is_some(), "setting the language (--locale)"),
        (!config.permissions.is_empty(), "granting permissions (--grant-permissions)"),
    ];
    if let Some((_, what)) = unsupported_settings.into_iter().find(|(requested, _)| *requested) {
        return Err(unsupported(what));
    }
    if let Some(zone) = &config.timezone {
        let known = !zone.starts_with(['/', '.']) && !zone.contains("..");
        if !known || !std::path::Path::new(TIME_ZONES).join(zone).is_file() {
            return Err(EngineError::UnknownSetting { name: "timezone", value: zone.clone() });
        }
    }
    Ok(LaunchOptions {
        viewport: config.viewport.unwrap_or(DEFAULT_VIEWPORT),
        timezone: config.timezone.clone(),
        user_agent: config.user_agent.clone(),
        proxy: proxy::capability(config)?,
        ignores_https_errors: config.ignore_https_errors,
    })
}

impl LaunchOptions {
    /// Returns whether a browser that was started with `other` can be used for these options.
    pub fn can_replace(&self, other: &Self) -> bool {
        (&self.timezone, &self.user_agent, &self.proxy, self.ignores_https_errors)
            == (&other.timezone, &other.user_agent, &other.proxy, other.ignores_https_errors)
    }

    /// Returns the environment variables of the browser's process.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        // Without these variables, the language would be that of the server: `C` in a container.
        let mut set = vec![("LANG", "en_US.UTF-8".to_owned()), ("LANGUAGE", "en_US".to_owned())];
        set.extend(self.timezone.iter().map(|zone| ("TZ", zone.clone())));
        set
    }

    /// Returns the arguments of the browser's command line.
    pub fn arguments(&self) -> Vec<String> {
        self.user_agent.iter().map(|agent| format!("--user-agent={agent}")).collect()
    }

    /// Returns the capabilities for the driver. With them, the driver does not wait for documents
    /// to load, and leaves dialogs open.
    pub fn capabilities(&self, browser: Value) -> serde_json::Map<String, Value> {
        let mut requested = serde_json::Map::new();
        requested.insert("pageLoadStrategy".into(), "none".into());
        requested.insert("unhandledPromptBehavior".into(), "ignore".into());
        requested.insert("acceptInsecureCerts".into(), self.ignores_https_errors.into());
        requested.extend(self.proxy.clone().map(|proxy| ("proxy".to_owned(), proxy)));
        requested.insert("webkitgtk:browserOptions".into(), browser);
        requested
    }
}
