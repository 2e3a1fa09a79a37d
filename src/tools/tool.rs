//! The row of a tool.

use std::{
    borrow::Cow,
    future::Future,
    ops::Deref,
    pin::Pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{
    answer::{Answer, AnswerKind, IntoAnswer},
    parameters, pass_through,
    playwright::PlaywrightHandler,
    typed::{self, TypedPath},
    user_question::QuestionHandler,
};
use crate::{
    config::{Config, NO_LIMIT, SecurityConfig},
    error::Result,
    page::{ChangedFields, Page},
    session::{Connection, Session, SessionManager},
    upstream::UpstreamTool,
};

/// Tools that belong together; `--tools group:network` names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    Session,
    Navigation,
    Pages,
    Interaction,
    Extraction,
    Network,
    Batch,
    Element,
    Record,
    Person,
    /// Those of the upstream server.
    Upstream,
    /// Those of the Playwright set, by the capability that enables them.
    Playwright(&'static str),
}

impl Group {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Navigation => "navigation",
            Self::Pages => "pages",
            Self::Interaction => "interaction",
            Self::Extraction => "extraction",
            Self::Network => "network",
            Self::Batch => "batch",
            Self::Element => "element",
            Self::Record => "record",
            Self::Person => "person",
            Self::Upstream => "upstream",
            Self::Playwright(_) => "playwright",
        }
    }
}

/// The properties of a tool that a client can rely on (MCP's annotations).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
}

/// A call to a tool that needs no page.
#[derive(Clone)]
pub(super) struct ServerCall {
    pub manager: Arc<SessionManager>,
    pub connection: Arc<Connection>,
    pub question_handler: Arc<dyn QuestionHandler>,
}

/// A call to a tool that works on a page.
#[derive(Clone)]
pub(super) struct PageCall {
    pub session: Arc<Session>,
    pub page: Arc<Page>,
    pub config: Arc<Config>,
    pub ref_id: String,
    /// Whether a result that shows another document contains an overview of it.
    pub overview: bool,
    /// Whether an action is the first on a document that the client has not been shown.
    pub is_new: bool,
    pub server: ServerCall,
    /// Set by calls that enter text: for each field, whether it is for a password.
    pub entered: Arc<OnceLock<ChangedFields>>,
}

impl PageCall {
    /// Returns how long this call waits for an element: `given` milliseconds, where 0 means no
    /// limit, as in Playwright, or else the configured default.
    pub fn action_timeout(&self, given: Option<u64>) -> Duration {
        timeout(given, self.config.timeout_action)
    }

    /// Returns how long this call waits for a document, with the same meaning of `given`.
    pub fn navigation_timeout(&self, given: Option<u64>) -> Duration {
        timeout(given, self.config.timeout_navigation)
    }
}

fn timeout(given: Option<u64>, default: Duration) -> Duration {
    match given {
        None => default,
        Some(0) => NO_LIMIT,
        Some(millis) => Duration::from_millis(millis).min(NO_LIMIT),
    }
}

/// A call to a tool that works on a session as a whole.
#[derive(Clone)]
pub(super) struct SessionCall {
    pub session: Arc<Session>,
    /// As in [`PageCall`].
    pub overview: bool,
    pub config: Arc<Config>,
}

type ToolFuture = Pin<Box<dyn Future<Output = Result<Answer>> + Send>>;

/// Reads the parameters of a call and starts its handler.
type BoxedHandler<C> = Box<dyn Fn(C, Value) -> Result<ToolFuture> + Send + Sync>;

/// The future of a handler.
pub(super) trait HandlerFuture:
    Future<Output = Result<<Self as HandlerFuture>::Answer>> + Send + 'static
{
    type Answer: IntoAnswer;
}

impl<A: IntoAnswer, F: Future<Output = Result<A>> + Send + 'static> HandlerFuture for F {
    type Answer = A;
}

/// How a tool is run.
pub(super) enum ToolRunner {
    Server(BoxedHandler<ServerCall>),
    Session(BoxedHandler<SessionCall>),
    Page(BoxedHandler<PageCall>),
    /// A tool of the Playwright set.
    Playwright(PlaywrightHandler),
    /// The registry runs the steps as separate calls.
    Batch,
    /// The registry runs the steps of a script as separate calls.
    Script,
    /// Run by the upstream server of the session. `session`: the parameters that can name the
    /// session.
    Upstream {
        session: Vec<&'static str>,
    },
}

/// The effect of a call on the lifetime of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LifecycleEffect {
    Create,
    Resume,
    Close,
}

impl LifecycleEffect {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Resume => "resume",
            Self::Close => "close",
        }
    }
}

