//! Tests of the public functions `Config::load` and `Config::from_json`, and of the whole table.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::finish::{at, merge};
use super::value::{ItemKind, TextSource};
use super::*;

/// A file in the nested format, with keys of every section.
const NESTED_FILE: &str = r#"{
  "name": "playwright-mcp-server",
  "version": "1.0.0",
  "transport": "stdio",

  "browser": {
    "type": "chromium",
    "headless": true,
    "args": [
      "--no-sandbox",
      "--disable-dev-shm-usage"
    ]
  },

  "pool": {
    "minBrowsers": 2,
    "maxBrowsers": 10,
    "idleTimeout": 300000
  },

  "session": {
    "defaultTimeout": 30000,
    "maxSessions": 50,
    "persistentSessions": false
  },

  "security": {
    "allowedDomains": ["*.example.com"],
    "maxScreenshotSize": 10485760,
    "enableFileUpload": true,
    "enableScriptEvaluation": false
  },

  "logging": {
    "level": "info",
    "format": "json",
    "destination": "stdout"
  }
}"#;

fn load(flags: &[(&str, &str)], environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let flags = flags
        .iter()
        .map(|(name, text)| Setting::from_flag(name, text))
        .collect::<Result<Vec<_>, _>>()?;
    Config::load(
        flags,
        environment.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())),
    )
}

/// Creates a file with `text`.
fn file(text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("troupe-config-{}.json", uuid::Uuid::new_v4()));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn without_settings_the_documented_defaults_apply() {
    let config = load(&[], &[("PATH", "/bin"), ("TROUPE_LOCALE", "")]).unwrap();
    assert_eq!(config, Config::default());
    assert_eq!((config.browser, config.headless), (BrowserKind::Chromium, None));
    assert_eq!((config.session_timeout, config.max_sessions), (Duration::from_secs(300), None));
}

