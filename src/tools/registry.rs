//! The list of tools, and how a call to one is run: checked, admitted to its session, timed by nobody but
//! the tool itself.

use std::{
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
    time::Instant,
};

use serde_json::{Map, Value};
use tokio::sync::OwnedMutexGuard;

use super::{
    answer::{Answer, Outcome},
    batch::{self, BatchParameters},
    budget,
    calls::Calls,
    element, extraction, interaction, navigation, network, parameters, passed,
    person::{self, Person},
    progress::Progress,
    record,
    recorder::{self, Recording, redact},
    sessions,
    tool::{Callable, Group, PageCall, Run, ServerCall, SessionCall, Tool},
};
use crate::{
    config::{Config, Responses},
    engine,
    error::{ErrorCode, Result, TroupeError},
    page::Entered,
    policy::vault::Vault,
    session::{Backend, Browsers, Clock, Connection, Session, SessionManager, SystemClock, Turn},
    store::Store,
    upstream::{Offered, Upstreams},
};

/// Every native tool, in the order in which they are listed.
static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let mut tools = sessions::tools();
    tools.extend(navigation::tools());
    tools.extend(interaction::tools());
    tools.extend(extraction::tools());
    tools.extend(element::tools());
    tools.extend(network::tools());
    tools.extend(record::tools());
    tools.extend(person::tools());
    tools.extend(batch::tools());
    tools
});

/// Names of seed 002.
const ALIASES: &[(&str, &str)] = &[("create_new_session", "create_session")];

/// No tool has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown tool `{name}`{}", near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
pub struct UnknownTool {
    pub name: String,
    pub near: Option<String>,
}

/// A call as it arrives.
pub struct Invocation {
    pub tool: String,
    pub arguments: Value,
    pub connection: Arc<Connection>,
    /// Its place among the calls of its connection, where those can overtake each other.
    pub turn: Option<Turn>,
    /// The id that the call has, where its client has given it one.
    pub ref_id: Option<String>,
    /// The session whose turn the call has already, as a step of a batch.
    pub held: Option<Arc<Session>>,
    /// Whether results of any length are taken: by a program. An agent's are cut to the result budget.
    pub whole: bool,
    /// Who is asked where a person must decide.
    pub person: Arc<dyn Person>,
    /// Where it is told how far the call has come.
    pub progress: Progress,
}

impl Invocation {
    /// A call of `connection` to `tool`.
    pub fn new(connection: Arc<Connection>, tool: impl Into<String>, arguments: Value) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            connection,
            turn: None,
            ref_id: None,
            held: None,
            whole: false,
            person: person::nobody(),
            progress: Progress::default(),
        }
    }
}

/// The tools that a server offers.
pub struct Registry {
    manager: Arc<SessionManager>,
    listed: Vec<&'static Tool>,
    upstreams: Option<Arc<Upstreams>>,
    passed: Mutex<PassedTools>,
    calls: Calls,
    vault: Arc<Vault>,
}

/// The upstream server's tools as rows, and the list that they were made of.
#[derive(Default)]
struct PassedTools {
    offered: Arc<Vec<Offered>>,
    rows: Vec<Arc<Tool>>,
}

impl Registry {
    /// A server's whole inside: the engine, the sessions, the tools that the configuration lists.
    pub fn open(config: Arc<Config>) -> Result<Self> {
        let upstreams = Upstreams::open(&config)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let backend: Arc<dyn Backend> = match &upstreams {
            Some(upstreams) => upstreams.clone(),
            None => Browsers::new(config.clone(), engine::for_config(config.clone())?, clock.clone()),
        };
        let store = Store::open(&config)?;
        let registry = Self::new(SessionManager::new(config, backend, clock, store))?;
        Ok(Self { upstreams, ..registry })
    }

    /// What is wrong with a configuration, without starting anything.
    pub fn check(config: &Arc<Config>) -> Result<()> {
        if Upstreams::open(config)?.is_none() {
            engine::for_config(config.clone())?;
        }
        Vault::open(config)?;
        select(config).map(drop)
    }

