//! Merges the layers into a [`Config`]. Then makes the checks that need all settings: options that
//! are not implemented yet, devices, contradictions.

use std::{collections::BTreeMap, time::Duration};

#[cfg(test)]
use serde_json::Value;

use super::environment::PLAYWRIGHT_PREFIX;
use super::error::ConfigError;
use super::layer::{Setting, joined};
use super::options::{ConfigOption, OPTIONS, Scope};
use super::origin::Origin;
use super::{
    AfterAction, BrowserKind, Config, ContextConfig, LogDestination, NO_LIMIT, OutputDir,
    RemoteClose, RemoteContext, Transport, device, redacted_proxy,
};

/// The origin of each option's value.
type Origins = BTreeMap<&'static str, Origin>;

pub(super) fn finish(
    file: &[Setting],
    environment: &[Setting],
    flags: Vec<Setting>,
    warnings: Vec<String>,
) -> Result<Config, ConfigError> {
    let flags = joined(flags);
    let layers = [file, environment, flags.as_slice()];
    let mut config = merge(&layers)?;
    let mut origins = Origins::new();
    for settings in layers {
        origins
            .extend(settings.iter().map(|setting| (setting.option.name, setting.origin.clone())));
    }
    config.warnings = warnings;
    for timeout in [&mut config.timeout_action, &mut config.timeout_navigation] {
        *timeout = or_no_limit(*timeout);
    }
    config.max_sessions_origin = origins.get("max-sessions").cloned();
    if let Some(origin @ Origin::Flag(_)) = origins.get("auth-token") {
        config.warnings.push(format!(
            "{origin} shows the token in the process list; --auth-token-file or TROUPE_AUTH_TOKEN do not"
        ));
    }
    config.keeps_request_details = config.offers_playwright_tools();
    if config.vision {
        config.caps.push("vision".to_owned());
    }
    use_pool_of_remote_browsers(&mut config, &origins);
    take_request_origins(&mut config, &mut origins);
    use_playwright_defaults(&mut config, &origins)?;
    refuse_contradictions(&config, &origins)?;
    reject_options_without_effect(&mut config, &origins)?;
    take_sandbox_argument(&mut config, &origins)?;
    warn_about_unenforced_rules(&mut config);
    resolve_log_destination(&mut config, &origins)?;
    choose_phone(&mut config, &origins)?;
    device::apply(&mut config.context, origins.get("device"))?;
    Ok(config)
}

/// The output directory of @playwright/mcp.
pub(super) const PLAYWRIGHT_OUTPUT: &str = ".playwright-mcp";
/// The navigation timeout of @playwright/mcp.
const PLAYWRIGHT_NAVIGATION_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a remote browser without sessions keeps running by default.
const REMOTE_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Obtains remote browsers only when a session needs them, and ends them soon afterwards: they cost
/// money or occupy a slot.
fn use_pool_of_remote_browsers(config: &mut Config, origins: &Origins) {
    if !config.obtains_browsers() {
        return;
    }
    if !origins.contains_key("pool-min-browsers") {
        config.pool.min_browsers = 0;
    }
    if !origins.contains_key("pool-idle-timeout") {
        config.pool.idle_timeout = Some(REMOTE_IDLE_TIMEOUT);
    }
}

/// Gives `--allowed-origins` the meaning of @playwright/mcp: the origins that pages may request,
/// separated by semicolons. Applies to the variable of @playwright/mcp, and with
/// `--tools playwright`.
fn take_request_origins(config: &mut Config, origins: &mut Origins) {
    let are_request_origins = match origins.get("allowed-origins") {
        Some(Origin::Variable(name)) if name.starts_with(PLAYWRIGHT_PREFIX) => true,
        Some(_) => config.tools.iter().any(|word| word == "playwright"),
        None => false,
    };
    if are_request_origins {
        origins.remove("allowed-origins");
        config.security.request_origins = std::mem::take(&mut config.allowed_origins)
            .iter()
            .flat_map(|origins| origins.split(';'))
            .map(|origin| origin.trim().to_owned())
            .filter(|origin| !origin.is_empty())
            .collect();
    }
}

