//! Completion for arguments of prompts and for ids in resource templates.

use std::{collections::HashMap, sync::Arc};

use super::prompts::Prompt;
use crate::{
    session::{Connection, Session, SessionManager},
    tools::{TEMPLATES, timestamp},
};

/// Returns values for an argument of a prompt: its default, and for URLs those of open pages.
pub(super) fn of_prompt(
    prompt: &Prompt,
    argument: &str,
    connection: &Connection,
    manager: &SessionManager,
) -> Vec<String> {
    let Some(known) = prompt.arguments.iter().find(|known| known.name == argument) else {
        return Vec::new();
    };
    let mut values: Vec<String> = known.default.clone().into_iter().collect();
    if argument == "url" || argument.ends_with("_url") {
        let pages =
            connection.sessions(manager).into_iter().flat_map(|session| session.open_pages());
        values.extend(pages.map(|page| page.url()).filter(|url| url.starts_with("http")));
    }
    values
}

/// Returns values for a variable of a resource template; `None` if there is no such template.
pub(super) fn of_template(
    uri: &str,
    variable: &str,
    others: &HashMap<String, String>,
    connection: &Connection,
    manager: &SessionManager,
) -> Option<Vec<String>> {
    TEMPLATES.iter().find(|template| template.uri == uri)?;
    let named =
        |session: &Arc<Session>| others.get("sessionId").is_none_or(|id| *id == *session.id);
    let sessions = connection.sessions(manager);
    let meant = sessions.iter().filter(|session| named(session));
    Some(match variable {
        "sessionId" => sessions.iter().map(|session| session.id.to_string()).collect(),
        "pageId" => {
            meant.flat_map(|session| session.open_pages()).map(|page| page.id.clone()).collect()
        }
        "timestamp" => meant
            .flat_map(|session| session.screenshots())
            .filter(|taken| others.get("pageId").is_none_or(|page| *page == taken.page_id))
            .map(|taken| timestamp(taken.captured_at))
            .collect(),
        _ => Vec::new(),
    })
}

/// Returns the values that contain `written`, first those that begin with it.
pub(super) fn ranked(values: Vec<String>, written: &str) -> Vec<String> {
    let written = written.to_lowercase();
    let mut fitting: Vec<(bool, String)> = Vec::new();
    for value in values {
        let lower = value.to_lowercase();
        if lower.contains(&written) && !fitting.iter().any(|(_, known)| *known == value) {
            fitting.push((!lower.starts_with(&written), value));
        }
    }
    // The sort is stable.
    fitting.sort_by_key(|(inside, _)| *inside);
    fitting.into_iter().map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_begin_with_the_text_come_first_and_duplicates_are_removed() {
        let values = ["page-10", "home-page-1", "page-1", "Page-2", "page-1", "other"]
            .map(str::to_owned)
            .to_vec();
        assert_eq!(ranked(values, "page-"), ["page-10", "page-1", "Page-2", "home-page-1"]);
    }
}
