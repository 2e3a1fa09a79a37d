//! `troupe config CLIENT`: the snippet for a client's configuration, on stdout alone, so that it can be
//! piped; where it belongs is told on stderr.

use serde_json::{Value, json};

use super::arguments::Given;
use super::screen::Screen;
use super::usage::Usage;
use super::{OK, misused};
use crate::config::option_of_flag;

struct Client {
    name: &'static str,
    place: &'static str,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    /// Most clients: a JSON object of servers under this key.
    Json(&'static str),
    /// The same with `"type": "stdio"`.
    TypedJson(&'static str),
    /// Command and arguments in one list.
    OneList(&'static str),
    Toml(&'static str),
}

/// The clients that are known. The order is that of `--help`.
const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        place: ".mcp.json of the project (or type: claude mcp add troupe -- …)",
        form: Form::TypedJson("mcpServers"),
    },
    Client {
        name: "claude-desktop",
        place: "claude_desktop_config.json (Settings > Developer > Edit Config)",
        form: Form::Json("mcpServers"),
    },
    Client {
        name: "vscode",
        place: ".vscode/mcp.json of the project (or the command \"MCP: Open User Configuration\")",
        form: Form::TypedJson("servers"),
    },
    Client {
        name: "cursor",
        place: "~/.cursor/mcp.json, or .cursor/mcp.json of the project",
        form: Form::Json("mcpServers"),
    },
    Client { name: "codex", place: "~/.codex/config.toml", form: Form::Toml("mcp_servers") },
    Client { name: "windsurf", place: "~/.codeium/windsurf/mcp_config.json", form: Form::Json("mcpServers") },
    Client {
        name: "gemini-cli",
        place: "~/.gemini/settings.json, or .gemini/settings.json of the project",
        form: Form::Json("mcpServers"),
    },
    Client {
        name: "zed",
        place: "settings.json (the command \"zed: open settings\")",
        form: Form::Json("context_servers"),
    },
    Client {
        name: "cline",
        place: "cline_mcp_settings.json (MCP Servers > Configure)",
        form: Form::Json("mcpServers"),
    },
    Client {
        name: "kiro",
        place: "~/.kiro/settings/mcp.json, or .kiro/settings/mcp.json of the project",
        form: Form::Json("mcpServers"),
    },
    Client {
        name: "opencode",
        place: "opencode.json of the project, or ~/.config/opencode/opencode.json",
        form: Form::OneList("mcp"),
    },
];

pub(super) fn names() -> Vec<&'static str> {
    CLIENTS.iter().map(|client| client.name).collect()
}

pub(super) fn run(name: &str, given: &Given, screen: &Screen) -> i32 {
    let Some(client) = CLIENTS.iter().find(|client| client.name == name) else {
        return misused(screen, &Usage::UnknownClient { name: name.to_owned(), known: names() });
    };
    screen.err(&format!("For {}:", client.place));
    let (command, arguments) = invocation(given);
    screen.out(&snippet(client.form, command, &arguments));
    OK
}

/// The command that starts the server with these options.
fn invocation(given: &Given) -> (&'static str, Vec<String>) {
    // On Windows npx is a script, which clients cannot start by themselves.
    let (command, first): (_, &[&str]) = if cfg!(windows) { ("cmd", &["/c", "npx"]) } else { ("npx", &[]) };
    let mut arguments: Vec<String> =
        first.iter().chain(&["-y", "troupe"]).map(|&text| text.to_owned()).collect();
    for (name, text) in given {
        let is_switch =
            option_of_flag(name).is_some_and(|(option, _)| option.kind == crate::config::Kind::Switch);
        match text.as_str() {
            "true" if is_switch => arguments.push(format!("--{name}")),
            // Joined where a value may look like an option, or need not be there.
            text if is_switch || text.starts_with('-') => arguments.push(format!("--{name}={text}")),
            text => arguments.extend([format!("--{name}"), text.to_owned()]),
        }
    }
    (command, arguments)
}

fn snippet(form: Form, command: &str, arguments: &[String]) -> String {
    let pretty = |value: Value| serde_json::to_string_pretty(&value).unwrap_or_default();
    match form {
        Form::Json(key) => pretty(json!({ key: { "troupe": { "command": command, "args": arguments } } })),
        Form::TypedJson(key) => {
            pretty(json!({ key: { "troupe": { "type": "stdio", "command": command, "args": arguments } } }))
        }
        Form::OneList(key) => {
            let line: Vec<&str> =
                std::iter::once(command).chain(arguments.iter().map(String::as_str)).collect();
            pretty(json!({ key: { "troupe": { "type": "local", "command": line, "enabled": true } } }))
        }
        // A JSON string is a TOML string too.
        Form::Toml(key) => {
            format!("[{key}.troupe]\ncommand = {}\nargs = {}", json!(command), json!(arguments))
        }
    }
}
