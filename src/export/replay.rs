//! Turns recorded calls into a script that repeats them.
//!
//! A ref identifies an element only in its session. So it is replaced by a target that matches no
//! other element: by role and name, by the text of a container, or by test id. Values that the
//! record masks are read from environment variables.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    policy::redaction::MASK,
    tools::{Registry, Tool},
};

/// The key of an object that the script replaces by the value of an environment variable.
pub const ENVIRONMENT: &str = "$env";
/// Parameters that name elements.
const TARGET_PARAMETERS: &[&str] = &["selector", "source", "target", "startTarget", "endTarget"];
/// The role of a line whose children are in a separate document.
const IFRAME: &str = "iframe";
/// Roles of lines whose text is a value that users change.
const VALUE_ROLES: &[&str] = &["combobox", "searchbox", "slider", "spinbutton", "textbox"];
/// Roles that elements without a separate line can also have.
const LINELESS_ROLES: &[&str] = &["generic", "text"];
/// Roles whose name is not in their line.
const UNNAMED_LINE_ROLES: &[&str] =
    &["cell", "columnheader", "gridcell", "row", "rowheader", "term"];
/// Roles whose elements an answer describes by a text that is not their name.
const DESCRIBED_BY_TEXT: &[&str] = &["listitem", "paragraph"];
/// The last character of a name or a text that was truncated.
const TRUNCATION_MARK: char = '…';
/// The beginning of the placeholder of a secret that was typed by its name.
const SECRET: &str = "<secret>";

/// The recorded description of an element that a call refers to by its ref.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum RecordedElement {
    /// A ref of the Playwright set.
    Locator {
        locator: String,
    },
    TestId(TestId),
}

/// The test id of an element, as `TestId` in `page/injected/api.ts`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct TestId {
    attribute: String,
    value: String,
    /// If the test id is not unique in the page: the ref of a container in which no other element
    /// has it.
    within: Option<String>,
    /// The role of the innermost list item or table row in which no other element has it.
    item: Option<String>,
}

/// The targets that find an element of a recorded page.
#[derive(Debug, Clone, Default)]
struct ElementTargets {
    name: String,
    /// The target by role and name, or by the text of the element or of a container.
    named: Option<String>,
    /// The target by role alone, if no other element without a name has this role.
    unnamed: Option<String>,
}

/// The steps of a script, created from the calls of a session in their order.
#[derive(Default)]
pub(super) struct ScriptSteps {
    /// The elements in snapshots of whole pages, by their refs.
    shown: HashMap<String, ElementTargets>,
    /// The other elements that results have described, by their refs.
    described: HashMap<String, ElementHead>,
    /// The lines of the last snapshot of a whole page.
    page: Vec<SnapshotLine>,
    /// The targets of the frames that refs name.
    frames: HashMap<String, String>,
    pub steps: Vec<String>,
    /// The tools of the Playwright set that the steps call.
    pub playwright_tools: Vec<String>,
    /// The environment variables that the script needs, each with a description.
    pub variables: Vec<(String, String)>,
    /// Numbers of the steps whose element cannot be named.
    pub unnamed: Vec<usize>,
    pub has_secrets: bool,
}

/// The descriptions of the elements on which a call acted.
struct CallElements<'a> {
    /// The result of the call.
    answer: &'a str,
    /// The recorded descriptions of elements by their refs.
    elements: &'a HashMap<String, RecordedElement>,
    /// Whether refs are those of the Playwright set.
    is_playwright: bool,
}

impl ScriptSteps {
    /// Reads the refs in the snapshot of a whole page.
    pub fn read_page(&mut self, page: &str) {
        // A snapshot that omits lines cannot show which elements are unique.
        if page.lines().any(|line| line.trim_start().starts_with("- …")) {
            return self.read_part(page);
        }
        let lines: Vec<SnapshotLine> = page.lines().filter_map(SnapshotLine::parse).collect();
        let tree = SnapshotTree::of(&lines);
        for (at, line) in lines.iter().enumerate() {
            let Some(reference) = &line.reference else { continue };
            self.shown.insert(reference.clone(), tree.targets_of(at));
            if let Some((frame, target)) = frame_of(reference).zip(tree.frame_target(at)) {
                self.frames.insert(frame.to_owned(), target);
            }
        }
        self.page = lines;
    }

