//! Extracts the data for the record from an upstream result: the snapshot of the page, console
//! messages, and the URLs of the pages. Reads the text of the result, and the files in the
//! session's folder that the result links.
//!
//! This module and `state` support the formats of @playwright/mcp and chrome-devtools-mcp. Nothing
//! is extracted from other formats. Their results are forwarded unchanged.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::Value;

use crate::engine::{ConsoleLevel, ConsoleMessage};

/// Maximum size of a file that is read, in bytes.
const MAX_FILE_SIZE: u64 = 16 << 20;

/// The data about the session's pages in a result.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct PageObservations {
    pub snapshot: Option<String>,
    pub console: Vec<ConsoleMessage>,
    /// The messages of a list of all messages, some of which earlier results may have had.
    pub(super) listed: Vec<ConsoleMessage>,
    /// The messages of `listed` that earlier results had.
    pub repeated: Vec<ConsoleMessage>,
    pub(super) urls: Vec<PageUrls>,
}

/// The number of console messages in the results of a server so far, by their hash.
#[derive(Debug, Default)]
pub(super) struct SeenMessages(HashMap<u64, usize>);

/// Maximum number of different messages that are remembered.
const MAX_SEEN: usize = 10_000;

impl SeenMessages {
    /// Moves the new messages of `found.listed` to `found.console`, and the others to
    /// `found.repeated`. If the list has more equal messages than earlier results had, the
    /// additional ones are new.
    pub fn remove_seen(&mut self, found: &mut PageObservations) {
        let mut seen_before: HashMap<u64, usize> = HashMap::new();
        let mut new = Vec::new();
        for message in std::mem::take(&mut found.listed) {
            let hash = hash(&message);
            let before = self.0.get(&hash).copied().unwrap_or_default();
            let left = seen_before.entry(hash).or_insert(before);
            if *left > 0 {
                *left -= 1;
                found.repeated.push(message);
            } else {
                new.push(message);
            }
        }
        found.console.splice(0..0, new);
        for message in &found.console {
            if self.0.len() == MAX_SEEN {
                self.0.clear();
            }
            *self.0.entry(hash(message)).or_default() += 1;
        }
    }
}

/// Returns a hash that is equal for messages that are equal by `is_same`.
fn hash(message: &ConsoleMessage) -> u64 {
    let mut hasher = DefaultHasher::new();
    (message.level.as_str(), &message.text, &message.url, message.line).hash(&mut hasher);
    hasher.finish()
}

/// The URLs of pages in a result.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PageUrls {
    /// The current page.
    Current(String),
    /// All pages, and the index of the current one.
    All { urls: Vec<String>, current: usize },
}

/// The files that a result can link: those in `folder`, by paths relative to `base`.
#[derive(Debug, Clone)]
pub(super) struct LinkedFiles {
    pub folder: PathBuf,
    /// The working directory of the server.
    pub base: PathBuf,
}

impl LinkedFiles {
    async fn read(&self, link: &str) -> io::Result<String> {
        let path = tokio::fs::canonicalize(self.base.join(link)).await?;
        if !path.starts_with(tokio::fs::canonicalize(&self.folder).await?) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if tokio::fs::metadata(&path).await?.len() > MAX_FILE_SIZE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        tokio::fs::read_to_string(path).await
    }

    /// Returns the text of a file, or `None` if it cannot be read. The record then has only the
    /// link.
    async fn text(&self, link: &str) -> Option<String> {
        let read = self.read(link).await;
        if let Err(error) = &read {
            tracing::debug!(%error, link, "a linked file could not be read");
        }
        read.ok()
    }
}