#[test]
fn a_nested_configuration_file_is_read() {
    let config = Config::from_json(NESTED_FILE).unwrap();
    assert_eq!(config.headless, Some(true));
    assert!(!config.sandbox);
    assert_eq!(config.browser_args, ["--disable-dev-shm-usage"]);
    assert_eq!(config.max_sessions, Some(50));
    assert_eq!(config.timeout_navigation, Duration::from_secs(30));
    assert_eq!((config.pool.min_browsers, config.pool.max_browsers), (2, 10));
    assert_eq!(config.pool.idle_timeout, Some(Duration::from_secs(300)));
    assert!(!config.persistent_sessions && config.security.enable_script_evaluation == Some(false));
    assert_eq!(config.security.allowed_domains, ["*.example.com"]);
    assert_eq!(config.log.format, LogFormat::Json);
    insta::assert_snapshot!(config.warnings.join("\n"), @r"
    `logging.destination`: `stdout` means stderr, because stdout carries the protocol
    ");
}

#[test]
fn a_flat_configuration_file_is_read() {
    let config = Config::from_json(
        r#"{"browser": "firefox", "headless": false, "sessionTimeout": 5, "maxSessions": 2}"#,
    )
    .unwrap();
    assert_eq!((config.browser, config.headless), (BrowserKind::Firefox, Some(false)));
    assert_eq!((config.session_timeout, config.max_sessions), (Duration::from_millis(5), Some(2)));
    assert!(config.warnings.is_empty());
}

#[test]
fn every_spelling_of_an_option_means_the_same() {
    for name in ["session-timeout", "sessionTimeout"] {
        assert_eq!(load(&[(name, "7")], &[]).unwrap().session_timeout, Duration::from_millis(7));
    }
    let config = load(&[], &[("TROUPE_SESSION_TIMEOUT", "7"), ("TROUPE_NO_SANDBOX", "1")]).unwrap();
    assert_eq!((config.session_timeout, config.sandbox), (Duration::from_millis(7), false));
    for name in ["no-sandbox", "noSandbox"] {
        assert!(!load(&[(name, "true")], &[]).unwrap().sandbox);
    }
    assert!(!Config::from_json(r#"{"noSandbox": true}"#).unwrap().sandbox);
    let endpoint =
        load(&[("cdp-endpoint", "http://localhost:9222")], &[]).unwrap().browser_endpoint;
    assert_eq!(endpoint.as_deref(), Some("http://localhost:9222"));
    let size = Some(Viewport { width: 1280, height: 720 });
    for text in ["1280x720", "1280,720", "1280 , 720"] {
        assert_eq!(load(&[("viewport-size", text)], &[]).unwrap().context.viewport, size);
    }
    for text in
        [r#"{"viewportSize": "1280x720"}"#, r#"{"viewport": {"width": 1280, "height": 720}}"#]
    {
        assert_eq!(Config::from_json(text).unwrap().context.viewport, size);
    }
}

#[test]
fn lists_are_joined_on_one_command_line_and_replaced_by_the_layer_above() {
    let environment = [("TROUPE_BROWSER_ARG", "--one --two=a,b")];
    assert_eq!(load(&[], &environment).unwrap().browser_args, ["--one", "--two=a,b"]);
    let flags = [("browser-arg", "--three=c,d"), ("browser-arg", "--four")];
    assert_eq!(load(&flags, &environment).unwrap().browser_args, ["--three=c,d", "--four"]);
    let json = [("TROUPE_BROWSER_ARG", r#"["--five six"]"#)];
    assert_eq!(load(&[], &json).unwrap().browser_args, ["--five six"]);
    let permissions =
        load(&[("grant-permissions", "geolocation, camera")], &[]).unwrap().context.permissions;
    assert_eq!(permissions, ["geolocation", "camera"]);
}

#[test]
fn the_command_line_wins_over_the_environment_and_that_over_the_file() {
    let path = file(r#"{"sessionTimeout": 1, "maxSessions": 1, "locale": "de"}"#);
    let path_text = path.to_str().unwrap();
    let environment = [
        ("TROUPE_SESSION_TIMEOUT", "2"),
        ("TROUPE_MAX_SESSIONS", "2"),
        ("TROUPE_CONFIG", path_text),
    ];
    let config = load(&[("session-timeout", "3")], &environment).unwrap();
    assert_eq!(config.session_timeout, Duration::from_millis(3));
    assert_eq!(config.max_sessions, Some(2));
    assert_eq!(
        config.max_sessions_origin,
        Some(Origin::Variable("TROUPE_MAX_SESSIONS".to_owned()))
    );
    assert_eq!(config.context.locale.as_deref(), Some("de"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_device_is_resolved_and_explicit_values_stay() {
    let context =
        load(&[("device", "iphone 15"), ("viewport-size", "100x200")], &[]).unwrap().context;
    assert_eq!(context.device.as_deref(), Some("iPhone 15"));
    assert_eq!(context.viewport, Some(Viewport { width: 100, height: 200 }));
    assert_eq!(
        (context.device_scale_factor, context.is_mobile, context.has_touch),
        (Some(3.0), true, true)
    );
    assert!(context.user_agent.unwrap().contains("iPhone; CPU iPhone OS 17_5 like Mac OS X"));
    let desktop =
        load(&[("device", "Desktop Chrome"), ("user-agent", "mine")], &[]).unwrap().context;
    assert_eq!((desktop.user_agent.as_deref(), desktop.is_mobile), (Some("mine"), false));
}

#[test]
fn headed_needs_a_display_and_the_default_without_one_is_headless() {
    let headless = |value| Config { headless: value, ..Config::default() };
    for (value, display, expected) in [
        (None, true, Some(false)),
        (None, false, Some(true)),
        (Some(true), true, Some(true)),
        (Some(true), false, Some(true)),
        (Some(false), true, Some(false)),
        (Some(false), false, None),
    ] {
        let answer = headless(value).effective_headless(display);
        let warned = answer.as_ref().is_ok_and(|(_, warning)| warning.is_some());
        assert_eq!(answer.ok().map(|(headless, _)| headless), expected);
        assert_eq!(warned, value.is_none() && !display);
    }
}

#[test]
fn a_token_does_not_show_in_debug_output() {
    let config = Config { auth_token: Some(Masked("hush".to_owned())), ..Config::default() };
    assert!(!format!("{config:?}").contains("hush"));
}

#[test]
fn an_unknown_variable_is_a_warning_and_a_service_link_is_not() {
    let config = load(
        &[],
        &[
            ("TROUPE_MAX_SESSION", "5"),
            ("TROUPE_X", "5"),
            ("TROUPE_PORT", "8931"),
            ("TROUPE_TRANSPORT", "http"),
        ],
    )
    .unwrap();
    assert_eq!(config.port, 8931);
    insta::assert_snapshot!(config.warnings.join("\n"), @r"
    ignored the unknown environment variable `TROUPE_MAX_SESSION`, did you mean `TROUPE_MAX_SESSIONS`?
    ignored the unknown environment variable `TROUPE_X`
    ");
    let links = [
        ("TROUPE_SERVICE_HOST", "10.0.171.239"),
        ("TROUPE_SERVICE_PORT", "8931"),
        ("TROUPE_SERVICE_PORT_HTTP", "8931"),
        ("TROUPE_PORT", "tcp://10.0.171.239:8931"),
        ("TROUPE_PORT_8931_TCP", "tcp://10.0.171.239:8931"),
        ("TROUPE_PORT_8931_TCP_PROTO", "tcp"),
        ("TROUPE_PORT_8931_TCP_PORT", "8931"),
        ("TROUPE_PORT_8931_TCP_ADDR", "10.0.171.239"),
        ("TROUPE_BROWSER_SERVICE_HOST", "10.0.171.240"),
        ("TROUPE_BROWSER_PORT", "udp://10.0.171.240:53"),
    ];
    assert_eq!(load(&[], &links).unwrap(), Config::default());
    assert!(load(&[], &[("TROUPE_PORT", "http://localhost")]).is_err());
}

#[test]
fn the_log_goes_to_one_place() {
    let path = file(r#"{"logging": {"destination": "stdout"}}"#);
    let at = ("config", path.to_str().unwrap());
    let http = ("transport", "http");
    assert_eq!(load(&[at, http], &[]).unwrap().log.destination, Some(LogDestination::Stdout));
    assert_eq!(load(&[at], &[]).unwrap().log.destination, None);
    let named = load(&[at, http, ("log-file", "troupe.log")], &[]).unwrap().log;
    assert_eq!((named.destination, named.file), (None, Some(PathBuf::from("troupe.log"))));
    std::fs::remove_file(&path).unwrap();
}

/// Each wrong setting with its error.
#[test]
fn every_wrong_setting_gets_one_clear_line() {
    let mut lines = String::new();
    let mut add_line = |given: String, error: ConfigError| {
        let line = error.to_string();
        assert!(!line.contains('\n'), "{line}");
        writeln!(lines, "{given}\n    {line}").unwrap();
    };
    for (name, text) in [
        ("sesion-timeout", "5"),
        ("sessionTimout", "5"),
        ("no-sandbx", "true"),
        ("quux", "5"),
        ("session-timeout", "abc"),
        ("session-timeout", "0"),
        ("session-timeout", "-5"),
        ("session-timeout", "1.5"),
        ("sessionTimeout", "99999999999999999999"),
        ("max-sessions", "0"),
        ("browser", "opera"),
        ("headless", "maybe"),
        ("executable-path", ""),
        ("viewport-size", "1280"),
        ("viewport-size", "0x720"),
        ("viewport-size", "1280x99999"),
        ("device", "iPhone 155"),
        ("device", "Nokia 3310"),
        ("locale", "en_GB!"),
        ("proxy-server", "ftp://proxy"),
        ("storage-state", "/nowhere/state.json"),
        ("init-script", "/nowhere/script.js"),
        ("grant-permissions", "geolocation,world-domination"),
        ("browser-endpoint", "localhost:9222"),
        ("attach", "firefox"),
        ("port", "70000"),
        ("max-screenshot-size", "10 apples"),
        ("session-expiry", "never\never"),
        ("config", "/nowhere/troupe.json"),
        ("caps", "vision"),
        ("transport", "pigeon"),
        ("proxy-bypass", ".example.com"),
        ("allowed-domains", "https://example.com"),
        ("blocked-domains", "ads.example/x"),
        ("blocked-domains", "localhost;foo"),
        ("blocked-domains", "*."),
        ("allowed-domains", "a..example"),
        ("browser-arg", "--proxy-server=http://localhost:1"),
        ("proxy-server", "https://proxy.example"),
        ("base-path", "troupe"),
        ("base-path", "/a//b"),
        ("base-path", "/a/../b"),
        ("trusted-proxies", "10.0.0.0/33"),
        ("trusted-proxies", "proxy.example"),
        ("log-destination", "syslog"),
    ] {
        let error = load(&[(name, text)], &[]).expect_err(name);
        add_line(format!("--{name} {}", text.replace('\n', "⏎")), error);
    }
    for flags in [
        [("no-auth", "true"), ("auth-token", "x")],
        [("proxy-server", "http://me:hush@proxy.example"), ("browser", "webkit")],
        [
            ("proxy-server", "socks5://me:hush@proxy.example"),
            ("browser-endpoint", "ws://localhost:1"),
        ],
        [("proxy-server", "https://me:hush@proxy.example"), ("allow-private-network", "true")],
        [("transport", "http"), ("connect", "http://localhost:4000")],
        [("isolated", "true"), ("user-data-dir", "/tmp/profile")],
        [("browser-endpoint", "ws://localhost:1"), ("executable-path", "/bin/true")],
        [("sandbox", "true"), ("browser-arg", "--no-sandbox")],
        [("browser-endpoint", "ws://localhost:1"), ("pool-max-browsers", "2")],
        [("user-data-dir", "/tmp/profile"), ("pool-max-browsers", "2")],
        [("user-data-dir", "/tmp/profile"), ("storage-state", "Cargo.toml")],
        [("pool-min-browsers", "2"), ("pool-max-browsers", "1")],
        [("warm-contexts", "2"), ("headless", "false")],
        [("warm-contexts", "2"), ("user-data-dir", "/tmp/profile")],
        [("warm-contexts", "2"), ("browser", "webkit")],
        [("allowed-domains", "a.example"), ("blocked-domains", "b.example,a.example")],
        [("allowed-domains", "a.example"), ("browser-endpoint", "ws://localhost:1")],
        [("allowed-domains", "a.example"), ("attach", "running")],
        [("attach", "9222"), ("browser-endpoint", "ws://localhost:1")],
        [("attach", "chrome"), ("browser", "firefox")],
        [("attach", "chrome"), ("user-data-dir", "/tmp/profile")],
        [("attach", "chrome"), ("grant-permissions", "geolocation")],
        [("attach", "chrome"), ("proxy-server", "http://proxy.example")],
        [("attach-timeout", "100"), ("headless", "true")],
        [("blocked-domains", "a.example"), ("browser", "webkit")],
        [("allowed-domains", "a.example"), ("upstream", "peer")],
        [("read-only", "true"), ("upstream", "peer")],
        [("read-only", "true"), ("enable-script-evaluation", "true")],
        [("browser", "chromium"), ("upstream", "peer")],
        [("headless", "true"), ("connect", "http://localhost:4000")],
        [("store", "none"), ("connect", "http://localhost:4000")],
        [("record-headers", "true"), ("connect", "http://localhost:4000")],
        [("max-sessions", "5"), ("connect", "http://localhost:4000")],
        [("tools", "navigate"), ("connect", "http://localhost:4000")],
        [("drain-timeout", "5"), ("connect", "http://localhost:4000")],
        [("port", "4001"), ("connect", "http://localhost:4000")],
        [("upstream-restarts", "1"), ("connect", "http://localhost:4000")],
        [("port", "4000"), ("host", "127.0.0.1")],
        [("auth-token", "x"), ("transport", "stdio")],
        [("upstream-restarts", "1"), ("transport", "http")],
        [("retention", "1d,1GiB"), ("store", "none")],
        [("record-headers", "true"), ("store", "none")],
        [("max-sessions-total", "5"), ("store", "none")],
        [("max-sessions-total", "5"), ("store", "memory")],
    ] {
        add_line(format!("{flags:?}"), load(&flags, &[]).expect_err("contradiction"));
    }
    let open = [("transport", "http"), ("host", "0.0.0.0"), ("no-auth", "true")];
    add_line(format!("{open:?}"), load(&open, &[]).expect_err("a token is required there"));
    for (name, text) in [
        ("TROUPE_MAX_SESSIONS", "many"),
        ("TROUPE_HEADLESS", "maybe"),
        ("TROUPE_BROWSER_ARG", "[1]"),
        ("TROUPE_WARM_CONTEXTS", "two"),
    ] {
        add_line(format!("{name}={text}"), load(&[], &[(name, text)]).expect_err(name));
    }
    let both = [("TROUPE_NO_SANDBOX", "1"), ("TROUPE_SANDBOX", "1")];
    add_line(format!("{both:?}"), load(&[], &both).expect_err("twice"));
    for text in [
        "{",
        "[]",
        r#"{"maxSession": 5}"#,
        r#"{"session": {"maxSession": 5}}"#,
        r#"{"browser": {"kind": "chromium"}}"#,
        r#"{"session": 5}"#,
        r#"{"config": "other.json"}"#,
        r#"{"name": 5}"#,
        r#"{"sessionTimeout": "5"}"#,
        r#"{"headless": "true"}"#,
        r#"{"browser": {"args": ["--ok", 5]}}"#,
        r#"{"browser": {"type": "opera"}}"#,
        r#"{"maxSessions": 5, "session": {"maxSessions": 6}}"#,
        r#"{"viewport": {"width": 5}}"#,
        r#"{"pool": {"minBrowsers": 5, "maxBrowsers": 2}}"#,
        r#"{"allowedDomains": ["https://example.com"]}"#,
        r#"{"logging": {"destination": "file"}}"#,
        r#"{"logging": {"destination": "syslog"}}"#,
        r#"{"logging": {"destination": "stdout", "file": "log"}}"#,
    ] {
        add_line(text.to_owned(), Config::from_json(text).expect_err(text));
    }
    let path = file(r#"{"session": {"maxSessions": "many"}}"#);
    let error = load(&[("config", path.to_str().unwrap())], &[]).expect_err("file");
    let line = error.to_string().replace(path.to_str().unwrap(), "FILE");
    writeln!(lines, "--config FILE\n    {line}").unwrap();
    std::fs::remove_file(path).unwrap();
    insta::assert_snapshot!("wrong_settings", lines);
}

#[test]
fn every_name_and_key_is_written_once() {
    let mut names = BTreeSet::new();
    let mut nested = BTreeSet::new();
    for option in OPTIONS {
        assert!(option.names().all(|name| names.insert(name)), "{} occurs twice", option.name);
        assert!(
            option.nested.is_none_or(|key| nested.insert(key)),
            "{:?} occurs twice",
            option.nested
        );
        assert!(
            option.help.len() <= 80 && !option.help.ends_with('.'),
            "{}: a short line",
            option.name
        );
    }
}

/// Settings that follow from other options.
const WITHOUT_OPTION: [&str; 3] =
    ["context.isMobile", "context.hasTouch", "security.requestOrigins"];

#[test]
fn the_table_and_the_struct_have_the_same_settings() {
    let mut in_struct = BTreeSet::new();
    leaves("", &serde_json::to_value(Config::default()).unwrap(), &mut in_struct);
    for path in WITHOUT_OPTION {
        assert!(in_struct.remove(path), "{path}");
    }
    let in_table: BTreeSet<_> = OPTIONS
        .iter()
        .filter(|option| !option.at.is_empty())
        .map(|option| option.at.to_owned())
        .collect();
    assert_eq!(in_table, in_struct);
}

fn leaves(path: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                leaves(&path, value, found);
            }
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

/// Generates valid texts for an option.
fn fitting(kind: Kind) -> BoxedStrategy<String> {
    let folder = env!("CARGO_MANIFEST_DIR");
    let files = ["Cargo.toml", "Cargo.lock", "src/lib.rs"].map(|name| format!("{folder}/{name}"));
    match kind {
        Kind::Switch => prop_oneof!["true", "false"].boxed(),
        Kind::Text | Kind::Path | Kind::Store | Kind::Output => "[a-z][a-z0-9 ,/]{0,20}".boxed(),
        Kind::File => prop::sample::select(files.to_vec()).boxed(),
        Kind::Choice(names) => prop::sample::select(names).prop_map(str::to_owned).boxed(),
        Kind::Number { min, max } => (min..=max).prop_map(|number| number.to_string()).boxed(),
        Kind::Millis { min } => {
            (min..=3_155_760_000_000).prop_map(|number| number.to_string()).boxed()
        }
        Kind::Bytes => (1..u64::MAX).prop_map(|number| number.to_string()).boxed(),
        Kind::Factor => {
            (1..=100_u8).prop_map(|tenths| (f64::from(tenths) / 10.0).to_string()).boxed()
        }
        Kind::Size => {
            (1..=16_384, 1..=16_384).prop_map(|(width, height)| format!("{width}x{height}")).boxed()
        }
        Kind::Url(schemes) => (prop::sample::select(schemes), "[a-z]{1,9}", any::<u16>())
            .prop_map(|(scheme, host, port)| format!("{scheme}://{host}:{port}"))
            .boxed(),
        Kind::Proxy => "(http://|socks5://|)[a-z]{1,9}:[1-9][0-9]{0,3}".boxed(),
        Kind::Retention => {
            (1..999_u32, 1..99_u32).prop_map(|(d, g)| format!("{d}d,{g}GiB")).boxed()
        }
        Kind::Attach => {
            prop_oneof!["running", "chrome-beta", "[1-9][0-9]{3}", "/[a-z]{1,9}"].boxed()
        }
        Kind::UrlPath => "(/[a-z]{1,9}){1,3}".boxed(),
        Kind::List { item: ItemKind::Network, .. } => "10[.][1-9][.]0[.]0/16".boxed(),
        Kind::Locale => "[a-z]{2}(-[A-Z]{2})?".boxed(),
        Kind::List { item: ItemKind::Header, .. } => "[a-z-]{1,9}=[a-z ]{0,9}[a-z]".boxed(),
        Kind::List { item: ItemKind::Capability, .. } => "[a-z:]{1,9}=\"[a-z ]{0,9}\"".boxed(),
        Kind::List { item: ItemKind::Text, .. } => "[a-z-]{1,9}".boxed(),
        Kind::List { item: ItemKind::Domain, .. } => "([*][.])?[a-z]{1,9}[.]example".boxed(),
        Kind::List { item: ItemKind::File, .. } => prop::sample::select(files.to_vec()).boxed(),
        Kind::List { item: ItemKind::Choice(names), .. } => {
            prop::sample::select(names).prop_map(str::to_owned).boxed()
        }
    }
}

/// Converts a value of the command line into the value in a file.
fn in_file(option: &ConfigOption, text: &str) -> Value {
    option.kind.parse(text, TextSource::Flag).unwrap_or_else(|| panic!("{}: {text}", option.name))
}

#[test]
fn for_every_option_the_command_line_beats_the_environment_and_that_the_file() {
    let default = serde_json::to_value(Config::default()).unwrap();
    for option in OPTIONS.iter().filter(|option| !option.at.is_empty()) {
        let texts = || prop::option::of(fitting(option.kind));
        let mut runner = TestRunner::new(ProptestConfig::with_cases(25));
        let outcome = runner.run(
            &(texts(), texts(), texts(), any::<bool>()),
            |(file, variable, flag, nested)| {
                let mut text = json!({});
                if let Some(value) = &file {
                    match option.nested.filter(|_| nested).and_then(|key| key.split_once('.')) {
                        Some((section, key)) => {
                            text[section] = json!({ key: in_file(option, value) })
                        }
                        None => text[option.key()] = in_file(option, value),
                    }
                }
                let from_file = file::parse(&text.to_string(), None, false).unwrap().settings;
                let variables = variable.iter().map(|text| (option.variable(), text.clone()));
                let from_environment = environment::settings(variables).unwrap().settings;
                let from_flags: Vec<_> = flag
                    .iter()
                    .map(|text| Setting::from_flag(option.name, text).unwrap())
                    .collect();
                let config = merge(&[&from_file, &from_environment, &from_flags]).unwrap();
                let expected = flag.or(variable).or(file).map(|text| in_file(option, &text));
                let merged = serde_json::to_value(config).unwrap();
                prop_assert_eq!(
                    at(&merged, option.at),
                    expected.as_ref().or(at(&default, option.at))
                );
                Ok(())
            },
        );
        if let Err(error) = outcome {
            panic!("{}: {error}", option.name);
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_of_files_panic(text in any::<String>()) {
        let _ = Config::from_json(&text);
    }

    #[test]
    fn a_wrong_setting_is_reported_in_one_line(name in "session-timeout|browser|locale|\\PC{0,5}\n", text in any::<String>()) {
        if let Err(error) = load(&[(&name, &text)], &[]) {
            prop_assert!(!error.to_string().contains(['\n', '\r']));
        }
    }
}

#[test]
fn credentials_are_removed_from_the_address_of_a_proxy() {
    for (server, redacted) in [
        ("http://me:p%40ss@proxy.example:3128", "http://proxy.example:3128"),
        ("socks5://me@[::1]:1080", "socks5://[::1]:1080"),
        ("me:a@b@proxy.example:3128", "proxy.example:3128"),
        ("http://proxy.example/a@b", "http://proxy.example/a@b"),
        ("proxy.example:3128", "proxy.example:3128"),
    ] {
        assert_eq!(redacted_proxy(server), redacted);
        let context =
            ContextConfig { proxy_server: Some(server.to_owned()), ..ContextConfig::default() };
        assert_eq!(context.has_proxy_credentials(), server != redacted);
    }
}

#[test]
fn notes_about_sessions_of_a_grid_are_beside_a_file_and_never_below_a_url() {
    let folder = |store: Option<&str>| {
        Config { store: store.map(str::to_owned), ..Config::default() }.grid_folder()
    };
    let in_state_folder = state_folder().map(|folder| folder.join("grid-sessions"));
    for store in [None, Some("none"), Some("memory"), Some("postgres://ann:secret@db/troupe")] {
        assert_eq!(folder(store), in_state_folder, "{store:?}");
    }
    let file = std::env::temp_dir().join("record.db");
    let beside = file.with_file_name("grid-sessions");
    for prefix in ["", "sqlite://"] {
        assert_eq!(folder(Some(&format!("{prefix}{}", file.display()))), Some(beside.clone()));
    }
}

#[test]
fn the_local_url_leads_to_where_the_server_listens() {
    for (host, url) in [
        ("127.0.0.1", "http://127.0.0.1:4000/mcp"),
        ("0.0.0.0", "http://127.0.0.1:4000/mcp"),
        ("[::1]", "http://[::1]:4000/mcp"),
        ("::", "http://127.0.0.1:4000/mcp"),
        ("tools.example", "http://tools.example:4000/mcp"),
    ] {
        assert_eq!(Config { host: host.to_owned(), ..Config::default() }.local_url(), url);
    }
    let below = load(&[("base-path", "/tools/troupe/"), ("transport", "http")], &[]).unwrap();
    assert_eq!(below.local_url(), "http://127.0.0.1:4000/tools/troupe/mcp");
}
