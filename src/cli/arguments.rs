//! Builds clap's arguments from the table of options.
//!
//! Before clap parses them, the arguments are normalized to one form: kebab-case names, and `=`
//! where the next argument could be the value or not.

use clap::builder::ValueRange;
use clap::{Arg, ArgAction, ArgMatches, Command as Clap, ValueHint};
use clap_complete::Shell;

use super::daemon::DaemonAction;
use super::sessions::RecordAction;
use super::skill::{CLIENTS, SkillAction};
use super::store::StoreAction;
use super::usage::UsageError;
use crate::config::{Config, ConfigOption, Kind, OPTIONS, option_of_flag};

/// Options that take several values one after the other, as in @playwright/mcp.
const VARIADIC: &[&str] = &["grant-permissions", "init-script"];
/// Options whose value may begin with a hyphen.
const OF_HYPHENS: &[&str] = &["browser-arg", "browser-args"];

/// The actions of `troupe sessions`.
pub(super) const SESSIONS_ACTIONS: &[&str] = &["list", "show", "export", "purge"];
/// The shells of `troupe completions`.
pub(super) const SHELLS: &[&str] = &["bash", "zsh", "fish", "powershell"];

/// Options in the order in which they were given: their names without dashes, and their values.
pub(super) type GivenOptions = Vec<(String, String)>;

#[derive(Debug, PartialEq)]
pub(super) enum CommandLine {
    /// `--help` or `--version`.
    Text(String),
    Run {
        command: Subcommand,
        given: GivenOptions,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Subcommand {
    Serve,
    Install { browser: String },
    Doctor { json: bool, repair: bool },
    Call { tool: String, arguments: String },
    Sessions(RecordAction),
    Store(StoreAction),
    Config { client: String, http: bool },
    Daemon(DaemonAction),
    Dashboard { url: Option<String>, session: Option<String> },
    Completions(Shell),
    Skill(SkillAction),
}

pub(super) fn parse(args: Vec<String>) -> Result<CommandLine, UsageError> {
    let args = plain(args)?;
    let matches = match application().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => return Ok(CommandLine::Text(error.to_string())),
        Err(error) => return Err(UsageError::from_clap(&error)),
    };
    let mut given = given(&matches);
    let text = |matches: &ArgMatches, name: &str| matches.get_one::<String>(name).cloned();
    let command = match matches.subcommand() {
        None => Subcommand::Serve,
        Some((name, matches)) => {
            given.extend(self::given(matches));
            match name {
                "install" => Subcommand::Install {
                    browser: text(matches, "BROWSER").unwrap_or_else(|| "chromium".to_owned()),
                },
                "doctor" => Subcommand::Doctor {
                    json: matches.get_flag("json"),
                    repair: matches.get_flag("repair"),
                },
                "call" => Subcommand::Call {
                    tool: text(matches, "TOOL").ok_or(UsageError::Missing {
                        command: "call",
                        what: "a tool's name, such as `navigate`",
                    })?,
                    arguments: text(matches, "JSON").unwrap_or_else(|| "{}".to_owned()),
                },
                "daemon" => Subcommand::Daemon(daemon_action(matches)?),
                "dashboard" => Subcommand::Dashboard {
                    url: text(matches, "url"),
                    session: text(matches, "session"),
                },
                "sessions" => Subcommand::Sessions(sessions_action(matches)?),
                "store" => Subcommand::Store(store_action(matches)?),
                "skill" => Subcommand::Skill(skill_action(matches)?),
                "completions" => Subcommand::Completions(shell(matches)?),
                _ => Subcommand::Config {
                    client: text(matches, "CLIENT").ok_or(UsageError::Missing {
                        command: "config",
                        what: "a client's name, such as `claude-code`",
                    })?,
                    http: matches.get_flag("http"),
                },
            }
        }
    };
    Ok(CommandLine::Run { command, given })
}

fn skill_action(matches: &ArgMatches) -> Result<SkillAction, UsageError> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let (topic, folder, user) = (text("TOPIC"), text("DIR"), matches.get_flag("user"));
    let clients: Vec<_> = CLIENTS.iter().filter(|client| matches.get_flag(client.flag)).collect();
    if topic.as_deref() == Some("install") {
        return Ok(SkillAction::Install { clients, folder: folder.map(Into::into), user });
    }
    let flag = clients.first().map(|client| client.flag).or(user.then_some("user"));
    match folder.or(flag.map(|flag| format!("--{flag}"))) {
        Some(argument) => Err(UsageError::Unexpected { argument }),
        None => Ok(SkillAction::Print { topic }),
    }
}