/// Emulates a phone of the browser's family (`--mobile`).
fn choose_phone(config: &mut Config, origins: &Origins) -> Result<(), ConfigError> {
    if !config.mobile {
        return Ok(());
    }
    let contradicts = |name: &'static str, why| {
        let origin = |name| origins.get(name).cloned().unwrap_or(Origin::Default(name));
        Err(ConfigError::Contradiction { first: origin("mobile"), second: origin(name), why })
    };
    if config.context.device.is_some() {
        return contradicts("device", "both name a device");
    }
    let phone = match config.browser {
        BrowserKind::Firefox => {
            return contradicts("browser", "Firefox does not emulate mobile devices");
        }
        BrowserKind::Webkit => "iPhone 17",
        BrowserKind::Chromium | BrowserKind::Chrome | BrowserKind::MsEdge => "Pixel 10",
    };
    config.context.device = Some(phone.to_owned());
    Ok(())
}

/// Uses the defaults of @playwright/mcp if only its tools are offered.
fn use_playwright_defaults(config: &mut Config, origins: &Origins) -> Result<(), ConfigError> {
    if !config.offers_playwright_tools() || config.offers_native_tools() {
        return Ok(());
    }
    if let Some(folder) = config
        .output_dir
        .as_ref()
        .and_then(OutputDir::folder)
        .filter(|folder| folder.parent().is_none())
    {
        return Err(ConfigError::InvalidValue {
            origin: origins.get("output-dir").cloned().unwrap_or(Origin::Default("output-dir")),
            value: folder.display().to_string(),
            allowed: "a folder: it cannot point to a system directory".to_owned(),
        });
    }
    config.output_dir.get_or_insert_with(|| PLAYWRIGHT_OUTPUT.into());
    if !origins.contains_key("timeout-navigation") {
        config.timeout_navigation = PLAYWRIGHT_NAVIGATION_TIMEOUT;
    }
    // `--port` starts an HTTP server.
    if origins.contains_key("port") && !origins.contains_key("transport") {
        config.transport = Transport::Http;
    }
    // No result contains the changes.
    config.after_action = AfterAction::None;
    Ok(())
}

/// Returns the option that names a running browser, if one is set.
fn running_browser(config: &Config) -> Option<&'static str> {
    let options = [
        ("attach", config.attach.is_some()),
        ("browser-endpoint", config.browser_endpoint.is_some()),
        ("browser-command", config.browser_command.is_some()),
    ];
    options.into_iter().find(|(_, is_set)| *is_set).map(|(option, _)| option)
}

/// Returns a timeout, where 0 means no limit, as in Playwright.
fn or_no_limit(timeout: Duration) -> Duration {
    if timeout.is_zero() { NO_LIMIT } else { timeout.min(NO_LIMIT) }
}

/// Applies the layers in order to the defaults.
pub(super) fn merge(layers: &[&[Setting]]) -> Result<Config, ConfigError> {
    let wrong = |error: serde_json::Error| ConfigError::Inconsistent(error.to_string());
    let mut merged = serde_json::to_value(Config::default()).map_err(wrong)?;
    for Setting { option, value, .. } in layers.iter().copied().flatten() {
        if option.at.is_empty() {
            continue;
        }
        let place = merged.pointer_mut(&format!("/{}", option.at.replace('.', "/")));
        *place.ok_or_else(|| ConfigError::Inconsistent(format!("no setting `{}`", option.at)))? =
            value.clone();
    }
    serde_json::from_value(merged).map_err(wrong)
}

/// Returns the value at a dotted path.
#[cfg(test)]
pub(super) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

