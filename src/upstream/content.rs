//! What the record keeps of an answer that is passed through: the page's snapshot, what the page has logged, and where
//! the session's pages are. Read from the answer's text, and from the files in the session's own folder that it links.
//!
//! What is known of the forms of @playwright/mcp and chrome-devtools-mcp stands here and in `state`; of an answer in
//! another form nothing is found, and it is passed through like any.

use std::{
    io,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::Value;

use crate::engine::{ConsoleLevel, ConsoleMessage};

/// Bytes of a file that are read.
const LONGEST_FILE: u64 = 16 << 20;

/// What an answer tells of the session's pages.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Found {
    pub snapshot: Option<String>,
    pub console: Vec<ConsoleMessage>,
    pub(super) places: Vec<Place>,
}

/// What is told of where pages are.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Place {
    /// The current page.
    Current(String),
    /// All of them, and which is the current one.
    All { urls: Vec<String>, current: usize },
}

/// Files that an answer may link: those below a folder, by paths from another.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub folder: PathBuf,
    /// The working folder of the server.
    pub base: PathBuf,
}

impl Files {
    async fn read(&self, link: &str) -> io::Result<String> {
        let path = tokio::fs::canonicalize(self.base.join(link)).await?;
        if !path.starts_with(tokio::fs::canonicalize(&self.folder).await?) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if tokio::fs::metadata(&path).await?.len() > LONGEST_FILE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        tokio::fs::read_to_string(path).await
    }

    /// The file, or nothing where it cannot be had: the link itself is in the record.
    async fn text(&self, link: &str) -> Option<String> {
        let read = self.read(link).await;
        if let Err(error) = &read {
            tracing::debug!(%error, link, "a file that an answer links is not read");
        }
        read.ok()
    }
}

/// What `result` tells. `seen` is the number of the last message of the console that was found, where they have numbers.
pub(super) async fn find(result: &Value, files: &Files, seen: &mut u64) -> Found {
    let mut found = Found::default();
    let texts = result["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    for text in texts {
        for Section { title, lines } in sections(text) {
            match title {
                "Snapshot" | "Latest page snapshot" => {
                    if let Some(snapshot) = snapshot(&lines, files).await {
                        found.snapshot = Some(snapshot);
                    }
                }
                "Events" => {
                    for link in lines.iter().filter_map(|line| line.strip_prefix("- New console entries: ")) {
                        found.console.extend(logged_in_file(link, files).await);
                    }
                }
                "New console messages" => found.console.extend(messages(&lines)),
                "Console messages" => found.console.extend(numbered_messages(&lines, seen)),
                "Page" | "Page state" => {
                    let url = lines.iter().find_map(|line| line.strip_prefix("- Page URL: "));
                    found.places.extend(url.map(|url| Place::Current(url.to_owned())));
                }
                "Result" | "Open tabs" => found.places.extend(tabs(&lines)),
                "Pages" => found.places.extend(pages(&lines)),
                _ => {}
            }
        }
    }
    found
}

/// A part of a text under a heading of its own.
struct Section<'a> {
    title: &'a str,
    lines: Vec<&'a str>,
}

/// The sections of a text. What stands in a fence is content, whatever it looks like.
fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        let heading = line.strip_prefix("### ").or_else(|| line.strip_prefix("## ")).filter(|_| !fenced);
        match (heading, sections.last_mut()) {
            (Some(title), _) => sections.push(Section { title: title.trim(), lines: Vec::new() }),
            (None, Some(section)) => section.lines.push(line),
            (None, None) => {}
        }
        fenced ^= line.starts_with("```");
    }
    sections
}

async fn snapshot(lines: &[&str], files: &Files) -> Option<String> {
    if let Some(link) = lines.iter().find_map(|line| linked(line)) {
        return files.text(link).await;
    }
    let content: Vec<&str> = match lines.iter().position(|line| line.starts_with("```")) {
        Some(fence) => {
            lines[fence + 1..].iter().copied().take_while(|line| !line.starts_with("```")).collect()
        }
        None => lines.to_vec(),
    };
    let text = content.join("\n").trim_end().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The path in `- [Snapshot](path)`.
fn linked(line: &str) -> Option<&str> {
    line.strip_prefix("- [Snapshot](")?.strip_suffix(')')
}

/// The lines of a log that `path#L1-L2` means.
async fn logged_in_file(link: &str, files: &Files) -> Vec<ConsoleMessage> {
    let (path, range) = link.trim().split_once("#L").unwrap_or((link.trim(), ""));
    let Some(text) = files.text(path).await else { return Vec::new() };
    let (first, last) = range.split_once("-L").unwrap_or((range, range));
    let first = first.parse().unwrap_or(1_usize).max(1);
    let last = last.parse().unwrap_or(usize::MAX);
    let lines: Vec<&str> = text.lines().skip(first - 1).take(last.saturating_sub(first - 1)).collect();
    messages(&lines)
}

/// `[    33ms] [WARNING] text @ http://place:12`, or without the time and as an item of a list; a line that begins in
/// no such way belongs to the one before.
fn messages(lines: &[&str]) -> Vec<ConsoleMessage> {
    let mut found: Vec<ConsoleMessage> = Vec::new();
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        let rest = line.strip_prefix("- ").unwrap_or(line);
        let rest = match rest.strip_prefix('[').and_then(|rest| rest.split_once("ms] ")) {
            Some((time, rest)) if time.trim().bytes().all(|byte| byte.is_ascii_digit()) => rest,
            _ => rest,
        };
        let read = rest.strip_prefix('[').and_then(|rest| rest.split_once("] "));
        match read.and_then(|(name, text)| Some((level(name)?, text))) {
            Some((level, text)) => found.push(message(level, text.to_owned())),
            None => {
                if let Some(last) = found.last_mut() {
                    last.text.push('\n');
                    last.text.push_str(line);
                }
            }
        }
    }
    found.iter_mut().for_each(locate);
    found
}