    /// Reads the refs in the snapshot of a part of a page. Does not replace what whole pages have
    /// shown, because a part cannot show whether a role and name are unique.
    pub fn read_part(&mut self, answer: &str) {
        for text in texts_of(answer) {
            // The line of an element has no list marker, and may have the mark of a change.
            let lines = text.lines().map(|line| line.trim_start_matches(['~', '+', ' ']));
            let parse = |line| {
                SnapshotLine::parse(line).or_else(|| SnapshotLine::parse(&format!("- {line}")))
            };
            for line in lines.filter_map(parse) {
                if let Some(reference) = &line.reference {
                    self.described.insert(reference.clone(), line.head());
                }
            }
        }
    }

    /// Adds the call of `tool` with these parameters. `result` has the texts of its result, which
    /// describe the element at that time. `elements` describes its elements by their refs.
    pub fn add(
        &mut self,
        tool: &str,
        mut arguments: Value,
        result: &[String],
        elements: &HashMap<String, RecordedElement>,
    ) {
        let answer = result.iter().flat_map(|text| texts_of(text)).collect::<Vec<_>>().join("\n");
        let is_playwright = Registry::row(tool).is_some_and(Tool::is_playwright);
        if is_playwright && !self.playwright_tools.iter().any(|known| known == tool) {
            self.playwright_tools.push(tool.to_owned());
        }
        let call_elements = CallElements { answer: &answer, elements, is_playwright };
        let unnamed = self.replace_refs(&mut arguments, &call_elements);
        if unnamed {
            self.unnamed.push(self.steps.len() + 1);
        }
        let call_description = format!("step {}, {tool}", self.steps.len() + 1);
        self.replace_masked(&mut arguments, &call_description, None);
        self.steps.push(json!({"tool": tool, "arguments": arguments}).to_string());
    }

    /// Replaces the refs in the parameters that name elements. Returns whether an element has no
    /// target.
    fn replace_refs(&self, value: &mut Value, call_elements: &CallElements<'_>) -> bool {
        match value {
            Value::Object(map) => map.iter_mut().fold(false, |unnamed, (key, value)| match value {
                Value::String(target) if TARGET_PARAMETERS.contains(&&**key) => {
                    let (replaced, is_unnamed) = self.without_refs(target, call_elements);
                    *target = replaced;
                    unnamed || is_unnamed
                }
                value => self.replace_refs(value, call_elements) || unnamed,
            }),
            Value::Array(list) => {
                list.iter_mut()
                    .filter_map(|value| self.replace_refs(value, call_elements).then_some(()))
                    .count()
                    > 0
            }
            _ => false,
        }
    }

    /// Returns `target` with a target in place of each ref, and whether a ref has no target.
    fn without_refs(&self, target: &str, call_elements: &CallElements<'_>) -> (String, bool) {
        let mut is_unnamed = false;
        let mut replace = |part: &str| match part.trim() {
            reference if is_ref(reference) => {
                self.target(reference, call_elements).unwrap_or_else(|| {
                    is_unnamed = true;
                    // Matches nothing, so that the script fails at this step with this text.
                    format!(
                        "text=\"{reference} had no unique name and no test id: put a selector here\""
                    )
                })
            }
            other => other.to_owned(),
        };
        let in_frame =
            |path: &str| path.split(" >> ").map(&mut replace).collect::<Vec<_>>().join(" >> ");
        let replaced = target.split(" >>> ").map(in_frame).collect::<Vec<_>>().join(" >>> ");
        (replaced, is_unnamed)
    }

    fn target(&self, reference: &str, call_elements: &CallElements<'_>) -> Option<String> {
        let recorded = call_elements.elements.get(reference);
        let test_id = match recorded {
            Some(RecordedElement::Locator { locator }) => return Some(locator.clone()),
            _ if call_elements.is_playwright => return None,
            Some(RecordedElement::TestId(test_id)) => Some(test_id),
            None => None,
        };
        let shown = self.shown.get(reference);
        let current = described(call_elements.answer, reference)
            .or_else(|| self.described.get(reference).cloned().filter(|_| shown.is_none()))
            .filter(|head| !head.name.is_empty() && !DESCRIBED_BY_TEXT.contains(&&*head.role));
        let named = match (shown, current) {
            // The element's name may have changed since it was shown.
            (Some(shown), Some(head)) if !shown.name.is_empty() && !head.has_name(&shown.name) => {
                self.by_name(reference, &head)
            }
            (Some(shown), _) => shown.named.clone(),
            (None, Some(head)) => self.by_name(reference, &head),
            (None, None) => None,
        };
        named.or_else(|| self.by_test_id(reference, test_id?)).or_else(|| shown?.unnamed.clone())
    }

