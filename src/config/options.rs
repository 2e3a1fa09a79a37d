//! The table of all options, the only definition of each option.
//!
//! A row's name is its flag in kebab case. The flag's camelCase spelling, the environment variable
//! (`TROUPE_` and the name in capitals) and the flat key of the file (camelCase) are derived from
//! it. `nested` is the key in a file with nested sections (`browser.args`). `at` is the field of
//! `Config` that has the value. The order is that of `--help`.

use serde_json::Value;

use super::spelling::{camel, environment};
use super::types::{
    AfterAction, AfterNavigation, BrowserKind, Codegen, ConsoleThreshold, Expiry, FilePaths,
    ImageResponses, LogDestination, LogFormat, LogLevel, RemoteClose, RemoteContext, Responses,
    SnapshotMode, StoreFailure, Transport, UpstreamTransport,
};
use super::value::{ItemKind, Kind};

/// One option.
#[derive(Debug)]
pub struct ConfigOption {
    pub name: &'static str,
    /// The path of the field in [`super::Config`] that has the value; empty for `--config` itself.
    pub at: &'static str,
    pub kind: Kind,
    pub group: &'static str,
    pub help: &'static str,
    /// The key in a file with nested sections, such as `browser.args`, if it has one.
    pub nested: Option<&'static str>,
    /// Additional names in every spelling, mostly those of @playwright/mcp.
    pub aliases: &'static [&'static str],
    /// Whether the option is on by default and `--no-NAME` turns it off. `help` then describes
    /// `--no-NAME`.
    pub negatable: bool,
    /// Whether the value is a secret, which is not written into a client's configuration.
    pub is_secret: bool,
    /// Why this server rejects it: an option of @playwright/mcp without a counterpart. It is not in
    /// `--help`.
    pub refusal: Option<&'static str>,
    /// The kind of server in which it has an effect, if it differs from that of its group.
    scope: Option<Scope>,
}

/// The kind of server in which an option has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Any,
    /// Servers that have sessions of their own: without `--connect`.
    Sessions,
    /// Servers that run browsers themselves: without `--upstream` and `--connect`.
    Engine,
    /// Servers that listen on a port: `--transport http` or `websocket`.
    Port,
    /// The same servers, and their clients with `--connect`.
    Access,
    /// Servers with `--upstream`.
    Upstream,
    /// Servers that record calls: not with `--store none`.
    Record,
    /// Servers that offer Playwright tools.
    Playwright,
}

/// Groups whose options have an effect in one kind of server only.
const SCOPES: &[(&str, Scope)] = &[
    (BROWSER, Scope::Engine),
    (CONTEXT, Scope::Engine),
    (SESSION, Scope::Sessions),
    (SERVER, Scope::Port),
    (UPSTREAM, Scope::Upstream),
    (TOOLS, Scope::Sessions),
    (RECORD, Scope::Record),
    (SAFETY, Scope::Sessions),
];

impl ConfigOption {
    const fn new(
        group: &'static str,
        name: &'static str,
        at: &'static str,
        kind: Kind,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            at,
            kind,
            group,
            help,
            nested: None,
            aliases: &[],
            negatable: false,
            is_secret: false,
            refusal: None,
            scope: None,
        }
    }

    const fn nested(mut self, key: &'static str) -> Self {
        self.nested = Some(key);
        self
    }

    const fn aliases(mut self, names: &'static [&'static str]) -> Self {
        self.aliases = names;
        self
    }

    const fn negatable(mut self) -> Self {
        self.negatable = true;
        self
    }

    const fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    /// An option of @playwright/mcp that is rejected with `reason`.
    const fn refused(name: &'static str, kind: Kind, reason: &'static str) -> Self {
        let mut option = Self::new(TOOLS, name, "", kind, "");
        option.refusal = Some(reason);
        option.scope = Some(Scope::Any);
        option
    }

    const fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Returns the kind of server in which it has an effect.
    pub fn effect_scope(&self) -> Scope {
        let of_group =
            SCOPES.iter().find(|(group, _)| *group == self.group).map(|(_, scope)| *scope);
        self.scope.or(of_group).unwrap_or(Scope::Any)
    }

    /// Returns every name in kebab case, its primary name first.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// `--name`, for messages.
    pub fn flag(&self) -> String {
        format!("--{}", self.name)
    }

    /// Returns its environment variable.
    pub fn variable(&self) -> String {
        environment(self.name)
    }

    /// Returns its flat key in the configuration file.
    pub fn key(&self) -> String {
        camel(self.name)
    }

    /// Returns the only values that it accepts, if there is such a list.
    pub fn choices(&self) -> Option<&'static [&'static str]> {
        match self.kind {
            Kind::Choice(names) => Some(names),
            _ => None,
        }
    }

    /// Returns its default for help and documents, if it is worth showing. `defaults` is the
    /// default [`super::Config`] as JSON.
    pub fn default_text(&self, defaults: &Value) -> Option<String> {
        let value = self.at.split('.').try_fold(defaults, |value, key| value.get(key))?;
        match value {
            Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(true) if !self.negatable => Some("true".to_owned()),
            Value::Array(items) => items.first()?.as_str().map(str::to_owned),
            _ => None,
        }
    }
}