fn refuse_contradictions(config: &Config, origins: &Origins) -> Result<(), ConfigError> {
    let origin = |name: &'static str| origins.get(name).cloned().unwrap_or(Origin::Default(name));
    let refuse = |first, second, why| {
        Err(ConfigError::Contradiction { first: origin(first), second: origin(second), why })
    };
    if config.isolated && config.user_data_dir.is_some() {
        return refuse("isolated", "user-data-dir", "an isolated session has no profile folder");
    }
    if let Some(running) = running_browser(config) {
        const RUNS: &str = "launch options do not apply to a running browser";
        let launch_options = [
            ("executable-path", config.executable_path.is_some()),
            ("user-data-dir", config.user_data_dir.is_some()),
            ("browser-arg", !config.browser_args.is_empty()),
            ("pool-max-browsers", config.pool.max_browsers > 1 && !config.obtains_browsers()),
        ];
        if let Some((option, _)) = launch_options.into_iter().find(|(_, is_set)| *is_set) {
            return refuse(running, option, RUNS);
        }
    }
    refuse_remote_contradictions(config, origins)?;
    if config.attach.is_some() {
        const YOURS: &str = "it would change all tabs of your browser";
        let ContextConfig { proxy_server, storage_state, permissions, .. } = &config.context;
        let unsafe_options = [
            ("browser-endpoint", config.browser_endpoint.is_some(), "each names a browser"),
            (
                "browser",
                matches!(config.browser, BrowserKind::Firefox | BrowserKind::Webkit),
                "only Chrome and other Chromium browsers can be attached to",
            ),
            ("proxy-server", proxy_server.is_some(), YOURS),
            ("storage-state", storage_state.is_some(), YOURS),
            ("grant-permissions", !permissions.is_empty(), YOURS),
            ("warm-contexts", config.warm_contexts > 0, "sessions are tabs of your browser"),
        ];
        if let Some((option, _, why)) = unsafe_options.into_iter().find(|(_, is_set, _)| *is_set) {
            return refuse("attach", option, why);
        }
    } else if origins.contains_key("attach-timeout") {
        return Err(ConfigError::Needs {
            origin: origin("attach-timeout"),
            needed: "attach",
            why: "only that browser asks for consent",
        });
    }
    if config.user_data_dir.is_some() && config.context.storage_state.is_some() {
        return refuse("user-data-dir", "storage-state", "the profile has its own cookies");
    }
    if config.user_data_dir.is_some() && config.pool.max_browsers > 1 {
        return refuse("user-data-dir", "pool-max-browsers", "only one browser can use a profile");
    }
    if config.warm_contexts > 0 {
        if config.headless == Some(false) {
            return refuse("warm-contexts", "headless", "each context would open a window");
        }
        if config.user_data_dir.is_some() {
            return refuse("warm-contexts", "user-data-dir", "a profile has one context");
        }
        if config.browser == BrowserKind::Webkit {
            return refuse("warm-contexts", "browser", "use --warm-browsers with WebKit");
        }
    }
    if config.context.proxy_bypass.is_some() && config.context.proxy_server.is_none() {
        return Err(ConfigError::Needs {
            origin: origin("proxy-bypass"),
            needed: "proxy-server",
            why: "there is no proxy to bypass",
        });
    }
    if let Some(server) =
        config.context.proxy_server.as_ref().filter(|_| config.context.has_proxy_credentials())
    {
        if let Some(running) = running_browser(config) {
            return refuse(
                "proxy-server",
                running,
                "credentials cannot be passed to a running browser",
            );
        }
        if config.browser == BrowserKind::Webkit {
            return refuse("proxy-server", "browser", "WebKit does not support proxy credentials");
        }
        if !is_supported_proxy(server) {
            return Err(ConfigError::InvalidValue {
                origin: origin("proxy-server"),
                value: redacted_proxy(server),
                allowed: "an http:// or socks5:// proxy, because it has credentials".to_owned(),
            });
        }
    }
    reject_unenforceable_rules(config, origins, &origin)?;
    if config.auth_token.is_some() && config.auth_token_file.is_some() {
        return refuse("auth-token", "auth-token-file", "pass only one token");
    }
    if config.connect.is_some() && config.transport != Transport::Stdio {
        return refuse("connect", "transport", "with --connect, the client connects over stdio");
    }
    if config.upstream.command.is_some() && config.connect.is_some() {
        return refuse(
            "upstream",
            "connect",
            "the server at the URL may have its own upstream server",
        );
    }
    if config.output_dir.as_ref().is_some_and(|output| output.bucket().is_some()) {
        const WRITES: &str = "an upstream server writes its files into a folder";
        const LIFECYCLE: &str = "a lifecycle rule of the bucket deletes old files";
        for (option, is_set, why) in [
            ("upstream", config.upstream.command.is_some(), WRITES),
            ("output-max-size", config.output_max_size.is_some(), LIFECYCLE),
        ] {
            if is_set {
                return refuse("output-dir", option, why);
            }
        }
    }
    if !config.auth {
        if config.auth_token.is_some() {
            return refuse(
                "auth",
                "auth-token",
                "a server without authentication requires no token",
            );
        }
        if config.auth_token_file.is_some() {
            return refuse(
                "auth",
                "auth-token-file",
                "a server without authentication requires no token",
            );
        }
        if config.transport != Transport::Stdio && !config.binds_loopback() {
            return refuse("auth", "host", "other machines can reach this address");
        }
    }
    if config.read_only
        && config.security.enable_script_evaluation == Some(true)
        && origins.contains_key("enable-script-evaluation")
    {
        return refuse("read-only", "enable-script-evaluation", "a script can change the page");
    }
    if config.responses == super::Responses::Ref && config.store.as_deref() == Some("none") {
        return refuse("responses", "store", "the content would not be stored");
    }
    if config.max_sessions_total.is_some() && !config.has_shareable_store() {
        return refuse("max-sessions-total", "store", "no other server can use this record");
    }
    if config.pool.min_browsers > config.pool.max_browsers {
        return refuse("pool-min-browsers", "pool-max-browsers", "the minimum exceeds the maximum");
    }
    Ok(())
}