/// An option of the configuration that can disable a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Switch {
    /// The option's flag without dashes.
    pub option: &'static str,
    pub is_on: fn(&SecurityConfig) -> bool,
    /// Whether the command of the tool works without the option.
    pub is_on_for_commands: bool,
    pub suggestion: &'static str,
}

/// A command of the command line that calls the tool. Its options are the tool's parameters.
#[derive(Debug, Clone, Copy)]
pub struct CommandRow {
    pub name: &'static str,
    /// The parameters that are positional, in order.
    pub positional: &'static [&'static str],
    /// A complete command, for the help and the skill.
    pub example: &'static str,
}

/// Everything that other modules need to know about a tool except its schemas. No other place names
/// a tool to decide how to treat it (`names.rs` checks that).
#[derive(Debug, Clone, Copy)]
pub struct Properties {
    pub hints: Hints,
    /// Changes no page and nothing that a site stores, although it is not read-only.
    harmless: bool,
    /// Works while a dialog blocks the page.
    pub(super) works_in_dialog: bool,
    /// The call only waits: once it has begun, the next calls of its session run beside it.
    pub(super) is_concurrent: bool,
    /// The reason why the tool cannot be a step of a batch.
    pub(super) not_in_batch: Option<&'static str>,
    /// The result is a snapshot of the page.
    pub is_snapshot: bool,
    /// An exported script repeats the call.
    pub is_replayed: bool,
    pub lifecycle: Option<LifecycleEffect>,
    pub(super) switch: Option<Switch>,
    /// Another name of the tool.
    pub alias: Option<&'static str>,
    /// Fields that the result has under other names too, if the tool is called by its alias.
    pub(super) alias_fields: &'static [(&'static str, &'static str)],
    pub command: Option<CommandRow>,
    /// Whether its command creates the session of its name, if there is none.
    pub opens_session: bool,
    /// The parameters that name files of the client.
    pub files: &'static [&'static str],
    /// Fields of the result that its command prints only with `--json`.
    pub unprinted: &'static [&'static str],
    /// Fields of the result that are masked in the record.
    pub(super) unrecorded: &'static [&'static str],
    /// The parameters that the command reads from the file of the given path.
    pub contents: &'static [&'static str],
}

/// A row of the list.
pub struct Tool {
    pub name: Cow<'static, str>,
    pub group: Group,
    /// One line: what it does and when to use it.
    pub description: Cow<'static, str>,
    pub properties: Properties,
    /// JSON Schema of the parameters.
    pub input: Value,
    /// The parameters that hold text for fields of the page.
    pub(super) typed: Vec<TypedPath>,
    pub answer: AnswerKind,
    /// JSON Schema of the answer, where it is JSON.
    pub output: Option<Value>,
    /// The name of the answer's type; several tools may have the same.
    pub output_type: Option<String>,
    /// The tool as `tools/list` returns it, for tools of an upstream server and of the Playwright
    /// set.
    pub listed: Option<Value>,
    pub(super) run: ToolRunner,
}

impl Tool {
    /// Returns whether the tool can change the contents of a page or the data of its site.
    /// Navigations do not count.
    pub fn changes_pages(&self) -> bool {
        let navigates = matches!(self.group, Group::Navigation | Group::Pages | Group::Person);
        !self.properties.hints.read_only && !navigates && !self.properties.harmless
    }

    /// Returns whether the tool has the parameter `name`.
    pub fn takes(&self, name: &str) -> bool {
        !self.input["properties"][name].is_null()
    }