    /// The same with a browser in memory, for tests.
    #[cfg(feature = "testing")]
    pub fn in_memory(config: Arc<Config>, clock: Arc<dyn Clock>) -> Result<Self> {
        let engine = Arc::new(engine::memory::MemoryEngine::default());
        let browsers = Browsers::new(config.clone(), engine, clock.clone());
        Self::new(SessionManager::new(config, browsers, clock, Store::none()?))
    }

    /// The tools that the configuration lists.
    pub fn new(manager: Arc<SessionManager>) -> Result<Self> {
        let listed = select(manager.config())?;
        let vault = manager.vault()?;
        let (passed, calls) = Default::default();
        Ok(Self { manager, listed, upstreams: None, passed, calls, vault })
    }

    /// The servers that serve the sessions, where no engine of ours does.
    pub fn upstreams(&self) -> Option<&Arc<Upstreams>> {
        self.upstreams.as_ref()
    }

    pub fn manager(&self) -> &Arc<SessionManager> {
        &self.manager
    }

    /// What there was of calls.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Those of the tools that are always there.
    pub fn tools(&self) -> &[&'static Tool] {
        &self.listed
    }

    /// Those of the upstream server, which is started where it has not told them yet. A name that is one of ours means
    /// ours.
    pub async fn passed_tools(&self) -> Result<Vec<Arc<Tool>>> {
        if let Some(upstreams) = &self.upstreams {
            upstreams.tools().await?;
        }
        Ok(self.known_passed_tools())
    }