const BROWSER: &str = "Browser";
const CONTEXT: &str = "Pages";
const SESSION: &str = "Sessions and times";
const SERVER: &str = "Server";
const UPSTREAM: &str = "Upstream";
const TOOLS: &str = "Tools and results";
const RECORD: &str = "Record";
const SAFETY: &str = "Safety";
const LOG: &str = "Logging";

/// The option that names the configuration file.
pub(super) const CONFIG: &str = "config";

const ONCE_EACH: Kind = Kind::List { flag: None, environment: ' ', item: ItemKind::Text };
/// A value contains spaces and commas, so the environment has one header per line.
const HEADERS: Kind = Kind::List { flag: None, environment: '\n', item: ItemKind::Header };
/// JSON contains spaces and commas.
const CAPABILITIES: Kind = Kind::List { flag: None, environment: '\n', item: ItemKind::Capability };
const FILES: Kind = Kind::List { flag: None, environment: ',', item: ItemKind::File };
const COMMAS: Kind = Kind::List { flag: Some(','), environment: ',', item: ItemKind::Text };
const DOMAINS: Kind = Kind::List { flag: Some(','), environment: ',', item: ItemKind::Domain };
const CAPS: Kind = Kind::List {
    flag: Some(','),
    environment: ',',
    item: ItemKind::Choice(&[
        "config",
        "core",
        "core-input",
        "core-install",
        "core-navigation",
        "core-tabs",
        "devtools",
        "network",
        "pdf",
        "storage",
        "testing",
        "tracing",
        "vision",
    ]),
};
const HANDOFF: Kind =
    Kind::List { flag: Some(','), environment: ',', item: ItemKind::Choice(&["captcha", "login"]) };
const PERMISSIONS: Kind = Kind::List {
    flag: Some(','),
    environment: ',',
    item: ItemKind::Choice(&[
        "accelerometer",
        "ambient-light-sensor",
        "background-sync",
        "camera",
        "clipboard-read",
        "clipboard-write",
        "geolocation",
        "gyroscope",
        "local-fonts",
        "local-network-access",
        "magnetometer",
        "microphone",
        "midi",
        "midi-sysex",
        "notifications",
        "payment-handler",
        "screen-wake-lock",
        "storage-access",
    ]),
};

const fn row(
    group: &'static str,
    name: &'static str,
    at: &'static str,
    kind: Kind,
    help: &'static str,
) -> ConfigOption {
    ConfigOption::new(group, name, at, kind, help)
}

