//! Searches the snapshot, with context around each match.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{call::PlaywrightCall, response::Response};
use crate::{
    error::Result,
    page::{AriaSnapshotOptions, Page},
};

/// The number of lines around a match.
const CONTEXT: usize = 3;

#[derive(Deserialize)]
pub(super) struct Find {
    text: Option<String>,
    regex: Option<String>,
    filename: Option<String>,
}

pub(super) async fn find(call: PlaywrightCall, given: Find) -> Result<Response> {
    let text = given.text.filter(|text| !text.is_empty());
    let regex = given.regex.filter(|regex| !regex.is_empty());
    let page = call.page().await?;
    let (query, lines, matches) = match (text, regex) {
        (None, None) => {
            return Ok(Response::error("Provide either \"text\" or \"regex\" to search for."));
        }
        (Some(_), Some(_)) => {
            return Ok(Response::error("Provide only one of \"text\" or \"regex\", not both."));
        }
        (Some(text), None) => {
            let lines = lines_of(&page).await?;
            let text_in_lower_case = text.to_lowercase();
            let matches = positions(
                lines.iter().map(|line| line.to_lowercase().contains(&text_in_lower_case)),
            );
            (format!("\"{text}\""), lines, matches)
        }
        (None, Some(regex)) => {
            let (source, flags) = pattern(&regex);
            let lines = lines_of(&page).await?;
            let matching = page.regex_matches(source, &flags, &lines).await;
            let matching = matching.map_err(|_| invalid_regex("browser_find", "regex"))?;
            (format!("/{source}/{flags}"), lines, positions(matching.into_iter()))
        }
    };
    let found = if matches.is_empty() {
        format!("No matches found for {query}.")
    } else {
        let noun = if matches.len() == 1 { "match" } else { "matches" };
        let bytes = lines.iter().map(String::len).sum();
        let snippets = crate::offload::in_place(bytes, || snippets(&lines, &matches));
        let snippets = snippets.join("\n\n----\n\n");
        format!("Found {} {noun} for {query}:\n\n{snippets}", matches.len())
    };
    let mut response = Response::default();
    response.add_result(&call, "Find results", found, given.filename).await?;
    Ok(response)
}

/// Returns the message of the validator about an invalid regular expression.
pub(super) fn invalid_regex(tool: &str, parameter: &str) -> crate::error::TroupeError {
    super::call::error(format!(
        "Invalid arguments for tool \"{tool}\":\n✖ Invalid regular expression\n  → at {parameter}"
    ))
    .detail("class", "")
}

async fn lines_of(page: &Page) -> Result<Vec<String>> {
    let text = page.aria_snapshot(&AriaSnapshotOptions::default()).await?;
    Ok(text.split('\n').map(str::to_owned).collect())
}

/// Splits `/pattern/flags`. The flag `g` has no meaning for a search by lines.
fn pattern(given: &str) -> (&str, String) {
    let literal = given.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'));
    match literal {
        Some((source, flags)) if flags.chars().all(|flag| flag.is_ascii_lowercase()) => {
            (source, flags.replace('g', ""))
        }
        _ => (given, String::new()),
    }
}

fn positions(matches: impl Iterator<Item = bool>) -> Vec<usize> {
    matches.enumerate().filter(|(_, matches)| *matches).map(|(at, _)| at).collect()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns the parent of each line: the last line above it with a smaller indentation.
fn parents(lines: &[String]) -> Vec<Option<usize>> {
    let mut open: Vec<(usize, usize)> = Vec::new();
    let parent = |(at, line): (usize, &String)| {
        let depth = indent(line);
        while open.last().is_some_and(|(_, above)| *above >= depth) {
            open.pop();
        }
        let parent = open.last().map(|(parent, _)| *parent);
        open.push((at, depth));
        parent
    };
    lines.iter().enumerate().map(parent).collect()
}

/// Returns the lines that contain the line `at`, from the root.
fn ancestors(parents: &[Option<usize>], at: usize) -> Vec<usize> {
    let mut found: Vec<usize> = std::iter::successors(parents[at], |at| parents[*at]).collect();
    found.reverse();
    found
}

/// Returns the matching lines with their ancestors and context. Omitted lines are `...`.
fn snippets(lines: &[String], matches: &[usize]) -> Vec<String> {
    let last = lines.len() - 1;
    let parents = parents(lines);
    let mut windows: Vec<(usize, usize)> = Vec::new();
    for line in matches {
        let (start, end) = (line.saturating_sub(CONTEXT), (line + CONTEXT).min(last));
        match windows.last_mut() {
            Some((_, before)) if start <= *before + 1 => *before = end.max(*before),
            _ => windows.push((start, end)),
        }
    }
    let mut paths = BTreeSet::new();
    for line in matches {
        paths.insert(*line);
        paths.extend(ancestors(&parents, *line));
    }
    let snippet = |(start, end): &(usize, usize)| {
        let mut shown = ancestors(&parents, *start);
        shown.extend(*start..=*end);
        let mut text: Vec<String> = Vec::new();
        for (position, at) in shown.iter().enumerate() {
            let before = position.checked_sub(1).map(|before| shown[before]);
            if let Some(before) = before
                && *at > before + 1
                && !paths.contains(at)
                && !paths.contains(&before)
            {
                text.push(format!("{}...", " ".repeat(indent(&lines[*at]))));
            }
            text.push(lines[*at].clone());
        }
        text.join("\n")
    };
    windows.iter().map(snippet).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_is_shown_under_its_ancestors() {
        let text = "- main:\n  - list:\n    - listitem: a\n    - listitem: b\n    - listitem: c\n    - listitem: d\n    - listitem: e\n    - listitem: match";
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        assert_eq!(
            snippets(&lines, &[7]),
            [
                "- main:\n  - list:\n    - listitem: c\n    - listitem: d\n    - listitem: e\n    - listitem: match"
            ]
        );
    }

    #[test]
    fn a_pattern_may_have_flags() {
        assert_eq!(pattern("/a.b/gi"), ("a.b", "i".to_owned()));
        assert_eq!(pattern("a.b"), ("a.b", String::new()));
    }
}