    /// Returns the option that the server needs to offer the tool, if it does not offer it by
    /// default.
    pub fn needed_option(&self) -> Option<&'static str> {
        let switch = self.properties.switch?;
        (!(switch.is_on)(&Config::default().security)).then_some(switch.option)
    }

    /// Returns whether `name` is the tool's name or its alias.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.properties.alias == Some(name)
    }

    /// Adds to `answer` the fields that a call by `name` returns under other names too.
    pub(super) fn add_alias_fields(&self, name: &str, answer: &mut Answer) {
        let Answer::Json(value) = answer else { return };
        if self.properties.alias == Some(name) {
            for (field, other) in self.properties.alias_fields {
                value[*other] = value[*field].clone();
            }
        }
    }

    /// Returns whether it may change the content of the page.
    pub fn acts_on_page(&self) -> bool {
        matches!(self.group, Group::Navigation | Group::Interaction | Group::Playwright(_))
            && !self.properties.hints.read_only
    }

    /// Returns whether it belongs to the Playwright set.
    pub fn is_playwright(&self) -> bool {
        matches!(self.group, Group::Playwright(_))
    }

    /// Returns whether it works in a session.
    pub fn is_in_session(&self) -> bool {
        matches!(
            self.run,
            ToolRunner::Session(_)
                | ToolRunner::Page(_)
                | ToolRunner::Script
                | ToolRunner::Playwright(_)
                | ToolRunner::Upstream { .. }
        )
    }

    /// Returns whether a script can call it.
    pub fn is_step_in_session(&self) -> bool {
        let Properties { not_in_batch, lifecycle, .. } = self.properties;
        self.takes("sessionId") && not_in_batch.is_none() && lifecycle.is_none()
    }

    /// Creates the row of an upstream tool. Adds the parameter `sessionId`, unless the tool has one
    /// with that name.
    pub(super) fn passed_through(offered: &UpstreamTool) -> Self {
        let mut listed = offered.listed.clone();
        let mut input = listed["inputSchema"].take();
        if !input.is_object() {
            input = json!({"type": "object"});
        }
        let mut session = vec!["sessionId", "session_id"];
        session.retain(|name| input["properties"][name].is_null());
        if let Some(name) = session.first() {
            input["properties"][name] = json!({"type": "string"});
        }
        let destructive = listed["annotations"]["destructiveHint"] == true;
        let description = listed["description"].as_str().unwrap_or_default().to_owned();
        listed["inputSchema"] = input.clone();
        Self {
            name: offered.name.clone().into(),
            group: Group::Upstream,
            description: description.into(),
            properties: Properties {
                hints: Hints { read_only: offered.read_only, destructive },
                works_in_dialog: true,
                ..Properties::default()
            },
            input,
            typed: pass_through::typed_by(&offered.name),
            answer: AnswerKind::PassedThrough,
            output: None,
            output_type: None,
            listed: Some(listed),
            run: ToolRunner::Upstream { session },
        }
    }
}

/// A tool that can be called: a native row, or a tool of the upstream server.
#[derive(Clone)]
pub enum Callable {
    Native(&'static Tool),
    PassedThrough(Arc<Tool>),
}

impl Deref for Callable {
    type Target = Tool;

    fn deref(&self) -> &Tool {
        match self {
            Self::Native(tool) => tool,
            Self::PassedThrough(tool) => tool,
        }
    }
}

/// Starts the row of a tool. One of `server`, `session`, `page`, `batch` or `script` completes it
/// with its function.
pub(super) fn tool(name: &'static str, group: Group, description: &'static str) -> ToolBuilder {
    ToolBuilder { name, group, description, properties: Properties::default() }
}

impl Default for Properties {
    fn default() -> Self {
        Self {
            hints: Hints { read_only: false, destructive: false },
            harmless: false,
            works_in_dialog: false,
            is_concurrent: false,
            not_in_batch: None,
            is_snapshot: false,
            is_replayed: true,
            lifecycle: None,
            switch: None,
            alias: None,
            alias_fields: &[],
            command: None,
            opens_session: false,
            files: &[],
            unprinted: &[],
            unrecorded: &[],
            contents: &[],
        }
    }
}

impl Properties {
    /// Returns the properties of a tool of the Playwright set.
    pub(super) fn of_playwright(
        hints: Hints,
        switch: Option<Switch>,
        lifecycle: Option<LifecycleEffect>,
        harmless: bool,
    ) -> Self {
        Self {
            hints,
            harmless,
            switch,
            lifecycle,
            is_replayed: lifecycle.is_none(),
            works_in_dialog: true,
            ..Self::default()
        }
    }
}

/// A row without its function.
pub(super) struct ToolBuilder {
    name: &'static str,
    group: Group,
    description: &'static str,
    properties: Properties,
}

impl ToolBuilder {
    pub fn read_only(mut self) -> Self {
        self.properties.hints.read_only = true;
        self
    }

    pub fn destructive(mut self) -> Self {
        self.properties.hints.destructive = true;
        self
    }

    pub fn works_in_dialog(mut self) -> Self {
        self.properties.works_in_dialog = true;
        self
    }

    pub fn concurrent(mut self) -> Self {
        self.properties.is_concurrent = true;
        self
    }

    pub fn harmless(mut self) -> Self {
        self.properties.harmless = true;
        self
    }

    pub fn not_in_batch(mut self, reason: &'static str) -> Self {
        self.properties.not_in_batch = Some(reason);
        self
    }

    pub fn snapshot(mut self) -> Self {
        self.properties.is_snapshot = true;
        self
    }

    pub fn not_replayed(mut self) -> Self {
        self.properties.is_replayed = false;
        self
    }

    pub fn unrecorded(mut self, fields: &'static [&'static str]) -> Self {
        self.properties.unrecorded = fields;
        self
    }