/// Rejects options of remote browsers that contradict each other, or that need such a browser.
fn refuse_remote_contradictions(config: &Config, origins: &Origins) -> Result<(), ConfigError> {
    let origin = |name: &'static str| origins.get(name).cloned().unwrap_or(Origin::Default(name));
    let refuse = |first, second, why| {
        Err(ConfigError::Contradiction { first: origin(first), second: origin(second), why })
    };
    if config.browser_command.is_some() {
        for (option, is_set) in [
            ("browser-endpoint", config.browser_endpoint.is_some()),
            ("attach", config.attach.is_some()),
        ] {
            if is_set {
                return refuse("browser-command", option, "each names a browser");
            }
        }
        if config.browser == BrowserKind::Webkit {
            return refuse("browser-command", "browser", "WebKit has no protocol for remote use");
        }
    } else if origins.contains_key("browser-command-timeout") {
        return Err(ConfigError::Needs {
            origin: origin("browser-command-timeout"),
            needed: "browser-command",
            why: "no other command is run",
        });
    }
    if config.grid().is_some() {
        if config.browser == BrowserKind::Webkit {
            return refuse("browser-endpoint", "browser", "WebKit has no protocol for remote use");
        }
        if config.remote_close == Some(RemoteClose::Disconnect) {
            return refuse(
                "browser-endpoint",
                "remote-close",
                "the browser would occupy a slot of the Selenium Grid",
            );
        }
    } else if !config.grid_capabilities.is_empty() {
        return Err(ConfigError::Needs {
            origin: origin("grid-capability"),
            needed: "browser-endpoint webdriver+http://…",
            why: "there is no Selenium Grid",
        });
    }
    if config.remote_context == RemoteContext::Default {
        const SHARED: &str = "it would change all tabs of the browser";
        let ContextConfig { proxy_server, storage_state, permissions, .. } = &config.context;
        for (option, is_set) in [
            ("proxy-server", proxy_server.is_some()),
            ("storage-state", storage_state.is_some()),
            ("grant-permissions", !permissions.is_empty()),
        ] {
            if is_set {
                return refuse("remote-context", option, SHARED);
            }
        }
        if config.browser == BrowserKind::Firefox {
            return refuse("remote-context", "browser", "in Firefox, sessions have user contexts");
        }
        if config.warm_contexts > 0 {
            return refuse("remote-context", "warm-contexts", "a browser has one default context");
        }
    }
    if config.browser_endpoint.is_some() || config.browser_command.is_some() {
        return Ok(());
    }
    let of_remote = [
        ("browser-header", !config.browser_headers.is_empty()),
        ("remote-context", origins.contains_key("remote-context")),
        ("remote-close", config.remote_close.is_some()),
    ];
    match of_remote.into_iter().find(|(_, is_set)| *is_set) {
        Some((option, _)) => Err(ConfigError::Needs {
            origin: origin(option),
            needed: "browser-endpoint",
            why: "there is no browser to connect to",
        }),
        None => Ok(()),
    }
}

/// Rejects options that the server would ignore. For an environment variable, which is often meant
/// for another server, adds a warning instead, unless it contradicts `--upstream`.
fn reject_options_without_effect(
    config: &mut Config,
    origins: &Origins,
) -> Result<(), ConfigError> {
    for option in OPTIONS {
        let Some(origin) = origins.get(option.name) else { continue };
        let Some(error) = without_effect(config, option, origin, origins) else { continue };
        let is_tolerated = matches!(origin, Origin::Variable(_))
            && !(option.effect_scope() == Scope::Engine && config.upstream.command.is_some());
        if !is_tolerated {
            return Err(error);
        }
        config.warnings.push(format!("ignored: {error}"));
    }
    Ok(())
}

