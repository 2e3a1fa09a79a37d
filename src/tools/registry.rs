//! The registry of tools, and how a call runs: validation, admission to its session, and execution.
//! Only the tool itself has timeouts.

use std::{
    path::Path,
    sync::{Arc, LazyLock, OnceLock},
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{
    answer::{Answer, CallOutcome},
    batch::{self, BatchParameters, ResultForm},
    budget,
    calls::Calls,
    element, extraction,
    forwarding::{self, CallForwarder},
    interaction,
    invocation::Invocation,
    navigation, network, parameters, pass_through,
    playwright::{self, PlaywrightCall, PlaywrightHandler},
    progress::{Progress, Stage},
    record,
    recorder::{self, Recording, redact},
    script::{self, ScriptInvocation, ScriptParameters},
    sessions,
    suggestions::with_offered_tools,
    tool::{
        Callable, Group, LifecycleEffect, PageCall, ServerCall, SessionCall, Switch, Tool,
        ToolRunner,
    },
    user_question::{self, hand_off},
};
use crate::{
    config::{AfterNavigation, Config, Responses, one_line, option_of_flag},
    engine,
    error::{ErrorCode, Result, TroupeError},
    files::FileStore,
    offload::{self, json_size},
    page::{ChangedFields, Page},
    policy::vault::Vault,
    session::{
        AdmittedSession, Backend, Browsers, CallTurn, Clock, Connection, Session, SessionManager,
        SessionNotice, SystemClock,
    },
    store::Store,
    upstream::{PageObservations, UpstreamTool, Upstreams},
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
    tools.extend(user_question::tools());
    tools.extend(batch::tools());
    tools.extend(script::tools());
    tools
});

/// The tools of the Playwright set.
static PLAYWRIGHT_TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(playwright::tools);

/// Returns the rows of both sets.
fn rows() -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().chain(PLAYWRIGHT_TOOLS.iter())
}

/// No tool has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown tool `{name}`{}", near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
pub struct UnknownTool {
    pub name: String,
    pub near: Option<String>,
}

/// The tools that a server offers.
pub struct Registry {
    manager: Arc<SessionManager>,
    listed: Vec<&'static Tool>,
    upstreams: Option<Arc<Upstreams>>,
    passed: Mutex<PassedTools>,
    calls: Calls,
    vault: Arc<Vault>,
    forwarder: OnceLock<Arc<dyn CallForwarder>>,
}

/// The upstream server's tools as rows, and the list that they were made of.
#[derive(Default)]
struct PassedTools {
    offered: Arc<Vec<UpstreamTool>>,
    rows: Vec<Arc<Tool>>,
}

impl Registry {
    /// Opens the engine, the sessions and the record, and selects the tools of the configuration.
    pub fn open(config: Arc<Config>) -> Result<Self> {
        let upstreams = Upstreams::open(&config)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let backend: Arc<dyn Backend> = match &upstreams {
            Some(upstreams) => upstreams.clone(),
            None => {
                Browsers::new(config.clone(), engine::for_config(config.clone())?, clock.clone())
            }
        };
        let store = Store::open(&config)?;
        let registry = Self::new(SessionManager::new(config, backend, clock, store))?;
        Ok(Self { upstreams, ..registry })
    }

    /// Fails if the configuration is not valid. Starts nothing and opens no file.
    pub fn check(config: &Arc<Config>) -> Result<()> {
        if Upstreams::open(config)?.is_none() {
            engine::for_config(config.clone())?;
        }
        FileStore::open(config).validate()?;
        select(config).map(drop)
    }

    /// Creates a registry with a browser in memory, for tests.
    #[cfg(feature = "testing")]
    pub fn in_memory(config: Arc<Config>, clock: Arc<dyn Clock>) -> Result<Self> {
        let engine = Arc::new(engine::memory::MemoryEngine::default());
        let browsers = Browsers::new(config.clone(), engine, clock.clone());
        Self::new(SessionManager::new(config, browsers, clock, Store::none()?))
    }

    /// Creates a registry of the tools that the configuration lists.
    pub fn new(manager: Arc<SessionManager>) -> Result<Self> {
        let listed = select(manager.config())?;
        manager.files().validate()?;
        let vault = manager.vault()?;
        let (passed, calls) = Default::default();
        Ok(Self {
            manager,
            listed,
            upstreams: None,
            passed,
            calls,
            vault,
            forwarder: OnceLock::new(),
        })
    }

    /// Returns the upstream servers of the sessions, if there is no built-in engine.
    pub fn upstreams(&self) -> Option<&Arc<Upstreams>> {
        self.upstreams.as_ref()
    }

    pub fn manager(&self) -> &Arc<SessionManager> {
        &self.manager
    }