    /// Returns a target for the element of `reference` by role and name, unless they are not unique
    /// in the last page.
    fn by_name(&self, reference: &str, head: &ElementHead) -> Option<String> {
        let is_other = |line: &SnapshotLine| {
            line.reference.as_deref() != Some(reference)
                && line.role == head.role
                && head.has_name(&line.name)
        };
        if self.page.iter().any(is_other) {
            return None;
        }
        self.in_frame(reference, head.by_role())
    }

    /// Returns a target by the test id, which usually stays when the role and the name change.
    fn by_test_id(&self, reference: &str, test_id: &TestId) -> Option<String> {
        let TestId { attribute, value, within, item } = test_id;
        let unusable = ["\"", "\n", ">>", MASK, SECRET];
        let is_usable = !unusable.iter().any(|part| value.contains(part));
        let engine = if attribute == "data-testid" { "testid" } else { attribute };
        let own = format!("{engine}=\"{value}\"");
        if !is_usable {
            return None;
        }
        let target = if within.is_none() && item.is_none() {
            own
        } else {
            let outermost = |line: &SnapshotLine| within.is_some() && line.reference == *within;
            let item = |line: &SnapshotLine| item.as_deref() == Some(&*line.role);
            let scope = self.scope(reference, outermost).or_else(|| self.scope(reference, item))?;
            format!("{scope} >> {own}")
        };
        self.in_frame(reference, target)
    }

    /// Returns a target for a container of the element of `reference`, up to and including the
    /// first one that `is_last` accepts.
    fn scope(&self, reference: &str, is_last: impl Fn(&SnapshotLine) -> bool) -> Option<String> {
        let at = self.page.iter().position(|line| line.reference.as_deref() == Some(reference))?;
        let tree = SnapshotTree::of(&self.page);
        let ancestors: Vec<usize> = tree.ancestors(at).collect();
        let last = ancestors.iter().position(|container| is_last(&self.page[*container]))?;
        ancestors[..=last].iter().find_map(|container| tree.scope(*container, at))
    }

    /// Returns `target` in the frame of the ref.
    fn in_frame(&self, reference: &str, target: String) -> Option<String> {
        match frame_of(reference) {
            Some(frame) => Some(format!("{} >>> {target}", self.frames.get(frame)?)),
            None => Some(target),
        }
    }

    /// Replaces masked values by names of environment variables.
    fn replace_masked(&mut self, value: &mut Value, call_description: &str, key: Option<&str>) {
        match value {
            Value::String(text) if text.contains(MASK) => {
                let typed = matches!(key, Some("text" | "value")) && text == MASK;
                let name =
                    self.variable(if typed { "PASSWORD" } else { "VALUE" }, call_description, key);
                *value = json!({ ENVIRONMENT: name });
            }
            Value::String(text) => self.has_secrets |= text.contains(SECRET),
            Value::Array(list) => {
                list.iter_mut().for_each(|value| self.replace_masked(value, call_description, key))
            }
            // The session passed this object as data. In the script, it would read an environment
            // variable.
            Value::Object(map) if map.len() == 1 && map.contains_key(ENVIRONMENT) => {
                *value = json!({ ENVIRONMENT: self.variable("VALUE", call_description, key) });
            }
            Value::Object(map) => {
                map.iter_mut().for_each(|(key, value)| {
                    self.replace_masked(value, call_description, Some(key))
                });
            }
            _ => {}
        }
    }

    fn variable(&mut self, kind: &str, call_description: &str, key: Option<&str>) -> String {
        let number = 1 + self.variables.iter().filter(|(name, _)| name.starts_with(kind)).count();
        let name = format!("{kind}_{number}");
        self.variables
            .push((name.clone(), format!("`{}` of {call_description}", key.unwrap_or("a value"))));
        name
    }
}

