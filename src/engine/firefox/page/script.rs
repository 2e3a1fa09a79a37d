//! Runs scripts in a page's frames.

use serde_json::{Value, json};

use super::{FirefoxPage, lock};
use crate::{
    engine::{
        EngineError, EngineResult, FrameId, World,
        connection::PendingCall,
        firefox::{
            convert_error,
            remote_value::{RemoteValue, ScriptResult},
        },
    },
    offload,
};

/// The name of Troupe's sandbox, which is its isolated world.
pub(in crate::engine::firefox) const SANDBOX: &str = "troupe";

fn target(frame: &FrameId, world: World) -> Value {
    match world {
        World::Main => json!({"context": frame}),
        World::Isolated => json!({"context": frame, "sandbox": SANDBOX}),
    }
}

impl FirefoxPage {
    pub(super) fn post_script(
        &self,
        frame: &FrameId,
        world: World,
        expression: &str,
    ) -> EngineResult<PendingCall> {
        let params = json!({
            "expression": expression,
            "target": target(frame, world),
            "awaitPromise": true,
            "userActivation": world == World::Main,
            "serializationOptions": {"maxDomDepth": 0},
        });
        offload::in_place(expression.len(), || self.bidi.post("script.evaluate", params))
    }

    pub(super) async fn script(
        &self,
        frame: &FrameId,
        world: World,
        expression: &str,
    ) -> EngineResult<RemoteValue> {
        let known = lock(&self.state).frames.is_known(frame);
        if !known {
            return Err(self.convert_error(EngineError::DocumentGone));
        }
        let sent = self.post_script(frame, world, expression)?;
        let outcome: ScriptResult = match sent.read().await.map_err(convert_error) {
            Ok(outcome) => outcome,
            Err(error) => return Err(self.classify_error(error).await),
        };
        self.wait_for_dialog().await;
        outcome.remote()
    }

    /// Evaluates `expression` in the isolated world and returns the shared id of its node.
    pub(super) async fn node(&self, frame: &FrameId, expression: &str) -> EngineResult<String> {
        let remote = self.script(frame, World::Isolated, expression).await?;
        remote
            .node()
            .ok_or_else(|| EngineError::Refused(format!("`{expression}` is not an element")))
    }

    /// Calls `function` with a node, by its shared id, in the main world.
    pub(super) async fn call_on_node(
        &self,
        frame: &FrameId,
        node: &str,
        function: &str,
    ) -> EngineResult<Value> {
        let params = json!({
            "functionDeclaration": function,
            "arguments": [{"sharedId": node}],
            "target": target(frame, World::Main),
            "awaitPromise": true,
            "userActivation": true,
            "serializationOptions": {"maxDomDepth": 0},
        });
        let sent =
            offload::in_place(function.len(), || self.bidi.post("script.callFunction", params))?;
        let outcome: ScriptResult = match sent.read().await.map_err(convert_error) {
            Ok(outcome) => outcome,
            Err(error) => return Err(self.classify_error(error).await),
        };
        self.wait_for_dialog().await;
        outcome.value()
    }

    /// See [`crate::engine::EnginePage::pass_closed_roots`].
    pub(super) async fn collect_closed_roots(
        &self,
        frame: &FrameId,
        hosts: &str,
        take: &str,
    ) -> EngineResult<()> {
        let list = json!({
            "expression": hosts,
            "target": target(frame, World::Isolated),
            "awaitPromise": false,
            "serializationOptions": {"maxDomDepth": 0, "maxObjectDepth": 1, "includeShadowTree": "all"},
        });
        let sent = self.bidi.post("script.evaluate", list)?;
        let outcome: ScriptResult =
            sent.read().await.map_err(convert_error).map_err(|error| self.convert_error(error))?;
        let hosts = outcome.remote()?.items();
        if hosts.is_empty() {
            return Ok(());
        }
        let pairs: Vec<Value> = hosts
            .into_iter()
            .filter_map(RemoteValue::closed_root)
            .flat_map(|[host, root]| [json!({"sharedId": host}), json!({"sharedId": root})])
            .collect();
        let call = json!({
            "functionDeclaration": format!("(...pairs) => {{ {take}(...pairs); }}"),
            "arguments": pairs,
            "target": target(frame, World::Isolated),
            "awaitPromise": false,
        });
        let sent = self.bidi.post("script.callFunction", call)?;
        let outcome: ScriptResult =
            sent.read().await.map_err(convert_error).map_err(|error| self.convert_error(error))?;
        outcome.remote().map(drop)
    }
}
