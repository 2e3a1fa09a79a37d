//! The [`Config`], merged from the defaults, the file, the environment and the command line, each
//! overriding those before it. Uses no other module of the crate except `error`.
//!
//! Every option is a row of [`OPTIONS`] (`options.rs`). Flags, environment names, file keys,
//! `--help` and the checks are derived from the row, so that an option is defined only once. A row
//! says which field of [`Config`] has its value. `finish.rs` merges the layers and fills the
//! struct.

mod attach;
mod device;
pub mod environment;
mod error;
mod file;
mod finish;
mod folders;
mod layer;
mod options;
mod origin;
mod output_dir;
mod playwright_keys;
mod schema;
mod spelling;
#[cfg(test)]
mod tests;
mod types;
mod value;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
pub use troupe_client::{SESSION, state_folder, version};

pub use self::attach::{AttachTarget, BrowserChannel, CHANNELS};
pub use self::environment::{
    absolute_variables, own_variables, server_variables, variables_hidden_from_browsers,
};
pub use self::error::{ConfigError, one_line};
pub use self::folders::working_directory;
pub use self::layer::Setting;
pub use self::options::{ConfigOption, OPTIONS, by_flag as option_of_flag};
pub use self::origin::Origin;
pub use self::output_dir::{BucketUrl, OutputDir, S3};
pub use self::playwright_keys::with_playwright_keys;
pub use self::schema::{option_rows, schema};
pub use self::spelling::{near, nearest, snake_case};
pub use self::types::{
    AfterAction, AfterNavigation, BrowserKind, Codegen, ConsoleThreshold, Expiry, FilePaths,
    ImageResponses, LogDestination, LogFormat, LogLevel, Masked, RemoteClose, RemoteContext,
    Responses, Retention, SnapshotMode, StoreFailure, Transport, UpstreamTransport, Viewport,
};
pub use self::value::{Kind, capability, header, network};

