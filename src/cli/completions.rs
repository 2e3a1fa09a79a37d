//! `troupe completions SHELL`: the script that completes commands, options and values.

use clap::Command as Clap;
use clap_complete::{Shell, generate};

use super::{
    arguments::{SESSIONS_ACTIONS, SHELLS, application},
    client,
    commands::arguments::{command, rows},
    daemon::DaemonAction,
};
use crate::config::{BrowserKind, OPTIONS};

/// Returns the script for `shell`.
pub(super) fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    generate(shell, &mut complete(), "troupe", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Returns the whole command line, with the values that other modules check.
fn complete() -> Clap {
    let mut all = application();
    for option in OPTIONS.iter().filter(|option| option.refusal.is_none()) {
        if let Some(choices) = option.choices() {
            all = all.mut_arg(option.name, |argument| argument.value_parser(choices.to_vec()));
        }
    }
    let values: [(&str, &str, Vec<&'static str>); 6] = [
        ("daemon", "ACTION", DaemonAction::offered().collect()),
        ("sessions", "ACTION", SESSIONS_ACTIONS.to_vec()),
        ("store", "ACTION", vec!["migrate"]),
        ("install", "BROWSER", BrowserKind::NAMES.to_vec()),
        ("config", "CLIENT", client::names()),
        ("completions", "SHELL", SHELLS.to_vec()),
    ];
    for (name, argument, values) in values {
        all = all.mut_subcommand(name, |command| {
            command.mut_arg(argument, |argument| argument.value_parser(values))
        });
    }
    let commands: Vec<_> = all.get_subcommands().map(visible).collect();
    visible(&all).subcommands(commands).subcommands(rows().map(|(tool, row)| command(tool, row)))
}

/// Returns the command without its hidden options, which every command of the server has.
fn visible(command: &Clap) -> Clap {
    let about = command.get_about().cloned().unwrap_or_default();
    let arguments = command.get_arguments().filter(|argument| !argument.is_hide_set());
    Clap::new(command.get_name().to_owned()).about(about).args(arguments.cloned())
}
