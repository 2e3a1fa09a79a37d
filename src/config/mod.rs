//! One [`Config`], merged from command line over environment over file over default. Ground: knows no
//! other module of the crate.
//!
//! Everything that can be set is a row of [`OPTIONS`] (`options.rs`): flags, environment names, file
//! keys, `--help` and the checks are read from it, so an option is written down once. A row says where
//! in [`Config`] its value goes; figment merges the layers and fills the struct.

mod device;
mod environment;
mod error;
mod file;
mod finish;
mod folders;
mod layer;
mod options;
mod schema;
mod spelling;
#[cfg(test)]
mod tests;
mod types;
mod value;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::error::{ConfigError, one_line};
pub use self::folders::state_folder;
pub use self::layer::{Origin, Setting};
pub use self::options::{ConfigOption, OPTIONS, by_flag as option_of_flag};
pub use self::schema::schema;
pub use self::spelling::{near, nearest};
pub use self::types::{
    AfterAction, BrowserKind, Expiry, LogFormat, LogLevel, Masked, Responses, Retention, Transport,
    UpstreamTransport, Viewport,
};
pub use self::value::Kind;

/// Everything that can be set, as plain data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    pub browser: BrowserKind,
    /// `None` is headed, unless no display is there; see [`Config::effective_headless`].
    pub headless: Option<bool>,
    pub executable_path: Option<PathBuf>,
    /// Further arguments of the browser. `--no-sandbox` is not among them: it becomes `sandbox: false`.
    pub browser_args: Vec<String>,
    pub sandbox: bool,
    /// A profile that stays; sessions are isolated in memory without it.
    pub user_data_dir: Option<PathBuf>,
    /// Accepted because lines for @playwright/mcp carry it: sessions are isolated anyway.
    pub isolated: bool,
    /// A running browser to attach to instead of launching one.
    pub browser_endpoint: Option<String>,
    pub download_path: Option<PathBuf>,
    pub context: ContextConfig,

    #[serde(with = "types::millis")]
    pub session_timeout: Duration,
    pub session_expiry: Expiry,
    pub max_sessions: usize,
    /// How long a `create_session` over the limit waits for a place; zero: not at all.
    #[serde(with = "types::millis")]
    pub queue_timeout: Duration,
    /// Bytes of the machine's memory, or of our control group's, that must be free for a new session.
    pub min_free_memory: u64,
    pub persistent_sessions: bool,
    /// Whether the sessions that former servers of this user and working folder left are brought back at start.
    pub auto_resume: bool,
    #[serde(with = "types::millis")]
    pub timeout_action: Duration,
    #[serde(with = "types::millis")]
    pub timeout_navigation: Duration,
    #[serde(with = "types::millis")]
    pub timeout_settle: Duration,
    pub pool: PoolConfig,
    /// Browser contexts made ahead, so that a new session finds one ready.
    pub warm_contexts: usize,
    /// WebKit browsers that are started ahead: each session needs one of its own.
    pub warm_browsers: usize,

    pub transport: Transport,
    pub host: String,
    pub port: u16,
    pub auth_token: Option<Masked>,
    pub auth_token_file: Option<PathBuf>,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub max_connections: usize,
    /// Requests a second of one address; 0 is any number.
    pub rate_limit: u32,
    /// How long the head and the body of a request may take to arrive.
    #[serde(with = "types::millis")]
    pub request_timeout: Duration,
    pub connect: Option<String>,
    #[serde(with = "types::millis")]
    pub idle_timeout: Duration,

    pub tools: Vec<String>,
    pub no_tools: Vec<String>,
    /// Whether only tools are listed that change nothing in a page.
    pub read_only: bool,
    pub caps: Vec<String>,
    pub prompts: Option<PathBuf>,
    pub after_action: AfterAction,
    /// Characters of one result.
    pub result_budget: usize,
    pub responses: Responses,
    /// Whether page content is marked as untrusted in results.
    pub boundaries: bool,

    /// `none`, `memory`, a path or a URL; `None` is the file in the OS state folder.
    pub store: Option<String>,
    pub retention: Retention,
    /// Whether `Authorization`, cookies and their like are kept in clear.
    pub record_headers: bool,
    pub upstream: UpstreamConfig,
    pub security: SecurityConfig,
    pub output_dir: Option<PathBuf>,
    pub log: LogConfig,

    /// What the user should know of what was read; whoever starts the server logs each as one line.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// What every new browser context gets; `--device` is resolved into it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextConfig {
    /// The device's name; what it stands for is already in the fields below.
    pub device: Option<String>,
    pub viewport: Option<Viewport>,
    pub device_scale_factor: Option<f64>,
    pub is_mobile: bool,
    pub has_touch: bool,
    pub user_agent: Option<String>,
    pub locale: Option<String>,
    pub timezone: Option<String>,
    pub proxy_server: Option<String>,
    /// Domains that go past the proxy, comma-separated.
    pub proxy_bypass: Option<String>,
    pub ignore_https_errors: bool,
    pub storage_state: Option<PathBuf>,
    pub init_scripts: Vec<PathBuf>,
    pub permissions: Vec<String>,
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
    pub allow_private_network: bool,
    pub allow_file_access: bool,
    pub enable_script_evaluation: bool,
    pub enable_file_upload: bool,
    /// Bytes.
    pub max_screenshot_size: u64,
    pub secrets: Option<PathBuf>,
}

