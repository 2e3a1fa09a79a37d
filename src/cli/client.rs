//! `troupe config CLIENT`: prints a client's configuration to stdout, so that it can be piped, and
//! the path of the client's configuration file to stderr. With `--http` or `--transport http`, the
//! client connects to a running server. The configuration contains no token: the client takes it
//! from the environment, or starts `troupe --connect`, which finds the token file.

use serde_json::{Map, Value, json};

use super::screen::Screen;
use super::usage::UsageError;
use super::{MISUSED, OK, misused, report};
use crate::{
    config::{Config, Kind, Setting, Transport},
    error::{ErrorCode, Result, TroupeError},
    transport::Token,
};

/// The environment variable from which clients take the token.
const VARIABLE: &str = "TROUPE_AUTH_TOKEN";

struct SupportedClient {
    name: &'static str,
    place: &'static str,
    form: ConfigFormat,
    /// `None` if the client supports only servers that it starts as a command.
    http: Option<Http>,
}

/// How a client configures a server with a URL.
#[derive(Clone, Copy)]
struct Http {
    /// The `type` of the entry.
    kind: Option<&'static str>,
    /// The key of the URL.
    key: &'static str,
    token: Reference,
}

/// How a client's configuration refers to the token.
#[derive(Clone, Copy)]
enum Reference {
    /// The client replaces this text in the headers by the value of the variable.
    Variable(&'static str),
    /// The value of this key is the variable's name.
    Key(&'static str),
    /// The client asks the user for the token and stores it.
    Input,
    /// The client supports no reference, so it starts `troupe --connect`.
    None,
}

const fn url(kind: Option<&'static str>, key: &'static str, token: Reference) -> Option<Http> {
    Some(Http { kind, key, token })
}

#[derive(Clone, Copy)]
enum ConfigFormat {
    /// Most clients: a JSON object of servers under this key.
    Json(&'static str),
    /// The same with `"type": "stdio"`.
    TypedJson(&'static str),
    /// Command and arguments in one list.
    OneList(&'static str),
    Toml(&'static str),
}

/// The supported clients, in the order of `--help`.
const CLIENTS: &[SupportedClient] = &[
    SupportedClient {
        name: "claude-code",
        place: ".mcp.json of the project (or type: claude mcp add troupe -- …)",
        form: ConfigFormat::TypedJson("mcpServers"),
        http: url(Some("http"), "url", Reference::Variable("${TROUPE_AUTH_TOKEN}")),
    },
    SupportedClient {
        name: "claude-desktop",
        place: "claude_desktop_config.json (Settings > Developer > Edit Config)",
        form: ConfigFormat::Json("mcpServers"),
        http: None,
    },
    SupportedClient {
        name: "vscode",
        place: ".vscode/mcp.json of the project (or the command \"MCP: Open User Configuration\")",
        form: ConfigFormat::TypedJson("servers"),
        http: url(Some("http"), "url", Reference::Input),
    },
    SupportedClient {
        name: "cursor",
        place: "~/.cursor/mcp.json, or .cursor/mcp.json of the project",
        form: ConfigFormat::Json("mcpServers"),
        http: url(None, "url", Reference::Variable("${env:TROUPE_AUTH_TOKEN}")),
    },
    SupportedClient {
        name: "codex",
        place: "~/.codex/config.toml",
        form: ConfigFormat::Toml("mcp_servers"),
        http: url(None, "url", Reference::Key("bearer_token_env_var")),
    },
    SupportedClient {
        name: "windsurf",
        place: "~/.codeium/windsurf/mcp_config.json",
        form: ConfigFormat::Json("mcpServers"),
        http: url(None, "serverUrl", Reference::Variable("${env:TROUPE_AUTH_TOKEN}")),
    },
    SupportedClient {
        name: "gemini-cli",
        place: "~/.gemini/settings.json, or .gemini/settings.json of the project",
        form: ConfigFormat::Json("mcpServers"),
        http: url(None, "httpUrl", Reference::Variable("${TROUPE_AUTH_TOKEN}")),
    },
    SupportedClient {
        name: "zed",
        place: "settings.json (the command \"zed: open settings\")",
        form: ConfigFormat::Json("context_servers"),
        http: url(None, "url", Reference::None),
    },
    SupportedClient {
        name: "cline",
        place: "cline_mcp_settings.json (MCP Servers > Configure)",
        form: ConfigFormat::Json("mcpServers"),
        http: url(Some("streamableHttp"), "url", Reference::None),
    },
    SupportedClient {
        name: "kiro",
        place: "~/.kiro/settings/mcp.json, or .kiro/settings/mcp.json of the project",
        form: ConfigFormat::Json("mcpServers"),
        http: url(None, "url", Reference::None),
    },
    SupportedClient {
        name: "opencode",
        place: "opencode.json of the project, or ~/.config/opencode/opencode.json",
        form: ConfigFormat::OneList("mcp"),
        http: url(Some("remote"), "url", Reference::Variable("{env:TROUPE_AUTH_TOKEN}")),
    },
];

pub(super) fn names() -> Vec<&'static str> {
    CLIENTS.iter().map(|client| client.name).collect()
}

pub(super) async fn run(
    name: &str,
    http: bool,
    settings: &[Setting],
    config: &Config,
    screen: &Screen,
) -> i32 {
    let Some(client) = CLIENTS.iter().find(|client| client.name == name) else {
        return misused(
            screen,
            &UsageError::UnknownClient { name: name.to_owned(), known: names() },
        );
    };
    let printed = match config.transport {
        _ if http => over_http(client, &[], config).await,
        Transport::Websocket => Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            "no client has a configuration for `--transport websocket`",
        )
        .suggestion("serve and connect with --transport http")),
        Transport::Http => over_http(client, settings, config).await,
        Transport::Stdio => {
            let (command, arguments) = invocation(settings, config);
            let notes = left_out(settings, "client");
            Ok(Printed { snippet: snippet(client.form, command, &arguments), notes })
        }
    };
    match printed {
        Ok(Printed { snippet, notes }) => {
            screen.err(&format!("For {}:", client.place));
            notes.iter().for_each(|note| screen.err(note));
            screen.out(&snippet);
            OK
        }
        Err(error) => {
            report(screen, &error);
            MISUSED
        }
    }
}

/// A configuration, and notes for the user.
struct Printed {
    snippet: String,
    notes: Vec<String>,
}

/// Returns the entry for the server that `config` describes, and the command that starts it if
/// `settings` has its settings.
async fn over_http(
    client: &SupportedClient,
    settings: &[Setting],
    config: &Config,
) -> Result<Printed> {
    if config.port == 0 {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            "`--port 0` takes any free port, so the URL is unknown",
        )
        .suggestion("give the port of the server"));
    }
    let mut notes = Vec::new();
    if !settings.is_empty() {
        let (command, arguments) = invocation(settings, config);
        let line = std::iter::once(command).chain(arguments.iter().map(String::as_str));
        let line = shlex::try_join(line).map_err(|error| {
            TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("an argument cannot be quoted: {error}"),
            )
        })?;
        notes.push(format!("Start the server first: {line}"));
        notes.extend(left_out(settings, "server"));
    }
    let Some(http) =
        client.http.filter(|http| !config.auth || !matches!(http.token, Reference::None))
    else {
        return Ok(Printed { snippet: connecting(client, config), notes });
    };
    let mut entry = Map::new();
    entry.extend(http.kind.map(|kind| ("type".to_owned(), json!(kind))));
    entry.insert(http.key.to_owned(), json!(config.local_url()));
    let mut inputs = Vec::new();
    if config.auth {
        let token = Token::of_server(config).await?;
        let from = token.file().map_or("the server's token".to_owned(), |file| {
            format!("the token in {}", file.display())
        });
        let mut header = |reference: &str| {
            entry.insert(
                "headers".to_owned(),
                json!({"Authorization": format!("Bearer {reference}")}),
            );
        };
        match http.token {
            Reference::Variable(reference) => header(reference),
            Reference::Key(key) => drop(entry.insert(key.to_owned(), json!(VARIABLE))),
            Reference::Input => {
                header("${input:troupe-token}");
                let description = "The token of the Troupe server";
                inputs.push(json!({"type": "promptString", "id": "troupe-token", "description": description, "password": true}));
            }
            Reference::None => {}
        }
        notes.push(match http.token {
            Reference::Input => {
                format!("The client asks for a token when it connects: enter {from}.")
            }
            _ => format!("Set the environment variable {VARIABLE} for the client to {from}."),
        });
        notes.push(
            "On this machine, a client that starts `npx -y troupe --connect URL` needs no token."
                .to_owned(),
        );
    }
    Ok(Printed { snippet: http_snippet(client.form, entry, inputs), notes })
}