/// A wait without a limit: a hundred years, which can be added to the current time without
/// overflow.
pub const NO_LIMIT: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The complete configuration, as plain data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// Name and version of the server that clients see, if the configuration file sets them.
    #[serde(skip)]
    pub name: Option<String>,
    #[serde(skip)]
    pub version: Option<String>,
    pub browser: BrowserKind,
    /// `None` is headed if there is a display; see [`Config::effective_headless`].
    pub headless: Option<bool>,
    pub executable_path: Option<PathBuf>,
    /// Where `troupe install` downloads Chrome for Testing, in place of Google's servers.
    pub download_host: Option<String>,
    /// Additional arguments for the browser. `--no-sandbox` is not among them: it becomes `sandbox:
    /// false`.
    pub browser_args: Vec<String>,
    pub sandbox: bool,
    /// A persistent profile. Without it, sessions are isolated and in memory.
    pub user_data_dir: Option<PathBuf>,
    /// Accepted for compatibility with @playwright/mcp; has no effect.
    pub isolated: bool,
    /// A running browser to attach to instead of launching one.
    pub browser_endpoint: Option<String>,
    /// Headers of the requests that connect to it (`NAME=VALUE`).
    pub browser_headers: Vec<String>,
    /// The shell command that prints the address of a remote browser.
    pub browser_command: Option<String>,
    #[serde(with = "types::millis")]
    pub browser_command_timeout: Duration,
    /// Capabilities of the browsers of a Selenium Grid (`KEY=JSON`).
    pub grid_capabilities: Vec<String>,
    pub remote_context: RemoteContext,
    /// `None`: terminates the browsers that are obtained for sessions, and disconnects from others.
    pub remote_close: Option<RemoteClose>,
    /// The user's own running browser, in place of one that Troupe starts.
    pub attach: Option<AttachTarget>,
    /// How long a call waits until the user allows the connection to that browser.
    #[serde(with = "types::millis")]
    pub attach_timeout: Duration,
    pub download_path: Option<PathBuf>,
    pub context: ContextConfig,

    #[serde(with = "types::millis")]
    pub session_timeout: Duration,
    pub session_expiry: Expiry,
    /// `None`: 10 over stdio; over HTTP and WebSocket, the limit depends on the memory of the
    /// machine.
    pub max_sessions: Option<usize>,
    /// The maximum number of open sessions of all servers that share the record; `None`: no limit.
    pub max_sessions_total: Option<usize>,
    /// How long a `create_session` over the limit waits for another session to end; zero: not at
    /// all.
    #[serde(with = "types::millis")]
    pub queue_timeout: Duration,
    /// Bytes of memory of the machine or of the control group that must be free for a new session.
    pub min_free_memory: u64,
    pub persistent_sessions: bool,
    /// Whether the sessions of former servers of this user and working directory are resumed at
    /// startup.
    pub auto_resume: bool,
    #[serde(with = "types::millis")]
    pub timeout_action: Duration,
    #[serde(with = "types::millis")]
    pub timeout_navigation: Duration,
    #[serde(with = "types::millis")]
    pub timeout_settle: Duration,
    pub pool: PoolConfig,
    /// Number of browser contexts that are created in advance for new sessions.
    pub warm_contexts: usize,
    /// Number of WebKit browsers that are started in advance: each session needs a separate one.
    pub warm_browsers: usize,

    pub transport: Transport,
    pub host: String,
    pub port: u16,
    pub auth_token: Option<Masked>,
    pub auth_token_file: Option<PathBuf>,
    /// Whether clients must send a token; `false` only on a loopback address.
    pub auth: bool,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    /// The prefix of every path, such as `/troupe`; empty for none.
    pub base_path: String,
    /// Where other servers that share the record reach this one; `None` for its address.
    pub advertise_url: Option<String>,
    /// Addresses and networks of reverse proxies whose `X-Forwarded-For` is used; [`network`] reads
    /// each.
    pub trusted_proxies: Vec<String>,
    pub max_connections: usize,
    /// Maximum requests per second from one address; 0 is no limit.
    pub rate_limit: u32,
    /// How long the daemon of the command line waits without a client before it exits.
    #[serde(with = "types::millis")]
    pub daemon_idle: Duration,
    /// How long the head and the body of a request may take to arrive.
    #[serde(with = "types::millis")]
    pub request_timeout: Duration,
    /// How long running calls may take to finish after SIGTERM.
    #[serde(with = "types::millis")]
    pub drain_timeout: Duration,
    /// How long calls wait while a person controls their session.
    #[serde(with = "types::millis")]
    pub takeover_timeout: Duration,
    /// The signals on a page for which the server asks a person: `captcha`, `login`.
    pub handoff_on: Vec<String>,
    pub connect: Option<String>,
    #[serde(with = "types::millis")]
    pub idle_timeout: Duration,

    pub tools: Vec<String>,
    pub no_tools: Vec<String>,
    /// Whether only tools that do not change pages are offered.
    pub read_only: bool,
    /// The capabilities of the Playwright set that are offered beside `core`.
    pub caps: Vec<String>,
    /// `--vision`: the former form of `--caps vision`.
    pub vision: bool,
    /// Whether to emulate a phone of the browser's family.
    pub mobile: bool,
    pub codegen: Codegen,
    pub console_level: ConsoleThreshold,
    pub file_paths: FilePaths,
    pub image_responses: ImageResponses,
    /// Bytes of the output folder beyond which the Playwright set deletes its oldest files.
    pub output_max_size: Option<u64>,
    pub snapshot_mode: SnapshotMode,
    pub snapshot_boxes: bool,
    /// The attribute that locators of the Playwright set use as test id.
    pub test_id_attribute: Option<String>,
    pub prompts: Option<PathBuf>,
    pub after_action: AfterAction,
    /// `None`: a snapshot over MCP, nothing for programs (the Node library, the JSON API).
    pub after_navigation: Option<AfterNavigation>,
    /// Characters of one result.
    pub result_budget: usize,
    pub responses: Responses,
    /// Whether page content is marked as untrusted in results.
    pub boundaries: bool,

    /// `none`, `memory`, a path or a URL; `None` is the file in the OS state folder.
    pub store: Option<String>,
    /// `None`: 1 s, with PostgreSQL 5 s.
    #[serde(with = "types::optional_millis")]
    pub store_timeout: Option<Duration>,
    /// `None`: calls continue, with PostgreSQL they fail.
    pub store_failure: Option<StoreFailure>,
    pub retention: Retention,
    /// Whether `Authorization`, cookies and similar headers are recorded unmasked.
    pub record_headers: bool,
    /// Whether a small picture of the page is recorded after each action.
    pub record_pictures: bool,
    pub upstream: UpstreamConfig,
    pub security: SecurityConfig,
    pub output_dir: Option<OutputDir>,
    pub log: LogConfig,

    /// The working directory of the process when the configuration was loaded. Relative paths start
    /// here.
    #[serde(skip, default = "folders::working_directory")]
    pub working_directory: PathBuf,
    /// The private socket on which the daemon listens, in place of a port.
    #[serde(skip)]
    pub socket: Option<PathBuf>,
    /// Where `max_sessions` was set, for messages; `None` for the default.
    #[serde(skip)]
    pub max_sessions_origin: Option<Origin>,
    /// Whether pages keep the headers and bodies of their requests, for a tool that shows them.
    #[serde(skip)]
    pub keeps_request_details: bool,
    /// Warnings about the settings. The code that starts the server logs each as one line.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// The options of every new browser context, with those of `--device`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextConfig {
    /// The device's name; its values are already in the fields below.
    pub device: Option<String>,
    pub viewport: Option<Viewport>,
    pub device_scale_factor: Option<f64>,
    pub is_mobile: bool,
    pub has_touch: bool,
    pub user_agent: Option<String>,
    pub locale: Option<String>,
    pub timezone: Option<String>,
    pub proxy_server: Option<String>,
    /// Domains that bypass the proxy, comma-separated.
    pub proxy_bypass: Option<String>,
    pub ignore_https_errors: bool,
    pub storage_state: Option<PathBuf>,
    pub init_scripts: Vec<PathBuf>,
    pub permissions: Vec<String>,
    pub block_service_workers: bool,
}

