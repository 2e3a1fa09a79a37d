//! Turns recorded calls into a script that repeats them. A ref identifies an element of one session only, so it is
//! replaced by a target with role and name that matches no other element. Values that the record masks are read
//! from the environment.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::policy::redaction::MASK;

/// Parameters that name elements.
const TARGETS: &[&str] = &["selector", "source", "target"];
/// The role of a line whose children are in a document of their own.
const IFRAME: &str = "iframe";
/// Marks a name or a text that was cut off.
const CUT: char = '…';
/// Begins the placeholder of a secret that was typed by its name.
const SECRET: &str = "<secret>";

/// The steps of a script, made from the calls of a session in their order.
#[derive(Default)]
pub(super) struct Replay {
    /// The target of each ref that a call has shown.
    targets: HashMap<String, Option<String>>,
    pub steps: Vec<String>,
    /// The environment variables that the script needs, each with a description.
    pub variables: Vec<(String, String)>,
    /// Numbers of the steps whose element cannot be named.
    pub unnamed: Vec<usize>,
    pub has_secrets: bool,
}

impl Replay {
    /// Learns the refs of a whole page.
    pub fn see(&mut self, page: &str) {
        let lines: Vec<Line> = page.lines().filter_map(Line::parse).collect();
        for (reference, target) in Tree::of(&lines).targets() {
            self.targets.insert(reference, target);
        }
    }

    /// Learns the refs of a part of a page. A part cannot show whether a role and name are unique, so refs from whole
    /// pages are kept.
    pub fn see_part(&mut self, answer: &str) {
        for text in texts_of(answer) {
            // A description stands alone, or is marked as a change.
            let lines = text.lines().map(|line| line.trim_start_matches(['~', '+', ' ']));
            let lines: Vec<Line> = match text.contains("- ") {
                true => text.lines().filter_map(Line::parse).collect(),
                false => lines.filter_map(|line| Line::parse(&format!("- {line}"))).collect(),
            };
            for (reference, target) in Tree::of(&lines).targets() {
                let known = self.targets.entry(reference).or_default();
                *known = known.take().or(target);
            }
        }
    }

    /// Adds the call of `tool` with these parameters. `told` is its own answer, which describes the element as it was then.
    pub fn add(&mut self, tool: &str, mut arguments: Value, told: &[String]) {
        let answer = told.iter().flat_map(|text| texts_of(text)).collect::<Vec<_>>().join("\n");
        let answer = answer.as_str();
        let unnamed = self.replace_refs(&mut arguments, answer);
        if unnamed {
            self.unnamed.push(self.steps.len() + 1);
        }
        let place = format!("step {}, {tool}", self.steps.len() + 1);
        self.replace_masked(&mut arguments, &place, None);
        self.steps.push(json!({"tool": tool, "arguments": arguments}).to_string());
    }

    /// Replaces the refs in the parameters that name elements; whether one of them has no target.
    fn replace_refs(&self, value: &mut Value, answer: &str) -> bool {
        match value {
            Value::Object(map) => map.iter_mut().fold(false, |unnamed, (key, value)| match value {
                Value::String(target) if TARGETS.contains(&&**key) => {
                    let (replaced, is_unnamed) = self.without_refs(target, answer);
                    *target = replaced;
                    unnamed || is_unnamed
                }
                value => self.replace_refs(value, answer) || unnamed,
            }),
            Value::Array(list) => {
                list.iter_mut().filter_map(|value| self.replace_refs(value, answer).then_some(())).count() > 0
            }
            _ => false,
        }
    }

    /// `target` with a target for each of its parts that is a ref, and whether one of them has none.
    fn without_refs(&self, target: &str, answer: &str) -> (String, bool) {
        let mut is_unnamed = false;
        let parts = target.split(" >> ").map(|part| match part.trim() {
            reference if is_ref(reference) => self.target(reference, answer).unwrap_or_else(|| {
                is_unnamed = true;
                // Matches nothing, and says so.
                format!("text=\"{reference} had no role and name of its own: put a selector here\"")
            }),
            other => other.to_owned(),
        });
        let replaced = parts.collect::<Vec<_>>().join(" >> ");
        (replaced, is_unnamed)
    }