    pub fn lifecycle(mut self, lifecycle: LifecycleEffect) -> Self {
        self.properties.lifecycle = Some(lifecycle);
        self.not_replayed()
    }

    pub fn switched_by(mut self, switch: Switch) -> Self {
        self.properties.switch = Some(switch);
        self
    }

    /// Adds another name. A call by this name also returns each of `fields` under its second name.
    pub fn alias(
        mut self,
        name: &'static str,
        fields: &'static [(&'static str, &'static str)],
    ) -> Self {
        self.properties.alias = Some(name);
        self.properties.alias_fields = fields;
        self
    }

    /// Adds the command `name` with the parameters `positional`.
    pub fn command(
        mut self,
        name: &'static str,
        positional: &'static [&'static str],
        example: &'static str,
    ) -> Self {
        self.properties.command = Some(CommandRow { name, positional, example });
        self
    }

    pub fn opens_session(mut self) -> Self {
        self.properties.opens_session = true;
        self
    }

    /// Names the parameters that are paths of the client's files.
    pub fn files(mut self, parameters: &'static [&'static str]) -> Self {
        self.properties.files = parameters;
        self
    }

    /// Names the fields that the command does not print.
    pub fn unprinted(mut self, fields: &'static [&'static str]) -> Self {
        self.properties.unprinted = fields;
        self
    }

    /// Names the parameters for which the command takes the path of a file.
    pub fn contents(mut self, parameters: &'static [&'static str]) -> Self {
        self.properties.contents = parameters;
        self
    }

    /// Ends the row of a tool of the server.
    pub fn server<P: DeserializeOwned + JsonSchema + 'static, F: HandlerFuture>(
        self,
        handler: fn(ServerCall, P) -> F,
    ) -> Tool {
        self.run_with(handler, ToolRunner::Server, &[])
    }

    /// Ends the row of a tool of a session, and adds the parameter `sessionId`.
    pub fn session<P: DeserializeOwned + JsonSchema + 'static, F: HandlerFuture>(
        self,
        handler: fn(SessionCall, P) -> F,
    ) -> Tool {
        self.run_with(handler, ToolRunner::Session, &["sessionId"])
    }

    /// Ends the row of `batch`.
    pub fn batch<P: JsonSchema, A: IntoAnswer>(self) -> Tool {
        let mut input = parameters::schema::<P>();
        parameters::add_common(&mut input, &["sessionId", "pageId"]);
        self.finish::<A>(input, ToolRunner::Batch)
    }

    /// Ends the row of `run_script`.
    pub fn script<P: JsonSchema, A: IntoAnswer>(self) -> Tool {
        let mut input = parameters::schema::<P>();
        parameters::add_common(&mut input, &["sessionId"]);
        self.finish::<A>(input, ToolRunner::Script)
    }

    /// Ends the row of a tool of a page, and adds the parameters `sessionId` and `pageId`.
    pub fn page<P: DeserializeOwned + JsonSchema + 'static, F: HandlerFuture>(
        self,
        handler: fn(PageCall, P) -> F,
    ) -> Tool {
        self.run_with(handler, ToolRunner::Page, &["sessionId", "pageId"])
    }

    /// Ends the row of a tool that `handler` runs, and adds the parameters `common`.
    fn run_with<C: 'static, P: DeserializeOwned + JsonSchema + 'static, F: HandlerFuture>(
        self,
        handler: fn(C, P) -> F,
        runner: fn(BoxedHandler<C>) -> ToolRunner,
        common: &[&str],
    ) -> Tool {
        let name = self.name;
        let run = runner(Box::new(move |call, given| {
            let work = handler(call, parameters::read(name, given)?);
            Ok(Box::pin(async move { Ok(work.await?.into_answer()) }))
        }));
        let mut input = parameters::schema::<P>();
        parameters::add_common(&mut input, common);
        self.finish::<F::Answer>(input, run)
    }

    fn finish<A: IntoAnswer>(self, mut input: Value, run: ToolRunner) -> Tool {
        if let Value::Object(map) = &mut input {
            map.entry("type").or_insert_with(|| json!("object"));
            map.entry("properties").or_insert_with(|| Value::Object(Map::new()));
            map.remove("additionalProperties");
        }
        let typed = typed::take_paths(&mut input);
        let Self { name, group, description, properties } = self;
        let (answer, output, output_type) = (A::KIND, A::schema(), A::type_name());
        let (name, description) = (name.into(), description.into());
        Tool {
            name,
            group,
            description,
            properties,
            input,
            typed,
            answer,
            output,
            output_type,
            listed: None,
            run,
        }
    }
}
