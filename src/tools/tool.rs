//! What a tool is: a row.

use std::{
    borrow::Cow,
    future::Future,
    ops::Deref,
    pin::Pin,
    sync::{Arc, OnceLock},
};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{
    answer::{Answer, AnswerKind, IntoAnswer},
    parameters,
    person::Person,
};
use crate::{
    config::Config,
    error::Result,
    page::{Entered, Page},
    session::{Connection, Session, SessionManager},
    upstream::Offered,
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
        }
    }
}

/// What a client may assume of a tool (MCP's annotations).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
}

/// A call to a tool that needs no page.
pub(super) struct ServerCall {
    pub manager: Arc<SessionManager>,
    pub connection: Arc<Connection>,
    pub person: Arc<dyn Person>,
}

/// A call to a tool that works on a page.
#[derive(Clone)]
pub(super) struct PageCall {
    pub session: Arc<Session>,
    pub page: Arc<Page>,
    pub config: Arc<Config>,
    /// Told by calls that enter text: of each field, whether it is for a password.
    pub entered: Arc<OnceLock<Entered>>,
}

/// A call to a tool that works on a session as a whole.
#[derive(Clone)]
pub(super) struct SessionCall {
    pub session: Arc<Session>,
    pub config: Arc<Config>,
}

type Work = Pin<Box<dyn Future<Output = Result<Answer>> + Send>>;

/// How a tool is run.
pub(super) enum Run {
    Server(Box<dyn Fn(ServerCall, Value) -> Result<Work> + Send + Sync>),
    Session(Box<dyn Fn(SessionCall, Value) -> Result<Work> + Send + Sync>),
    Page(Box<dyn Fn(PageCall, Value) -> Result<Work> + Send + Sync>),
    /// The steps are calls themselves: the registry runs them.
    Batch,
    /// By the upstream server of its session, which a call names by any of these parameters.
    Upstream {
        session: Vec<&'static str>,
    },
}

/// A row of the list.
pub struct Tool {
    pub name: Cow<'static, str>,
    pub group: Group,
    /// One line: what it does and when to use it.
    pub description: Cow<'static, str>,
    pub hints: Hints,
    /// JSON Schema of the parameters.
    pub input: Value,
    pub answer: AnswerKind,
    /// JSON Schema of the answer, where it is JSON.
    pub output: Option<Value>,
    /// As the upstream server lists it, if it is one of that.
    pub listed: Option<Value>,
    /// Whether it works while a dialog holds the page up.
    pub(super) works_in_dialog: bool,
    pub(super) run: Run,
}

impl Tool {
    /// Whether it can change what is in a page, or what its site keeps. A navigation only shows what is there.
    pub fn changes_pages(&self) -> bool {
        const HARMLESS: &[&str] = &[
            "create_session",
            "close_session",
            "session_resume",
            "save_state",
            "save_pdf",
            "batch",
            "handle_dialog",
        ];
        let leads = matches!(self.group, Group::Navigation | Group::Pages | Group::Person);
        !self.hints.read_only && !leads && !HARMLESS.contains(&&*self.name)
    }

    /// Whether it works in a session.
    pub fn is_in_session(&self) -> bool {
        matches!(self.run, Run::Session(_) | Run::Page(_) | Run::Upstream { .. })
    }

    /// A tool of the upstream server. It takes `sessionId` too, unless that is a parameter of its own.
    pub(super) fn passed_through(offered: &Offered) -> Self {
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
            hints: Hints { read_only: offered.read_only, destructive },
            input,
            answer: AnswerKind::Passed,
            output: None,
            listed: Some(listed),
            works_in_dialog: true,
            run: Run::Upstream { session },
        }
    }
}

/// A tool that can be called: a row of the list, or one of the upstream server.
#[derive(Clone)]
pub enum Callable {
    Native(&'static Tool),
    Passed(Arc<Tool>),
}

impl Deref for Callable {
    type Target = Tool;

    fn deref(&self) -> &Tool {
        match self {
            Self::Native(tool) => tool,
            Self::Passed(tool) => tool,
        }
    }
}

/// Begins a row; `server` or `page` with its function ends it.
pub(super) fn tool(name: &'static str, group: Group, description: &'static str) -> Row {
    Row {
        name,
        group,
        description,
        hints: Hints { read_only: false, destructive: false },
        works_in_dialog: false,
    }
}

/// A row that lacks its function.
pub(super) struct Row {
    name: &'static str,
    group: Group,
    description: &'static str,
    hints: Hints,
    works_in_dialog: bool,
}

impl Row {
    pub fn read_only(mut self) -> Self {
        self.hints.read_only = true;
        self
    }

    pub fn destructive(mut self) -> Self {
        self.hints.destructive = true;
        self
    }

    pub fn works_in_dialog(mut self) -> Self {
        self.works_in_dialog = true;
        self
    }

    /// A tool of the server.
    pub fn server<P, A, F>(self, handler: fn(ServerCall, P) -> F) -> Tool
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        A: IntoAnswer,
        F: Future<Output = Result<A>> + Send + 'static,
    {
        let name = self.name;
        let run = Run::Server(Box::new(move |call, given| {
            let work = handler(call, parameters::read(name, given)?);
            Ok(Box::pin(async move { Ok(work.await?.into_answer()) }))
        }));
        self.finish::<A>(parameters::schema::<P>(), run)
    }

    /// A tool of a session: takes `sessionId` too.
    pub fn session<P, A, F>(self, handler: fn(SessionCall, P) -> F) -> Tool
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        A: IntoAnswer,
        F: Future<Output = Result<A>> + Send + 'static,
    {
        let name = self.name;
        let run = Run::Session(Box::new(move |call, given| {
            let work = handler(call, parameters::read(name, given)?);
            Ok(Box::pin(async move { Ok(work.await?.into_answer()) }))
        }));
        let mut input = parameters::schema::<P>();
        parameters::add_common(&mut input, &["sessionId"]);
        self.finish::<A>(input, run)
    }

    /// The tool that is made of others.
    pub fn batch<P: JsonSchema, A: IntoAnswer>(self) -> Tool {
        let mut input = parameters::schema::<P>();
        parameters::add_common(&mut input, &["sessionId", "pageId"]);
        self.finish::<A>(input, Run::Batch)
    }

    /// A tool of a page: takes `sessionId` and `pageId` too.
    pub fn page<P, A, F>(self, handler: fn(PageCall, P) -> F) -> Tool
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        A: IntoAnswer,
        F: Future<Output = Result<A>> + Send + 'static,
    {
        let name = self.name;
        let run = Run::Page(Box::new(move |call, given| {
            let work = handler(call, parameters::read(name, given)?);
            Ok(Box::pin(async move { Ok(work.await?.into_answer()) }))
        }));
        let mut input = parameters::schema::<P>();
        parameters::add_common(&mut input, &["sessionId", "pageId"]);
        self.finish::<A>(input, run)
    }

    fn finish<A: IntoAnswer>(self, mut input: Value, run: Run) -> Tool {
        if let Value::Object(map) = &mut input {
            map.entry("type").or_insert_with(|| json!("object"));
            map.entry("properties").or_insert_with(|| Value::Object(Map::new()));
            map.remove("additionalProperties");
        }
        let Self { name, group, description, hints, works_in_dialog } = self;
        let (answer, output) = (A::KIND, A::schema());
        let (name, description) = (name.into(), description.into());
        Tool { name, group, description, hints, input, answer, output, listed: None, works_in_dialog, run }
    }
}