    fn target(&self, reference: &str, answer: &str) -> Option<String> {
        let now = described(answer, reference).filter(|now| !now.name.is_empty());
        match (self.targets.get(reference), now) {
            // The element may have got another name since it was shown.
            (Some(Some(shown)), Some(now)) if !now.is_in(shown) => Some(now.by_role()),
            // One that could not be told from others when it was shown is not exported by its name.
            (Some(shown), _) => shown.clone(),
            (None, now) => now.map(|now| now.by_role()),
        }
    }

    /// Replaces masked values by names of environment variables.
    fn replace_masked(&mut self, value: &mut Value, place: &str, key: Option<&str>) {
        match value {
            Value::String(text) if text.contains(MASK) => {
                let typed = matches!(key, Some("text" | "value")) && text == MASK;
                let name = self.variable(if typed { "PASSWORD" } else { "VALUE" }, place, key);
                *value = json!({ super::call::ENVIRONMENT: name });
            }
            Value::String(text) => self.has_secrets |= text.contains(SECRET),
            Value::Array(list) => list.iter_mut().for_each(|value| self.replace_masked(value, place, key)),
            // The session passed it as a plain object. In a script, it would read a variable of whoever runs it.
            Value::Object(map) if map.len() == 1 && map.contains_key(super::call::ENVIRONMENT) => {
                *value = json!({ super::call::ENVIRONMENT: self.variable("VALUE", place, key) });
            }
            Value::Object(map) => {
                map.iter_mut().for_each(|(key, value)| self.replace_masked(value, place, Some(key)));
            }
            _ => {}
        }
    }

    fn variable(&mut self, kind: &str, place: &str, key: Option<&str>) -> String {
        let number = 1 + self.variables.iter().filter(|(name, _)| name.starts_with(kind)).count();
        let name = format!("{kind}_{number}");
        self.variables.push((name.clone(), format!("`{}` of {place}", key.unwrap_or("a value"))));
        name
    }
}

/// The texts of an answer, which may be JSON.
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

/// The element of `reference` as `text` describes it: `button "Send" [ref=e5]`.
fn described(text: &str, reference: &str) -> Option<Head> {
    let end = text.find(&format!("[ref={reference}]"))?;
    let starts = text[..end].char_indices().filter(|(_, c)| c.is_ascii_lowercase()).map(|(at, _)| at);
    // A role begins a word.
    let words =
        starts.filter(|at| text[..*at].chars().next_back().is_none_or(|before| !before.is_alphanumeric()));
    let heads = words.filter_map(|at| Head::parse(&text[at..]));
    heads.map(|(head, _)| head).find(|head| head.reference.as_deref() == Some(reference))
}

/// Role, name and ref of an element.
#[derive(Debug, PartialEq)]
struct Head {
    role: String,
    name: String,
    reference: Option<String>,
}

impl Head {
    /// Reads `role "name" [state] [ref=e5]`, and gives what follows.
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
        }
        while let Some((attribute, after)) = rest.strip_prefix(" [").and_then(|rest| rest.split_once(']')) {
            head.reference = attribute.strip_prefix("ref=").map(str::to_owned).or(head.reference);
            rest = after;
        }
        Some((head, rest))
    }

    /// Whether the target `shown` has this role and name.
    fn is_in(&self, shown: &str) -> bool {
        match self.name.strip_suffix(CUT) {
            Some(beginning) => {
                shown.contains(&format!("role={}[name", self.role))
                    && shown.contains(escaped(beginning).trim_end_matches('"'))
            }
            None => shown.ends_with(&self.by_role()),
        }
    }

    fn by_role(&self) -> String {
        let (role, name) = (&self.role, &self.name);
        match name.strip_suffix(CUT) {
            _ if name.is_empty() => format!("role={role}"),
            Some(beginning) => format!("role={role}[name*={}]", escaped(beginning)),
            None => format!("role={role}[name={}]", escaped(name)),
        }
    }
}

