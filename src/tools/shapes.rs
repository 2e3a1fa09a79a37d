//! Tests of the results of tools as clients get them, with an in-memory browser. A difference here
//! is a change for every agent.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{answer::Answer, invocation::Invocation, registry::Registry};
use crate::{
    config::Config,
    engine::memory::MemoryEngine,
    session::{Browsers, Connection, SessionManager, VirtualClock},
};

/// A server without a browser, and a map of the ids in its answers, which are new each time.
struct TestClient {
    registry: Registry,
    connection: Arc<Connection>,
    results: Map<String, Value>,
}

impl TestClient {
    fn new() -> Self {
        let clock = Arc::new(VirtualClock::new(1_700_000_000_000));
        let config = Arc::new(Config::default());
        let browsers =
            Browsers::new(config.clone(), Arc::new(MemoryEngine::default()), clock.clone());
        let manager =
            SessionManager::new(config, browsers, clock, crate::store::Store::none().unwrap());
        Self {
            registry: Registry::new(manager).unwrap(),
            connection: Arc::default(),
            results: Map::new(),
        }
    }

    /// Calls a tool, stores its answer or error under `what`, and returns the answer.
    async fn call(&mut self, what: &str, tool: &str, arguments: Value) -> Value {
        let invocation = Invocation::new(self.connection.clone(), tool, arguments);
        let answer = match self.registry.call(invocation).await.unwrap().result {
            Ok(Answer::Json(value)) => value,
            Ok(other) => other.into_value(),
            Err(error) => serde_json::to_value(error).unwrap(),
        };
        self.results.insert(format!("{tool}: {what}"), answer.clone());
        answer
    }
}

#[tokio::test]
async fn answers_of_tools_that_need_no_content() {
    let mut client = TestClient::new();
    let session = client.call("a session", "create_session", json!({})).await["sessionId"].clone();
    let of = |mut more: Value| {
        more["sessionId"] = session.clone();
        more
    };
    client.call("a page", "navigate", of(json!({"url": "https://example.com/"}))).await;
    client.call("with a URL", "pages", of(json!({"action": "new", "url": "about:blank"}))).await;
    client.call("all", "pages", of(json!({"action": "list"}))).await;
    client.call("one", "pages", of(json!({"action": "close", "pageId": "page-2"}))).await;
    client.call("one with a page", "list_sessions", json!({})).await;
    client.call("none", "get_cookies", of(json!({}))).await;
    let cookie = json!({"name": "a", "value": "b", "url": "https://example.com/"});
    client.call("one", "set_cookies", of(json!({"cookies": [cookie]}))).await;
    client.call("a size", "set_viewport", of(json!({"width": 800, "height": 600}))).await;
    client.call("a type", "block_resource", of(json!({"resourceType": "image"}))).await;
    client
        .call("a glob", "mock_response", of(json!({"url": "**/api/*", "response": {"json": []}})))
        .await;
    client.call("off", "set_offline", of(json!({"offline": true}))).await;
    client.call("a limit", "set_throttling", of(json!({"downloadSpeed": 1000}))).await;
    client.call("no limit", "set_throttling", of(json!({}))).await;
    client.call("empty", "get_request_log", of(json!({}))).await;
    let steps = json!([{"tool": "set_offline", "arguments": {"offline": false}}, {"tool": "nothing"}, {"tool": "pages"}]);
    client.call("a step that fails", "batch", of(json!({"steps": steps}))).await;
    client.call("nothing kept", "get_content", json!({})).await;
    client.call("a parameter that is missing", "click", of(json!({}))).await;
    client.call("no such page", "get_text", of(json!({"pageId": "page-7"}))).await;
    client.call("no dialog", "handle_dialog", of(json!({"accept": true}))).await;
    client.call("forbidden", "navigate", of(json!({"url": "file:///etc/passwd"}))).await;
    client.call("the session", "close_session", of(json!({}))).await;
    client.call("a closed session", "navigate", of(json!({"url": "about:blank"}))).await;
    let text = serde_json::to_string_pretty(&client.results).unwrap();
    insta::assert_snapshot!(text.replace(session.as_str().unwrap(), "[session]"));
}