    /// The same, as far as they are known by now.
    fn known_passed_tools(&self) -> Vec<Arc<Tool>> {
        let Some(upstreams) = &self.upstreams else { return Vec::new() };
        let offered = upstreams.known_tools();
        let config = self.manager.config();
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&passed.offered, &offered) {
            let tools = offered.iter().map(Tool::passed_through);
            let tools = tools.filter(|tool| is_chosen(config, tool) && self.native(&tool.name).is_none());
            *passed = PassedTools { rows: tools.map(Arc::new).collect(), offered: offered.clone() };
        }
        passed.rows.clone()
    }

    /// Every native tool, whatever is listed.
    pub fn all() -> &'static [Tool] {
        &TOOLS
    }

    /// Whether the tool `name` takes `parameter`.
    pub fn takes(&self, name: &str, parameter: &str) -> bool {
        self.known(name).is_some_and(|tool| !tool.input["properties"][parameter].is_null())
    }

    /// Whether the tool `name` is the upstream server's.
    pub fn is_passed(&self, name: &str) -> bool {
        self.upstreams.is_some() && self.native(name).is_none()
    }

    /// Whether the tool `name` works in a session.
    pub(super) fn is_in_session(&self, name: &str) -> bool {
        self.known(name).is_some_and(|tool| tool.is_in_session())
    }

    fn native(&self, name: &str) -> Option<&'static Tool> {
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
        self.listed.iter().find(|tool| tool.name == name).copied()
    }

    /// The tool `name`, as far as tools are known by now.
    fn known(&self, name: &str) -> Option<Callable> {
        let passed = || self.known_passed_tools().into_iter().find(|tool| tool.name == name);
        self.native(name).map(Callable::Native).or_else(|| passed().map(Callable::Passed))
    }

    /// The tool `name`; where the upstream server's are not to be had, any other name may be one of them.
    async fn find(&self, name: &str) -> Result<Result<Callable>, UnknownTool> {
        if let Some(known) = self.known(name) {
            return Ok(Ok(known));
        }
        let passed = match self.passed_tools().await {
            Ok(passed) => passed,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(tool) = passed.iter().find(|tool| tool.name == name) {
            return Ok(Ok(Callable::Passed(tool.clone())));
        }
        let names = self.listed.iter().map(|tool| &*tool.name).chain(passed.iter().map(|tool| &*tool.name));
        let near = crate::config::nearest(name, names);
        Err(UnknownTool { name: name.to_owned(), near: near.map(str::to_owned) })
    }

    /// Runs one call to its end. Dropped, it stops where it is.
    pub async fn call(&self, invocation: Invocation) -> Result<Outcome, UnknownTool> {
        let found = self.find(&invocation.tool).await?;
        let begun = Instant::now();
        let config = self.manager.config();
        let mut outcome = Outcome {
            ref_id: invocation.ref_id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
            session_id: None,
            page_id: None,
            result: Err(TroupeError::new(ErrorCode::InternalError, "the call was not run")),
            recorded: None,
            reference: None,
        };
        let tool = match found {
            Ok(tool) => tool,
            Err(error) => {
                invocation.connection.pass(invocation.turn).await;
                return Ok(Outcome { result: Err(error), ..outcome });
            }
        };
        let budget = if invocation.whole { usize::MAX } else { config.result_budget };
        // What the client asks of the server itself is told in any case.
        let by_reference =
            config.responses == Responses::Ref && !invocation.whole && !matches!(tool.run, Run::Server(_));
        let connection = invocation.connection.clone();
        let mut recording = Recording::new(
            self.manager.store(),
            tool.clone(),
            &outcome.ref_id,
            &connection,
            &invocation.arguments,
            config.record_headers,
        );
        let mut whole = None;
        // A program (in Node, in a shell) reads its own page as it is, but for the secrets of the server.
        let is_agent = !invocation.whole;
        let result = match self.run(&tool, invocation, &mut outcome, &mut recording).await {
            Err(error) => Err(self.manager.with_former(error).await),
            done => done,
        };
        let result = redact(result, &*self.vault);
        outcome.result = match if is_agent { recording.redact(result) } else { result } {
            Ok(answer) => {
                let session = outcome.session_id.as_deref().and_then(|id| self.manager.get(id).ok());
                let results = session.as_ref().map_or(&connection.results, |session| &session.results);
                let answer = budget::fit(answer, &outcome.ref_id, budget, results);
                whole = results.get(Some(&outcome.ref_id)).map(|kept| kept.text);
                Ok(answer)
            }
            Err(error) => Err(budget::fit_error(error, budget)),
        };
        if let (Err(error), Some(session)) = (&mut outcome.result, &outcome.session_id) {
            error.session_id.get_or_insert_with(|| session.clone());
        }
        self.calls.count(tool.name.clone(), &outcome, begun);
        outcome.recorded = recording.finish(&outcome, whole).await;
        if by_reference {
            outcome.reference =
                outcome.recorded.as_ref().map(|recorded| recorder::reference(&outcome, recorded));
        }
        Ok(outcome)
    }

    async fn run(
        &self,
        tool: &Tool,
        invocation: Invocation,
        outcome: &mut Outcome,
        recording: &mut Recording,
    ) -> Result<Answer> {
        let Invocation { arguments, connection, turn, held, whole, person, progress, .. } = invocation;
        // Told in every answer, also where the rest of the arguments is wrong.
        let named = ["sessionId", "session_id"].iter().find_map(|name| arguments[*name].as_str());
        // What is another's own gets no trace of the call.
        let named = named.filter(|id| connection.reaches(&self.manager, id));
        outcome.session_id = named.map(str::to_owned);
        if let Run::Upstream { session } = &tool.run {
            let mut given = match arguments {
                Value::Object(given) => given,
                _ => Map::new(),
            };
            // Under one name, whichever it was given by.
            let named = session.iter().filter_map(|name| given.remove(*name)).next();
            recording.called_with(&given);
            let mut place = Map::from_iter(named.map(|named| ("sessionId".to_owned(), named)));
            let (session, _place) = self.admit(&mut place, &connection, turn, held, outcome).await?;
            recording.begin(Some(session.clone())).await;
            for secret in passed::secrets(&given) {
                session.secrets.add(&secret);
            }
            let given = recorder::with_secrets(&tool.name, given, &session.secrets);
            let passed = session.pass_through(&tool.name, given, passed::telling(progress));
            let passed = Box::pin(session.run(passed)).await?;
            recording.passed(passed.found.snapshot);
            return Ok(Answer::Passed(passed.result));
        }
        let mut given = match parameters::check(&tool.name, &tool.input, arguments) {
            Ok(given) => given,
            Err(error) => {
                connection.pass(turn).await;
                return Err(error);
            }
        };
        recording.called_with(&given);
        match &tool.run {
            Run::Server(run) => {
                connection.pass(turn).await;
                recording.begin(None).await;
                let call = ServerCall { manager: self.manager.clone(), connection, person };
                let answer = run(call, Value::Object(given))?.await?;
                if let Answer::Json(value) = &answer
                    && let Some(id) = value["sessionId"].as_str()
                {
                    outcome.session_id = Some(id.to_owned());
                }
                Ok(answer)
            }
            Run::Batch => {
                let given: BatchParameters = parameters::read(&tool.name, Value::Object(given))?;
                let Some(named) = given.session(self) else {
                    connection.pass(turn).await;
                    recording.begin(None).await;
                    return batch::run(self, &connection, given, None, whole, &progress).await;
                };
                // Nothing comes between the steps: the batch holds the session's turn for them.
                let (session, _place) = connection.admit(&self.manager, named, turn).await?;
                outcome.session_id = Some(session.id.to_string());
                recording.begin(Some(session.clone())).await;
                batch::run(self, &connection, given, Some(session), whole, &progress).await
            }
            Run::Session(run) => {
                let (session, _place) = self.admit(&mut given, &connection, turn, held, outcome).await?;
                recording.begin(Some(session.clone())).await;
                let call = SessionCall { session: session.clone(), config: self.manager.config().clone() };
                let _change = change(tool, &session);
                session.run(async { run(call, Value::Object(given))?.await }).await
            }
            Run::Upstream { .. } => {
                Err(TroupeError::new(ErrorCode::InternalError, "the call was passed through"))
            }
            Run::Page(run) => {
                let page_id = given.remove("pageId");
                let (session, _place) = self.admit(&mut given, &connection, turn, held, outcome).await?;
                recording.begin(Some(session.clone())).await;
                let work = async {
                    let page = session.page(page_id.as_ref().and_then(Value::as_str)).await?;
                    outcome.page_id = Some(page.id.clone());
                    if !tool.works_in_dialog {
                        page.check_no_dialog()?;
                    }
                    let config = self.manager.config().clone();
                    let entered = Arc::<OnceLock<Entered>>::default();
                    let call = PageCall {
                        session: session.clone(),
                        page: page.clone(),
                        config,
                        entered: entered.clone(),
                    };
                    let answer = run(call, Value::Object(given))?.await;
                    if let Some(entered) = entered.get() {
                        recording.entered(entered.clone());
                    }
                    recording.look_at(&page).await;
                    answer
                };
                let _change = change(tool, &session);
                Box::pin(session.run(work)).await
            }
        }
    }

    /// The session that the call means, and its turn in it unless the call's batch holds that.
    async fn admit(
        &self,
        given: &mut Map<String, Value>,
        connection: &Connection,
        turn: Option<Turn>,
        held: Option<Arc<Session>>,
        outcome: &mut Outcome,
    ) -> Result<(Arc<Session>, Option<OwnedMutexGuard<()>>)> {
        let named = given.remove("sessionId");
        let named = named.as_ref().and_then(Value::as_str);
        let held = held.filter(|held| named.is_none_or(|named| *named == *held.id));
        let (session, place) = match held {
            Some(held) => (held, None),
            None => {
                let (session, place) = connection.admit(&self.manager, named, turn).await?;
                (session, Some(place))
            }
        };
        outcome.session_id = Some(session.id.to_string());
        Ok((session, place))
    }
}