/// All options.
pub static OPTIONS: &[ConfigOption] = &[
    row(BROWSER, "browser", "browser", Kind::Choice(BrowserKind::NAMES), "Browser to use")
        .nested("browser.type"),
    row(
        BROWSER,
        "headless",
        "headless",
        Kind::Switch,
        "Run without a window (default when there is no display)",
    )
    .nested("browser.headless"),
    row(BROWSER, "executable-path", "executablePath", Kind::Path, "Path of the browser executable"),
    row(
        BROWSER,
        "download-host",
        "downloadHost",
        Kind::Url(&["http", "https"]),
        "Mirror of Chrome for Testing from which `troupe install chromium` downloads",
    ),
    row(
        BROWSER,
        "browser-arg",
        "browserArgs",
        ONCE_EACH,
        "Additional argument for the browser; can be repeated",
    )
    .nested("browser.args")
    .aliases(&["browser-args"]),
    row(
        BROWSER,
        "sandbox",
        "sandbox",
        Kind::Switch,
        "Run Chromium without its sandbox (required as root)",
    )
    .negatable(),
    row(
        BROWSER,
        "user-data-dir",
        "userDataDir",
        Kind::Path,
        "Persistent profile folder, whose cookies and storage all sessions share",
    ),
    row(
        BROWSER,
        "isolated",
        "isolated",
        Kind::Switch,
        "Accepted for compatibility with @playwright/mcp; has no effect",
    ),
    row(
        BROWSER,
        "browser-endpoint",
        "browserEndpoint",
        Kind::Url(&["ws", "wss", "http", "https", "webdriver+http", "webdriver+https"]),
        "Attach to a running browser, or use a Selenium Grid",
    )
    .aliases(&["cdp-endpoint"]),
    row(
        BROWSER,
        "browser-header",
        "browserHeaders",
        HEADERS,
        "Header NAME=VALUE for connecting to a running browser; can be repeated",
    )
    .aliases(&["browser-headers", "cdp-header", "cdp-headers"])
    .secret(),
    row(
        BROWSER,
        "browser-command",
        "browserCommand",
        Kind::Text,
        "Shell command that prints the address of a new remote browser as JSON",
    )
    .secret(),
    row(
        BROWSER,
        "browser-command-timeout",
        "browserCommandTimeout",
        Kind::Millis { min: 1 },
        "How long the browser command may run, in ms",
    ),
    row(
        BROWSER,
        "grid-capability",
        "gridCapabilities",
        CAPABILITIES,
        "Capability KEY=JSON in a Selenium Grid; can be repeated",
    )
    .aliases(&["grid-capabilities"])
    .secret(),
    row(
        BROWSER,
        "remote-context",
        "remoteContext",
        Kind::Choice(RemoteContext::NAMES),
        "Whether remote sessions have new contexts, or are tabs of the default context",
    ),
    row(
        BROWSER,
        "remote-close",
        "remoteClose",
        Kind::Choice(RemoteClose::NAMES),
        "Whether to end a remote browser that is no longer needed, or only disconnect",
    ),
    row(
        BROWSER,
        "attach",
        "attach",
        Kind::Attach,
        "Use your own running Chrome: a channel, a port or a profile folder",
    ),
    row(
        BROWSER,
        "attach-timeout",
        "attachTimeout",
        Kind::Millis { min: 1 },
        "How long a call waits for your consent in your Chrome, in ms",
    ),
    row(BROWSER, "download-path", "downloadPath", Kind::Path, "Folder for downloads")
        .nested("browser.downloadPath"),
    row(
        CONTEXT,
        "viewport-size",
        "context.viewport",
        Kind::Size,
        "Viewport size, such as 1280x720",
    )
    .aliases(&["viewport"]),
    row(
        CONTEXT,
        "device",
        "context.device",
        Kind::Text,
        "Device to emulate, such as \"iPhone 15\"",
    ),
    row(
        CONTEXT,
        "mobile",
        "mobile",
        Kind::Switch,
        "Emulate a phone: Pixel 10, or iPhone 17 in WebKit",
    ),
    row(
        CONTEXT,
        "device-scale-factor",
        "context.deviceScaleFactor",
        Kind::Factor,
        "Device pixels for each CSS pixel",
    ),
    row(CONTEXT, "user-agent", "context.userAgent", Kind::Text, "User agent string"),
    row(CONTEXT, "locale", "context.locale", Kind::Locale, "Language and region, such as en-GB"),
    row(CONTEXT, "timezone", "context.timezone", Kind::Text, "Time zone, such as Europe/Berlin"),
    row(
        CONTEXT,
        "proxy-server",
        "context.proxyServer",
        Kind::Proxy,
        "Proxy, such as http://host:3128 or socks5://host:1080",
    ),
    row(
        CONTEXT,
        "proxy-bypass",
        "context.proxyBypass",
        Kind::Text,
        "Domains that bypass the proxy, comma-separated",
    ),
    row(
        CONTEXT,
        "ignore-https-errors",
        "context.ignoreHttpsErrors",
        Kind::Switch,
        "Accept invalid TLS certificates",
    ),
    row(
        CONTEXT,
        "storage-state",
        "context.storageState",
        Kind::File,
        "File with initial cookies and storage (Playwright's storage state)",
    ),
    row(
        CONTEXT,
        "init-script",
        "context.initScripts",
        FILES,
        "Script that runs in every page before its own scripts; can be repeated",
    ),
    row(
        CONTEXT,
        "grant-permissions",
        "context.permissions",
        PERMISSIONS,
        "Permissions of pages, such as geolocation,clipboard-read",
    ),
    row(
        CONTEXT,
        "block-service-workers",
        "context.blockServiceWorkers",
        Kind::Switch,
        "Prevent pages from registering service workers",
    ),
    row(
        SESSION,
        "session-timeout",
        "sessionTimeout",
        Kind::Millis { min: 1 },
        "Time after which a session expires, in ms (see --session-expiry)",
    ),
    row(
        SESSION,
        "session-expiry",
        "sessionExpiry",
        Kind::Choice(Expiry::NAMES),
        "When the timeout starts: at the creation (fixed), or at the last call (idle)",
    ),
    row(
        SESSION,
        "max-sessions",
        "maxSessions",
        Kind::Number { min: 1, max: 100_000 },
        "Maximum number of open sessions; over HTTP, the default depends on memory",
    )
    .nested("session.maxSessions"),
    row(
        SESSION,
        "max-sessions-total",
        "maxSessionsTotal",
        Kind::Number { min: 1, max: 1_000_000 },
        "Maximum number of open sessions of all servers with the same --store",
    ),
    row(
        SESSION,
        "queue-timeout",
        "queueTimeout",
        Kind::Millis { min: 0 },
        "How long a call waits for a session at the limit, in ms; 0: it fails at once",
    ),
    row(
        SESSION,
        "min-free-memory",
        "minFreeMemory",
        Kind::Bytes,
        "Memory that must be free for a new session, in bytes",
    ),
    row(
        SESSION,
        "persistent-sessions",
        "persistentSessions",
        Kind::Switch,
        "Keep sessions resumable after the server exits",
    )
    .nested("session.persistentSessions"),
    row(
        SESSION,
        "auto-resume",
        "autoResume",
        Kind::Switch,
        "Resume the sessions of earlier servers of this user and directory at startup",
    ),
    row(
        SESSION,
        "timeout-action",
        "timeoutAction",
        Kind::Millis { min: 0 },
        "How long an action waits for its element, in ms; 0 is no limit",
    )
    .scope(Scope::Engine),
    row(
        SESSION,
        "timeout-navigation",
        "timeoutNavigation",
        Kind::Millis { min: 0 },
        "How long a navigation may take, in ms; 0 is no limit",
    )
    .nested("session.defaultTimeout")
    .scope(Scope::Engine),
    row(
        SESSION,
        "timeout-settle",
        "timeoutSettle",
        Kind::Millis { min: 0 },
        "How long an action waits for the requests that it started, in ms",
    )
    .scope(Scope::Engine),
    row(
        SESSION,
        "pool-min-browsers",
        "pool.minBrowsers",
        Kind::Number { min: 0, max: 1_000 },
        "Minimum number of running browsers",
    )
    .nested("pool.minBrowsers")
    .scope(Scope::Engine),
    row(
        SESSION,
        "pool-max-browsers",
        "pool.maxBrowsers",
        Kind::Number { min: 1, max: 1_000 },
        "Maximum number of browsers; new sessions use the one with the fewest sessions",
    )
    .nested("pool.maxBrowsers")
    .scope(Scope::Engine),
    row(
        SESSION,
        "pool-idle-timeout",
        "pool.idleTimeout",
        Kind::Millis { min: 1 },
        "Close a browser without sessions after this time, in ms",
    )
    .nested("pool.idleTimeout")
    .scope(Scope::Engine),
    row(
        SESSION,
        "warm-contexts",
        "warmContexts",
        Kind::Number { min: 0, max: 1_000 },
        "Browser contexts created in advance for new sessions (headless only)",
    )
    .scope(Scope::Engine),
    row(
        SESSION,
        "warm-browsers",
        "warmBrowsers",
        Kind::Number { min: 0, max: 100 },
        "WebKit browsers started in advance",
    )
    .scope(Scope::Engine),
    row(
        SERVER,
        "transport",
        "transport",
        Kind::Choice(Transport::NAMES),
        "How clients reach the server",
    )
    .scope(Scope::Any),
    row(SERVER, "host", "host", Kind::Text, "Address to bind"),
    row(
        SERVER,
        "port",
        "port",
        Kind::Number { min: 0, max: 65_535 },
        "Port to bind; 0 takes a free one",
    ),
    row(
        SERVER,
        "auth-token",
        "authToken",
        Kind::Text,
        "Token that clients must send; use a file or TROUPE_AUTH_TOKEN to hide it from ps",
    )
    .secret()
    .scope(Scope::Access),
    row(SERVER, "auth-token-file", "authTokenFile", Kind::File, "File that contains the token")
        .scope(Scope::Access),
    row(SERVER, "auth", "auth", Kind::Switch, "Serve without a token; only on a loopback address")
        .negatable()
        .scope(Scope::Access),
    row(
        SERVER,
        "allowed-hosts",
        "allowedHosts",
        COMMAS,
        "Additional accepted Host names; * accepts any",
    ),
    row(
        SERVER,
        "allowed-origins",
        "allowedOrigins",
        COMMAS,
        "Origins of web pages that may call the server, such as https://app.example.com",
    ),
    row(
        SERVER,
        "base-path",
        "basePath",
        Kind::UrlPath,
        "Serve every path below this one, such as /troupe, behind a reverse proxy",
    ),
    row(
        SERVER,
        "advertise-url",
        "advertiseUrl",
        Kind::Url(&["http"]),
        "Where other servers with the same --store reach this one (default: its address)",
    ),
    row(
        SERVER,
        "trusted-proxies",
        "trustedProxies",
        Kind::List { flag: Some(','), environment: ',', item: ItemKind::Network },
        "Reverse proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8",
    ),
    row(
        SERVER,
        "max-connections",
        "maxConnections",
        Kind::Number { min: 1, max: 1_000_000 },
        "Maximum number of connections",
    ),
    row(
        SERVER,
        "rate-limit",
        "rateLimit",
        Kind::Number { min: 0, max: 1_000_000 },
        "Maximum requests per second from one address; 0 is no limit",
    ),
    row(
        SERVER,
        "request-timeout",
        "requestTimeout",
        Kind::Millis { min: 1 },
        "How long a request may take to arrive, in ms",
    ),
    row(
        SERVER,
        "idle-timeout",
        "idleTimeout",
        Kind::Millis { min: 0 },
        "Save and close the sessions of an idle HTTP client after this time, in ms",
    ),
    row(
        SERVER,
        "takeover-timeout",
        "takeoverTimeout",
        Kind::Millis { min: 0 },
        "How long calls wait while a person controls their session, in ms",
    )
    .scope(Scope::Sessions),
    row(
        SERVER,
        "handoff-on",
        "handoffOn",
        HANDOFF,
        "Ask a person in the dashboard when a page shows a CAPTCHA or a password field",
    )
    .scope(Scope::Sessions),
    row(
        SERVER,
        "drain-timeout",
        "drainTimeout",
        Kind::Millis { min: 0 },
        "How long running calls may take to finish after SIGTERM, in ms",
    )
    .scope(Scope::Sessions),
    row(
        SERVER,
        "daemon-idle",
        "daemonIdle",
        Kind::Millis { min: 1 },
        "Stop the daemon of the command line after this time without a client, in ms",
    )
    .scope(Scope::Any),
    row(
        SERVER,
        "connect",
        "connect",
        Kind::Url(&["ws", "wss", "http", "https", "unix"]),
        "Run as a stdio proxy for a running Troupe server",
    )
    .scope(Scope::Any),
    row(
        UPSTREAM,
        "upstream",
        "upstream.command",
        Kind::Text,
        "Start this MCP server for each session, in place of the built-in engine",
    )
    .scope(Scope::Any),
    row(
        UPSTREAM,
        "upstream-transport",
        "upstream.transport",
        Kind::Choice(UpstreamTransport::NAMES),
        "Transport to the upstream server",
    ),
    row(
        UPSTREAM,
        "upstream-start-timeout",
        "upstream.startTimeout",
        Kind::Millis { min: 1 },
        "How long the upstream server may take to start, in ms",
    ),
    row(
        UPSTREAM,
        "upstream-call-timeout",
        "upstream.callTimeout",
        Kind::Millis { min: 1 },
        "Cancel calls after this time without progress, in ms",
    ),
    row(
        UPSTREAM,
        "upstream-ping-interval",
        "upstream.pingInterval",
        Kind::Millis { min: 1 },
        "Interval of pings, in ms",
    ),
    row(
        UPSTREAM,
        "upstream-ping-timeout",
        "upstream.pingTimeout",
        Kind::Millis { min: 1 },
        "How long the upstream server may take to answer a ping, in ms",
    ),
    row(
        UPSTREAM,
        "upstream-ping-misses",
        "upstream.pingMisses",
        Kind::Number { min: 1, max: 1_000 },
        "Restart after this many consecutive missed pings",
    ),
    row(
        UPSTREAM,
        "upstream-restart-pause",
        "upstream.restartPause",
        Kind::Millis { min: 1 },
        "Pause before a restart, in ms; doubled for each further restart",
    ),
    row(
        UPSTREAM,
        "upstream-restarts",
        "upstream.restarts",
        Kind::Number { min: 0, max: 1_000 },
        "Maximum number of restarts within the window",
    ),
    row(
        UPSTREAM,
        "upstream-restart-window",
        "upstream.restartWindow",
        Kind::Millis { min: 1 },
        "Window for the number of restarts, in ms",
    ),
    row(
        UPSTREAM,
        "upstream-close-timeout",
        "upstream.closeTimeout",
        Kind::Millis { min: 0 },
        "How long the upstream server may take to exit before SIGTERM, in ms",
    ),
    row(
        UPSTREAM,
        "upstream-term-timeout",
        "upstream.termTimeout",
        Kind::Millis { min: 0 },
        "How long the upstream server may take after SIGTERM before SIGKILL, in ms",
    ),
    row(
        TOOLS,
        "tools",
        "tools",
        COMMAS,
        "Tools to offer: native, playwright, all, or names and groups (group:network)",
    ),
    row(TOOLS, "no-tools", "noTools", COMMAS, "Tools and groups to disable"),
    row(TOOLS, "read-only", "readOnly", Kind::Switch, "Offer only tools that do not change pages")
        .scope(Scope::Engine),
    row(TOOLS, "caps", "caps", CAPS, "Capabilities of the Playwright tools, such as vision,pdf")
        .scope(Scope::Playwright),
    row(TOOLS, "vision", "vision", Kind::Switch, "The same as --caps vision")
        .scope(Scope::Playwright),
    row(
        TOOLS,
        "codegen",
        "codegen",
        Kind::Choice(Codegen::NAMES),
        "Language of the code in results of the Playwright tools",
    )
    .scope(Scope::Playwright),
    row(
        TOOLS,
        "console-level",
        "consoleLevel",
        Kind::Choice(ConsoleThreshold::NAMES),
        "Minimum level of console messages in results of the Playwright tools",
    )
    .scope(Scope::Playwright),
    row(
        TOOLS,
        "file-paths",
        "filePaths",
        Kind::Choice(FilePaths::NAMES),
        "How results of the Playwright tools name files",
    )
    .scope(Scope::Playwright),
    row(
        TOOLS,
        "image-responses",
        "imageResponses",
        Kind::Choice(ImageResponses::NAMES),
        "Whether results of the Playwright tools contain images",
    )
    .scope(Scope::Playwright),
    row(
        TOOLS,
        "output-max-size",
        "outputMaxSize",
        Kind::Bytes,
        "Size of the output folder, in bytes, at which old files are deleted",
    )
    .scope(Scope::Playwright),
    row(
        TOOLS,
        "snapshot-mode",
        "snapshotMode",
        Kind::Choice(SnapshotMode::NAMES),
        "Whether actions of the Playwright tools write a snapshot",
    )
    .scope(Scope::Playwright),
    row(
        TOOLS,
        "snapshot-boxes",
        "snapshotBoxes",
        Kind::Switch,
        "Include the boxes of elements in snapshots of the Playwright tools",
    )
    .scope(Scope::Playwright),
    row(
        TOOLS,
        "test-id-attribute",
        "testIdAttribute",
        Kind::Text,
        "Test id attribute of locators of the Playwright tools (default: data-testid)",
    )
    .scope(Scope::Playwright),
    row(TOOLS, "prompts", "prompts", Kind::Path, "Folder with additional prompts"),
    row(
        TOOLS,
        "after-action",
        "afterAction",
        Kind::Choice(AfterAction::NAMES),
        "Page content in the result of an action",
    )
    .scope(Scope::Engine),
    row(
        TOOLS,
        "after-navigation",
        "afterNavigation",
        Kind::Choice(AfterNavigation::NAMES),
        "Whether a navigation returns a short snapshot (default: over MCP only)",
    )
    .scope(Scope::Engine),
    row(
        TOOLS,
        "result-budget",
        "resultBudget",
        Kind::Number { min: 1_000, max: 100_000_000 },
        "Maximum characters of a result",
    ),
    row(
        TOOLS,
        "responses",
        "responses",
        Kind::Choice(Responses::NAMES),
        "Whether results contain their content, or only a refId to read it",
    ),
    row(
        TOOLS,
        "output-dir",
        "outputDir",
        Kind::Output,
        "Folder for files that tools write, or s3://BUCKET/PREFIX",
    ),
    row(
        RECORD,
        "store",
        "store",
        Kind::Store,
        "Where to record calls: none, memory, an SQLite file, or postgres://HOST/DATABASE",
    )
    .scope(Scope::Sessions),
    row(
        RECORD,
        "store-timeout",
        "storeTimeout",
        Kind::Millis { min: 1 },
        "How long a call waits for its record, in ms (default: 1000; PostgreSQL: 5000)",
    ),
    row(
        RECORD,
        "store-failure",
        "storeFailure",
        Kind::Choice(StoreFailure::NAMES),
        "What to do if a call cannot be recorded (default: continue; PostgreSQL: refuse)",
    ),
    row(RECORD, "retention", "retention", Kind::Retention, "Maximum age and size of the record"),
    row(
        RECORD,
        "record-headers",
        "recordHeaders",
        Kind::Switch,
        "Record the values of cookies, storage and Authorization headers unmasked",
    ),
    row(
        RECORD,
        "record-pictures",
        "recordPictures",
        Kind::Switch,
        "Record a small image of the page after each action",
    ),
    row(
        SAFETY,
        "allowed-domains",
        "security.allowedDomains",
        DOMAINS,
        "Allow only these domains; *.example.com is example.com and its subdomains",
    )
    .nested("security.allowedDomains")
    .scope(Scope::Engine),
    row(
        SAFETY,
        "blocked-domains",
        "security.blockedDomains",
        DOMAINS,
        "Block these domains; *.example.com is example.com and its subdomains",
    )
    .nested("security.blockedDomains")
    .scope(Scope::Engine),
    row(
        SAFETY,
        "blocked-origins",
        "security.blockedOrigins",
        Kind::List { flag: Some(';'), environment: ';', item: ItemKind::Text },
        "Block requests of pages to these origins; semicolon-separated",
    )
    .scope(Scope::Playwright),
    row(
        SAFETY,
        "allow-private-network",
        "security.allowPrivateNetwork",
        Kind::Switch,
        "Allow all pages to reach private addresses",
    )
    .scope(Scope::Engine),
    row(
        SAFETY,
        "allow-file-access",
        "security.allowFileAccess",
        Kind::Switch,
        "Allow file: URLs, and access to files in all folders",
    )
    .aliases(&["allow-unrestricted-file-access"])
    .scope(Scope::Engine),
    row(
        SAFETY,
        "enable-script-evaluation",
        "security.enableScriptEvaluation",
        Kind::Switch,
        "Offer evaluate (default: not while a page of the session holds a typed secret)",
    )
    .nested("security.enableScriptEvaluation")
    .scope(Scope::Engine),
    row(
        SAFETY,
        "enable-scripts",
        "security.enableScripts",
        Kind::Switch,
        "Offer the tool run_script, which runs JavaScript with many steps in one call",
    )
    .nested("security.enableScripts")
    .scope(Scope::Engine),
    row(
        SAFETY,
        "enable-file-upload",
        "security.enableFileUpload",
        Kind::Switch,
        "Offer the tool upload_file",
    )
    .nested("security.enableFileUpload")
    .scope(Scope::Engine),
    row(
        SAFETY,
        "max-screenshot-size",
        "security.maxScreenshotSize",
        Kind::Bytes,
        "Maximum size of a screenshot, in bytes",
    )
    .nested("security.maxScreenshotSize")
    .scope(Scope::Engine),
    row(
        SAFETY,
        "secrets",
        "security.secrets",
        Kind::File,
        "File of secrets that agents type by name: one NAME=value per line",
    ),
    row(
        SAFETY,
        "boundaries",
        "boundaries",
        Kind::Switch,
        "Omit the marks around untrusted page content",
    )
    .negatable(),
    row(LOG, CONFIG, "", Kind::Path, "JSON file with any of these options"),
    row(
        LOG,
        "log-level",
        "log.level",
        Kind::Choice(LogLevel::NAMES),
        "Minimum level of log entries",
    )
    .nested("logging.level"),
    row(LOG, "log-format", "log.format", Kind::Choice(LogFormat::NAMES), "Format of the log")
        .nested("logging.format"),
    row(
        LOG,
        "log-destination",
        "log.destination",
        Kind::Choice(LogDestination::NAMES),
        "Destination of the log; stdout only over HTTP and WebSocket",
    )
    .nested("logging.destination"),
    row(LOG, "log-file", "log.file", Kind::Path, "File for the log, instead of stderr")
        .nested("logging.file"),
    ConfigOption::refused(
        "cdp-timeout",
        Kind::Text,
        "the limit for connecting to a browser is fixed",
    ),
    ConfigOption::refused(
        "endpoint",
        Kind::Text,
        "it needs a Playwright process: use `--upstream`",
    ),
    ConfigOption::refused(
        "extension",
        Kind::Switch,
        "it needs the Playwright extension: use your own Chrome with `--attach`",
    ),
    ConfigOption::refused(
        "init-page",
        Kind::Text,
        "it needs a Playwright process: pass a script for pages in `--init-script`",
    ),
    ConfigOption::refused("profile-dir-name", Kind::Text, "it belongs to `--extension`"),
    ConfigOption::refused(
        "remote-header",
        Kind::Text,
        "it needs a Playwright process: use `--upstream`",
    )
    .aliases(&["remote-headers"]),
    ConfigOption::refused(
        "save-session",
        Kind::Switch,
        "the record has every call already: `troupe sessions` lists and exports it",
    ),
    ConfigOption::refused(
        "shared-browser-context",
        Kind::Switch,
        "each client has its own session",
    ),
    ConfigOption::refused("webmcp", Kind::Switch, "tools of pages (WebMCP) are not offered")
        .negatable(),
];

