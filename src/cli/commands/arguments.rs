//! Makes clap's commands from the rows of tools, and a call from clap's matches.

use std::{io::Read, path::Path, time::Duration};

use clap::{Arg, ArgAction, ArgMatches, Command as Clap, ValueHint};
use heck::ToKebabCase;
use serde_json::{Map, Value};

use super::super::usage::UsageError;
use crate::{
    offload,
    tools::{CommandRow, Properties, Registry, Tool},
};

/// The argument that reads a value from stdin.
const STDIN: &str = "-";

/// A parsed command.
pub(in crate::cli) struct PageCommand {
    pub tool: &'static Tool,
    pub row: CommandRow,
    pub arguments: Value,
    pub session: Option<String>,
    pub timeout: Option<Duration>,
    pub json: bool,
    pub inline: bool,
    pub quiet: bool,
}

impl std::fmt::Debug for PageCommand {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {}", self.row.name, self.arguments)
    }
}

/// The tools that have commands.
pub(in crate::cli) fn rows() -> impl Iterator<Item = (&'static Tool, CommandRow)> {
    Registry::all().iter().filter_map(|tool| Some((tool, tool.properties.command?)))
}

/// Returns the command that the arguments of the process name, with or without `-s` before it.
pub(in crate::cli) fn named(args: &[String]) -> Option<(&'static Tool, CommandRow)> {
    let mut args = args.iter().map(String::as_str);
    let first = loop {
        match args.next() {
            Some("-s" | "--session") => drop(args.next()),
            Some(option) if option.starts_with("--session=") => {}
            other => break other,
        }
    };
    rows().find(|(_, row)| first == Some(row.name))
}

/// Parses the arguments of the process. `folder`: the working directory, for relative paths.
///
/// # Errors
/// `Ok(Err(text))` is the text of `--help`.
pub(in crate::cli) fn parse(
    (tool, row): (&'static Tool, CommandRow),
    args: &[String],
    folder: &Path,
    stdin: impl FnOnce() -> std::io::Result<String>,
) -> Result<Result<PageCommand, String>, UsageError> {
    // Only the command that is called: to make all of them takes longer than a call.
    let application = Clap::new("troupe")
        .bin_name("troupe")
        .no_binary_name(true)
        .disable_help_subcommand(true)
        .arg(session())
        .subcommand(command(tool, row));
    let matches = match application.try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => return Ok(Err(error.to_string())),
        Err(error) => return Err(usage(&error)),
    };
    let outer = matches.get_one::<String>("session").cloned();
    let Some((_, matches)) = matches.subcommand() else {
        return Err(UsageError::Other(
            "a command is missing; `troupe --help` lists them".to_owned(),
        ));
    };
    let arguments = call(tool, row, matches, folder, stdin)?;
    Ok(Ok(PageCommand {
        tool,
        row,
        arguments,
        session: matches.get_one::<String>("session").cloned().or(outer),
        timeout: matches.get_one::<u64>("timeout").copied().map(Duration::from_millis),
        json: matches.get_flag("json"),
        inline: matches.get_flag("inline"),
        quiet: matches.get_flag("quiet"),
    }))
}

/// Converts clap's error into one line.
fn usage(error: &clap::Error) -> UsageError {
    let text = error.to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim().trim_start_matches("error: "))
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .collect();
    UsageError::Other(format!("{}; add --help for an example", lines.join(" ")))
}

fn session() -> Arg {
    Arg::new("session")
        .short('s')
        .long("session")
        .value_name("NAME")
        .help("Name of the session [default: TROUPE_SESSION, or one for the working tree]")
}

/// Makes the command of a tool.
pub(in crate::cli) fn command(tool: &'static Tool, row: CommandRow) -> Clap {
    let mut command = Clap::new(row.name)
        .about(&*tool.description)
        .after_help(format!("Example: {}", row.example))
        .disable_version_flag(true)
        .max_term_width(100);
    let last = row.positional.last();
    for name in row.positional {
        let schema = &tool.input["properties"][*name];
        let list = schema["type"] == "array" && Some(name) == last && holds_strings(schema);
        let argument = with_values(Arg::new(*name), tool, name)
            .required(is_required(tool, name))
            .allow_negative_numbers(true)
            .help(help(schema));
        let argument = if list { argument.num_args(1..) } else { argument };
        command = command.arg(argument.value_name(name.to_kebab_case().to_uppercase()));
    }
    for (name, schema) in options(tool, row) {
        let argument = Arg::new(name).long(name.to_kebab_case()).help(help(schema));
        let argument = with_values(argument, tool, name);
        command = command.arg(match schema["type"].as_str() {
            Some("boolean") => argument
                .value_name("true|false")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .required(is_required(tool, name)),
            Some("array") => argument
                .value_name("VALUE")
                .action(ArgAction::Append)
                .required(is_required(tool, name)),
            _ => argument
                .value_name("VALUE")
                .allow_negative_numbers(true)
                .required(is_required(tool, name)),
        });
    }
    command
        .arg(session())
        .arg(
            Arg::new("timeout")
                .long("timeout")
                .value_name("MS")
                .value_parser(clap::value_parser!(u64).range(1..))
                .help("Deadline, in ms"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Print the result as one line of JSON"),
        )
        .arg(
            Arg::new("inline")
                .long("inline")
                .action(ArgAction::SetTrue)
                .help("Print long results completely, instead of writing them to .troupe/"),
        )
        .arg(
            Arg::new("quiet")
                .long("quiet")
                .short('q')
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["json", "inline"])
                .help("Print nothing but errors, for commands in a chain"),
        )
}