/// `msgid=3 [warn] text (1 args)`; those up to the number `seen` are known.
fn numbered_messages(lines: &[&str], seen: &mut u64) -> Vec<ConsoleMessage> {
    let read = lines.iter().filter_map(|line| {
        let (number, rest) = line.strip_prefix("msgid=")?.split_once(" [")?;
        let (name, text) = rest.split_once("] ")?;
        let text =
            text.rsplit_once(" (").filter(|(_, end)| end.ends_with("args)")).map_or(text, |(text, _)| text);
        Some((number.parse::<u64>().ok()?, message(level(name)?, text.to_owned())))
    });
    let new: Vec<_> = read.filter(|(number, _)| *number > *seen).collect();
    *seen = new.iter().map(|(number, _)| *number).max().unwrap_or(*seen);
    new.into_iter().map(|(_, message)| message).collect()
}

fn level(name: &str) -> Option<ConsoleLevel> {
    Some(match name.to_ascii_lowercase().as_str() {
        "error" | "assert" => ConsoleLevel::Error,
        "warning" | "warn" | "issue" => ConsoleLevel::Warn,
        "debug" | "trace" | "verbose" => ConsoleLevel::Debug,
        "log" | "info" | "dir" | "table" | "count" | "timeend" | "dirxml" | "group" => ConsoleLevel::Info,
        _ => return None,
    })
}

fn message(level: ConsoleLevel, text: String) -> ConsoleMessage {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    ConsoleMessage { level, text, at, url: None, line: None, column: None }
}

/// Takes `@ http://place:12` from the end of a message's text.
fn locate(message: &mut ConsoleMessage) {
    let Some((text, place)) = message.text.rsplit_once(" @ ") else { return };
    let Some((url, line)) = place.rsplit_once(':') else { return };
    let Ok(line) = line.parse::<u64>() else { return };
    if !url.is_empty() {
        message.url = Some(url.to_owned());
        message.line = Some(line);
    }
    message.text = text.to_owned();
}

/// `- 0: (current) [title](url)`, or that none is open.
fn tabs(lines: &[&str]) -> Option<Place> {
    if lines.iter().any(|line| line.starts_with("No open tabs")) {
        return Some(Place::All { urls: Vec::new(), current: 0 });
    }
    let (mut urls, mut current) = (Vec::new(), 0);
    for line in lines {
        let Some((number, rest)) = line.strip_prefix("- ").and_then(|rest| rest.split_once(": ")) else {
            continue;
        };
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let place = rest.split_once("](").and_then(|(_, url)| url.strip_suffix(')'));
        if let Some(url) = place.filter(|_| is_number) {
            if rest.starts_with("(current)") {
                current = urls.len();
            }
            urls.push(url.to_owned());
        }
    }
    (!urls.is_empty()).then_some(Place::All { urls, current })
}