impl ContextConfig {
    /// Without the proxy: it belongs to the server, not to a session, and may contain credentials.
    pub fn without_proxy(&self) -> Self {
        self.with_proxy_of(&Self::default())
    }

    /// With the proxy of `server`.
    pub fn with_proxy_of(&self, server: &Self) -> Self {
        let Self { proxy_server, proxy_bypass, .. } = server.clone();
        Self { proxy_server, proxy_bypass, ..self.clone() }
    }

    /// Whether the proxy has a user name and a password. Browsers do not get them: Troupe's own
    /// proxy logs in.
    pub fn has_proxy_credentials(&self) -> bool {
        self.proxy_server.as_deref().is_some_and(|server| redacted_proxy(server) != server)
    }
}

/// The address of a proxy without its credentials.
pub fn redacted_proxy(server: &str) -> String {
    let (scheme, rest) =
        server.split_once("://").map_or(("", server), |(scheme, rest)| (scheme, rest));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let Some(at) = rest[..end].rfind('@') else { return server.to_owned() };
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{}", &rest[at + 1..])
}

/// Returns the address of a browser without its credentials and its query, which may contain a
/// token.
pub fn redacted_endpoint(endpoint: &str) -> String {
    let mut shown = redacted_proxy(endpoint);
    if let Some(end) = shown.find(['?', '#']) {
        shown.truncate(end);
        shown.push_str("?…");
    }
    shown
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolConfig {
    pub min_browsers: usize,
    pub max_browsers: usize,
    /// `None`: a browser without sessions keeps running.
    #[serde(with = "types::optional_millis")]
    pub idle_timeout: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecurityConfig {
    pub allowed_domains: Vec<String>,
    pub blocked_domains: Vec<String>,
    /// `--allowed-origins` with the Playwright set: the origins that requests may go to. Empty:
    /// all.
    pub request_origins: Vec<String>,
    /// The origins that requests may not go to.
    pub blocked_origins: Vec<String>,
    pub allow_private_network: bool,
    pub allow_file_access: bool,
    /// `None`: allowed, except in documents that hold a secret that was typed by name.
    pub enable_script_evaluation: Option<bool>,
    pub enable_file_upload: bool,
    pub enable_scripts: bool,
    /// Bytes.
    pub max_screenshot_size: u64,
    pub secrets: Option<PathBuf>,
}

/// The upstream server in place of the built-in engine, and its timeouts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpstreamConfig {
    /// `None`: the built-in engine serves.
    pub command: Option<String>,
    pub transport: UpstreamTransport,
    #[serde(with = "types::millis")]
    pub start_timeout: Duration,
    /// How long a call may run without an answer or progress.
    #[serde(with = "types::millis")]
    pub call_timeout: Duration,
    #[serde(with = "types::millis")]
    pub ping_interval: Duration,
    #[serde(with = "types::millis")]
    pub ping_timeout: Duration,
    /// The server counts as hung after this many consecutive missed pings.
    pub ping_misses: u32,
    /// Pause before the first restart. Each further pause is twice as long.
    #[serde(with = "types::millis")]
    pub restart_pause: Duration,
    /// Maximum number of restarts within the window.
    pub restarts: usize,
    #[serde(with = "types::millis")]
    pub restart_window: Duration,
    #[serde(with = "types::millis")]
    pub close_timeout: Duration,
    #[serde(with = "types::millis")]
    pub term_timeout: Duration,
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        Self {
            command: None,
            transport: UpstreamTransport::Stdio,
            // `npx` may have to download the server first.
            start_timeout: Duration::from_millis(60_000),
            call_timeout: Duration::from_millis(600_000),
            ping_interval: Duration::from_millis(30_000),
            ping_timeout: Duration::from_millis(10_000),
            ping_misses: 3,
            restart_pause: Duration::from_millis(1_000),
            restarts: 3,
            restart_window: Duration::from_millis(300_000),
            close_timeout: Duration::from_millis(5_000),
            term_timeout: Duration::from_millis(2_000),
        }
    }
}