/// Adds what completions offer for the values of a parameter.
fn with_values(argument: Arg, tool: &'static Tool, name: &str) -> Arg {
    let schema = &tool.input["properties"][name];
    let choices = match schema["type"].as_str() {
        Some("string") => strings(&schema["enum"]),
        Some("array") => strings(&schema["items"]["enum"]),
        Some("boolean") => vec!["true", "false"],
        _ => Vec::new(),
    };
    if !choices.is_empty() {
        return argument.value_parser(choices);
    }
    let Properties { files, contents, .. } = tool.properties;
    let is_file = files.contains(&name) || contents.contains(&name);
    argument.value_hint(if is_file { ValueHint::FilePath } else { ValueHint::Other })
}

fn strings(list: &'static Value) -> Vec<&'static str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn is_required(tool: &Tool, name: &str) -> bool {
    tool.input["required"].as_array().is_some_and(|names| names.iter().any(|it| it == name))
}

fn holds_strings(schema: &Value) -> bool {
    schema["items"]["type"] == "string"
}

/// The parameters that are options. Commands have their own options for the session and the
/// deadline.
fn options(
    tool: &'static Tool,
    row: CommandRow,
) -> impl Iterator<Item = (&'static str, &'static Value)> {
    let fields = tool.input["properties"].as_object().into_iter().flatten();
    fields.map(|(name, schema)| (name.as_str(), schema)).filter(move |(name, _)| {
        !row.positional.contains(name) && !["sessionId", "timeout"].contains(name)
    })
}

fn help(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let form = match schema["type"].as_str() {
        Some("object") => Some("JSON".to_owned()),
        Some("array") if !holds_strings(schema) => Some("JSON".to_owned()),
        Some("array") => Some("can be repeated".to_owned()),
        _ => None,
    };
    let parts = [Some(text.to_owned()).filter(|text| !text.is_empty()), form];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Makes the arguments of the call.
fn call(
    tool: &'static Tool,
    row: CommandRow,
    matches: &ArgMatches,
    folder: &Path,
    stdin: impl FnOnce() -> std::io::Result<String>,
) -> Result<Value, UsageError> {
    let mut stdin = Some(stdin);
    let mut read = |text: &String| match text.as_str() {
        STDIN => {
            let read = stdin.take().ok_or_else(|| {
                UsageError::Other("`-` can be given only once: stdin is read once".to_owned())
            })?;
            read().map_err(|error| UsageError::Stdin { why: error.to_string() })
        }
        _ => Ok(text.clone()),
    };
    let mut arguments = Map::new();
    let names = row.positional.iter().copied().chain(options(tool, row).map(|(name, _)| name));
    for name in names {
        let Some(texts) = matches.get_many::<String>(name) else { continue };
        let is_content = tool.properties.contents.contains(&name);
        let texts = texts.map(|text| match is_content && text != STDIN {
            true => file(&folder.join(text)),
            false => read(text),
        });
        let mut texts = texts.collect::<Result<Vec<_>, _>>()?;
        if tool.properties.files.contains(&name) {
            // Relative paths are those of the caller, not of the daemon.
            let is_path = |text: &String| !text.trim_start().starts_with('{');
            for text in texts.iter_mut().filter(|text| is_path(text)) {
                *text = folder.join(&*text).display().to_string();
            }
        }
        let value = value(&tool.input["properties"][name], texts)
            .map_err(|why| UsageError::Other(format!("`{}`: {why}", name.to_kebab_case())))?;
        arguments.insert(name.to_owned(), value);
    }
    if let Some(timeout) = matches.get_one::<u64>("timeout").filter(|_| tool.takes("timeout")) {
        arguments.insert("timeout".to_owned(), (*timeout).into());
    }
    Ok(Value::Object(arguments))
}

fn file(path: &Path) -> Result<String, UsageError> {
    // A pipe can take long.
    offload::in_place(offload::LARGE, || std::fs::read_to_string(path))
        .map_err(|error| UsageError::Other(format!("`{}` cannot be read: {error}", path.display())))
}

/// Converts the texts of an argument into a value of its schema.
fn value(schema: &Value, mut texts: Vec<String>) -> Result<Value, String> {
    let parsed = |text: &str| {
        serde_json::from_str::<Value>(text).map_err(|error| format!("not JSON ({error}): {text}"))
    };
    let is_json = |text: &str| text.trim_start().starts_with(['[', '{']);
    if schema["type"] == "array" {
        return match texts.as_slice() {
            [text] if is_json(text) && !holds_strings(schema) => match parsed(text)? {
                list @ Value::Array(_) => Ok(list),
                item => Ok(Value::Array(vec![item])),
            },
            _ => {
                let items = texts.into_iter().map(|text| value(&schema["items"], vec![text]));
                items.collect()
            }
        };
    }
    let text = texts.pop().unwrap_or_default();
    match schema["type"].as_str() {
        Some("string") => Ok(text.into()),
        Some("object") => parsed(&text),
        Some("integer" | "number") => match parsed(&text)? {
            number @ Value::Number(_) => Ok(number),
            _ => Err(format!("not a number: {text}")),
        },
        Some("boolean") => match text.as_str() {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ => Err(format!("neither `true` nor `false`: {text}")),
        },
        // Several types, one of which is text.
        _ if is_json(&text) => parsed(&text),
        _ => Ok(text.into()),
    }
}

/// Reads stdin to its end.
pub(in crate::cli) fn read_stdin() -> std::io::Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}