/// `1: url [selected]`, or `1: title (url) [selected]`.
fn pages(lines: &[&str]) -> Option<Place> {
    let (mut urls, mut current) = (Vec::new(), 0);
    for line in lines {
        let Some((number, url)) = line.split_once(": ") else { continue };
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let selected = url.strip_suffix(" [selected]");
        if selected.is_some() {
            current = urls.len();
        }
        let url = selected.unwrap_or(url);
        let titled = url.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
        urls.push(titled.map_or(url, |(_, url)| url).to_owned());
    }
    (!urls.is_empty()).then_some(Place::All { urls, current })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str, files: &Files, seen: &mut u64) -> Found {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(find(&json!({"content": [{"type": "text", "text": text}]}), files, seen))
    }

    fn folder() -> (PathBuf, Files) {
        let base = std::env::temp_dir().join(format!("troupe-content-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(base.join("out")).unwrap();
        let files = Files { folder: base.join("out"), base: base.clone() };
        (base, files)
    }

    fn told(found: &Found) -> Vec<(ConsoleLevel, &str, Option<&str>, Option<u64>)> {
        let messages = found.console.iter();
        messages.map(|one| (one.level, one.text.as_str(), one.url.as_deref(), one.line)).collect()
    }

    #[test]
    fn an_answer_of_playwright_links_its_snapshot_and_its_log() {
        let (base, files) = folder();
        std::fs::write(base.join("out/page.yml"), "- button \"Go\" [ref=e2]").unwrap();
        std::fs::write(base.join("secret.yml"), "not ours").unwrap();
        let log = "[ 1ms] [LOG] old @ :0\n[  33ms] [WARNING] w @ http://a/b.js:12\n[ 9ms] [ERROR] Error: 8\n    at f (x:1:2) @ :0";
        std::fs::write(base.join("out/console.log"), log).unwrap();
        let answer = "### Ran Playwright code\n```js\nawait page.goto('x');\n### Page\n- Page URL: http://evil/\n```\n### Page\n- Page URL: http://a/\n- Page Title: T\n### Snapshot\n- [Snapshot](out/page.yml)\n### Events\n- New console entries: out/console.log#L2-L4";
        let found = read(answer, &files, &mut 0);
        assert_eq!(found.snapshot.as_deref(), Some("- button \"Go\" [ref=e2]"));
        assert_eq!(found.places, [Place::Current("http://a/".into())]);
        let expected = [
            (ConsoleLevel::Warn, "w", Some("http://a/b.js"), Some(12)),
            (ConsoleLevel::Error, "Error: 8\n    at f (x:1:2)", None, None),
        ];
        assert_eq!(told(&found), expected);
        // A file elsewhere is nobody's business, however it is linked.
        for link in ["secret.yml", "out/../secret.yml", "/etc/passwd", "out/none.yml"] {
            let found = read(&format!("### Snapshot\n- [Snapshot]({link})"), &files, &mut 0);
            assert_eq!(found.snapshot, None, "{link}");
        }
        std::fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn snapshots_and_messages_in_the_answer_itself_are_found_too() {
        let (base, files) = folder();
        let answer = "### New console messages\n- [LOG] hello @ http://a/:3\n\n### Page state\n- Page URL: http://a/\n- Page Snapshot:\n### Snapshot\n```yaml\n- list:\n  - text: \"### Events\"\n```";
        let found = read(answer, &files, &mut 0);
        assert_eq!(found.snapshot.as_deref(), Some("- list:\n  - text: \"### Events\""));
        assert_eq!(found.console[0].line, Some(3));
        std::fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn answers_of_devtools_are_read_and_their_messages_counted_once() {
        let (base, files) = folder();
        let answer = "# list_console_messages response\n## Pages\n1: about:blank\n2: A (shop) (http://a/) [selected]\n## Console messages\nmsgid=1 [warn] w (1 args)\nmsgid=2 [log] hello (0 args)\n## Latest page snapshot\nuid=1_0 RootWebArea \"T\"\n  uid=1_1 button \"Go\"";
        let mut seen = 0;
        let found = read(answer, &files, &mut seen);
        assert_eq!(found.snapshot.as_deref(), Some("uid=1_0 RootWebArea \"T\"\n  uid=1_1 button \"Go\""));
        let urls = vec!["about:blank".to_owned(), "http://a/".to_owned()];
        assert_eq!(found.places, [Place::All { urls, current: 1 }]);
        let expected = [(ConsoleLevel::Warn, "w", None, None), (ConsoleLevel::Info, "hello", None, None)];
        assert_eq!(told(&found), expected);
        assert_eq!(read(answer, &files, &mut seen).console, []);
        std::fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn the_list_of_tabs_tells_which_is_current() {
        let (base, files) = folder();
        let found =
            read("### Result\n- 0: [A](http://a/(x))\n- 1: (current) [](about:blank)", &files, &mut 0);
        let urls = vec!["http://a/(x)".to_owned(), "about:blank".to_owned()];
        assert_eq!(found.places, [Place::All { urls, current: 1 }]);
        let none = read("### Result\nNo open tabs. Navigate to a URL to create one.", &files, &mut 0);
        assert_eq!(none.places, [Place::All { urls: Vec::new(), current: 0 }]);
        std::fs::remove_dir_all(base).unwrap();
    }

    proptest! {
        /// A page can make a server say anything.
        #[test]
        fn any_text_is_read_without_harm(text in "(### (Snapshot|Events|Result|Page)\n|- |\\[|\\]|\\(|\\)|#L|msgid=|:|```|\n|[a-z0-9é ]){0,60}") {
            let files = Files { folder: "/nowhere".into(), base: "/nowhere".into() };
            read(&text, &files, &mut 0);
        }
    }
}