impl SecurityConfig {
    /// Whether rules restrict the hosts that pages can reach.
    pub fn restricts_pages(&self) -> bool {
        !self.allow_private_network || self.names_domains()
    }

    pub fn names_domains(&self) -> bool {
        !self.allowed_domains.is_empty() || !self.blocked_domains.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogConfig {
    pub level: LogLevel,
    pub format: LogFormat,
    /// `None`: the log file if one is set, or else stderr.
    pub destination: Option<LogDestination>,
    pub file: Option<PathBuf>,
}

impl LogConfig {
    /// Whether every line on stderr must be JSON, because the log goes there in this format.
    pub fn writes_json_to_stderr(&self) -> bool {
        self.format == LogFormat::Json
            && self.file.is_none()
            && self.destination != Some(LogDestination::Stdout)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            name: None,
            version: None,
            browser: BrowserKind::Chromium,
            headless: None,
            executable_path: None,
            download_host: None,
            browser_args: Vec::new(),
            sandbox: true,
            user_data_dir: None,
            isolated: false,
            browser_endpoint: None,
            browser_headers: Vec::new(),
            browser_command: None,
            browser_command_timeout: Duration::from_millis(30_000),
            grid_capabilities: Vec::new(),
            remote_context: RemoteContext::New,
            remote_close: None,
            attach: None,
            // Many clients end a call after 60 s. The error should reach them before that.
            attach_timeout: Duration::from_millis(50_000),
            download_path: None,
            context: ContextConfig::default(),
            session_timeout: Duration::from_millis(300_000),
            session_expiry: Expiry::Idle,
            max_sessions: None,
            max_sessions_total: None,
            queue_timeout: Duration::ZERO,
            min_free_memory: 128 * 1024 * 1024,
            persistent_sessions: true,
            auto_resume: false,
            timeout_action: Duration::from_millis(5_000),
            timeout_navigation: Duration::from_millis(30_000),
            timeout_settle: Duration::from_millis(2_000),
            pool: PoolConfig { min_browsers: 1, max_browsers: 1, idle_timeout: None },
            warm_contexts: 0,
            warm_browsers: 1,
            transport: Transport::Stdio,
            host: "127.0.0.1".to_owned(),
            port: 4000,
            auth_token: None,
            auth_token_file: None,
            auth: true,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            base_path: String::new(),
            advertise_url: None,
            trusted_proxies: Vec::new(),
            max_connections: 2_000,
            rate_limit: 0,
            request_timeout: Duration::from_millis(30_000),
            drain_timeout: Duration::from_millis(2_000),
            takeover_timeout: Duration::from_millis(300_000),
            handoff_on: Vec::new(),
            daemon_idle: Duration::from_hours(1),
            connect: None,
            idle_timeout: Duration::from_millis(60_000),
            tools: vec!["native".to_owned()],
            no_tools: Vec::new(),
            read_only: false,
            caps: Vec::new(),
            vision: false,
            mobile: false,
            codegen: Codegen::Typescript,
            console_level: ConsoleThreshold::Info,
            file_paths: FilePaths::Relative,
            image_responses: ImageResponses::Allow,
            output_max_size: None,
            snapshot_mode: SnapshotMode::Full,
            snapshot_boxes: false,
            test_id_attribute: None,
            prompts: None,
            after_action: AfterAction::Changes,
            after_navigation: None,
            result_budget: 25_000,
            responses: Responses::Full,
            boundaries: true,
            store: None,
            store_timeout: None,
            store_failure: None,
            retention: Retention::default(),
            record_headers: false,
            record_pictures: false,
            upstream: UpstreamConfig::default(),
            security: SecurityConfig {
                allowed_domains: Vec::new(),
                blocked_domains: Vec::new(),
                request_origins: Vec::new(),
                blocked_origins: Vec::new(),
                allow_private_network: false,
                allow_file_access: false,
                enable_script_evaluation: None,
                enable_file_upload: true,
                enable_scripts: false,
                max_screenshot_size: 10 * 1024 * 1024,
                secrets: None,
            },
            output_dir: None,
            log: LogConfig {
                level: LogLevel::Info,
                format: LogFormat::Text,
                destination: None,
                file: None,
            },
            working_directory: folders::working_directory(),
            socket: None,
            max_sessions_origin: None,
            keeps_request_details: false,
            warnings: Vec::new(),
        }
    }
}

impl Config {
    /// Whether the connections of pages go through Troupe's proxy: if network rules apply to pages,
    /// or if the user's proxy has credentials, which browsers do not accept.
    pub fn routes_pages_through_proxy(&self) -> bool {
        self.security.restricts_pages() || self.context.has_proxy_credentials()
    }