/// Tells the session, now and when it is dropped, of a call that may change what its page has stored. Navigations only
/// lead away from there.
fn change(tool: &Tool, session: &Arc<Session>) -> Option<Change> {
    let may_change = !tool.hints.read_only && tool.group != Group::Navigation;
    may_change.then(|| {
        session.may_change();
        Change(session.clone())
    })
}

struct Change(Arc<Session>);

impl Drop for Change {
    fn drop(&mut self) {
        self.0.may_change();
    }
}

/// Whether a word of `--tools` means `tool`: its name, its group (`group:session`), `native`, `all`.
fn means(word: &str, tool: &Tool) -> bool {
    match word {
        "native" | "all" => true,
        _ => word.strip_prefix("group:").map_or(word == tool.name, |group| group == tool.group.as_str()),
    }
}

/// Whether `--tools`, `--no-tools` and `--read-only` leave it.
fn is_chosen(config: &Config, tool: &Tool) -> bool {
    !(config.read_only && tool.changes_pages())
        && config.tools.iter().any(|word| means(word, tool))
        && !config.no_tools.iter().any(|word| means(word, tool))
}

/// Whether a tool has something to do where the upstream server serves the sessions.
fn is_beside_upstream(tool: &Tool) -> bool {
    matches!(tool.group, Group::Session | Group::Record) && matches!(tool.run, Run::Server(_))
}

