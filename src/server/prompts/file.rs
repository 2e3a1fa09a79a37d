//! The file format of a prompt: YAML with a Handlebars template.

use std::collections::HashSet;

use handlebars::{
    Handlebars, Template,
    template::{Parameter, TemplateElement},
};
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::print;

/// Maximum size of a prompt file in bytes.
const MAX_FILE_SIZE: usize = 256 * 1024;
/// The name under which each template is registered. Error messages contain it.
pub(super) const TEMPLATE: &str = "prompt";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptFile {
    name: Spanned<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    arguments: Vec<ArgumentEntry>,
    template: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArgumentEntry {
    name: Spanned<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    required: bool,
    default: Option<String>,
}

/// A prompt that can be rendered.
pub struct Prompt {
    pub name: String,
    pub description: String,
    pub arguments: Vec<PromptArgument>,
    pub(super) template: Handlebars<'static>,
}

pub struct PromptArgument {
    pub name: String,
    pub description: String,
    pub required: bool,
    pub default: Option<String>,
    /// The template iterates over it, so it must be a JSON object or array.
    pub(super) is_json: bool,
}

impl PromptArgument {
    /// Returns whether it is a password. A password is not inserted into the text, because the
    /// caller knows it.
    pub(super) fn is_secret(&self) -> bool {
        let name = self.name.to_lowercase();
        ["password", "passphrase", "secret"].iter().any(|word| name.ends_with(word))
    }
}

/// An error in a file, and its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct FileError {
    pub line: Option<u64>,
    pub problem: String,
}

impl FileError {
    fn at(line: u64, problem: impl Into<String>) -> Self {
        Self { line: Some(line), problem: problem.into() }
    }
}

impl Prompt {
    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        if text.len() > MAX_FILE_SIZE {
            return Err(FileError {
                line: None,
                problem: format!("it has more than {MAX_FILE_SIZE} bytes"),
            });
        }
        let written: PromptFile = serde_saphyr::from_str(text).map_err(|error| FileError {
            line: error.location().map(|location| location.line()),
            problem: yaml_problem(&error.without_snippet().to_string()),
        })?;
        let line = |location: &serde_saphyr::Location| location.line();
        let is_name = |name: &str| {
            !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control())
        };
        if !is_name(&written.name.value) {
            return Err(FileError::at(
                line(&written.name.referenced),
                format!("`{}` is not a name: it must be one word", written.name.value),
            ));
        }
        let mut names = HashSet::new();
        for argument in &written.arguments {
            let name = argument.name.value.as_str();
            let at = line(&argument.name.referenced);
            // A name that is valid in a template.
            if !is_name(name) || !name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
            {
                return Err(FileError::at(
                    at,
                    format!("`{name}` cannot be the name of an argument"),
                ));
            }
            if !names.insert(name) {
                return Err(FileError::at(at, format!("the argument `{name}` is defined twice")));
            }
        }
        let mut compiled = Template::compile(&written.template.value).map_err(|error| {
            // A block begins in the line after its key.
            let begin = line(&written.template.referenced);
            let is_block = text
                .lines()
                .nth(usize::try_from(begin).unwrap_or(1) - 1)
                .is_some_and(ends_in_block);
            // The parser reports an unclosed block at the end of the file.
            let lines = written.template.value.lines().count().max(1);
            let inside = error.pos().map_or(1, |(line, _)| line.min(lines)) as u64;
            let reason = error.reason().to_string();
            // Omits the list of everything that the parser expected.
            let reason = reason.split(": expected ").next().unwrap_or_default();
            FileError::at(
                begin + inside - u64::from(!is_block),
                format!("the template does not compile: {reason}"),
            )
        })?;
        let iterated = iterated(&compiled);
        print::prepare(&mut compiled);
        let mut template = Handlebars::new();
        // It is text for a model, not HTML.
        template.register_escape_fn(handlebars::no_escape);
        template.register_template(TEMPLATE, compiled);
        let arguments = written.arguments.into_iter().map(|argument| PromptArgument {
            is_json: iterated.contains(&argument.name.value),
            name: argument.name.value,
            description: argument.description,
            required: argument.required,
            default: argument.default,
        });
        Ok(Self {
            name: written.name.value,
            description: written.description,
            arguments: arguments.collect(),
            template,
        })
    }
}

/// Returns whether a line of YAML ends with a block indicator (`|`, `>-`): the block begins in the
/// next line.
fn ends_in_block(line: &str) -> bool {
    let mark = line.trim_end().rsplit([' ', ':']).next().unwrap_or_default();
    mark.starts_with(['|', '>'])
}

/// Returns the names that the template iterates over at its top level: `{{#each name}}`.
fn iterated(template: &Template) -> HashSet<String> {
    let blocks = template.elements.iter().filter_map(|element| match element {
        TemplateElement::HelperBlock(block) => Some(block),
        _ => None,
    });
    blocks
        .filter(|block| {
            matches!(&block.name, Parameter::Name(name) if name == "each")
                || block.name.as_name() == Some("each")
        })
        .filter_map(|block| block.params.first()?.as_name().map(str::to_owned))
        .collect()
}

/// Returns the message of a parser's error, without the position at its beginning.
fn yaml_problem(error: &str) -> String {
    let line = error.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    line.split(" at line ").next().unwrap_or_default().to_owned()
}