/// Returns the entry for a client that starts `troupe --connect`.
fn connecting(client: &SupportedClient, config: &Config) -> String {
    let mut arguments = vec!["--connect".to_owned(), config.local_url()];
    if let Some(file) = &config.auth_token_file {
        let file = config.working_directory.join(file).display().to_string();
        arguments.extend(["--auth-token-file".to_owned(), file]);
    }
    let (command, arguments) = npx(arguments);
    snippet(client.form, command, &arguments)
}

fn http_snippet(form: ConfigFormat, entry: Map<String, Value>, inputs: Vec<Value>) -> String {
    match form {
        ConfigFormat::Json(servers)
        | ConfigFormat::TypedJson(servers)
        | ConfigFormat::OneList(servers) => {
            let mut whole = Map::new();
            if !inputs.is_empty() {
                whole.insert("inputs".to_owned(), Value::Array(inputs));
            }
            whole.insert(servers.to_owned(), json!({ "troupe": entry }));
            serde_json::to_string_pretty(&whole).unwrap_or_default()
        }
        // Every JSON string is also a valid TOML string.
        ConfigFormat::Toml(servers) => {
            let lines: Vec<String> =
                entry.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            format!("[{servers}.troupe]\n{}", lines.join("\n"))
        }
    }
}

/// Returns the command that starts the server with these options, without secrets.
fn invocation(settings: &[Setting], config: &Config) -> (&'static str, Vec<String>) {
    let mut arguments = Vec::new();
    for Setting { option, value, .. } in settings.iter().filter(|setting| !is_secret(setting)) {
        let flag = match value {
            Value::Bool(false) if option.negatable => format!("--no-{}", option.name),
            _ => option.flag(),
        };
        if option.kind == Kind::Switch {
            let is_plain = option.negatable || *value == Value::Bool(true);
            arguments.push(if is_plain { flag } else { format!("{flag}={value}") });
            continue;
        }
        for text in option.kind.arguments(value, &config.working_directory) {
            match text {
                // Joined with `=`, because the value looks like an option.
                text if text.starts_with('-') => arguments.push(format!("{flag}={text}")),
                text => arguments.extend([flag.clone(), text]),
            }
        }
    }
    npx(arguments)
}