fn escaped(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A line of a snapshot.
struct Line {
    indent: usize,
    role: String,
    name: String,
    reference: Option<String>,
    /// The text that follows the element's head.
    text: String,
}

impl Line {
    /// `  - button "Send" [ref=e5]: …`
    fn parse(line: &str) -> Option<Self> {
        let rest = line.trim_start();
        let indent = line.len() - rest.len();
        let rest = rest.strip_prefix("- ")?;
        // YAML quotes a key that could be misread.
        let unquoted =
            rest.strip_prefix('\'').and_then(|rest| rest.split_once("':").or(rest.split_once('\'')));
        let (head, text) = match unquoted {
            Some((head, text)) => (Head::parse(&head.replace("''", "'"))?.0, text.to_owned()),
            None => {
                let (head, text) = Head::parse(rest)?;
                (head, text.split_once(':').map_or("", |(_, text)| text).to_owned())
            }
        };
        let Head { role, name, reference } = head;
        let text = text.trim().trim_matches(['"', '\'']).trim_end_matches(CUT).to_owned();
        Some(Self { indent, role, name, reference, text })
    }

    fn head(&self) -> Head {
        Head { role: self.role.clone(), name: self.name.clone(), reference: None }
    }

    /// The text that distinguishes its field from others.
    fn label(&self) -> &str {
        if self.name.is_empty() { &self.text } else { &self.name }
    }
}

/// The elements of a snapshot and how they contain each other.
struct Tree<'a> {
    lines: &'a [Line],
    /// Of each line, the line that contains it.
    parents: Vec<Option<usize>>,
    /// Of each line, the iframe that it is in.
    frames: Vec<Option<usize>>,
    /// How many lines of a frame have the same role and name.
    counts: HashMap<(Option<usize>, &'a str, &'a str), usize>,
}