    /// Returns the names of the secrets that clients type by name.
    pub fn secret_names(&self) -> Vec<&str> {
        self.vault.names().collect()
    }

    /// Lets calls be forwarded to the servers that hold their sessions.
    pub fn set_forwarder(&self, forwarder: Arc<dyn CallForwarder>) {
        // Set once, when the server begins to serve.
        let _ = self.forwarder.set(forwarder);
    }

    /// Returns the call counters.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Rejects new sessions. Waits until no call runs, or `--drain-timeout` has passed.
    pub async fn drain(&self) {
        self.manager.begin_drain();
        if tokio::time::timeout(self.manager.config().drain_timeout, self.calls.wait_until_idle())
            .await
            .is_err()
        {
            tracing::info!("canceled running calls: they did not finish within --drain-timeout");
        }
    }

    /// Returns the native tools that the configuration offers.
    pub fn tools(&self) -> &[&'static Tool] {
        &self.listed
    }

    /// Returns the tools of the upstream server, which is started if they are not known yet. Native
    /// tools have precedence over tools with the same name.
    pub async fn passed_tools(&self) -> Result<Vec<Arc<Tool>>> {
        if let Some(upstreams) = &self.upstreams {
            upstreams.tools().await?;
        }
        Ok(self.known_passed_tools())
    }

    /// Like `passed_tools`, but returns after the first attempt to start an upstream server.
    /// Further attempts continue.
    pub async fn passed_tools_of_first_attempt(&self) -> Result<Vec<Arc<Tool>>> {
        if let Some(upstreams) = &self.upstreams {
            upstreams.tools_of_first_attempt().await?;
        }
        Ok(self.known_passed_tools())
    }

    /// Returns the tools of the upstream server that are known now.
    fn known_passed_tools(&self) -> Vec<Arc<Tool>> {
        let Some(upstreams) = &self.upstreams else { return Vec::new() };
        let offered = upstreams.known_tools();
        let config = self.manager.config();
        let mut passed = self.passed.lock();
        if !Arc::ptr_eq(&passed.offered, &offered) {
            let tools = offered.iter().map(Tool::passed_through);
            let tools =
                tools.filter(|tool| is_chosen(config, tool) && self.native(&tool.name).is_none());
            *passed = PassedTools { rows: tools.map(Arc::new).collect(), offered: offered.clone() };
        }
        passed.rows.clone()
    }