fn shell(matches: &ArgMatches) -> Result<Shell, UsageError> {
    let name = matches.get_one::<String>("SHELL").ok_or(UsageError::Missing {
        command: "completions",
        what: "a shell's name, such as `bash`",
    })?;
    let known = SHELLS.contains(&name.as_str()).then(|| name.parse().ok()).flatten();
    known.ok_or_else(|| UsageError::UnknownShell { name: name.clone(), known: SHELLS })
}

fn daemon_action(matches: &ArgMatches) -> Result<DaemonAction, UsageError> {
    let name = matches.get_one::<String>("ACTION").map_or("status", String::as_str);
    let action = DaemonAction::NAMES.iter().find(|(known, _)| *known == name);
    action.map(|(_, action)| *action).ok_or_else(|| {
        UsageError::Other(format!(
            "`{name}` is not an action of `troupe daemon`: use `start`, `status`, `stop` or `logs`"
        ))
    })
}

fn sessions_action(matches: &ArgMatches) -> Result<RecordAction, UsageError> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let (session, folder) = (text("SESSION"), text("FOLDER"));
    let (all, yes) = (matches.get_flag("all"), matches.get_flag("yes"));
    let name = text("ACTION").unwrap_or_else(|| "list".to_owned());
    let no_session = |command| UsageError::Missing { command, what: "a session's id" };
    let (action, taken) = match name.as_str() {
        "list" => (RecordAction::List, 0),
        "show" => {
            (RecordAction::Show { id: session.clone().ok_or(no_session("sessions show"))? }, 1)
        }
        "export" => {
            let id = session.clone().ok_or(no_session("sessions export"))?;
            (RecordAction::Export { id, folder: folder.clone() }, 2)
        }
        "purge" => {
            if session.is_some() == all {
                let what = "either a session's id, or --all to delete every session";
                return Err(UsageError::Missing { command: "sessions purge", what });
            }
            (RecordAction::Purge { session: session.clone(), confirmed: yes }, 1)
        }
        other => {
            let text = format!(
                "`{other}` is not an action of `troupe sessions`: use `list`, `show`, `export` or `purge`"
            );
            return Err(UsageError::Other(text));
        }
    };
    // An option that the action does not use is an error.
    let is_purge = matches!(action, RecordAction::Purge { .. });
    let flags = [(all, "--all"), (yes, "--yes")]
        .map(|(given, flag)| (given && !is_purge).then(|| flag.to_owned()));
    match [session, folder].into_iter().skip(taken).chain(flags).flatten().next() {
        Some(argument) => Err(UsageError::Unexpected { argument }),
        None => Ok(action),
    }
}

fn store_action(matches: &ArgMatches) -> Result<StoreAction, UsageError> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    match text("ACTION").as_deref() {
        Some("migrate") => {}
        Some(other) => {
            return Err(UsageError::Other(format!(
                "`{other}` is not an action of `troupe store`: use `migrate SOURCE TARGET`"
            )));
        }
        None => {
            return Err(UsageError::Missing { command: "store", what: "the action `migrate`" });
        }
    }
    let missing = UsageError::Missing {
        command: "store migrate",
        what: "the locations of two records, such as record.db and postgres://HOST/DATABASE",
    };
    let (Some(source), Some(target)) = (text("SOURCE"), text("TARGET")) else {
        return Err(missing);
    };
    Ok(StoreAction::Migrate { source, target })
}

/// Converts the arguments into the form that clap reads: `--sessionTimeout` becomes
/// `--session-timeout`, and `--headless false` becomes `--headless=false`.
fn plain(args: Vec<String>) -> Result<Vec<String>, UsageError> {
    let mut plain = Vec::with_capacity(args.len());
    let mut args = args.into_iter().peekable();
    while let Some(argument) = args.next() {
        if argument == "--" {
            plain.push(argument);
            plain.extend(args);
            break;
        }
        // clap would read `-headless` as the short options -h, -e, -a…
        let letters = argument.strip_prefix('-').unwrap_or_default();
        if letters.len() > 1 && letters.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(UsageError::OneDash { flag: argument });
        }
        let Some((option, negated, value)) = option_and_value(&argument) else {
            plain.push(argument);
            continue;
        };
        let name = if negated { format!("--no-{}", option.name) } else { option.flag() };
        let value = value.map(str::to_owned).or_else(|| match option.kind {
            kind if kind.has_optional_value() => args.next_if(|next| kind.is_optional_value(next)),
            _ if OF_HYPHENS.contains(&option.name) => args.next(),
            _ => None,
        });
        plain.push(match value {
            Some(value) => format!("{name}={value}"),
            None => name,
        });
    }
    Ok(plain)
}

