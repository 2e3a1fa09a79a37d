//! Through `run_with`: arguments in; exit code, stdout and stderr out.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;

/// A stream that keeps what is written.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
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
    let code = runtime.block_on(run_with(args, environment, &screen, CancellationToken::new()));
    Outcome { code, out: out.text(), err: err.text() }
}

fn troupe(args: &[&str]) -> Outcome {
    troupe_in(&[], args)
}

fn parsed(args: &[&str]) -> (Command, Config) {
    match arguments::parse(args.iter().map(|&text| text.to_owned()).collect()).unwrap() {
        Parsed::Run { command, given } => {
            let flags = given.iter().map(|(name, text)| Setting::from_flag(name, text).unwrap()).collect();
            (command, Config::load(flags, []).unwrap())
        }
        Parsed::Text(text) => panic!("{text}"),
    }
}

#[test]
fn help_is_on_stdout() {
    let help = troupe(&["--help"]);
    assert_eq!((help.code, help.err.as_str()), (0, ""));
    insta::assert_snapshot!("help", help.out);
    for args in [["doctor", "--help"], ["call", "--help"], ["install", "-h"], ["config", "--help"]] {
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
    ] {
        let outcome = troupe(args);
        assert_eq!((outcome.code, outcome.out.as_str()), (MISUSED, ""), "{args:?}");
        assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
        write!(lines, "troupe {}\n    {}", args.join(" "), outcome.err).unwrap();
    }
    let outcome = troupe_in(&[("TROUPE_MAX_SESSION", "5")], &[]);
    assert_eq!(outcome.code, MISUSED);
    write!(lines, "TROUPE_MAX_SESSION=5 troupe\n    {}", outcome.err).unwrap();
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
        assert_eq!((command, config.headless), (Command::Serve, Some(headless)), "{args:?}");
    }
    let (command, config) = parsed(&["--headless", "doctor", "--noSandbox"]);
    assert_eq!(
        (command, config.headless, config.sandbox),
        (Command::Doctor { json: false, repair: false }, Some(true), false)
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
    assert_eq!(command, Command::Serve);
    assert!(config.isolated && !config.sandbox && config.context.is_mobile);
    assert_eq!(config.context.permissions, ["geolocation", "clipboard-read"]);
    assert_eq!(config.context.viewport.map(|size| size.width), Some(1280));
    assert_eq!(config.context.user_agent.as_deref(), Some("ua string"));
    let (_, config) = parsed(&["--cdp-endpoint", "http://localhost:9222"]);
    assert!(config.browser_endpoint.is_some());
}

#[test]
fn a_call_has_its_options_before_or_after() {
    let call = Command::Call { tool: "navigate".to_owned(), arguments: r#"{"url":"x"}"#.to_owned() };
    for args in [
        ["--max-sessions", "3", "call", "navigate", r#"{"url":"x"}"#],
        ["call", "navigate", r#"{"url":"x"}"#, "--max-sessions", "3"],
    ] {
        let (command, config) = parsed(&args);
        assert_eq!((command, config.max_sessions), (call.clone(), 3));
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
        outcome.out.contains("MISSING  browser: the executable that `--executable-path` names is not there")
    );
    let outcome = troupe(&["doctor", "--json", "--executable-path", "/nowhere/chrome"]);
    let report: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((outcome.code, &report["usable"]), (FAILED, &serde_json::json!(false)));
}

/// What must hold of any arguments: a mistake is one line. (Those without one would start something.)
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