    /// Returns all native tools, also those that are not offered.
    pub fn all() -> &'static [Tool] {
        &TOOLS
    }

    /// Returns whether the tool `name` takes `parameter`.
    pub fn takes(&self, name: &str, parameter: &str) -> bool {
        self.known(name).is_some_and(|tool| !tool.input["properties"][parameter].is_null())
    }

    /// Returns whether the tool `name` belongs to the upstream server.
    pub fn is_passed(&self, name: &str) -> bool {
        self.upstreams.is_some() && self.native(name).is_none()
    }

    /// Returns whether the tool `name` works in a session.
    pub(super) fn is_in_session(&self, name: &str) -> bool {
        self.known(name).is_some_and(|tool| tool.is_in_session())
    }

    /// Returns whether the tool `name` acts on the page.
    pub(super) fn acts_on_page(&self, name: &str) -> bool {
        self.known(name).is_some_and(|tool| tool.acts_on_page())
    }

    /// Returns why the tool `name` cannot be a step of a batch.
    pub(super) fn not_in_batch(&self, name: &str) -> Option<&'static str> {
        self.known(name)?.properties.not_in_batch
    }

    /// Returns the name of the native tool with this effect on the life of a session.
    pub fn of_lifecycle(lifecycle: LifecycleEffect) -> &'static str {
        TOOLS
            .iter()
            .find(|tool| tool.properties.lifecycle == Some(lifecycle))
            .map_or("", |tool| &tool.name)
    }

    /// Returns the native tool with this name or alias, listed or not.
    pub fn row(name: &str) -> Option<&'static Tool> {
        rows().find(|tool| tool.is_named(name))
    }

    fn native(&self, name: &str) -> Option<&'static Tool> {
        self.listed.iter().find(|tool| tool.is_named(name)).copied()
    }

    /// Returns the tool `name`, if it is known now.
    fn known(&self, name: &str) -> Option<Callable> {
        let passed = || self.known_passed_tools().into_iter().find(|tool| tool.name == name);
        self.native(name).map(Callable::Native).or_else(|| passed().map(Callable::PassedThrough))
    }

    /// Finds the tool `name`. If the upstream server's tools are not available, unknown names fail
    /// with its error.
    async fn find(
        &self,
        name: &str,
        connection: &Connection,
    ) -> Result<Result<Callable>, UnknownTool> {
        if let Some(known) = self.known(name) {
            return Ok(Ok(known));
        }
        if connection.is_command()
            && let Some(tool) = Self::row(name).filter(|tool| self.is_on_for_commands(tool))
        {
            return Ok(Ok(Callable::Native(tool)));
        }
        let passed = match self.passed_tools().await {
            Ok(passed) => passed,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(tool) = passed.iter().find(|tool| tool.name == name) {
            return Ok(Ok(Callable::PassedThrough(tool.clone())));
        }
        if let Some(error) = self.removed(name) {
            return Ok(Err(error));
        }
        let names =
            self.listed.iter().map(|tool| &*tool.name).chain(passed.iter().map(|tool| &*tool.name));
        let near = crate::config::nearest(name, names);
        Err(UnknownTool { name: name.to_owned(), near: near.map(str::to_owned) })
    }

    /// Returns whether commands can call a tool that MCP clients do not get.
    fn is_on_for_commands(&self, tool: &'static Tool) -> bool {
        let config = self.manager.config();
        let switch = tool.properties.switch.filter(|switch| !(switch.is_on)(&config.security));
        self.upstreams.is_none()
            && switch.is_some_and(|switch| switch.is_on_for_commands)
            && removal_by_choice(config, tool).is_none()
    }

    /// Returns the error of a call to a tool that exists, but that the configuration does not
    /// offer.
    fn removed(&self, name: &str) -> Option<TroupeError> {
        let config = self.manager.config();
        let offered = self.upstreams.as_ref().map(|upstreams| upstreams.known_tools());
        let passed =
            offered.iter().flat_map(|offered| offered.iter()).find(|offered| offered.name == name);
        if let Some(passed) = passed {
            return removal(config, &Tool::passed_through(passed))
                .map(|removal| removal.error(name));
        }
        let tool =
            Self::row(name).filter(|tool| self.upstreams.is_none() || is_beside_upstream(tool))?;
        let removal = removal(config, tool)?;
        Some(if tool.is_playwright() {
            removal.playwright_error(name)
        } else {
            removal.error(name)
        })
    }

    /// Makes the suggestion of `error` name only tools that this server offers.
    pub fn with_offered_tools(&self, mut error: TroupeError) -> TroupeError {
        let is_offered = |name: &str| self.known(name).is_some();
        let fallback = |name: &str| match self.removed(name).and_then(|removed| removed.suggestion)
        {
            Some(suggestion) => suggestion,
            None => OFFER_MORE.to_owned(),
        };
        error.suggestion = error
            .suggestion
            .map(|suggestion| with_offered_tools(&suggestion, is_offered, fallback));
        error
    }

    /// Runs one call. Cancel-safe: if it is dropped, the call is canceled.
    pub async fn call(&self, mut invocation: Invocation) -> Result<CallOutcome, UnknownTool> {
        let found =
            self.find(&invocation.tool, &invocation.connection).await.inspect_err(|unknown| {
                tracing::info!(tool = one_line(&unknown.name), result = "unknown tool", "call");
            })?;
        let config = self.manager.config();
        let ref_id = invocation.ref_id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let outcome = CallOutcome { ref_id, ..CallOutcome::default() };
        let tool = match found {
            Ok(tool) => tool,
            Err(error) => {
                invocation.connection.wait_turn(invocation.turn).await;
                tracing::info!(
                    tool = one_line(&invocation.tool),
                    result = error.code.as_str(),
                    ref_id = outcome.ref_id,
                    "call"
                );
                let error = self.with_offered_tools(error);
                let is_playwright = Self::row(&invocation.tool).is_some_and(Tool::is_playwright);
                let result = if is_playwright {
                    Ok(Answer::PassedThrough(playwright::failure(&playwright::error_text(&error))))
                } else {
                    Err(error)
                };
                return Ok(CallOutcome { result, ..outcome });
            }
        };
        let mut running = self.calls.begin(tool.name.clone(), outcome);
        let outcome = running.outcome();
        if let Some(forwarder) = self.forwarder.get()
            && let Some(forwarded) =
                Box::pin(forwarding::forward(&**forwarder, &self.manager, &tool, &mut invocation))
                    .await
        {
            match forwarded {
                Ok(forwarded) => *outcome = forwarded,
                Err(error) => outcome.result = self.rendered(&tool, error),
            }
            return Ok(running.finish());
        }
        let is_uncut = invocation.full_result || tool.is_playwright();
        let budget = if is_uncut { usize::MAX } else { config.result_budget };
        // Results of tools that concern the server itself are always complete.
        let by_reference = config.responses == Responses::Ref
            && !invocation.full_result
            && !matches!(tool.run, ToolRunner::Server(_));
        let connection = invocation.connection.clone();
        let mut recording = offload::in_place(json_size(&invocation.arguments), || {
            Recording::new(
                self.manager.store(),
                tool.clone(),
                &outcome.ref_id,
                &connection,
                &invocation.arguments,
                config,
            )
        });
        let mut whole = None;
        // A program (in Node, in a shell) gets the unmasked result, except for the secrets of the
        // server.
        let is_agent = !invocation.full_result;
        let result = self.run(&tool, invocation, outcome, &mut recording).await;
        if let Err(error) = &result {
            self.give_up_taken_over(error, outcome.session_id.as_deref());
        }
        let result = match result {
            Err(error) if tool.is_playwright() => {
                let error = self.with_offered_tools(self.manager.add_resume_hint(error).await);
                let result = playwright::failure(&playwright::error_text(&error));
                recording
                    .set_passed_through(PageObservations::default(), result.to_string().into());
                Ok(Answer::PassedThrough(result))
            }
            Err(error) => Err(self.manager.add_resume_hint(error).await),
            done => done,
        };
        let session = outcome.session_id.as_deref().and_then(|id| self.manager.get(id).ok());
        let results = session.as_ref().map_or(&connection.results, |session| &session.results);
        let bytes = result.as_ref().map_or(0, Answer::bytes);
        outcome.result = offload::in_place(bytes, || {
            let result = match is_agent {
                true => recording.redact(result, &self.vault),
                false => redact(result, &*self.vault),
            };
            match result {
                Ok(answer) => Ok(budget::fit(answer, &outcome.ref_id, budget, results)),
                Err(error) => Err(budget::fit_error(self.with_offered_tools(error), budget)),
            }
        });
        if outcome.result.is_ok() {
            whole = results.get(Some(&outcome.ref_id)).map(|kept| kept.text);
        }
        if let (Err(error), Some(session)) = (&mut outcome.result, &outcome.session_id) {
            error.session_id.get_or_insert_with(|| session.clone());
        }
        outcome.place_notices();
        match recording.finish(outcome, whole).await {
            Ok(recorded) => outcome.recorded = recorded,
            Err(error) => {
                self.give_up_taken_over(&error, outcome.session_id.as_deref());
                outcome.result = self.rendered(&tool, error);
            }
        }
        if by_reference {
            outcome.reference =
                outcome.recorded.as_ref().map(|recorded| recorder::reference(outcome, recorded));
        }
        Ok(running.finish())
    }

    /// Ends the session `id` if `error` states that another server has taken it over.
    fn give_up_taken_over(&self, error: &TroupeError, id: Option<&str>) {
        let reason = error.details.get("reason").and_then(Value::as_str);
        if let Some(id) = id.filter(|_| reason == Some(recorder::TAKEN_OVER)) {
            self.manager.give_up(id);
        }
    }

    /// Returns `error` in the form of the tool's results.
    fn rendered(&self, tool: &Tool, error: TroupeError) -> Result<Answer> {
        let error = self.with_offered_tools(error);
        if !tool.is_playwright() {
            return Err(error);
        }
        Ok(Answer::PassedThrough(playwright::failure(&playwright::error_text(&error))))
    }

    /// Returns whether the result of a navigation contains an overview. `is_program`: the caller is
    /// a program, not an agent.
    fn returns_overview(&self, is_program: bool) -> bool {
        match self.manager.config().after_navigation {
            Some(after) => after == AfterNavigation::Snapshot,
            None => !is_program,
        }
    }

    async fn run(
        &self,
        tool: &Tool,
        invocation: Invocation,
        outcome: &mut CallOutcome,
        recording: &mut Recording,
    ) -> Result<Answer> {
        let overview =
            invocation.overview.unwrap_or_else(|| self.returns_overview(invocation.full_result));
        let Invocation {
            tool: name,
            arguments,
            connection,
            turn,
            batch_sessions,
            full_result,
            condensed,
            question_handler,
            workspace,
            progress,
            ..
        } = invocation;
        // For errors of tools that read. Actions set the failed target themselves.
        let target = arguments["selector"].as_str().map(str::to_owned);
        // Part of every result, even if the other arguments are not valid.
        let named = arguments.as_object().and_then(batch::named_session);
        // A call to another client's implicit session is not recorded in that session.
        let named = named.filter(|id| connection.can_access(&self.manager, id));
        outcome.session_id = named.map(str::to_owned);
        if let ToolRunner::Upstream { session } = &tool.run {
            let mut given = match arguments {
                Value::Object(given) => given,
                _ => Map::new(),
            };
            // The parameter may be given under any of the names. The upstream server gets none.
            let values: Vec<Value> =
                session.iter().filter_map(|name| given.remove(*name)).collect();
            let named = values.into_iter().next();
            recording.set_parameters(&given);
            let mut session_id = Map::from_iter(named.map(|named| ("sessionId".to_owned(), named)));
            let (session, _turn) = self
                .admit(&mut session_id, &connection, turn, &batch_sessions, outcome, &progress)
                .await?;
            recording.begin(Some(session.clone())).await?;
            for secret in pass_through::secrets(&given) {
                session.secrets.add(&secret);
            }
            let given = recorder::with_secrets(tool, given, &session.secrets)?;
            let passed =
                session.pass_through(&tool.name, given, pass_through::progress_callback(progress));
            let passed = Box::pin(session.run(passed)).await?;
            recording.set_passed_through(passed.found, passed.text);
            return Ok(Answer::PassedThrough(passed.result));
        }
        if let ToolRunner::Playwright(run) = &tool.run {
            let server = ServerCall { manager: self.manager.clone(), connection, question_handler };
            let call = PlaywrightInvocation {
                arguments,
                server,
                turn,
                batch_sessions,
                workspace,
                progress,
            };
            return self.run_playwright(tool, run, call, outcome, recording).await;
        }
        let bytes = json_size(&arguments);
        let checked = offload::in_place(bytes, || {
            let given = parameters::check(&tool.name, &tool.input, arguments)?;
            recording.set_parameters(&given);
            Ok(given)
        });
        let mut given = match checked {
            Ok(given) => given,
            Err(error) => {
                connection.wait_turn(turn).await;
                return Err(error);
            }
        };
        match &tool.run {
            ToolRunner::Server(run) => {
                connection.wait_turn(turn).await;
                recording.begin(None).await?;
                let call =
                    ServerCall { manager: self.manager.clone(), connection, question_handler };
                let mut answer =
                    offload::in_place(bytes, || run(call, Value::Object(given)))?.await?;
                tool.add_alias_fields(&name, &mut answer);
                if let Answer::Json(value) = &answer
                    && let Some(id) = value["sessionId"].as_str()
                {
                    outcome.session_id = Some(id.to_owned());
                }
                Ok(answer)
            }
            ToolRunner::Batch => {
                let given: BatchParameters = parameters::read(&tool.name, Value::Object(given))?;
                let Some((own, others)) = given.sessions(self) else {
                    connection.wait_turn(turn).await;
                    recording.begin(None).await?;
                    return batch::run(
                        self,
                        &connection,
                        given,
                        Arc::default(),
                        ResultForm { full_result, overview },
                        &progress,
                    )
                    .await;
                };
                // The batch keeps its turn in every session until it ends: no other call runs
                // between its steps.
                let arrived = Instant::now();
                let admitted =
                    connection.admit(&self.manager, own.as_deref(), &others, turn).await?;
                let batch_sessions: Arc<[_]> =
                    admitted.iter().map(|admitted| admitted.session.clone()).collect();
                outcome.session_id = Some(batch_sessions[0].id.to_string());
                batch_sessions[0]
                    .wait_released(arrived, |waited, limit| {
                        progress.report(held_stage(waited, limit));
                    })
                    .await?;
                outcome.notices = batch_sessions[0].take_notices();
                recording.begin(Some(batch_sessions[0].clone())).await?;
                batch::run(
                    self,
                    &connection,
                    given,
                    batch_sessions,
                    ResultForm { full_result, overview },
                    &progress,
                )
                .await
            }
            ToolRunner::Script => {
                let (session, _turn) = self
                    .admit(&mut given, &connection, turn, &batch_sessions, outcome, &progress)
                    .await?;
                let given: ScriptParameters = parameters::read(&tool.name, Value::Object(given))?;
                recording.begin(Some(session.clone())).await?;
                let (connection, progress) = (&connection, &progress);
                let call = ScriptInvocation {
                    registry: self,
                    connection,
                    session: session.clone(),
                    progress,
                };
                Box::pin(session.run(script::run(call, given))).await
            }
            ToolRunner::Session(run) => {
                let (session, _turn) = self
                    .admit(&mut given, &connection, turn, &batch_sessions, outcome, &progress)
                    .await?;
                recording.begin(Some(session.clone())).await?;
                let config = self.manager.config().clone();
                let call = SessionCall { session: session.clone(), overview, config };
                let _change = mark_change(tool, &session);
                session
                    .run(async {
                        offload::in_place(bytes, || run(call, Value::Object(given)))?.await
                    })
                    .await
            }
            ToolRunner::Upstream { .. } | ToolRunner::Playwright(_) => {
                Err(TroupeError::new(ErrorCode::InternalError, "the call was passed through"))
            }
            ToolRunner::Page(run) => {
                let page_id = given.remove("pageId");
                let (session, mut admitted) = self
                    .admit(&mut given, &connection, turn, &batch_sessions, outcome, &progress)
                    .await?;
                recording.begin(Some(session.clone())).await?;
                let server =
                    ServerCall { manager: self.manager.clone(), connection, question_handler };
                let work = async {
                    let page = session.page(page_id.as_ref().and_then(Value::as_str)).await?;
                    outcome.page_id = Some(page.id.clone());
                    page.begin_call();
                    if !tool.properties.works_in_dialog {
                        page.check_no_dialog()?;
                    }
                    let config = self.manager.config().clone();
                    let entered = Arc::<OnceLock<ChangedFields>>::default();
                    let call = PageCall {
                        session: session.clone(),
                        page: page.clone(),
                        config,
                        ref_id: outcome.ref_id.clone(),
                        overview,
                        is_new: false,
                        server,
                        entered: entered.clone(),
                    };
                    let called = offload::in_place(bytes, || run(call, Value::Object(given)))?;
                    let _concurrent = match admitted.take_if(|_| tool.properties.is_concurrent) {
                        Some(admitted) => admitted.let_next_run().await,
                        None => None,
                    };
                    let shown = condensed.then(|| page.shown());
                    let answer = called.await;
                    // A later step reports the changes of this one.
                    if let Some(shown) = shown {
                        page.set_shown(shown);
                    }
                    if let Some(entered) = entered.get() {
                        recording.add_entered_fields(entered.clone());
                    }
                    recording.record_page(&page).await;
                    if tool.acts_on_page() {
                        outcome.notices.extend(self.hand_off(&session, &page).await);
                    }
                    answer
                };
                let _change = mark_change(tool, &session);
                Box::pin(session.run(work)).await.map_err(|error| match target {
                    Some(target) => error.about(&target),
                    None => error,
                })
            }
        }
    }

    /// Runs a tool of the Playwright set.
    async fn run_playwright(
        &self,
        tool: &Tool,
        run: &PlaywrightHandler,
        call: PlaywrightInvocation,
        outcome: &mut CallOutcome,
        recording: &mut Recording,
    ) -> Result<Answer> {
        let PlaywrightInvocation { arguments, server, turn, batch_sessions, workspace, progress } =
            call;
        let connection = server.connection.clone();
        let mut given = match playwright::check(tool, arguments) {
            Ok(given) => given,
            Err(message) => {
                connection.wait_turn(turn).await;
                let result = playwright::failure(&message);
                recording
                    .set_passed_through(PageObservations::default(), result.to_string().into());
                return Ok(Answer::PassedThrough(result));
            }
        };
        recording.set_parameters(&given);
        let page_id = given.remove("pageId").and_then(|id| id.as_str().map(str::to_owned));
        let (session, _turn) =
            self.admit(&mut given, &connection, turn, &batch_sessions, outcome, &progress).await?;
        recording.begin(Some(session.clone())).await?;
        let entered = Arc::<OnceLock<ChangedFields>>::default();
        let named_page = page_id.clone();
        let call = PlaywrightCall {
            session: session.clone(),
            page_id,
            config: self.config_in(workspace),
            server,
            entered: entered.clone(),
            begun: SystemTime::now(),
        };
        let _change = mark_change(tool, &session);
        let work = async {
            let response = run.run(&tool.name, call.clone(), given).await;
            if let Some(entered) = entered.get() {
                recording.add_entered_fields(entered.clone());
            }
            let response = response?;
            let page = match named_page {
                _ if session.end_reason().is_some() => None,
                Some(id) => session.page(Some(&id)).await.ok(),
                None => session.current_page(),
            };
            outcome.page_id = page.as_ref().map(|page| page.id.clone());
            // The snapshot for the record is taken while that of the result is written.
            let record = async {
                if let Some(page) = &page {
                    recording.record_page(page).await;
                }
            };
            let (result, ()) = tokio::join!(response.render(&call), record);
            if let Some(page) = &page {
                outcome.notices.extend(self.hand_off(&session, page).await);
            }
            result
        };
        let result = if tool.properties.lifecycle == Some(LifecycleEffect::Close) {
            // The end of the session would cancel a call that runs in it.
            work.await
        } else {
            Box::pin(session.run(work)).await
        }?;
        recording.set_passed_through(PageObservations::default(), result.to_string().into());
        Ok(Answer::PassedThrough(result))
    }

    /// Asks a person if `page` shows something of `--handoff-on`. Returns the notice for the agent.
    async fn hand_off(&self, session: &Session, page: &Page) -> Option<SessionNotice> {
        let can_wait = self.listed.iter().any(|tool| tool.group == Group::Person);
        Box::pin(hand_off(session, page, self.manager.config(), can_wait)).await
    }

    /// Returns the configuration with the client's `workspace` as working directory.
    fn config_in(&self, workspace: Option<Arc<Path>>) -> Arc<Config> {
        let config = self.manager.config();
        match workspace {
            None => config.clone(),
            Some(folder) => Arc::new(Config {
                working_directory: folder.to_path_buf(),
                ..Config::clone(config)
            }),
        }
    }

    /// Finds the session of a call and waits for the call's turn in it, unless the call's batch was
    /// admitted there.
    async fn admit(
        &self,
        given: &mut Map<String, Value>,
        connection: &Connection,
        turn: Option<CallTurn>,
        batch_sessions: &[Arc<Session>],
        outcome: &mut CallOutcome,
        progress: &Progress,
    ) -> Result<(Arc<Session>, Option<AdmittedSession>)> {
        let arrived = Instant::now();
        let named = given.remove("sessionId");
        let named = named.as_ref().and_then(Value::as_str);
        let of_batch =
            batch_sessions.iter().find(|session| named.is_none_or(|named| *named == *session.id));
        let (session, admitted) = match (of_batch, named) {
            (Some(session), _) => (session.clone(), None),
            (None, Some(id)) if !batch_sessions.is_empty() => {
                let admitted = connection.admit_late(&self.manager, id).await?;
                (admitted.session.clone(), Some(admitted))
            }
            _ => {
                let mut admitted = connection.admit(&self.manager, named, &[], turn).await?;
                let admitted = admitted.swap_remove(0);
                (admitted.session.clone(), Some(admitted))
            }
        };
        outcome.session_id = Some(session.id.to_string());
        session
            .wait_released(arrived, |waited, limit| progress.report(held_stage(waited, limit)))
            .await?;
        if batch_sessions.is_empty() {
            outcome.notices = session.take_notices();
        }
        Ok((session, admitted))
    }
}