/// Returns the texts of an answer, which may be JSON.
fn texts_of(answer: &str) -> Vec<String> {
    fn collect(value: Value, texts: &mut Vec<String>) {
        match value {
            Value::String(text) if text.contains("[ref=") => texts.push(text),
            Value::Array(list) => list.into_iter().for_each(|value| collect(value, texts)),
            Value::Object(map) => map.into_iter().for_each(|(_, value)| collect(value, texts)),
            _ => {}
        }
    }
    match serde_json::from_str(answer) {
        Ok(value) => {
            let mut texts = Vec::new();
            collect(value, &mut texts);
            texts
        }
        Err(_) => vec![answer.to_owned()],
    }
}

fn is_ref(text: &str) -> bool {
    let numbered = |text: &str, letter: char| {
        let rest = text.strip_prefix(letter)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        (digits > 0).then(|| rest[digits..].to_owned())
    };
    let rest = numbered(text, 'f').unwrap_or_else(|| text.to_owned());
    numbered(&rest, 'e').is_some_and(|rest| rest.is_empty())
}

/// Returns the frame in a ref: `f1` of `f1e5`.
fn frame_of(reference: &str) -> Option<&str> {
    reference.starts_with('f').then(|| reference.split('e').next().unwrap_or_default())
}

/// Returns the element of `reference` that `text` describes: `button "Send" [ref=e5]`.
fn described(text: &str, reference: &str) -> Option<ElementHead> {
    let end = text.find(&format!("[ref={reference}]"))?;
    let starts =
        text[..end].char_indices().filter(|(_, c)| c.is_ascii_lowercase()).map(|(at, _)| at);
    // A role begins at the start of a word.
    let words = starts.filter(|at| {
        text[..*at].chars().next_back().is_none_or(|before| !before.is_alphanumeric())
    });
    let heads = words.filter_map(|at| ElementHead::parse(&text[at..]));
    heads.map(|(head, _)| head).find(|head| head.reference.as_deref() == Some(reference))
}

/// Role, name and ref of an element.
#[derive(Debug, Clone, PartialEq)]
struct ElementHead {
    role: String,
    name: String,
    reference: Option<String>,
}

impl ElementHead {
    /// Parses `role "name" [state] [ref=e5]` or `role (hint) [ref=e5]`, and returns it with the
    /// rest of the text.
    fn parse(text: &str) -> Option<(Self, &str)> {
        let end = text.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(text.len());
        let (role, mut rest) = text.split_at(end);
        if role.is_empty() || !(rest.is_empty() || rest.starts_with([' ', ':'])) {
            return None;
        }
        let mut head = Self { role: role.to_owned(), name: String::new(), reference: None };
        if let Some(quoted) = rest.strip_prefix(' ').filter(|rest| rest.starts_with('"')) {
            let mut names = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
            head.name = names.next()?.ok()?;
            rest = &quoted[names.byte_offset()..];
        } else if let Some(end) = rest.strip_prefix(" (").and_then(|hint| hint.find(") [")) {
            rest = &rest[" (".len() + end + ")".len()..];
        }
        while let Some((attribute, after)) =
            rest.strip_prefix(" [").and_then(|rest| rest.split_once(']'))
        {
            head.reference = attribute.strip_prefix("ref=").map(str::to_owned).or(head.reference);
            rest = after;
        }
        Some((head, rest))
    }

    /// Returns whether `name` is the element's name. Either of them may be cut off.
    fn has_name(&self, name: &str) -> bool {
        match (self.name.strip_suffix(TRUNCATION_MARK), name.strip_suffix(TRUNCATION_MARK)) {
            (Some(one), Some(other)) => one.starts_with(other) || other.starts_with(one),
            (Some(beginning), None) => name.starts_with(beginning),
            (None, Some(beginning)) => self.name.starts_with(beginning),
            (None, None) => self.name == name,
        }
    }

    fn by_role(&self) -> String {
        let (role, name) = (&self.role, &self.name);
        match name.strip_suffix(TRUNCATION_MARK) {
            _ if name.is_empty() && UNNAMED_LINE_ROLES.contains(&&**role) => format!("role={role}"),
            Some(beginning) => format!("role={role}[name*={}]", escaped(beginning)),
            None => format!("role={role}[name={}]", escaped(name)),
        }
    }
}