/// Whether the setting has an effect in the server that `config` describes.
pub(super) fn has_effect(config: &Config, setting: &Setting) -> bool {
    without_effect(config, setting.option, &setting.origin, &Origins::new()).is_none()
}

/// Returns why `option` has no effect in the server that `config` describes.
fn without_effect(
    config: &Config,
    option: &ConfigOption,
    origin: &Origin,
    origins: &Origins,
) -> Option<ConfigError> {
    let contradicts = |name: &'static str, why| {
        let second = origins.get(name).cloned().unwrap_or(Origin::Default(name));
        ConfigError::Contradiction { first: origin.clone(), second, why }
    };
    let needs = |needed, why| ConfigError::Needs { origin: origin.clone(), needed, why };
    let (has_port, connects) = (config.transport != Transport::Stdio, config.connect.is_some());
    let has_upstream = config.upstream.command.is_some();
    match option.effect_scope() {
        Scope::Sessions
        | Scope::Engine
        | Scope::Port
        | Scope::Upstream
        | Scope::Record
        | Scope::Playwright
            if connects =>
        {
            Some(contradicts("connect", "pass this option to the server at the URL"))
        }
        Scope::Engine | Scope::Playwright if has_upstream => Some(contradicts(
            "upstream",
            "set options of the browser in the command of the upstream server",
        )),
        Scope::Port if !has_port => {
            Some(needs("transport http", "on stdio the server listens on no port"))
        }
        Scope::Access if !has_port && !connects => {
            Some(needs("transport http", "on stdio the server needs no token"))
        }
        Scope::Upstream if !has_upstream => Some(needs("upstream", "there is no upstream server")),
        Scope::Playwright if !config.offers_playwright_tools() => {
            Some(needs("tools playwright", "it is an option of the Playwright tools"))
        }
        Scope::Record if !config.records() => Some(contradicts("store", "nothing is recorded")),
        _ => None,
    }
}

/// Browser arguments that make connections bypass Troupe's proxy.
const BYPASS_ARGUMENTS: &[&str] = &[
    "--proxy-server",
    "--proxy-pac-url",
    "--proxy-auto-detect",
    "--proxy-bypass-list",
    "--no-proxy-server",
];