/// Returns the progress of a call that waits for a person.
fn held_stage(waited: Duration, limit: Duration) -> Stage {
    Stage {
        done: waited.as_secs_f64(),
        total: Some(limit.as_secs_f64()),
        step: Some("a person controls the session".to_owned()),
    }
}

/// A call of a tool of the Playwright set, before it is admitted to its session.
struct PlaywrightInvocation {
    arguments: Value,
    server: ServerCall,
    turn: Option<CallTurn>,
    batch_sessions: Arc<[Arc<Session>]>,
    workspace: Option<Arc<Path>>,
    progress: Progress,
}

/// Marks the session as changed, now and when the result is dropped, if the call may change the
/// page's storage. Navigations do not.
fn mark_change(tool: &Tool, session: &Arc<Session>) -> Option<ChangeGuard> {
    let may_change = !tool.properties.hints.read_only && tool.group != Group::Navigation;
    may_change.then(|| {
        session.mark_storage_changed();
        ChangeGuard(session.clone())
    })
}

struct ChangeGuard(Arc<Session>);

impl Drop for ChangeGuard {
    fn drop(&mut self) {
        self.0.mark_storage_changed();
    }
}

const OFFER_MORE: &str =
    "use the tools that this server lists, or enable others with --tools and --no-tools";