/// The server that is supervised in place of the built-in engine, and with how much patience.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpstreamConfig {
    /// `None`: the built-in engine serves.
    pub command: Option<String>,
    pub transport: UpstreamTransport,
    #[serde(with = "types::millis")]
    pub start_timeout: Duration,
    #[serde(with = "types::millis")]
    pub ping_interval: Duration,
    #[serde(with = "types::millis")]
    pub ping_timeout: Duration,
    /// Pings in a row without an answer after which it counts as hung.
    pub ping_misses: u32,
    /// Before the first restart; before each further one twice as long.
    #[serde(with = "types::millis")]
    pub restart_pause: Duration,
    /// Restarts within the window.
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
            // `npx` may have to fetch it first.
            start_timeout: Duration::from_millis(60_000),
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
    /// Whether there are places that pages may not go to.
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
    /// `None`: stderr.
    pub file: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            browser: BrowserKind::Chromium,
            headless: None,
            executable_path: None,
            browser_args: Vec::new(),
            sandbox: true,
            user_data_dir: None,
            isolated: false,
            browser_endpoint: None,
            download_path: None,
            context: ContextConfig::default(),
            session_timeout: Duration::from_millis(300_000),
            session_expiry: Expiry::Fixed,
            max_sessions: 10,
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
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_connections: 2_000,
            rate_limit: 0,
            request_timeout: Duration::from_millis(30_000),
            connect: None,
            idle_timeout: Duration::from_millis(60_000),
            tools: vec!["native".to_owned()],
            no_tools: Vec::new(),
            read_only: false,
            caps: Vec::new(),
            prompts: None,
            after_action: AfterAction::Changes,
            result_budget: 25_000,
            responses: Responses::Full,
            boundaries: true,
            store: None,
            retention: Retention::default(),
            record_headers: false,
            upstream: UpstreamConfig::default(),
            security: SecurityConfig {
                allowed_domains: Vec::new(),
                blocked_domains: Vec::new(),
                allow_private_network: false,
                allow_file_access: false,
                enable_script_evaluation: true,
                enable_file_upload: true,
                max_screenshot_size: 10 * 1024 * 1024,
                secrets: None,
            },
            output_dir: None,
            log: LogConfig { level: LogLevel::Info, format: LogFormat::Text, file: None },
            warnings: Vec::new(),
        }
    }
}

impl Config {
    /// Whether calls are recorded.
    pub fn records(&self) -> bool {
        self.store.as_deref() != Some("none")
    }

    /// Merges what was given: `flags` (in order, the last one wins), the environment (names that do not
    /// begin with `TROUPE_` are passed over), the file that one of them names, and the defaults.
    pub fn load(
        flags: Vec<Setting>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let environment = environment::settings(environment)?;
        let file = match [&flags, &environment].into_iter().find_map(|layer| layer::config_file(layer)) {
            Some(path) => file::read(&path)?,
            None => file::FileSettings::default(),
        };
        finish::finish(&file.settings, &environment, flags, file.warnings)
    }

    /// Reads the same shapes as a file, for the Node library.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        let file = file::parse(text, None)?;
        finish::finish(&file.settings, &[], Vec::new(), file.warnings)
    }

    /// Whether only this machine can reach a server on `host`.
    pub fn binds_loopback(&self) -> bool {
        let host = self.host.trim_matches(['[', ']']);
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Whether to launch headless, and the one line to warn with. Headed needs a display; off Linux one
    /// is always there.
    pub fn effective_headless(&self, display_present: bool) -> Result<(bool, Option<String>), ConfigError> {
        match self.headless {
            Some(true) => Ok((true, None)),
            _ if display_present => Ok((false, None)),
            Some(false) => Err(ConfigError::NoDisplay),
            None => Ok((
                true,
                Some("no display is there, so the browser runs headless; `--headless` says so without this line".to_owned()),
            )),
        }
    }
}

/// Whether a window can be shown: on Linux an X or Wayland display must be named, elsewhere there is one.
pub fn display_present() -> bool {
    let named = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || named("DISPLAY") || named("WAYLAND_DISPLAY")
}