fn option_and_value(argument: &str) -> Option<(&'static ConfigOption, bool, Option<&str>)> {
    let body = argument.strip_prefix("--")?;
    let (name, value) =
        body.split_once('=').map_or((body, None), |(name, value)| (name, Some(value)));
    let (option, negated) = option_of_flag(name)?;
    Some((option, negated, value))
}

/// Returns the options in the order in which they were given, because the last one wins.
fn given(matches: &ArgMatches) -> GivenOptions {
    let mut found: Vec<(usize, String, String)> = Vec::new();
    for option in OPTIONS {
        let names =
            [Some(option.name.to_owned()), option.negatable.then(|| format!("no-{}", option.name))];
        for name in names.into_iter().flatten() {
            let (Some(places), Some(texts)) =
                (matches.indices_of(&name), matches.get_many::<String>(&name))
            else {
                continue;
            };
            found
                .extend(places.zip(texts).map(|(place, text)| (place, name.clone(), text.clone())));
        }
    }
    found.sort();
    found.into_iter().map(|(_, name, text)| (name, text)).collect()
}

pub(super) fn application() -> Clap {
    let main = with_options(
        Clap::new("troupe")
            .version(env!("CARGO_PKG_VERSION"))
            .about("Browser automation for AI agents: an MCP server with many isolated sessions")
            .after_help(format!(
                "Commands that drive a page: {}. `troupe COMMAND --help` shows an example of each. They run in the daemon.\n\n\
                 Each option is also an environment variable (TROUPE_MAX_SESSIONS) and a key of the --config file \
                 (maxSessions). The command line overrides the environment, and the environment overrides the file.",
                super::commands::arguments::rows().map(|(_, row)| row.name).collect::<Vec<_>>().join(", "),
            ))
            .bin_name("troupe")
            .no_binary_name(true)
            .disable_help_subcommand(true)
            .args_override_self(true)
            .max_term_width(100),
        false,
    );
    main.subcommand(command(
        Clap::new("daemon")
            .about("Control the server that runs the commands: `start`, `status` (default), `stop` or `logs`")
            .arg(Arg::new("ACTION").help("start, status (default), stop or logs")),
    ))
    .subcommand(command(
        Clap::new("install")
            .about("Install a browser unless one is installed")
            .arg(Arg::new("BROWSER").help("chromium (default), firefox or webkit")),
    ))
    .subcommand(command(
        Clap::new("doctor")
            .about("Report what is installed, what is missing and how to install it")
            .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the report as JSON"))
            .arg(
                Arg::new("repair")
                    .long("repair")
                    .action(ArgAction::SetTrue)
                    .help("Rename a damaged record, so that the server creates a new one"),
            ),
    ))
    .subcommand(command(
        Clap::new("call")
            .about("Call one tool and print its result")
            .arg(Arg::new("TOOL").help("The tool's name, such as navigate"))
            .arg(Arg::new("JSON").help("Its arguments, such as '{\"url\": \"https://example.com\"}'; `-` reads them from stdin. {\"$env\": \"NAME\"} is the value of an environment variable")),
    ))
    .subcommand(command(
        Clap::new("sessions")
            .about("List recorded sessions; `show SESSION` lists its calls, `export SESSION` writes a report and a script that repeats them, `purge SESSION` deletes them")
            .arg(Arg::new("ACTION").help("list (default), show, export or purge"))
            .arg(Arg::new("SESSION").help("The session's id"))
            .arg(Arg::new("FOLDER").help("Output folder of `export` [troupe-session-ID]"))
            .arg(
                Arg::new("all")
                    .long("all")
                    .action(ArgAction::SetTrue)
                    .help("purge: delete every session that no running server uses"),
            )
            .arg(
                Arg::new("yes").long("yes").action(ArgAction::SetTrue).help("purge --all: do not ask for confirmation"),
            ),
    ))
    .subcommand(command(
        Clap::new("store")
            .about("Copy the record: `migrate SOURCE TARGET` copies all sessions and calls into another file or database")
            .arg(Arg::new("ACTION").help("migrate"))
            .arg(Arg::new("SOURCE").help("The record that is copied: an SQLite file, or postgres://HOST/DATABASE"))
            .arg(Arg::new("TARGET").help("The record that receives the copies; created if it does not exist")),
    ))
    .subcommand(command(
        Clap::new("dashboard")
            .about("Show all servers of this user in a web page, and print a link that opens it; with --read-only, viewers cannot change anything")
            .arg(
                Arg::new("url")
                    .long("url")
                    .value_name("URL")
                    .help("Print a link to the dashboard of the server at this URL instead"),
            )
            .arg(
                Arg::new("session")
                    .long("session")
                    .value_name("ID")
                    .help("Show only this session"),
            ),
    ))
    .subcommand(command(
        Clap::new("skill")
            .about("Print the skill for coding agents; `install` writes a file that refers to it")
            .arg(Arg::new("TOPIC").help("`install`, a topic that the skill lists, or a command"))
            .arg(
                Arg::new("DIR")
                    .value_hint(ValueHint::DirPath)
                    .help("install: folder that contains skills"),
            )
            .args(CLIENTS.iter().map(|client| {
                Arg::new(client.flag)
                    .long(client.flag)
                    .action(ArgAction::SetTrue)
                    .help(format!("install: in {}", client.project))
            }))
            .arg(
                Arg::new("user")
                    .long("user")
                    .action(ArgAction::SetTrue)
                    .help("install: for all projects, in the home directory"),
            ),
    ))
    .subcommand(command(
        Clap::new("completions")
            .about("Print the completions for a shell")
            .arg(Arg::new("SHELL").help(SHELLS.join(", "))),
    ))
    .subcommand(command(
        Clap::new("config")
            .about("Print the snippet for the configuration of a client")
            .arg(Arg::new("CLIENT").help(super::client::names().join(", ")))
            .arg(
                Arg::new("http")
                    .long("http")
                    .action(ArgAction::SetTrue)
                    .help("Print the URL of a running server (--host, --port)"),
            ),
    ))
}