/// Rejects rules for pages if other options prevent their enforcement.
fn reject_unenforceable_rules(
    config: &Config,
    origins: &Origins,
    origin: &impl Fn(&'static str) -> Origin,
) -> Result<(), ConfigError> {
    let security = &config.security;
    let refuse = |first, second, why| {
        Err(ConfigError::Contradiction { first: origin(first), second: origin(second), why })
    };
    let lists =
        if security.allowed_domains.is_empty() { "blocked-domains" } else { "allowed-domains" };
    // If the private-network rule is only the default, a warning is enough. If it was set
    // explicitly, it must be enforceable.
    let is_explicit =
        origins.contains_key("allow-private-network") && !security.allow_private_network;
    let rule = match (security.names_domains(), is_explicit) {
        (true, _) => Some(lists),
        (false, true) => Some("allow-private-network"),
        (false, false) => None,
    };
    if let (Some(rule), Some(running)) = (rule, running_browser(config)) {
        return refuse(rule, running, "the network rules cannot be enforced in a running browser");
    }
    if config.upstream.command.is_some() {
        if let Some(rule) = rule {
            return refuse(
                rule,
                "upstream",
                "the network rules cannot be enforced in the upstream server's browser",
            );
        }
        if config.read_only {
            return refuse(
                "read-only",
                "upstream",
                "it is unknown which tools of the upstream server change pages",
            );
        }
        return Ok(());
    }
    if let Some(rule) = rule.filter(|_| config.browser == BrowserKind::Webkit) {
        return refuse(rule, "browser", "the network rules cannot be enforced in WebKit");
    }
    let origin_list =
        match (security.request_origins.is_empty(), security.blocked_origins.is_empty()) {
            (true, true) => None,
            (false, _) => Some("allowed-origins"),
            (true, false) => Some("blocked-origins"),
        };
    if let Some(list) =
        origin_list.filter(|_| matches!(config.browser, BrowserKind::Firefox | BrowserKind::Webkit))
    {
        return refuse(list, "browser", "only Chromium blocks requests by their origin");
    }
    if security.blocked_domains.iter().any(|domain| security.allowed_domains.contains(domain)) {
        return refuse("allowed-domains", "blocked-domains", "both contain the same domain");
    }
    if !security.restricts_pages() || config.uses_running_browser() {
        return Ok(());
    }
    let bypasses = |argument: &String| {
        BYPASS_ARGUMENTS.iter().any(|way| argument.split('=').next() == Some(way))
    };
    if config.browser_args.iter().any(bypasses) {
        return Err(ConfigError::Needs {
            origin: origin("browser-arg"),
            needed: "allow-private-network",
            why: "the network rules are enforced by Troupe's proxy, which the argument would bypass; --proxy-server sets the proxy that it connects to",
        });
    }
    if config.context.proxy_server.as_ref().is_some_and(|server| !is_supported_proxy(server)) {
        return Err(ConfigError::Needs {
            origin: origin("proxy-server"),
            needed: "allow-private-network",
            why: "the network rules are enforced only with http:// and socks5:// proxies",
        });
    }
    Ok(())
}

/// Whether Troupe supports the protocol of this proxy.
fn is_supported_proxy(server: &str) -> bool {
    !server.contains("://") || PROXIES.iter().any(|kind| server.starts_with(kind))
}

const PROXIES: &[&str] = &["http://", "socks5://", "socks://"];

/// Adds warnings about default rules that are not enforced.
fn warn_about_unenforced_rules(config: &mut Config) {
    // An upstream server has its own rules for its browser.
    if config.security.allow_private_network || config.upstream.command.is_some() {
        return;
    }
    let browsers = if config.uses_running_browser() {
        "a running browser"
    } else if config.browser == BrowserKind::Webkit {
        "WebKit"
    } else {
        let resolves = |argument: &String| argument.starts_with("--host-resolver-rules");
        if config.browser_args.iter().any(resolves) {
            config.warnings.push(
                "--host-resolver-rules has no effect: the server resolves names, unless --allow-private-network is set"
                    .to_owned(),
            );
        }
        return;
    };
    config.warnings.push(format!(
        "pages of {browsers} can reach private addresses; pass --allow-private-network to hide this warning"
    ));
}

/// Chooses one destination of the log. Of `--log-destination` and `--log-file`, the one of the
/// higher layer wins.
fn resolve_log_destination(config: &mut Config, origins: &Origins) -> Result<(), ConfigError> {
    let Some(destination) = config.log.destination else { return Ok(()) };
    let origin = |name: &'static str| origins.get(name).cloned().unwrap_or(Origin::Default(name));
    let (destination_origin, file) = (origin("log-destination"), origin("log-file"));
    match destination {
        LogDestination::File if config.log.file.is_none() => {
            return Err(ConfigError::InvalidValue {
                origin: destination_origin,
                value: "file".to_owned(),
                allowed: "`stderr`, unless `logging.file` is set".to_owned(),
            });
        }
        LogDestination::File => config.log.destination = None,
        LogDestination::Stdout | LogDestination::Stderr if config.log.file.is_some() => {
            match destination_origin.layer().cmp(&file.layer()) {
                std::cmp::Ordering::Less => config.log.destination = None,
                std::cmp::Ordering::Greater => config.log.file = None,
                std::cmp::Ordering::Equal => {
                    return Err(ConfigError::Contradiction {
                        first: destination_origin,
                        second: file,
                        why: "the log has one destination",
                    });
                }
            }
        }
        LogDestination::Stdout | LogDestination::Stderr => {}
    }
    if config.log.destination == Some(LogDestination::Stdout)
        && config.transport == Transport::Stdio
    {
        config.warnings.push(format!(
            "{}: `stdout` means stderr, because stdout carries the protocol",
            origin("log-destination")
        ));
        config.log.destination = None;
    }
    Ok(())
}

/// `--no-sandbox` among the browser arguments means `sandbox: false`.
fn take_sandbox_argument(config: &mut Config, origins: &Origins) -> Result<(), ConfigError> {
    const ARGUMENT: &str = "--no-sandbox";
    if !config.browser_args.iter().any(|argument| argument == ARGUMENT) {
        return Ok(());
    }
    if let (true, Some(first), Some(second)) =
        (config.sandbox, origins.get("sandbox"), origins.get("browser-arg"))
    {
        return Err(ConfigError::Contradiction {
            first: first.clone(),
            second: second.clone(),
            why: "one keeps the sandbox, the other switches it off",
        });
    }
    config.browser_args.retain(|argument| argument != ARGUMENT);
    config.sandbox = false;
    Ok(())
}