/// Lists the options that `invocation` omits, and the environment variables to set for the
/// `process` instead.
fn left_out(settings: &[Setting], process: &str) -> Vec<String> {
    let secrets = settings.iter().filter(|setting| is_secret(setting));
    let notes = secrets.map(|setting| {
        let option = setting.option;
        format!("{} is omitted: set {} for the {process}.", option.flag(), option.variable())
    });
    notes.collect()
}

/// Whether a value must not be written into a configuration: a token, or an address with user
/// information or a query, which may be a password or a token.
fn is_secret(setting: &Setting) -> bool {
    let text = setting.value.as_str().unwrap_or_default();
    let is_address = match setting.option.kind {
        Kind::Proxy | Kind::Url(_) => true,
        Kind::Store => text.contains("://"),
        _ => false,
    };
    setting.option.is_secret || is_address && text.contains(['@', '?'])
}

fn npx(options: Vec<String>) -> (&'static str, Vec<String>) {
    // On Windows npx is a script, which clients cannot start by themselves.
    let (command, first): (_, &[&str]) =
        if cfg!(windows) { ("cmd", &["/c", "npx"]) } else { ("npx", &[]) };
    let mut arguments: Vec<String> =
        first.iter().chain(&["-y", "troupe"]).map(|&text| text.to_owned()).collect();
    arguments.extend(options);
    (command, arguments)
}

fn snippet(form: ConfigFormat, command: &str, arguments: &[String]) -> String {
    let pretty = |value: Value| serde_json::to_string_pretty(&value).unwrap_or_default();
    match form {
        ConfigFormat::Json(key) => {
            pretty(json!({ key: { "troupe": { "command": command, "args": arguments } } }))
        }
        ConfigFormat::TypedJson(key) => pretty(
            json!({ key: { "troupe": { "type": "stdio", "command": command, "args": arguments } } }),
        ),
        ConfigFormat::OneList(key) => {
            let line: Vec<&str> =
                std::iter::once(command).chain(arguments.iter().map(String::as_str)).collect();
            pretty(
                json!({ key: { "troupe": { "type": "local", "command": line, "enabled": true } } }),
            )
        }
        // Every JSON string is also a valid TOML string.
        ConfigFormat::Toml(key) => {
            format!("[{key}.troupe]\ncommand = {}\nargs = {}", json!(command), json!(arguments))
        }
    }
}