/// Finds the option of a flag without its dashes, in kebab case or camelCase. Also returns whether
/// the name negates the option.
pub fn by_flag(name: &str) -> Option<(&'static ConfigOption, bool)> {
    by_spelling(|kebab| kebab == name || camel(kebab) == name)
}

/// Finds the option of an environment variable, and returns whether the name negates it.
pub fn by_variable(name: &str) -> Option<(&'static ConfigOption, bool)> {
    by_spelling(|kebab| environment(kebab) == name)
}

/// Finds the option of a flat key of the file, and returns whether the name negates it.
pub fn by_key(key: &str) -> Option<(&'static ConfigOption, bool)> {
    by_spelling(|kebab| camel(kebab) == key).filter(|(option, _)| option.name != CONFIG)
}

/// Finds the option of a dotted key of the nested file.
pub fn by_nested(key: &str) -> Option<&'static ConfigOption> {
    OPTIONS.iter().find(|option| option.nested == Some(key))
}

fn by_spelling(is_it: impl Fn(&str) -> bool) -> Option<(&'static ConfigOption, bool)> {
    OPTIONS.iter().find_map(|option| {
        if option.names().any(&is_it) {
            Some((option, false))
        } else if option.negatable && is_it(&format!("no-{}", option.name)) {
            Some((option, true))
        } else {
            None
        }
    })
}