fn escaped(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A line of a snapshot.
struct SnapshotLine {
    indent: usize,
    role: String,
    name: String,
    reference: Option<String>,
    /// The text after the role, name and states.
    text: String,
}

impl SnapshotLine {
    /// Parses ` - button "Send" [ref=e5]: …`.
    fn parse(line: &str) -> Option<Self> {
        let rest = line.trim_start();
        let indent = line.len() - rest.len();
        let rest = rest.strip_prefix("- ")?;
        // YAML quotes keys that are ambiguous.
        let unquoted = rest
            .strip_prefix('\'')
            .and_then(|rest| rest.split_once("':").or(rest.split_once('\'')));
        let (head, text) = match unquoted {
            Some((head, text)) => {
                (ElementHead::parse(&head.replace("''", "'"))?.0, text.to_owned())
            }
            None => {
                let (head, text) = ElementHead::parse(rest)?;
                (head, text.split_once(':').map_or("", |(_, text)| text).to_owned())
            }
        };
        let ElementHead { role, name, reference } = head;
        let text = text.trim();
        // YAML quotes values that are ambiguous.
        let text = serde_json::from_str(text).unwrap_or_else(|_| text.to_owned());
        Some(Self { indent, role, name, reference, text })
    }

    fn head(&self) -> ElementHead {
        ElementHead { role: self.role.clone(), name: self.name.clone(), reference: None }
    }

    /// Returns the name or text, if it is complete and users cannot change it.
    fn label(&self) -> Option<&str> {
        let label = match self.name.is_empty() {
            true if VALUE_ROLES.contains(&&*self.role) => return None,
            true => &self.text,
            false => &self.name,
        };
        (!label.is_empty() && !label.ends_with(TRUNCATION_MARK) && !label.contains(MASK))
            .then_some(label)
    }
}

/// The elements of a snapshot and their containers.
struct SnapshotTree<'a> {
    lines: &'a [SnapshotLine],
    /// For each line, the line that contains it.
    parents: Vec<Option<usize>>,
    /// For each line, the iframe that it is in.
    frames: Vec<Option<usize>>,
    /// The number of lines of a frame with the same role and name.
    counts: HashMap<(Option<usize>, &'a str, &'a str), usize>,
}