/// The option of the configuration by which a tool is not offered, and what to do instead.
struct Removal {
    /// The option's flag without dashes.
    option: &'static str,
    suggestion: &'static str,
}

impl Removal {
    /// Returns the error of a call to `tool`.
    fn error(self, tool: &str) -> TroupeError {
        let message = format!("`{tool}` is disabled on this server by `--{}`", self.option);
        self.error_with(message)
    }

    /// Returns the error of a call to `tool` of the Playwright set, as @playwright/mcp words it.
    fn playwright_error(self, tool: &str) -> TroupeError {
        self.error_with(format!("Tool \"{tool}\" not found")).detail("class", "")
    }

    fn error_with(self, message: String) -> TroupeError {
        let rule = option_of_flag(self.option).map(|(option, _)| option.key());
        TroupeError::new(ErrorCode::BlockedByPolicy, message)
            .detail("rule", rule)
            .suggestion(self.suggestion)
    }
}

/// Returns why the configuration does not offer `tool`; `None` if it does.
fn removal(config: &Config, tool: &Tool) -> Option<Removal> {
    if let Some(switch) = tool.properties.switch.filter(|switch| !(switch.is_on)(&config.security))
    {
        let Switch { option, suggestion, .. } = switch;
        return Some(Removal { option, suggestion });
    }
    removal_by_choice(config, tool)
}