/// Extracts the data from `result`. `seen` is the number of the last console message, if messages
/// are numbered.
pub(super) async fn find(result: &Value, files: &LinkedFiles, seen: &mut u64) -> PageObservations {
    let mut found = PageObservations::default();
    let texts =
        result["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    for text in texts {
        for TextSection { title, body } in sections(text) {
            match title {
                "Snapshot" | "Latest page snapshot" => {
                    if let Some(snapshot) = snapshot(body, files).await {
                        found.snapshot = Some(snapshot);
                    }
                }
                "Events" => {
                    for link in
                        body.lines().filter_map(|line| line.strip_prefix("- New console entries: "))
                    {
                        for message in logged_in_file(link, files).await {
                            // A result that lists messages can also report the newest of them as
                            // events.
                            if !found.listed.iter().any(|known| is_same(known, &message)) {
                                found.console.push(message);
                            }
                        }
                    }
                }
                "New console messages" => {
                    found.console.extend(messages(body.lines(), MessageFormat::Items))
                }
                "Console messages" => found.console.extend(numbered_messages(body.lines(), seen)),
                "Page" | "Page state" => {
                    let url = body.lines().find_map(|line| line.strip_prefix("- Page URL: "));
                    found.urls.extend(url.map(|url| PageUrls::Current(url.to_owned())));
                }
                "Result" if body.starts_with("Total messages: ") => {
                    let listed = body.lines().skip_while(|line| !line.is_empty());
                    found.listed.extend(messages(listed, MessageFormat::Plain));
                }
                "Result" | "Open tabs" => found.urls.extend(tabs(body.lines())),
                "Pages" => found.urls.extend(pages(body.lines())),
                _ => {}
            }
        }
    }
    found
}

/// A section of a text, with a heading.
struct TextSection<'a> {
    title: &'a str,
    /// The text after the heading.
    body: &'a str,
}

/// Returns the sections of a text. Lines in a code fence are not headings.
fn sections(text: &str) -> Vec<TextSection<'_>> {
    let mut sections: Vec<TextSection<'_>> = Vec::new();
    // `begin` is the start of the body of the last section.
    let (mut begin, mut at, mut fenced) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        let heading =
            line.strip_prefix("### ").or_else(|| line.strip_prefix("## ")).filter(|_| !fenced);
        if let Some(title) = heading {
            if let Some(last) = sections.last_mut() {
                last.body = &text[begin..at];
            }
            begin = at + line.len();
            sections.push(TextSection { title: title.trim(), body: "" });
        }
        fenced ^= line.starts_with("```");
        at += line.len();
    }
    if let Some(last) = sections.last_mut() {
        last.body = &text[begin..];
    }
    sections
}

/// Returns the snapshot in a section: in a fence, in a linked file, or as plain text. Blank lines
/// are part of it.
async fn snapshot(body: &str, files: &LinkedFiles) -> Option<String> {
    let text = match fenced(body) {
        Some(content) => content,
        None => match body.lines().find_map(linked) {
            Some(link) => return files.text(link).await,
            // Only the line breaks before the next section are not part of it.
            None => body.trim_end_matches(['\n', '\r']),
        },
    };
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// Returns the content of the first fence.
fn fenced(body: &str) -> Option<&str> {
    let (mut at, mut begin) = (0, None);
    for line in body.split_inclusive('\n') {
        match (line.starts_with("```"), begin) {
            (true, None) => begin = Some(at + line.len()),
            (true, Some(begin)) => {
                let content = &body[begin..at];
                return Some(content.strip_suffix('\n').unwrap_or(content));
            }
            (false, _) => {}
        }
        at += line.len();
    }
    begin.map(|begin| &body[begin..])
}

/// Returns the path in `- [Snapshot](path)`.
fn linked(line: &str) -> Option<&str> {
    line.strip_prefix("- [Snapshot](")?.strip_suffix(')')
}

/// Returns the messages in the lines of a log file that `path#L1-L2` selects.
async fn logged_in_file(link: &str, files: &LinkedFiles) -> Vec<ConsoleMessage> {
    let (path, range) = link.trim().split_once("#L").unwrap_or((link.trim(), ""));
    let Some(text) = files.text(path).await else { return Vec::new() };
    let (first, last) = range.split_once("-L").unwrap_or((range, range));
    let first = first.parse().unwrap_or(1_usize).max(1);
    let last = last.parse().unwrap_or(usize::MAX);
    messages(
        text.lines().skip(first - 1).take(last.saturating_sub(first - 1)),
        MessageFormat::Timed,
    )
}

/// The format of messages in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageFormat {
    /// `[    33ms] [WARNING] text @ http://host:12`, as in a log file.
    Timed,
    /// `- [WARNING] text @ http://host:12`.
    Items,
    /// `[WARNING] text @ http://host:12`, as in the result of `browser_console_messages`.
    Plain,
}

