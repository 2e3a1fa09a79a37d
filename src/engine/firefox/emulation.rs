//! The emulation settings of a context, as commands for its tabs.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Bidi;
use crate::{
    config::{ContextConfig, Viewport},
    engine::{
        ContextOptions, EmulatedMedia, EngineError, EngineResult,
        connection::{ConnectionError, PendingCall},
        network_policy::Gateway,
        proxy,
    },
};

/// The default viewport, in CSS pixels.
const DEFAULT_VIEWPORT: Viewport = Viewport { width: 1280, height: 720 };

/// The tabs to which a setting applies.
pub(super) enum SettingsScope {
    /// All tabs of a user context, including those that open later.
    UserContext(Arc<str>),
    /// Open tabs of the default user context.
    Tabs(Vec<Arc<str>>),
}

impl SettingsScope {
    /// Sends a command whose setting applies to these tabs. Returns the pending responses: one for
    /// each command that was sent, and none if there are no tabs.
    pub fn post(
        &self,
        bidi: &Bidi,
        method: &'static str,
        mut params: Value,
    ) -> EngineResult<Vec<PendingCall>> {
        match self {
            Self::UserContext(id) => params["userContexts"] = json!([id]),
            // This command accepts only one tab.
            Self::Tabs(tabs) if method == SET_VIEWPORT => {
                let one = |tab| {
                    params["context"] = json!(tab);
                    bidi.post(method, params.clone())
                };
                return tabs.iter().map(one).collect();
            }
            Self::Tabs(tabs) if tabs.is_empty() => return Ok(Vec::new()),
            Self::Tabs(tabs) => params["contexts"] = json!(tabs),
        }
        Ok(vec![bidi.post(method, params)?])
    }

    /// Like [`Self::post`], and waits for the responses.
    pub async fn run(&self, bidi: &Bidi, method: &'static str, params: Value) -> EngineResult<()> {
        for sent in self.post(bidi, method, params)? {
            sent.raw().await.map_err(super::convert_error)?;
        }
        Ok(())
    }
}

const SET_VIEWPORT: &str = "browsingContext.setViewport";

/// Sets the viewport of the tabs in `scope`.
pub(super) async fn set_viewport(
    bidi: &Bidi,
    scope: &SettingsScope,
    Viewport { width, height }: Viewport,
) -> EngineResult<()> {
    let params = json!({"viewport": {"width": width, "height": height}});
    scope.run(bidi, SET_VIEWPORT, params).await
}

/// Returns the parameters of a user context: its certificate checks and its proxy.
pub(super) fn user_context(
    config: &ContextConfig,
    gateway: Option<&Gateway>,
) -> EngineResult<Value> {
    let mut params = json!({"acceptInsecureCerts": config.ignore_https_errors});
    let proxy = match gateway {
        Some(gateway) => Some(json!({
            "proxyType": "manual", "socksProxy": gateway.address(), "socksVersion": 5, "noProxy": [],
        })),
        None => proxy::capability(config)?,
    };
    if let Some(proxy) = proxy {
        params["proxy"] = proxy;
    }
    Ok(params)
}

/// Returns an error if Firefox does not support a setting of `config`.
pub(super) fn check(config: &ContextConfig) -> EngineResult<()> {
    if config.is_mobile {
        return Err(EngineError::Unsupported {
            what: "mobile emulation",
            instead: "use --browser chromium, or set the viewport and the user agent only",
        });
    }
    Ok(())
}

/// Sends the commands for `options`. Returns each pending response with its setting.
pub(super) fn apply(
    bidi: &Bidi,
    scope: &SettingsScope,
    options: &ContextOptions,
    headed: bool,
) -> EngineResult<Vec<(ContextSetting, PendingCall)>> {
    let ContextOptions { config, init_scripts, .. } = options;
    let mut sent = Vec::new();
    let mut set = |setting: ContextSetting, method: &'static str, params: Value| {
        sent.extend(scope.post(bidi, method, params)?.into_iter().map(|sent| (setting, sent)));
        Ok::<_, EngineError>(())
    };
    let viewport = config.viewport.or((!headed).then_some(DEFAULT_VIEWPORT));
    if viewport.is_some() || config.device_scale_factor.is_some() {
        let Viewport { width, height } = viewport.unwrap_or(DEFAULT_VIEWPORT);
        let mut params = json!({"viewport": {"width": width, "height": height}});
        if let Some(scale) = config.device_scale_factor {
            params["devicePixelRatio"] = scale.into();
        }
        set(ContextSetting::Other, SET_VIEWPORT, params)?;
    }
    if let Some(user_agent) = &config.user_agent {
        set(
            ContextSetting::Other,
            "emulation.setUserAgentOverride",
            json!({"userAgent": user_agent}),
        )?;
    }
    if let Some(locale) = &config.locale {
        set(ContextSetting::Locale, "emulation.setLocaleOverride", json!({"locale": locale}))?;
    }
    if let Some(timezone) = &config.timezone {
        set(
            ContextSetting::Timezone,
            "emulation.setTimezoneOverride",
            json!({"timezone": timezone}),
        )?;
    }
    for source in init_scripts {
        let function = format!("() => {{\n{source}\n}}");
        set(
            ContextSetting::Other,
            "script.addPreloadScript",
            json!({"functionDeclaration": function}),
        )?;
    }
    Ok(sent)
}

/// Waits for the responses to the commands for `config`.
pub(super) async fn await_applied(
    sent: Vec<(ContextSetting, PendingCall)>,
    config: &ContextConfig,
) -> EngineResult<()> {
    for (setting, sent) in sent {
        sent.raw().await.map_err(|error| setting_error(setting, error, config))?;
    }
    Ok(())
}

/// Returns the properties of a browsing context that override the media type and the media
/// features, for `privileged.js`. Firefox has no override of `prefers-contrast` so far.
pub(super) fn media(emulated: &EmulatedMedia) -> Value {
    let [scheme, motion, colors, contrast] =
        emulated.features().map(|(_, value)| value.unwrap_or("none"));
    json!({
        "mediumOverride": emulated.media.as_deref().unwrap_or_default(),
        "prefersColorSchemeOverride": scheme,
        "prefersReducedMotionOverride": motion,
        "forcedColorsOverride": colors,
        "prefersContrastOverride": contrast,
    })
}

/// Returns the error for a property of [`media`] that Firefox does not have, or whose value it does
/// not support.
pub(super) fn unsupported_media(property: &str) -> EngineError {
    let what = match property {
        "mediumOverride" => "emulating this media type",
        "prefersColorSchemeOverride" => "emulating this value of prefers-color-scheme",
        "prefersReducedMotionOverride" => "emulating this value of prefers-reduced-motion",
        "forcedColorsOverride" => "emulating this value of forced-colors",
        _ => "emulating prefers-contrast",
    };
    EngineError::Unsupported { what, instead: "use --browser chromium" }
}

/// A setting whose value the browser may reject.
#[derive(Debug, Clone, Copy)]
pub(super) enum ContextSetting {
    Locale,
    Timezone,
    Other,
}

/// Converts the error of a setting.
fn setting_error(
    setting: ContextSetting,
    error: ConnectionError,
    config: &ContextConfig,
) -> EngineError {
    let (name, value) = match (setting, &error) {
        (ContextSetting::Locale, ConnectionError::Refused { .. }) => ("locale", &config.locale),
        (ContextSetting::Timezone, ConnectionError::Refused { .. }) => {
            ("timezone", &config.timezone)
        }
        _ => return super::convert_error(error),
    };
    EngineError::UnknownSetting { name, value: value.clone().unwrap_or_default() }
}