impl<'a> SnapshotTree<'a> {
    fn of(lines: &'a [SnapshotLine]) -> Self {
        let (mut parents, mut frames): (Vec<Option<usize>>, Vec<Option<usize>>) =
            Default::default();
        let mut open: Vec<usize> = Vec::new();
        let mut counts = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            while open.last().is_some_and(|last| lines[*last].indent >= line.indent) {
                open.pop();
            }
            let parent = open.last().copied();
            let frame = parent.and_then(|parent| match &*lines[parent].role {
                IFRAME => Some(parent),
                _ => frames[parent],
            });
            *counts.entry((frame, &*line.role, &*line.name)).or_insert(0) += 1;
            parents.push(parent);
            frames.push(frame);
            open.push(at);
        }
        Self { lines, parents, frames, counts }
    }

    /// Returns the targets that match only the line `at`.
    fn targets_of(&self, at: usize) -> ElementTargets {
        let Some(frame) = self.frames[at] else { return self.targets_in_frame(at) };
        let ElementTargets { name, named, unnamed } = self.targets_in_frame(at);
        let inner =
            |target: Option<String>| Some(format!("{} >>> {}", self.any_target(frame)?, target?));
        ElementTargets { name, named: inner(named), unnamed: inner(unnamed) }
    }

    fn any_target(&self, at: usize) -> Option<String> {
        let ElementTargets { named, unnamed, .. } = self.targets_of(at);
        named.or(unnamed)
    }

    /// Returns the target of the frame that contains the line `at`.
    fn frame_target(&self, at: usize) -> Option<String> {
        self.any_target(self.frames[at]?)
    }

    /// Like `targets_of`, but the targets are relative to the frame that contains the line.
    fn targets_in_frame(&self, at: usize) -> ElementTargets {
        let line = &self.lines[at];
        let own = line.head().by_role();
        let name = line.name.clone();
        if !name.is_empty() {
            let named = if self.is_unique(at) { Some(own) } else { self.scoped(at, &own) };
            return ElementTargets { name, named, unnamed: None };
        }
        let named = match line.label() {
            Some(_) if !self.is_only_text(at) => None,
            Some(text) if LINELESS_ROLES.contains(&&*line.role) => {
                Some(format!("text={}", escaped(text)))
            }
            Some(text) => Some(format!("role={} >> has-text={}", line.role, escaped(text))),
            None => self.scope(at, at),
        };
        let unnamed = match &*line.role {
            role if LINELESS_ROLES.contains(&role) || UNNAMED_LINE_ROLES.contains(&role) => None,
            _ if self.is_unique(at) => Some(own),
            _ => self.scoped(at, &own),
        };
        ElementTargets { name, named, unnamed }
    }

    /// Returns the target `own` of the line `at`, in the nearest container that has a target and no
    /// other such line.
    fn scoped(&self, at: usize, own: &str) -> Option<String> {
        let is_alone = |container: &usize| {
            self.descendants(*container).filter(|inner| self.is_same(*inner, at)).count() == 1
        };
        let scope =
            self.ancestors(at).take_while(is_alone).find_map(|container| self.scope(container, at));
        scope.map(|scope| format!("{scope} >> {own}"))
    }

    /// Returns the lines that contain the line `at` in its frame, nearest first.
    fn ancestors(&self, at: usize) -> impl Iterator<Item = usize> {
        let parent =
            move |at: usize| self.parents[at].filter(|parent| Some(*parent) != self.frames[at]);
        std::iter::successors(parent(at), move |at| parent(*at))
    }

    /// Returns a target for the line `container` by its name, or by a text in it other than the
    /// text of the line `at`.
    fn scope(&self, container: usize, at: usize) -> Option<String> {
        let line = &self.lines[container];
        if !line.name.is_empty() {
            return self.is_unique(container).then(|| line.head().by_role());
        }
        if LINELESS_ROLES.contains(&&*line.role) {
            return None;
        }
        let is_other = |other: &usize| {
            *other != container
                && self.lines[*other].role == line.role
                && self.frames[*other] == self.frames[container]
        };
        let others: Vec<usize> = (0..self.lines.len()).filter(is_other).collect();
        let lines_in = |container: usize| {
            let within = std::iter::once(container).chain(self.descendants(container));
            within.filter(move |inner| self.frames[*inner] == self.frames[container])
        };
        let is_elsewhere = |label: &str| {
            let mut others = others.iter().flat_map(|other| lines_in(*other));
            others.any(|inner| self.lines[inner].label() == Some(label))
        };
        let mut labels = lines_in(container)
            .filter(|inner| *inner != at)
            .filter_map(|at| self.lines[at].label());
        labels
            .find(|label| !is_elsewhere(label))
            .map(|label| format!("role={} >> has-text={}", line.role, escaped(label)))
    }

    /// Returns whether two lines have the same frame, role and name.
    fn is_same(&self, one: usize, other: usize) -> bool {
        let key = |at: usize| (self.frames[at], &self.lines[at].role, &self.lines[at].name);
        key(one) == key(other)
    }

    /// Returns whether no other line of its frame has the role and the name of the line `at`.
    fn is_unique(&self, at: usize) -> bool {
        let line = &self.lines[at];
        self.counts.get(&(self.frames[at], &*line.role, &*line.name)) == Some(&1)
    }

    /// Returns whether no other line contains the text of the line `at`.
    fn is_only_text(&self, at: usize) -> bool {
        let text = self.lines[at].text.to_lowercase();
        let contains_text = |line: &&SnapshotLine| {
            [&line.name, &line.text].into_iter().any(|label| label.to_lowercase().contains(&text))
        };
        self.lines.iter().filter(contains_text).count() == 1
    }

    /// Returns the indexes of the lines that the line `at` contains.
    fn descendants(&self, at: usize) -> impl Iterator<Item = usize> {
        let indent = self.lines[at].indent;
        let end = self.lines[at + 1..].iter().position(|line| line.indent <= indent);
        at + 1..end.map_or(self.lines.len(), |end| at + 1 + end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"Page: http://a.test/ (T)
- list [ref=e1]:
  - listitem [ref=e2]:
    - text: Alice
    - button "Delete" [ref=e3]
  - listitem [ref=e4]:
    - text: Bob
    - button "Delete" [ref=e5]
- row [ref=e6]:
  - cell "Ann"
  - cell:
    - button "Say \"x\"" [disabled] [ref=e7]
- row [ref=e8]:
  - cell "Ben"
  - cell:
    - button "Say \"x\"" [ref=e9]
- region "Left" [ref=e10]:
  - textbox "Name" [ref=e11]
- region "Right" [ref=e12]:
  - textbox "Name" [ref=e13]: [ref=e99]
- 'link "a: b" [ref=e14]':
  - /url: /x
- generic [ref=e15] [cursor=pointer]: click me
- generic [ref=e16]
- iframe "In" [ref=e17]:
  - button "Delete" [ref=f1e1]
- img [ref=e18]
- img [ref=e19]"#;

    fn target(replay: &ScriptSteps, reference: &str, answer: &str) -> Option<String> {
        replay.target(
            reference,
            &CallElements { answer, elements: &HashMap::new(), is_playwright: false },
        )
    }

    #[test]
    fn a_ref_becomes_a_target_by_role_and_name_that_matches_one_element() {
        let mut replay = ScriptSteps::default();
        replay.read_page(PAGE);
        let target = |reference: &str| target(&replay, reference, "");
        for (reference, expected) in [
            ("e3", r#"role=listitem >> has-text="Alice" >> role=button[name="Delete"]"#),
            ("e5", r#"role=listitem >> has-text="Bob" >> role=button[name="Delete"]"#),
            ("e9", r#"role=row >> has-text="Ben" >> role=button[name="Say \"x\""]"#),
            ("e11", r#"role=region[name="Left"] >> role=textbox[name="Name"]"#),
            ("e14", r#"role=link[name="a: b"]"#),
            ("e15", r#"text="click me""#),
            ("f1e1", r#"role=iframe[name="In"] >>> role=button[name="Delete"]"#),
            ("e4", r#"role=listitem >> has-text="Bob""#),
            ("e6", r#"role=row >> has-text="Ann""#),
        ] {
            assert_eq!(target(reference).as_deref(), Some(expected), "{reference}");
        }
        for reference in ["e18", "e16", "e99"] {
            assert_eq!(target(reference), None, "{reference}");
        }
        // The result of its call does not make it unique either.
        for reference in ["e18", "e16"] {
            let described = format!("Clicked button \"Delete\" [ref={reference}]");
            assert_eq!(self::target(&replay, reference, &described), None, "{reference}");
        }
    }

    #[test]
    fn a_test_id_replaces_a_role_and_name_that_several_elements_have() {
        const ICONS: &str = r#"- button "Save" [ref=e1]
- table [ref=e2]:
  - row [ref=e3]:
    - cell "Ann"
    - cell:
      - button [ref=e4]
      - button [ref=e5]
  - row [ref=e6]:
    - cell "Ben"
    - cell:
      - button [ref=e7]
      - button [ref=e8]
- textbox [ref=e9]: typed
- iframe [ref=e10]:
  - button [ref=f1e1]
  - button [ref=f1e2]"#;
        let mut replay = ScriptSteps::default();
        replay.read_page(ICONS);
        let target = |reference: &str, test_id: Value| {
            let test_ids = serde_json::from_value(json!({reference: test_id})).unwrap();
            replay.target(
                reference,
                &CallElements { answer: "", elements: &test_ids, is_playwright: false },
            )
        };
        let id = |value: &str| json!({"attribute": "data-testid", "value": value});
        let within = |value: &str, within: &str| json!({"attribute": "data-test", "value": value, "within": within});
        for (reference, test_id, expected) in [
            // A target by role and name has precedence.
            ("e1", id("save"), Some(r#"role=button[name="Save"]"#)),
            ("e4", id("edit-ann"), Some(r#"testid="edit-ann""#)),
            (
                "e5",
                within("delete", "e3"),
                Some(r#"role=row >> has-text="Ann" >> data-test="delete""#),
            ),
            (
                "e8",
                within("delete", "e6"),
                Some(r#"role=row >> has-text="Ben" >> data-test="delete""#),
            ),
            // The cell has nothing that makes it unique.
            ("e8", within("delete", "e99"), None),
            ("e4", id("a\"b"), None),
            ("e4", id("••••"), None),
            ("e9", id("search"), Some(r#"testid="search""#)),
            ("f1e2", id("in"), Some(r#"role=iframe[name=""] >>> testid="in""#)),
        ] {
            assert_eq!(
                target(reference, test_id.clone()).as_deref(),
                expected,
                "{reference} {test_id}"
            );
        }
        assert_eq!(
            replay
                .target(
                    "e9",
                    &CallElements { answer: "", elements: &HashMap::new(), is_playwright: false }
                )
                .as_deref(),
            Some(r#"role=textbox[name=""]"#)
        );
    }

    #[test]
    fn a_name_from_a_part_of_a_page_must_be_unique_in_the_last_whole_page() {
        let mut replay = ScriptSteps::default();
        replay.read_page("- button \"Delete\" [ref=e1]\n- button \"Play\" [ref=e2]");
        replay.read_part("- button \"Delete\" [ref=e3]\n- button \"Send\" [ref=e4]");
        assert_eq!(target(&replay, "e3", ""), None);
        assert_eq!(target(&replay, "e4", "").as_deref(), Some(r#"role=button[name="Send"]"#));
        assert_eq!(target(&replay, "e2", "Clicked button \"Delete\" [ref=e2]"), None);
        // The elements of a shortened snapshot are a part of the page.
        replay.read_page(
            "- button \"Once\" [ref=e1]\n- … 80 more buttons: snapshot {selector: \"body\"} shows them all",
        );
        assert_eq!(target(&replay, "e1", "").as_deref(), Some(r#"role=button[name="Delete"]"#));
    }

    #[test]
    fn a_recorded_env_object_does_not_read_the_variable_that_it_names() {
        let mut replay = ScriptSteps::default();
        replay.add(
            "evaluate",
            json!({"script": "f", "args": [{"$env": "AWS_SECRET_ACCESS_KEY"}]}),
            &[],
            &HashMap::new(),
        );
        assert_eq!(
            replay.variables,
            [("VALUE_1".to_owned(), "`args` of step 1, evaluate".to_owned())]
        );
        assert!(replay.steps[0].contains(r#"[{"$env":"VALUE_1"}]"#), "{}", replay.steps[0]);
    }

    #[test]
    fn a_target_has_the_name_that_the_element_had_at_the_call() {
        let mut replay = ScriptSteps::default();
        replay.read_page("- button \"Play\" [ref=e1]");
        let now = "Clicked button \"Pause\" [active] [ref=e1]";
        assert_eq!(target(&replay, "e1", now).as_deref(), Some(r#"role=button[name="Pause"]"#));
        replay.read_page(&format!("- button \"{}\" [ref=e2]", "x".repeat(100)));
        let long =
            target(&replay, "e2", &format!("Clicked button \"{}…\" [ref=e2]", "x".repeat(80)));
        assert_eq!(long, target(&replay, "e2", ""));
    }

    #[test]
    fn masked_values_become_variables_and_refs_without_a_name_are_reported() {
        let mut replay = ScriptSteps::default();
        replay.add("type", json!({"selector": "#password", "text": MASK}), &[], &HashMap::new());
        replay.add(
            "fill_form",
            json!({"fields": [{"selector": "e7", "value": "<secret>A</secret>"}]}),
            &[],
            &HashMap::new(),
        );
        replay.add("evaluate", json!({"script": format!("log('{MASK}')")}), &[], &HashMap::new());
        assert_eq!(replay.unnamed, [2]);
        assert!(replay.has_secrets);
        assert_eq!(
            replay.steps[0],
            r##"{"tool":"type","arguments":{"selector":"#password","text":{"$env":"PASSWORD_1"}}}"##
        );
        assert!(!replay.steps[1].contains("\"e7\""), "{}", replay.steps[1]);
        assert_eq!(
            replay.steps[2],
            r#"{"tool":"evaluate","arguments":{"script":{"$env":"VALUE_1"}}}"#
        );
        assert_eq!(
            replay.variables[0],
            ("PASSWORD_1".to_owned(), "`text` of step 1, type".to_owned())
        );
    }

    #[test]
    fn refs_are_distinguished_from_other_targets() {
        assert!(["e1", "f2e13"].iter().all(|text| is_ref(text)));
        assert!(["e", "f1", "em", "e1x", "fe1", "#e1"].iter().all(|text| !is_ref(text)));
    }
}