impl MessageFormat {
    /// Returns the part of `line` that begins a message after `last`; `None` if the line continues
    /// `last`.
    fn begins<'a>(self, line: &'a str, last: Option<&PendingMessage>) -> Option<&'a str> {
        match self {
            Self::Timed => {
                let (time, rest) = line.strip_prefix('[')?.split_once("ms] ")?;
                time.trim().bytes().all(|byte| byte.is_ascii_digit()).then_some(rest)
            }
            Self::Items => line.strip_prefix("- "),
            Self::Plain => {
                let is_new =
                    tag(line).is_some() || last.is_none_or(|last| last.is_complete_before(line));
                is_new.then_some(line)
            }
        }
    }
}

/// A message whose lines are being read.
struct PendingMessage {
    /// Whether it has a tag with its level. Uncaught errors of the page have none.
    is_tagged: bool,
    message: ConsoleMessage,
}

impl PendingMessage {
    fn of(text: &str) -> Self {
        match tag(text) {
            Some((level, text)) => {
                Self { is_tagged: true, message: message(level, text.to_owned()) }
            }
            None => {
                Self { is_tagged: false, message: message(ConsoleLevel::Error, text.to_owned()) }
            }
        }
    }

    /// Returns whether the message has ended before `line`, which has no tag.
    fn is_complete_before(&self, line: &str) -> bool {
        let text = &self.message.text;
        if self.is_tagged {
            return split_location(text).is_some();
        }
        let has_stack = text.lines().any(is_stack_line);
        !line.starts_with(' ') && (has_stack || !names_error(text) || names_error(line))
    }

    fn finish(self) -> ConsoleMessage {
        let mut message = self.message;
        if self.is_tagged {
            if let Some((text, url, line)) = split_location(&message.text) {
                let text = text.to_owned();
                if !url.is_empty() {
                    (message.url, message.line) = (Some(url.to_owned()), Some(line));
                }
                message.text = text;
            }
        } else if let Some((url, line, column)) = message.text.lines().find_map(frame) {
            (message.url, message.line, message.column) =
                (Some(url.to_owned()), Some(line), Some(column));
        }
        message
    }
}

/// Returns whether a text starts like the stack of an error: `TypeError: x is not a function`.
fn names_error(text: &str) -> bool {
    let name = text.split([':', ' ', '\n']).next().unwrap_or_default();
    name.ends_with("Error") || name.ends_with("Exception") || name == "Uncaught"
}

fn is_stack_line(line: &str) -> bool {
    line.trim_start() != line && line.trim_start().starts_with("at ")
}

/// Returns the location in a line of a stack: `    at f (http://host:12:5)`.
fn frame(line: &str) -> Option<(&str, u64, u64)> {
    let location = line.trim_start().strip_prefix("at ").filter(|_| is_stack_line(line))?;
    let location = location
        .strip_suffix(')')
        .and_then(|location| Some(location.rsplit_once('(')?.1))
        .unwrap_or(location);
    let (rest, column) = location.rsplit_once(':')?;
    let (url, line) = rest.rsplit_once(':')?;
    Some((url, line.parse().ok()?, column.parse().ok()?))
}

/// Returns the level and the rest of `[WARNING] text`.
fn tag(text: &str) -> Option<(ConsoleLevel, &str)> {
    let (name, text) = text.strip_prefix('[')?.split_once("] ")?;
    Some((level(name)?, text))
}