/// The rows that `--tools` and `--no-tools` leave. Words may also be the upstream server's, of which nobody knows yet.
fn select(config: &Config) -> Result<Vec<&'static Tool>> {
    if config.upstream.command.is_some() {
        let chosen = TOOLS.iter().filter(|tool| is_beside_upstream(tool) && is_chosen(config, tool));
        return Ok(chosen.collect());
    }
    for word in config.tools.iter().chain(&config.no_tools) {
        if !TOOLS.iter().any(|tool| means(word, tool)) {
            let near = crate::config::nearest(word, TOOLS.iter().map(|tool| &*tool.name));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("unknown tool `{word}`{hint}"),
            ));
        }
    }
    if config.read_only
        && let Some(tool) = TOOLS
            .iter()
            .find(|tool| tool.changes_pages() && config.tools.iter().any(|word| *word == tool.name))
    {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            format!(
                "`--read-only` and `--tools {}` contradict each other: that tool changes pages",
                tool.name
            ),
        ));
    }
    Ok(TOOLS.iter().filter(|tool| is_chosen(config, tool)).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_each_tool_says_in_a_line_when_to_use_it() {
        let mut names = HashSet::new();
        for tool in TOOLS.iter() {
            assert!(names.insert(&*tool.name), "`{}` is there twice", tool.name);
            assert!(!tool.description.contains('\n') && tool.description.len() > 20, "{}", tool.name);
            assert_eq!(tool.input["type"], "object", "{}", tool.name);
        }
    }

    #[test]
    fn the_schemas_are_as_they_were_reviewed() {
        let rows: Vec<Value> = TOOLS
            .iter()
            .map(|tool| {
                serde_json::json!({
                    "name": tool.name, "group": tool.group.as_str(), "description": tool.description,
                    "input": tool.input, "output": tool.output,
                })
            })
            .collect();
        insta::assert_json_snapshot!(rows);
    }

    #[test]
    fn tools_are_chosen_by_name_and_by_group() {
        let names = |tools: &[&str], no_tools: &[&str]| -> Result<Vec<&str>> {
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            let config = Config { tools: owned(tools), no_tools: owned(no_tools), ..Config::default() };
            Ok(select(&config)?.iter().map(|tool| &*tool.name).collect())
        };
        assert_eq!(names(&["navigate", "click"], &[]).unwrap(), ["navigate", "click"]);
        assert!(!names(&["native"], &["evaluate"]).unwrap().contains(&"evaluate"));
        let sessions = names(&["group:session"], &[]).unwrap();
        assert!(sessions.contains(&"create_session") && !sessions.contains(&"click"));
        assert!(names(&["clik"], &[]).unwrap_err().message.contains("did you mean `click`"));
    }
}