/// Like [`removal`], without the tool's own option.
fn removal_by_choice(config: &Config, tool: &Tool) -> Option<Removal> {
    let is_in = |words: &[String]| words.iter().any(|word| selects_tool(word, tool));
    let reasons = [
        (
            config.read_only && tool.changes_pages(),
            Removal {
                option: "read-only",
                suggestion: "start the server without --read-only to change pages",
            },
        ),
        (is_in(&config.no_tools), Removal { option: "no-tools", suggestion: OFFER_MORE }),
        (!is_in(&config.tools), Removal { option: "tools", suggestion: OFFER_MORE }),
        (
            !has_capability(config, tool),
            Removal {
                option: "caps",
                suggestion: "use the tools that this server lists, or add the capability to --caps",
            },
        ),
    ];
    reasons.into_iter().find_map(|(applies, removal)| applies.then_some(removal))
}

/// Returns whether `--caps` enables a tool of the Playwright set, or `--tools` names it.
fn has_capability(config: &Config, tool: &Tool) -> bool {
    let Group::Playwright(capability) = tool.group else { return true };
    // The tools of `tracing` belong to the capability `devtools`.
    let enables =
        |cap: &String| cap == capability || (cap == "devtools" && capability == "tracing");
    capability == "core"
        || config.caps.iter().any(enables)
        || config.tools.iter().any(|word| *word == tool.name)
}