/// Reads messages. Lines that begin no message continue the previous one.
fn messages<'a>(lines: impl Iterator<Item = &'a str>, style: MessageFormat) -> Vec<ConsoleMessage> {
    let mut entries: Vec<PendingMessage> = Vec::new();
    for line in lines.filter(|line| !line.trim().is_empty()) {
        match (style.begins(line, entries.last()), entries.last_mut()) {
            (Some(text), _) => entries.push(PendingMessage::of(text)),
            (None, Some(PendingMessage { message, .. })) => {
                message.text.push('\n');
                message.text.push_str(line);
            }
            (None, None) => {}
        }
    }
    entries.into_iter().map(PendingMessage::finish).collect()
}

fn is_same(one: &ConsoleMessage, other: &ConsoleMessage) -> bool {
    (one.level, &one.text, &one.url, one.line) == (other.level, &other.text, &other.url, other.line)
}

/// Reads messages like `msgid=3 [warn] text (1 args)`. Skips those up to the number `seen`.
fn numbered_messages<'a>(
    lines: impl Iterator<Item = &'a str>,
    seen: &mut u64,
) -> Vec<ConsoleMessage> {
    let read = lines.filter_map(|line| {
        let (number, rest) = line.strip_prefix("msgid=")?.split_once(" [")?;
        let (name, text) = rest.split_once("] ")?;
        let text = text
            .rsplit_once(" (")
            .filter(|(_, end)| end.ends_with("args)"))
            .map_or(text, |(text, _)| text);
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
        "log" | "info" | "dir" | "table" | "count" | "timeend" | "dirxml" | "group" => {
            ConsoleLevel::Info
        }
        _ => return None,
    })
}

fn message(level: ConsoleLevel, text: String) -> ConsoleMessage {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    ConsoleMessage {
        level,
        kind: level.into(),
        text,
        at,
        url: None,
        line: None,
        column: None,
        stack: None,
    }
}

/// Splits `text @ http://host:12`.
fn split_location(text: &str) -> Option<(&str, &str, u64)> {
    let (text, location) = text.rsplit_once(" @ ")?;
    let (url, line) = location.rsplit_once(':')?;
    Some((text, url, line.parse().ok()?))
}

/// Reads tabs like `- 0: (current) [title](url)`, or the statement that no tab is open.
fn tabs<'a>(lines: impl Iterator<Item = &'a str> + Clone) -> Option<PageUrls> {
    if lines.clone().any(|line| line.starts_with("No open tabs")) {
        return Some(PageUrls::All { urls: Vec::new(), current: 0 });
    }
    let (mut urls, mut current) = (Vec::new(), 0);
    for line in lines {
        let Some((number, rest)) = line.strip_prefix("- ").and_then(|rest| rest.split_once(": "))
        else {
            continue;
        };
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let location = rest.split_once("](").and_then(|(_, url)| url.strip_suffix(')'));
        if let Some(url) = location.filter(|_| is_number) {
            if rest.starts_with("(current)") {
                current = urls.len();
            }
            urls.push(url.to_owned());
        }
    }
    (!urls.is_empty()).then_some(PageUrls::All { urls, current })
}

