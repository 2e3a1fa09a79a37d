//! Evaluates scripts in a page's worlds: values, object handles, exceptions.

use chromiumoxide::cdp::{
    browser_protocol::{
        dom::{BackendNodeId, DescribeNodeParams, ResolveNodeParams},
        page::CreateIsolatedWorldParams,
    },
    js_protocol::runtime::{
        CallArgument, CallFunctionOnParams, EvaluateParams, ExecutionContextId,
        ReleaseObjectParams, RemoteObjectId,
    },
};
use serde::Deserialize;
use serde_json::Value;

use super::{ChromiumPage, DescribedNode};
use crate::{
    engine::{
        EngineError, EngineResult, FrameId, ScriptFailure, World, chromium::session::CdpSession,
    },
    offload,
};

/// The name of Troupe's isolated world.
pub(super) const WORLD: &str = "troupe";

/// Calls a function of Troupe's script with its arguments as JSON.
const CALL: &str = "function (name, json) { const troupe = globalThis.__troupe; return troupe && troupe[name](JSON.parse(json)); }";

/// Returns the element with a ref. Throws if Troupe's script is missing.
const ELEMENT: &str = "function (reference) { return globalThis.__troupe.element(reference); }";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EvaluateResult {
    result: RemoteObject,
    exception_details: Option<ExceptionDetails>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RemoteObject {
    #[serde(default)]
    value: Value,
    unserializable_value: Option<String>,
    description: Option<String>,
    class_name: Option<String>,
    object_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExceptionDetails {
    text: String,
    line_number: u64,
    column_number: u64,
    exception: Option<RemoteObject>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreatedIsolatedWorld {
    execution_context_id: i64,
}

/// The result of `DOM.resolveNode`.
#[derive(Deserialize)]
struct ResolvedNode {
    object: RemoteObject,
}

impl EvaluateResult {
    /// Returns a copy of the value.
    fn copy(self) -> EngineResult<Value> {
        let result = self.outcome()?;
        // NaN, Infinity, -0 and BigInts have no JSON, so their source text is returned.
        Ok(result.unserializable_value.map_or(result.value, Value::String))
    }

    pub fn outcome(self) -> EngineResult<RemoteObject> {
        self.exception_details
            .map_or(Ok(self.result), |details| Err(EngineError::Script(details.into())))
    }
}

impl From<ExceptionDetails> for ScriptFailure {
    fn from(details: ExceptionDetails) -> Self {
        let class = details.exception.as_ref().and_then(|thrown| thrown.class_name.clone());
        let message = match details.exception {
            // The first line of an error's description is its name and message, the rest its stack.
            Some(RemoteObject { description: Some(text), .. }) => {
                let end = text.find("\n    at ").unwrap_or(text.len());
                text[..end].to_owned()
            }
            Some(RemoteObject { value: Value::String(text), .. }) => text,
            Some(RemoteObject { value, .. }) if !value.is_null() => value.to_string(),
            _ => details.text,
        };
        Self { message, line: details.line_number + 1, column: details.column_number + 1, class }
    }
}

impl ChromiumPage {
    /// Evaluates `expression`, awaits its promise, and returns a copy of the value.
    pub(super) async fn value(
        &self,
        frame: &FrameId,
        world: World,
        expression: &str,
    ) -> EngineResult<Value> {
        let cdp = self.session_of_frame(frame);
        let mut params = EvaluateParams::new(expression);
        params.context_id = self.context_of(&cdp, frame, world).await?;
        params.return_by_value = Some(true);
        params.await_promise = Some(true);
        params.user_gesture = Some(world == World::Main);
        let sent = offload::in_place(expression.len(), || cdp.post(params))?;
        sent.read::<EvaluateResult>().await?.copy()
    }

    /// Calls `function` with a handle of an element as its argument, awaits its promise, and
    /// returns a copy of the value. Releases the handle.
    pub(super) async fn call_on(
        &self,
        (cdp, object): (CdpSession, String),
        function: &str,
    ) -> EngineResult<Value> {
        let object = RemoteObjectId::from(object);
        let argument = CallArgument { object_id: Some(object.clone()), ..CallArgument::default() };
        let mut params = CallFunctionOnParams::new(function);
        params.object_id = Some(object.clone());
        params.arguments = Some(vec![argument]);
        params.return_by_value = Some(true);
        params.await_promise = Some(true);
        params.user_gesture = Some(true);
        let sent = offload::in_place(function.len(), || cdp.post(params))?;
        let release = ReleaseObjectParams::new(object);
        // The browser handles it after the call has started. The call keeps its argument.
        drop(cdp.post(release)?);
        sent.read::<EvaluateResult>().await?.copy()
    }

    /// Returns a handle of the element with this ref in the main world, which the caller must
    /// release.
    pub(super) async fn element_in_main_world(
        &self,
        frame: &FrameId,
        reference: &str,
    ) -> EngineResult<(CdpSession, String)> {
        let (cdp, isolated) = self.element(frame, reference).await?;
        let describe = DescribeNodeParams {
            object_id: Some(isolated.clone().into()),
            ..DescribeNodeParams::default()
        };
        let described = cdp.execute::<DescribedNode>(describe).await;
        drop(cdp.post(ReleaseObjectParams::new(isolated))?);
        let resolve = ResolveNodeParams {
            backend_node_id: Some(BackendNodeId::new(described?.node.backend_node_id)),
            execution_context_id: self.context_of(&cdp, frame, World::Main).await?,
            ..ResolveNodeParams::default()
        };
        let resolved: ResolvedNode = cdp.execute(resolve).await?;
        let object = resolved.object.object_id.ok_or(EngineError::DocumentGone)?;
        Ok((cdp, object))
    }

    /// See [`crate::engine::EnginePage::call_script`].
    pub(super) async fn call(
        &self,
        frame: &FrameId,
        name: &str,
        arguments: &str,
    ) -> EngineResult<Value> {
        let cdp = self.session_of_frame(frame);
        let mut params = self.function_call(&cdp, frame, CALL, &[name, arguments]).await?;
        params.return_by_value = Some(true);
        params.await_promise = Some(true);
        let sent = offload::in_place(arguments.len(), || cdp.post(params))?;
        Ok(sent.read::<EvaluateResult>().await?.outcome()?.value)
    }

    /// Returns a handle of the element with this ref, which the caller must release.
    pub(super) async fn element(
        &self,
        frame: &FrameId,
        reference: &str,
    ) -> EngineResult<(CdpSession, String)> {
        let cdp = self.session_of_frame(frame);
        let params = self.function_call(&cdp, frame, ELEMENT, &[reference]).await?;
        let result = cdp.execute::<EvaluateResult>(params).await?.outcome()?;
        let object = result
            .object_id
            .ok_or_else(|| EngineError::Refused(format!("`{reference}` is not an element")))?;
        Ok((cdp, object))
    }

    /// Returns a call of `function` in the isolated world. The source is the same for every call,
    /// so V8 finds it in its compilation cache. V8 compiles arguments too, and string literals
    /// faster than object literals.
    async fn function_call(
        &self,
        cdp: &CdpSession,
        frame: &FrameId,
        function: &str,
        arguments: &[&str],
    ) -> EngineResult<CallFunctionOnParams> {
        let argument = |value: &&str| CallArgument {
            value: Some(Value::from(*value)),
            ..CallArgument::default()
        };
        let mut params = CallFunctionOnParams::new(function);
        params.execution_context_id = self.context_of(cdp, frame, World::Isolated).await?;
        params.arguments = Some(arguments.iter().map(argument).collect());
        Ok(params)
    }

    pub(super) async fn context_of(
        &self,
        cdp: &CdpSession,
        frame: &FrameId,
        world: World,
    ) -> EngineResult<Option<ExecutionContextId>> {
        let session = cdp.id.clone().unwrap_or_default();
        let id = match (self.frames.context(&session, frame, world), world) {
            (Some(id), _) => id,
            (None, World::Main) if !self.frames.has(frame) => {
                return Err(EngineError::DocumentGone);
            }
            // The default context of a session is its topmost frame's.
            (None, World::Main) => return Ok(None),
            (None, World::Isolated) => {
                let mut create = CreateIsolatedWorldParams::new(frame.to_string());
                create.world_name = Some(WORLD.to_owned());
                cdp.execute::<CreatedIsolatedWorld>(create).await?.execution_context_id
            }
        };
        Ok(Some(ExecutionContextId::new(id)))
    }
}