/// Returns whether a word of `--tools` means `tool`: its name, its group (`group:session`), its set
/// (`native`, `playwright`), or `all`.
fn selects_tool(word: &str, tool: &Tool) -> bool {
    match word {
        "all" => true,
        "native" => !tool.is_playwright(),
        "playwright" => tool.is_playwright(),
        _ => word
            .strip_prefix("group:")
            .map_or(word == tool.name, |group| group == tool.group.as_str()),
    }
}

/// Returns whether the configuration offers `tool`.
fn is_chosen(config: &Config, tool: &Tool) -> bool {
    removal(config, tool).is_none()
}

/// Returns whether a tool also works if an upstream server provides the sessions.
fn is_beside_upstream(tool: &Tool) -> bool {
    matches!(tool.group, Group::Session | Group::Record)
        && matches!(tool.run, ToolRunner::Server(_))
}

/// Returns the rows that `--tools` and `--no-tools` leave. Names can also be tools of the upstream
/// server, which are not known yet.
fn select(config: &Config) -> Result<Vec<&'static Tool>> {
    if config.upstream.command.is_some() {
        let chosen = rows().filter(|tool| is_beside_upstream(tool) && is_chosen(config, tool));
        return Ok(chosen.collect());
    }
    for word in config.tools.iter().chain(&config.no_tools) {
        if !rows().any(|tool| selects_tool(word, tool)) {
            let near = crate::config::nearest(word, rows().map(|tool| &*tool.name));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("unknown tool `{word}`{hint}"),
            ));
        }
    }
    let named = |tool: &&'static Tool| config.tools.iter().any(|word| *word == tool.name);
    for tool in rows().filter(named) {
        if let Some(switch) =
            tool.properties.switch.filter(|switch| !(switch.is_on)(&config.security))
        {
            let (option, name) = (switch.option, &tool.name);
            return Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                format!(
                    "`--{option} false` and `--tools {name}` contradict each other: `--{option} false` disables the tool"
                ),
            ));
        }
    }
    if config.read_only
        && let Some(tool) = rows().find(|tool| tool.changes_pages() && named(tool))
    {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            format!(
                "`--read-only` and `--tools {}` contradict each other: that tool changes pages",
                tool.name
            ),
        ));
    }
    Ok(rows().filter(|tool| is_chosen(config, tool)).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_each_tool_has_a_description_of_one_line() {
        let mut names = HashSet::new();
        for tool in TOOLS.iter() {
            assert!(names.insert(&*tool.name), "`{}` occurs twice", tool.name);
            assert!(
                !tool.description.contains('\n') && tool.description.len() > 20,
                "{}",
                tool.name
            );
            assert_eq!(tool.input["type"], "object", "{}", tool.name);
        }
    }

    #[test]
    fn the_schemas_match_the_reviewed_snapshot() {
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
    fn tools_are_selected_by_name_and_by_group() {
        let names = |tools: &[&str], no_tools: &[&str]| -> Result<Vec<&str>> {
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            let config =
                Config { tools: owned(tools), no_tools: owned(no_tools), ..Config::default() };
            Ok(select(&config)?.iter().map(|tool| &*tool.name).collect())
        };
        assert_eq!(names(&["navigate", "click"], &[]).unwrap(), ["navigate", "click"]);
        assert!(!names(&["native"], &["evaluate"]).unwrap().contains(&"evaluate"));
        let sessions = names(&["group:session"], &[]).unwrap();
        assert!(sessions.contains(&"create_session") && !sessions.contains(&"click"));
        assert!(names(&["clik"], &[]).unwrap_err().message.contains("did you mean `click`"));
    }
}