impl<'a> Tree<'a> {
    fn of(lines: &'a [Line]) -> Self {
        let (mut parents, mut frames): (Vec<Option<usize>>, Vec<Option<usize>>) = Default::default();
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

    /// Each ref with its target.
    fn targets(&self) -> Vec<(String, Option<String>)> {
        let refs = self.lines.iter().enumerate();
        refs.filter_map(|(at, line)| Some((line.reference.clone()?, self.target(at)))).collect()
    }

    /// A target that means the line `at` and no other; `None` where role, name and text cannot tell it from others.
    fn target(&self, at: usize) -> Option<String> {
        let target = self.in_frame(at)?;
        match self.frames[at] {
            Some(frame) => Some(format!("{} >>> {target}", self.target(frame)?)),
            None => Some(target),
        }
    }

    fn in_frame(&self, at: usize) -> Option<String> {
        let line = &self.lines[at];
        let own = line.head().by_role();
        if self.is_unique(at) {
            return Some(own);
        }
        if line.name.is_empty() && !line.text.is_empty() && self.is_only_text(at) {
            return Some(match &*line.role {
                "generic" => format!("text={}", escaped(&line.text)),
                _ => format!("{own} >> has-text={}i", escaped(&line.text)),
            });
        }
        let mut above = self.parents[at];
        while let Some(container) = above.filter(|container| Some(*container) != self.frames[at]) {
            let is_alone = self.below(container).filter(|inner| self.is_same(*inner, at)).count() == 1;
            if is_alone && let Some(scope) = self.scope(container, at) {
                return Some(format!("{scope} >> {own}"));
            }
            above = self.parents[container];
        }
        None
    }

    /// A target for the container of the line `at`.
    fn scope(&self, container: usize, at: usize) -> Option<String> {
        let line = &self.lines[container];
        let role = line.head().by_role();
        if !line.name.is_empty() {
            return self.is_unique(container).then_some(role);
        }
        let same = |other: &usize| self.is_same(*other, container);
        let others: Vec<usize> =
            (0..self.lines.len()).filter(same).filter(|other| *other != container).collect();
        let is_elsewhere = |label: &str| {
            others.iter().any(|other| {
                let mut within = std::iter::once(*other).chain(self.below(*other));
                within.any(|inner| self.lines[inner].label().to_lowercase().contains(label))
            })
        };
        let labels = std::iter::once(container).chain(self.below(container)).filter(|inner| *inner != at);
        let labels = labels
            .map(|inner| self.lines[inner].label())
            .filter(|label| !label.is_empty() && !label.ends_with(CUT));
        labels
            .into_iter()
            .find(|label| !is_elsewhere(&label.to_lowercase()))
            .map(|label| format!("{role} >> has-text={}i", escaped(label)))
    }

    fn is_same(&self, one: usize, other: usize) -> bool {
        let key = |at: usize| (self.frames[at], &self.lines[at].role, &self.lines[at].name);
        key(one) == key(other)
    }

    fn is_unique(&self, at: usize) -> bool {
        let line = &self.lines[at];
        self.counts.get(&(self.frames[at], &*line.role, &*line.name)) == Some(&1)
    }

    fn is_only_text(&self, at: usize) -> bool {
        let text = self.lines[at].text.to_lowercase();
        let holds = |line: &&Line| line.label().to_lowercase().contains(&text);
        self.lines.iter().filter(holds).count() == 1
    }

    /// The lines that the line `at` contains.
    fn below(&self, at: usize) -> impl Iterator<Item = usize> {
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

    #[test]
    fn a_ref_becomes_a_target_of_role_and_name_that_means_one_element() {
        let mut replay = Replay::default();
        replay.see(PAGE);
        let target = |reference: &str| replay.target(reference, "");
        for (reference, wanted) in [
            ("e3", r#"role=listitem >> has-text="Alice"i >> role=button[name="Delete"]"#),
            ("e5", r#"role=listitem >> has-text="Bob"i >> role=button[name="Delete"]"#),
            ("e9", r#"role=row >> has-text="Ben"i >> role=button[name="Say \"x\""]"#),
            ("e11", r#"role=region[name="Left"] >> role=textbox[name="Name"]"#),
            ("e14", r#"role=link[name="a: b"]"#),
            ("e15", r#"text="click me""#),
            ("f1e1", r#"role=iframe[name="In"] >>> role=button[name="Delete"]"#),
        ] {
            assert_eq!(target(reference).as_deref(), Some(wanted), "{reference}");
        }
        for reference in ["e18", "e16", "e99"] {
            assert_eq!(target(reference), None, "{reference}");
        }
        // The answer of its own call does not tell it from others, either.
        for reference in ["e18", "e16"] {
            let described = format!("Clicked button \"Delete\" [ref={reference}]");
            assert_eq!(replay.target(reference, &described), None, "{reference}");
        }
    }

    #[test]
    fn a_recorded_object_reads_no_variable_of_the_person_who_runs_the_script() {
        let mut replay = Replay::default();
        replay.add("evaluate", json!({"script": "f", "args": [{"$env": "AWS_SECRET_ACCESS_KEY"}]}), &[]);
        assert_eq!(replay.variables, [("VALUE_1".to_owned(), "`args` of step 1, evaluate".to_owned())]);
        assert!(replay.steps[0].contains(r#"[{"$env":"VALUE_1"}]"#), "{}", replay.steps[0]);
    }

    #[test]
    fn the_name_at_the_time_of_the_call_counts() {
        let mut replay = Replay::default();
        replay.see("- button \"Play\" [ref=e1]");
        let now = "Clicked button \"Pause\" [active] [ref=e1]";
        assert_eq!(replay.target("e1", now).as_deref(), Some(r#"role=button[name="Pause"]"#));
        replay.see(&format!("- button \"{}\" [ref=e2]", "x".repeat(100)));
        let long = replay.target("e2", &format!("Clicked button \"{}…\" [ref=e2]", "x".repeat(80)));
        assert_eq!(long, replay.target("e2", ""));
    }

    #[test]
    fn what_is_masked_or_has_no_name_is_not_replayed() {
        let mut replay = Replay::default();
        replay.add("type", json!({"selector": "#password", "text": MASK}), &[]);
        replay.add("fill_form", json!({"fields": [{"selector": "e7", "value": "<secret>A</secret>"}]}), &[]);
        replay.add("evaluate", json!({"script": format!("log('{MASK}')")}), &[]);
        assert_eq!(replay.unnamed, [2]);
        assert!(replay.has_secrets);
        assert_eq!(
            replay.steps[0],
            r##"{"tool":"type","arguments":{"selector":"#password","text":{"$env":"PASSWORD_1"}}}"##
        );
        assert!(!replay.steps[1].contains("\"e7\""), "{}", replay.steps[1]);
        assert_eq!(replay.steps[2], r#"{"tool":"evaluate","arguments":{"script":{"$env":"VALUE_1"}}}"#);
        assert_eq!(replay.variables[0], ("PASSWORD_1".to_owned(), "`text` of step 1, type".to_owned()));
    }

    #[test]
    fn refs_are_told_from_other_targets() {
        assert!(["e1", "f2e13"].iter().all(|text| is_ref(text)));
        assert!(["e", "f1", "em", "e1x", "fe1", "#e1"].iter().all(|text| !is_ref(text)));
    }
}
