//! Tests through `run_with`: arguments in; exit code, stdout and stderr out.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use proptest::prelude::*;

use super::*;

/// A stream that stores its output.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

struct Outcome {
    code: i32,
    out: String,
    err: String,
}

fn troupe_in(environment: &[(&str, &str)], args: &[&str]) -> Outcome {
    let (out, err) = (Kept::default(), Kept::default());
    let screen = Screen::new(Box::new(out.clone()), Box::new(err.clone()));
    let environment =
        environment.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let args = args.iter().map(|&text| text.to_owned()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let code = runtime.block_on(run_with(
        args,
        environment,
        Launcher(Vec::new()),
        &screen,
        CancellationToken::new(),
    ));
    Outcome { code, out: out.text(), err: err.text() }
}

fn troupe(args: &[&str]) -> Outcome {
    troupe_in(&[], args)
}

fn parsed(args: &[&str]) -> (Subcommand, Config) {
    match arguments::parse(args.iter().map(|&text| text.to_owned()).collect()).unwrap() {
        CommandLine::Run { command, given } => {
            let flags =
                given.iter().map(|(name, text)| Setting::from_flag(name, text).unwrap()).collect();
            (command, Config::load(flags, []).unwrap())
        }
        CommandLine::Text(text) => panic!("{text}"),
    }
}

#[test]
fn help_is_on_stdout() {
    let help = troupe(&["--help"]);
    assert_eq!((help.code, help.err.as_str()), (0, ""));
    insta::assert_snapshot!("help", help.out);
    for args in [["doctor", "--help"], ["call", "--help"], ["install", "-h"], ["config", "--help"]]
    {
        let help = troupe(&args);
        assert_eq!((help.code, help.err.as_str()), (0, ""));
        assert!(help.out.contains(&format!("Usage: troupe {}", args[0])), "{}", help.out);
        assert!(help.out.len() < 1_000, "{}", help.out);
    }
    assert_eq!(troupe(&["--version"]).out, format!("troupe {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_mistake_is_one_line_and_exit_code_2() {
    let mut lines = String::new();
    for args in [
        &["--sesion-timeout", "5"] as &[_],
        &["--quux=5"],
        &["-headless"],
        &["-x"],
        &["--session-timeout"],
        &["--session-timeout", "--headless"],
        &["--sessionTimeout", "abc"],
        &["--session-timeout", "-5"],
        &["--session-timeout="],
        &["--headless=maybe"],
        &["--browser", "opera"],
        &["--caps", "vision"],
        &["--config", "/nowhere.json"],
        &["serv"],
        &["instal"],
        &["doctor", "extra"],
        &["doctor", "--jsn"],
        &["call"],
        &["call", "navigate", "{"],
        &["call", "navigate", "[1]"],
        &["call", "--max-sessions", "0", "navigate"],
        &["config"],
        &["config", "emacs"],
        &["install", "opera"],
        &["sessions", "purge"],
        &["sessions", "purge", "abc", "--all"],
        &["sessions", "purge", "abc", "def"],
        &["sessions", "list", "abc"],
        &["sessions", "show", "abc", "--yes"],
        &["store"],
        &["store", "copy"],
        &["store", "migrate", "record.db"],
    ] {
        let outcome = troupe(args);
        assert_eq!((outcome.code, outcome.out.as_str()), (MISUSED, ""), "{args:?}");
        assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
        write!(lines, "troupe {}\n    {}", args.join(" "), outcome.err).unwrap();
    }
    insta::assert_snapshot!("mistakes", lines);
}

#[test]
fn a_switch_takes_the_next_word_only_where_that_is_its_value() {
    for (args, headless) in [
        (&["--headless"] as &[_], true),
        (&["--headless", "true"], true),
        (&["--headless", "false"], false),
        (&["--headless=false"], false),
        (&["--headless", "--no-sandbox"], true),
        (&["--headless", "false", "--headless"], true),
    ] {
        let (command, config) = parsed(args);
        assert_eq!((command, config.headless), (Subcommand::Serve, Some(headless)), "{args:?}");
    }
    let (command, config) = parsed(&["--headless", "doctor", "--noSandbox"]);
    assert_eq!(
        (command, config.headless, config.sandbox),
        (Subcommand::Doctor { json: false, repair: false }, Some(true), false)
    );
    assert!(parsed(&["--no-sandbox", "--sandbox"]).1.sandbox);
}

#[test]
fn values_that_look_like_options_reach_the_browser() {
    let (_, config) =
        parsed(&["--browser-arg", "--headless", "--browserArg=--lang=de", "--headless", "false"]);
    assert_eq!(config.browser_args, ["--headless", "--lang=de"]);
    assert_eq!(config.headless, Some(false));
}

#[test]
fn lines_for_playwright_mcp_are_understood() {
    let (command, config) = parsed(&[
        "--isolated",
        "--headless",
        "--no-sandbox",
        "--viewport-size",
        "1280,720",
        "--grant-permissions",
        "geolocation",
        "clipboard-read",
        "--user-agent",
        "ua string",
        "--timeout-action",
        "1",
        "--device",
        "Pixel 7",
    ]);
    assert_eq!(command, Subcommand::Serve);
    assert!(config.isolated && !config.sandbox && config.context.is_mobile);
    assert_eq!(config.context.permissions, ["geolocation", "clipboard-read"]);
    assert_eq!(config.context.viewport.map(|size| size.width), Some(1280));
    assert_eq!(config.context.user_agent.as_deref(), Some("ua string"));
    let (_, config) = parsed(&["--cdp-endpoint", "http://localhost:9222"]);
    assert!(config.browser_endpoint.is_some());
}

#[test]
fn a_call_has_its_options_before_or_after() {
    let call =
        Subcommand::Call { tool: "navigate".to_owned(), arguments: r#"{"url":"x"}"#.to_owned() };
    for args in [
        ["--max-sessions", "3", "call", "navigate", r#"{"url":"x"}"#],
        ["call", "navigate", r#"{"url":"x"}"#, "--max-sessions", "3"],
    ] {
        let (command, config) = parsed(&args);
        assert_eq!((command, config.max_sessions), (call.clone(), Some(3)));
    }
}

#[test]
fn every_client_gets_its_snippet_with_the_options() {
    let mut snippets = String::new();
    for name in client::names() {
        let outcome = troupe(&[
            "config",
            name,
            "--headless",
            "--max-sessions",
            "5",
            "--browser-arg=--lang=de",
            "--user-agent",
            "a \"b\"",
        ]);
        assert_eq!(outcome.code, OK);
        writeln!(snippets, "== {name}\n{}{}", outcome.err, outcome.out).unwrap();
    }
    if cfg!(not(windows)) {
        insta::assert_snapshot!("clients", snippets);
    }
}

#[test]
fn every_client_gets_the_url_of_a_running_server_and_a_reference_to_its_token() {
    let mut snippets = String::new();
    for name in client::names() {
        let args = ["config", name, "--http", "--port", "4100"];
        let outcome = troupe_in(&[("TROUPE_AUTH_TOKEN", "correct-horse")], &args);
        assert_eq!(outcome.code, OK);
        writeln!(snippets, "== {name}\n{}{}", outcome.err, outcome.out).unwrap();
    }
    if cfg!(not(windows)) {
        insta::assert_snapshot!("clients-http", snippets);
    }
    for name in client::names() {
        let open = troupe(&["config", name, "--http", "--no-auth"]);
        assert!(
            open.out.contains("http://127.0.0.1:4000/mcp") && !open.out.contains("headers"),
            "{}",
            open.out
        );
    }
    let unknown = troupe(&["config", "cursor", "--http", "--port", "0"]);
    assert_eq!((unknown.code, unknown.err.lines().count()), (MISUSED, 1));
}

#[test]
fn a_snippet_has_the_options_of_the_environment_with_absolute_paths_and_no_secret() {
    let environment = [
        ("TROUPE_HEADLESS", "1"),
        ("TROUPE_NO_SANDBOX", "true"),
        ("TROUPE_MAX_SESSIONS", "7"),
        ("TROUPE_AUTH_TOKEN", "correct-horse"),
        ("TROUPE_PROXY_SERVER", "http://me:pass-word@proxy:3128"),
        ("TROUPE_BROWSER_ARG", "--lang=de --mute-audio"),
        ("TROUPE_ALLOWED_DOMAINS", "a.test,b.test"),
        // Has no effect on stdio. As a command-line option, it would be an error.
        ("TROUPE_PORT", "4100"),
    ];
    let flags = [
        "config",
        "cursor",
        "--max-sessions",
        "5",
        "--output-dir",
        "out",
        "--store",
        "record.db",
        "--viewport-size",
        "800x600",
    ];
    let outcome = troupe_in(&environment, &flags);
    assert_eq!(outcome.code, OK, "{}", outcome.err);
    let folder = std::env::current_dir().unwrap();
    let (out, record) = (folder.join("out"), folder.join("record.db"));
    let json: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    let args = &json["mcpServers"]["troupe"]["args"];
    let options: Vec<&str> = args
        .as_array()
        .unwrap()
        .iter()
        .skip_while(|arg| **arg != "troupe")
        .skip(1)
        .map(|arg| arg.as_str().unwrap())
        .collect();
    assert_eq!(
        options,
        [
            "--allowed-domains",
            "a.test,b.test",
            "--browser-arg=--lang=de",
            "--browser-arg=--mute-audio",
            "--headless",
            "--no-sandbox",
            "--max-sessions",
            "5",
            "--output-dir",
            out.to_str().unwrap(),
            "--store",
            record.to_str().unwrap(),
            "--viewport-size",
            "800x600",
        ]
    );
    assert!(!format!("{}{}", outcome.out, outcome.err).contains("correct-horse"));
    assert!(
        outcome.err.contains("--proxy-server is omitted: set TROUPE_PROXY_SERVER for the client."),
        "{}",
        outcome.err
    );
    let connect =
        ["config", "cursor", "--connect", "http://127.0.0.1:4100", "--auth-token", "correct-horse"];
    let connects = troupe(&connect);
    assert!(!connects.out.contains("correct-horse"), "{}", connects.out);
    assert!(
        connects.err.contains("--auth-token is omitted: set TROUPE_AUTH_TOKEN for the client.")
    );
    let endpoint = "wss://browsers.test?token=correct-horse";
    let by_option = troupe(&["config", "cursor", "--browser-endpoint", endpoint]);
    let by_environment = troupe_in(&[("TROUPE_BROWSER_ENDPOINT", endpoint)], &["config", "cursor"]);
    for outcome in [by_option, by_environment] {
        assert_eq!(outcome.code, OK, "{}", outcome.err);
        assert!(!format!("{}{}", outcome.out, outcome.err).contains("correct-horse"));
        let note = "--browser-endpoint is omitted: set TROUPE_BROWSER_ENDPOINT for the client.";
        assert!(outcome.err.contains(note), "{}", outcome.err);
    }
    let kept = troupe(&["config", "cursor", "--browser-endpoint", "ws://127.0.0.1:9222"]);
    assert!(kept.out.contains("ws://127.0.0.1:9222"), "{}", kept.out);
    let kept = troupe(&["config", "cursor", "--store", "memory"]);
    assert!(kept.out.contains("\"memory\""), "{}", kept.out);
}

#[test]
fn with_transport_http_a_snippet_has_the_url_and_the_server_is_started_apart() {
    let outcome = troupe_in(
        &[("TROUPE_TRANSPORT", "http")],
        &["config", "cursor", "--port", "4100", "--auth-token", "correct-horse"],
    );
    assert_eq!(outcome.code, OK, "{}", outcome.err);
    let json: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!(json["mcpServers"]["troupe"]["url"], "http://127.0.0.1:4100/mcp");
    assert_eq!(
        json["mcpServers"]["troupe"]["headers"]["Authorization"],
        "Bearer ${env:TROUPE_AUTH_TOKEN}"
    );
    assert!(!format!("{}{}", outcome.out, outcome.err).contains("correct-horse"));
    assert!(outcome.err.contains("troupe --transport http --port 4100\n"), "{}", outcome.err);
    let note = "--auth-token is omitted: set TROUPE_AUTH_TOKEN for the server.";
    assert!(outcome.err.contains(note), "{}", outcome.err);
    let unknown = troupe(&["config", "cursor", "--transport", "websocket"]);
    assert_eq!((unknown.code, unknown.out.as_str(), unknown.err.lines().count()), (MISUSED, "", 1));
}

#[test]
fn what_a_snippet_says_is_understood_as_it_was_given() {
    let given = [
        "--headless",
        "false",
        "--no-sandbox",
        "--browser-arg",
        "--a b",
        "--device",
        "iPhone 15",
        "--locale",
        "de",
    ];
    let outcome = troupe(&[&["config", "cursor"], given.as_slice()].concat());
    let json: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    let args: Vec<_> = json["mcpServers"]["troupe"]["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arg| arg.as_str().unwrap())
        .collect();
    let options = args.iter().position(|arg| *arg == "troupe").unwrap() + 1;
    assert_eq!(parsed(&args[options..]).1, parsed(&given).1);
}

#[test]
fn the_doctor_tells_what_is_missing_and_what_to_type() {
    let outcome = troupe(&["doctor", "--executable-path", "/nowhere/chrome", "--headless"]);
    assert_eq!(outcome.code, FAILED);
    assert!(
        outcome
            .out
            .contains("MISSING  browser: the executable in `--executable-path` does not exist")
    );
    let outcome = troupe(&["doctor", "--json", "--executable-path", "/nowhere/chrome"]);
    let report: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((outcome.code, &report["usable"]), (FAILED, &serde_json::json!(false)));
}

/// For any arguments, an error is one line. (Arguments without an error would start something.)
fn is_one_line_at_most(args: Vec<String>) -> bool {
    let screen = Kept::default();
    if let Err(usage) = arguments::parse(args) {
        misused(&Screen::new(Box::new(io::sink()), Box::new(screen.clone())), &usage);
    }
    screen.text().lines().count() <= 1
}

proptest! {
    #[test]
    fn no_arguments_whatever_make_more_than_one_line(args in prop::collection::vec("(--?)?\\PC{0,5}[\\n\\r=]?\\PC{0,5}", 0..6)) {
        prop_assert!(is_one_line_at_most(args));
    }

    #[test]
    fn odd_mixtures_of_real_arguments_make_one_line_at_most(args in prop::collection::vec(prop::sample::select(&[
        "--headless", "false", "--browser-arg", "--", "call", "config", "--session-timeout", "=", "-1", "{}", "--no-sandbox",
        "--init-script", "--grant-permissions", "camera", "doctor", "--json", "install", "--help",
    ]), 0..8)) {
        prop_assert!(is_one_line_at_most(args.into_iter().map(str::to_owned).collect()));
    }
}