    /// Whether the sessions are tabs of one profile, and not each alone in a context. Its cookies
    /// and storage are neither saved nor replaced.
    pub fn shares_profile(&self) -> bool {
        self.attach.is_some()
            || self.remote_context == RemoteContext::Default
            || self.user_data_dir.is_some()
    }

    /// Whether another program has started the browser.
    pub fn uses_running_browser(&self) -> bool {
        self.attach.is_some() || self.browser_endpoint.is_some() || self.obtains_browsers()
    }

    /// Returns the `http:` or `https:` URL of the Selenium Grid, if the browsers are in one.
    pub fn grid(&self) -> Option<&str> {
        self.browser_endpoint.as_deref()?.strip_prefix("webdriver+")
    }

    /// Returns `--store` without the scheme `sqlite://`.
    pub fn store_location(&self) -> Option<&str> {
        self.store.as_deref().map(|store| store.strip_prefix("sqlite://").unwrap_or(store))
    }

    /// Returns the folder with notes about the sessions of a Selenium Grid: beside the file of the
    /// record, otherwise in the state folder. `None` without a home directory.
    pub fn grid_folder(&self) -> Option<PathBuf> {
        let folder = match self.store_location() {
            None | Some("none" | "memory" | ":memory:") => state_folder()?,
            Some(url) if url.contains("://") => state_folder()?,
            Some(path) => std::path::absolute(path).ok()?.parent()?.to_owned(),
        };
        Some(folder.join("grid-sessions"))
    }

    /// Whether another program provides each browser of the pool.
    pub fn obtains_browsers(&self) -> bool {
        self.browser_command.is_some() || self.grid().is_some()
    }

    /// Whether a remote browser ends when it is closed.
    pub fn terminates_remote_browsers(&self) -> bool {
        let close = self.remote_close.unwrap_or(if self.obtains_browsers() {
            RemoteClose::Terminate
        } else {
            RemoteClose::Disconnect
        });
        close == RemoteClose::Terminate
    }

    /// Whether tools of the Playwright set are offered.
    pub fn offers_playwright_tools(&self) -> bool {
        self.tools
            .iter()
            .any(|word| matches!(&**word, "playwright" | "all") || word.starts_with("browser_"))
    }

    /// Whether tools other than those of the Playwright set are offered.
    pub fn offers_native_tools(&self) -> bool {
        self.tools.iter().any(|word| word != "playwright" && !word.starts_with("browser_"))
    }