/// A subcommand accepts every option too, but its help does not repeat them.
fn command(command: Clap) -> Clap {
    with_options(
        command.after_help("Takes every option of `troupe --help` too.").args_override_self(true),
        true,
    )
}

fn with_options(mut command: Clap, hidden: bool) -> Clap {
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    for option in OPTIONS {
        let mut help = option.help.to_owned();
        if let Some(choices) = option.choices() {
            help.push_str(&format!(" [possible values: {}]", choices.join(", ")));
        }
        if let Some(default) = option.default_text(&defaults) {
            help.push_str(&format!(" [default: {default}]"));
        }
        // The help lists only options that have an effect. A switch that is on by default is listed
        // as `--no-NAME`.
        let hidden = hidden || option.refusal.is_some();
        let name = option.name.to_owned();
        command =
            command.arg(argument(option, name, hidden || option.negatable).help(help.clone()));
        if option.negatable {
            command =
                command.arg(argument(option, format!("no-{}", option.name), hidden).help(help));
        }
    }
    command
}

fn argument(option: &'static ConfigOption, name: String, hidden: bool) -> Arg {
    // clap requires `'static` names. Leaks about sixty short strings once per process.
    let name: &'static str = Box::leak(name.into_boxed_str());
    let argument =
        Arg::new(name).long(name).help_heading(option.group).hide(hidden).action(ArgAction::Append);
    let values =
        if VARIADIC.contains(&option.name) { ValueRange::from(1..) } else { ValueRange::from(1) };
    match option.kind {
        kind if kind.has_optional_value() => argument
            .value_name(value_name(kind))
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        _ => argument
            .value_name(value_name(option.kind))
            .value_hint(match option.kind {
                Kind::Path | Kind::File | Kind::Output => ValueHint::AnyPath,
                _ => ValueHint::Other,
            })
            .num_args(values)
            .allow_negative_numbers(true),
    }
}

fn value_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Switch => "true|false",
        Kind::Attach => "BROWSER",
        Kind::Text | Kind::Locale | Kind::Retention | Kind::Store => "TEXT",
        Kind::UrlPath => "PATH",
        Kind::Path | Kind::File | Kind::Output => "PATH",
        Kind::Choice(_) => "NAME",
        Kind::Number { .. } | Kind::Factor => "N",
        Kind::Millis { .. } => "MS",
        Kind::Bytes => "BYTES",
        Kind::Size => "WxH",
        Kind::Url(_) | Kind::Proxy => "URL",
        Kind::List { .. } => "LIST",
    }
}