/// Reads pages like `1: url [selected]` or `1: title (url) [selected]`.
fn pages<'a>(lines: impl Iterator<Item = &'a str>) -> Option<PageUrls> {
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
    (!urls.is_empty()).then_some(PageUrls::All { urls, current })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str, files: &LinkedFiles, seen: &mut u64) -> PageObservations {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(find(&json!({"content": [{"type": "text", "text": text}]}), files, seen))
    }

    fn folder() -> (PathBuf, LinkedFiles) {
        let base = std::env::temp_dir().join(format!("troupe-content-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(base.join("out")).unwrap();
        let files = LinkedFiles { folder: base.join("out"), base: base.clone() };
        (base, files)
    }

    fn console_of(
        found: &PageObservations,
    ) -> Vec<(ConsoleLevel, &str, Option<&str>, Option<u64>)> {
        let messages = found.listed.iter().chain(&found.console);
        messages.map(|one| (one.level, one.text.as_str(), one.url.as_deref(), one.line)).collect()
    }

    #[test]
    fn linked_snapshots_and_logs_of_playwright_are_read() {
        let (base, files) = folder();
        std::fs::write(base.join("out/page.yml"), "- button \"Go\" [ref=e2]").unwrap();
        std::fs::write(base.join("secret.yml"), "not ours").unwrap();
        let log = "[ 1ms] [LOG] old @ :0\n[  33ms] [WARNING] w @ http://a/b.js:12\n[ 9ms] [ERROR] Error: 8\n    at f (x:1:2) @ :0";
        std::fs::write(base.join("out/console.log"), log).unwrap();
        let answer = "### Ran Playwright code\n```js\nawait page.goto('x');\n### Page\n- Page URL: http://evil/\n```\n### Page\n- Page URL: http://a/\n- Page Title: T\n### Snapshot\n- [Snapshot](out/page.yml)\n### Events\n- New console entries: out/console.log#L2-L4";
        let found = read(answer, &files, &mut 0);
        assert_eq!(found.snapshot.as_deref(), Some("- button \"Go\" [ref=e2]"));
        assert_eq!(found.urls, [PageUrls::Current("http://a/".into())]);
        let expected = [
            (ConsoleLevel::Warn, "w", Some("http://a/b.js"), Some(12)),
            (ConsoleLevel::Error, "Error: 8\n    at f (x:1:2)", None, None),
        ];
        assert_eq!(console_of(&found), expected);
        // Files outside of the folder are not read.
        for link in ["secret.yml", "out/../secret.yml", "/etc/passwd", "out/none.yml"] {
            let found = read(&format!("### Snapshot\n- [Snapshot]({link})"), &files, &mut 0);
            assert_eq!(found.snapshot, None, "{link}");
        }
        std::fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn inline_snapshots_and_messages_are_read() {
        let (base, files) = folder();
        let answer = "### New console messages\n- [LOG] hello @ http://a/:3\n\n### Page state\n- Page URL: http://a/\n- Page Snapshot:\n### Snapshot\n```yaml\n- list:\n  - text: \"### Events\"\n```";
        let found = read(answer, &files, &mut 0);
        assert_eq!(found.snapshot.as_deref(), Some("- list:\n  - text: \"### Events\""));
        assert_eq!(found.console[0].line, Some(3));
        let read = read(
            "### Snapshot\n```yaml\n\n- list:\n\n  - text: a\n\n```\n### Page\n",
            &files,
            &mut 0,
        );
        assert_eq!(
            read.snapshot.as_deref(),
            Some("\n- list:\n\n  - text: a\n"),
            "blank lines are part of it"
        );
        std::fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn results_of_devtools_are_read_and_messages_are_not_repeated() {
        let (base, files) = folder();
        let answer = "# list_console_messages response\n## Pages\n1: about:blank\n2: A (shop) (http://a/) [selected]\n## Console messages\nmsgid=1 [warn] w (1 args)\nmsgid=2 [log] hello (0 args)\n## Latest page snapshot\nuid=1_0 RootWebArea \"T\"\n  uid=1_1 button \"Go\"";
        let mut seen = 0;
        let found = read(answer, &files, &mut seen);
        assert_eq!(
            found.snapshot.as_deref(),
            Some("uid=1_0 RootWebArea \"T\"\n  uid=1_1 button \"Go\"")
        );
        let urls = vec!["about:blank".to_owned(), "http://a/".to_owned()];
        assert_eq!(found.urls, [PageUrls::All { urls, current: 1 }]);
        let expected =
            [(ConsoleLevel::Warn, "w", None, None), (ConsoleLevel::Info, "hello", None, None)];
        assert_eq!(console_of(&found), expected);
        assert_eq!(read(answer, &files, &mut seen).console, []);
        std::fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn an_uncaught_error_of_the_page_is_a_separate_message() {
        let (base, files) = folder();
        let log = "[  5ms] [LOG] a\nb @ http://a/:3\n[ 109ms] Error: boom\n    at f (http://a/x.js:12:5)\n[ 110ms] thrown text\n[ 111ms] [LOG] last @ :0";
        std::fs::write(base.join("out/console.log"), log).unwrap();
        let found =
            read("### Events\n- New console entries: out/console.log#L1-L6", &files, &mut 0);
        let trace = "Error: boom\n    at f (http://a/x.js:12:5)";
        let expected = [
            (ConsoleLevel::Info, "a\nb", Some("http://a/"), Some(3)),
            (ConsoleLevel::Error, trace, Some("http://a/x.js"), Some(12)),
            (ConsoleLevel::Error, "thrown text", None, None),
            (ConsoleLevel::Info, "last", None, None),
        ];
        assert_eq!(console_of(&found), expected);
        // The result of browser_console_messages has no times, and lists the errors of the page
        // last.
        let listed = "### Result\nTotal messages: 4 (Errors: 2, Warnings: 0)\nReturning 4 messages for level \"info\"\n\n[LOG] a\nb @ http://a/:3\n[LOG] last @ :0\nError: boom\n    at f (http://a/x.js:12:5)\nthrown text\n### Events\n- New console entries: out/console.log#L3-L4";
        let found = read(listed, &files, &mut 0);
        assert_eq!(console_of(&found), [expected[0], expected[3], expected[1], expected[2]]);
        std::fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn the_current_tab_is_read_from_the_list_of_tabs() {
        let (base, files) = folder();
        let found = read(
            "### Result\n- 0: [A](http://a/(x))\n- 1: (current) [](about:blank)",
            &files,
            &mut 0,
        );
        let urls = vec!["http://a/(x)".to_owned(), "about:blank".to_owned()];
        assert_eq!(found.urls, [PageUrls::All { urls, current: 1 }]);
        let none =
            read("### Result\nNo open tabs. Navigate to a URL to create one.", &files, &mut 0);
        assert_eq!(none.urls, [PageUrls::All { urls: Vec::new(), current: 0 }]);
        std::fs::remove_dir_all(base).unwrap();
    }

    proptest! {
        /// A page controls parts of the results of a server.
        #[test]
        fn any_text_is_read_without_a_panic(text in "(### (Snapshot|Events|Result|Page)\n|- |\\[|\\]|\\(|\\)|#L|msgid=|:|```|\n|[a-z0-9é ]){0,60}") {
            let files = LinkedFiles { folder: "/nowhere".into(), base: "/nowhere".into() };
            read(&text, &files, &mut 0);
        }
    }

    #[test]
    fn messages_of_a_list_are_new_if_no_earlier_result_had_them() {
        let log = |text: &str| message(ConsoleLevel::Info, text.to_owned());
        let texts = |messages: &[ConsoleMessage]| {
            messages.iter().map(|message| message.text.clone()).collect::<Vec<_>>().join(" ")
        };
        let mut seen_messages = SeenMessages::default();
        let mut sort = |events: &[&str], listed: &[&str]| {
            let all = |texts: &[&str]| texts.iter().map(|text| log(text)).collect::<Vec<_>>();
            let mut found = PageObservations {
                console: all(events),
                listed: all(listed),
                ..PageObservations::default()
            };
            seen_messages.remove_seen(&mut found);
            (texts(&found.repeated), texts(&found.console))
        };
        assert_eq!(sort(&["a", "b"], &[]), (String::new(), "a b".into()));
        // The page has logged `a` again, and an error that no event reported.
        assert_eq!(sort(&[], &["a", "b", "a", "error"]), ("a b".into(), "a error".into()));
        assert_eq!(sort(&["c"], &["a", "b", "a", "error"]), ("a b a error".into(), "c".into()));
        assert_eq!(sort(&["a"], &[]), (String::new(), "a".into()));
    }
}