    /// Whether the user has not chosen the output directory.
    pub fn has_default_output(&self) -> bool {
        self.output_dir.as_ref().is_none_or(|output| *output == finish::PLAYWRIGHT_OUTPUT.into())
    }

    /// Whether `--store` allows other servers to use the same record.
    pub fn has_shareable_store(&self) -> bool {
        !matches!(self.store_location(), Some("none" | "memory" | ":memory:"))
    }

    /// Whether calls are recorded.
    pub fn records(&self) -> bool {
        self.store.as_deref() != Some("none")
    }

    /// Merges `flags` (in order, the last one wins), the environment (names that do not begin with
    /// `TROUPE_` are ignored), the file that one of them names, and the defaults.
    pub fn load(
        flags: Vec<Setting>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let variables: Vec<(String, String)> = environment.into_iter().collect();
        let mut environment = environment::settings(variables.clone())?;
        let is_playwright =
            [&flags, &environment.settings].into_iter().any(|layer| layer::is_playwright(layer));
        if is_playwright {
            environment::add_playwright_settings(&mut environment, variables)?;
        }
        let file = match [&flags, &environment.settings]
            .into_iter()
            .find_map(|layer| layer::config_file(layer))
        {
            Some(path) => file::read(&path, is_playwright)?,
            None => file::FileSettings::default(),
        };
        let warnings = file.warnings.into_iter().chain(environment.warnings).collect();
        let config = finish::finish(&file.settings, &environment.settings, flags, warnings)?;
        Ok(Self { name: file.name, version: file.version, ..config })
    }

    /// Returns the command line that has the same effect as the environment and `flags`: the
    /// settings of the environment that have an effect, then `flags`. Each option occurs once.
    pub fn settings(
        &self,
        flags: Vec<Setting>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Vec<Setting>, ConfigError> {
        let flags = layer::joined(flags);
        let mut settings = environment::settings(environment)?.settings;
        settings.retain(|setting| {
            !flags.iter().any(|flag| std::ptr::eq(flag.option, setting.option))
                && finish::has_effect(self, setting)
        });
        settings.extend(flags);
        Ok(settings)
    }

    /// Reads the same shapes as a file, for the Node library. It records nothing unless `store` is
    /// set: a program does not expect a library to write to the user's home directory.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        let file = file::parse(text, None, false)?;
        let store = layer::default_store("none")?;
        let settings = [vec![store], file.settings].concat();
        let config = finish::finish(&settings, &[], Vec::new(), file.warnings)?;
        Ok(Self { name: file.name, version: file.version, ..config })
    }

    /// Whether clients and server share a working directory: on stdio the client starts the server.
    pub fn shares_working_directory(&self) -> bool {
        self.transport == Transport::Stdio
    }

    /// Whether only this machine can reach a server on `host`.
    pub fn binds_loopback(&self) -> bool {
        let host = self.host.trim_matches(['[', ']']);
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// The URL at which clients on this machine reach a server that binds `host` and `port`.
    pub fn local_url(&self) -> String {
        let host = self.host.trim_matches(['[', ']']);
        let host = match host.parse::<std::net::IpAddr>() {
            Ok(address) if address.is_unspecified() => "127.0.0.1".to_owned(),
            Ok(std::net::IpAddr::V6(address)) => format!("[{address}]"),
            _ => host.to_owned(),
        };
        format!("http://{host}:{}{}/mcp", self.port, self.base_path)
    }

    /// Returns whether to launch headless, and a warning. A headed browser needs a display, which
    /// always exists on systems other than Linux.
    pub fn effective_headless(
        &self,
        display_present: bool,
    ) -> Result<(bool, Option<String>), ConfigError> {
        match self.headless {
            Some(true) => Ok((true, None)),
            _ if display_present => Ok((false, None)),
            Some(false) => Err(ConfigError::NoDisplay),
            None => Ok((
                true,
                Some("there is no display, so the browser runs headless; pass `--headless` to hide this warning".to_owned()),
            )),
        }
    }
}

/// Whether a window can be shown: on Linux, the environment must name an X or Wayland display.
pub fn display_present() -> bool {
    let named = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || named("DISPLAY") || named("WAYLAND_DISPLAY")
}
