//! Reads closed shadow roots, which CDP reports but page scripts cannot access.
//!
//! A few hosts are serialized with their shadow roots. For many hosts, one snapshot of the DOM is
//! faster: it marks the nodes inside closed roots, and `DOM.describeNode` returns the roots of
//! their parents.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering},
};

use chromiumoxide::cdp::{
    browser_protocol::{
        dom::{BackendNodeId, DescribeNodeParams, ResolveNodeParams},
        dom_snapshot::CaptureSnapshotParams,
    },
    js_protocol::runtime::{
        CallArgument, CallFunctionOnParams, EvaluateParams, ReleaseObjectGroupParams,
        RemoteObjectId, SerializationOptions, SerializationOptionsSerialization,
    },
};
use futures_util::future::join_all;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{ChromiumPage, DescribedNode};
use crate::engine::{
    EngineError, EngineResult, FrameId, World,
    chromium::session::CdpSession,
    connection::{ConnectionError, PendingCall},
};

/// Maximum number of hosts that are serialized. More are looked up in a snapshot of the DOM.
const MAX_SERIALIZED: usize = 64;

/// Numbers for object groups, which release the handles of one search.
static GROUPS: AtomicU64 = AtomicU64::new(0);

/// A host and its closed root, by their backend node ids.
type HostAndRoot = [i64; 2];

#[derive(Deserialize)]
struct SerializedResult {
    result: SerializedObject,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SerializedObject {
    deep_serialized_value: Option<DeepValue>,
}

#[derive(Deserialize)]
struct DeepValue {
    #[serde(default)]
    value: Value,
}

#[derive(Deserialize)]
struct DomSnapshot {
    documents: Vec<DocumentSnapshot>,
    strings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DocumentSnapshot {
    frame_id: usize,
    nodes: NodeTree,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeTree {
    parent_index: Vec<i64>,
    backend_node_id: Vec<i64>,
    #[serde(default)]
    shadow_root_type: RareStrings,
}

#[derive(Default, Deserialize)]
struct RareStrings {
    index: Vec<usize>,
    value: Vec<usize>,
}

#[derive(Deserialize)]
struct ResolvedHandle {
    object: ObjectHandle,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectHandle {
    object_id: Option<String>,
}

/// See [`crate::engine::EnginePage::pass_closed_roots`].
pub(super) async fn pass_to_script(
    page: &ChromiumPage,
    frame: &FrameId,
    hosts: &str,
    take: &str,
) -> EngineResult<()> {
    let cdp = page.session_of_frame(frame);
    let group = format!("closed-{}", GROUPS.fetch_add(1, Ordering::Relaxed));
    let outcome = find_roots(page, &cdp, frame, hosts, take, &group).await;
    // Releases the serialized array and all nodes.
    if !matches!(outcome, Ok(false)) {
        drop(cdp.post(ReleaseObjectGroupParams::new(group)));
    }
    outcome.map(drop)
}

/// Returns false if there are no hosts, and no handles to release.
async fn find_roots(
    page: &ChromiumPage,
    cdp: &CdpSession,
    frame: &FrameId,
    hosts: &str,
    take: &str,
    group: &str,
) -> EngineResult<bool> {
    let context = page.context_of(cdp, frame, World::Isolated).await?;
    let expression = format!(
        "(hosts => hosts.length === 0 ? null : hosts.length > {MAX_SERIALIZED} ? [] : hosts)({hosts} ?? [])"
    );
    let mut params = EvaluateParams::new(expression);
    params.context_id = context;
    params.object_group = Some(group.to_owned());
    let mut deep = SerializationOptions::new(SerializationOptionsSerialization::Deep);
    deep.max_depth = Some(2);
    deep.additional_parameters = Some(json!({"maxNodeDepth": 0, "includeShadowTree": "all"}));
    params.serialization_options = Some(deep);
    let SerializedResult { result } = cdp.execute(params).await?;
    let pairs = match result.deep_serialized_value.map(|deep| deep.value) {
        Some(Value::Array(nodes)) if nodes.is_empty() => find_in_snapshot(cdp, frame).await?,
        Some(Value::Array(nodes)) => nodes.iter().filter_map(closed_root).collect(),
        _ => return Ok(false),
    };
    let resolved = await_responses(pairs.iter().flatten().map(|node| {
        cdp.post(ResolveNodeParams {
            backend_node_id: Some(BackendNodeId::new(*node)),
            object_group: Some(group.to_owned()),
            execution_context_id: context,
            ..ResolveNodeParams::default()
        })
    }))
    .await?;
    let ids: Vec<Option<String>> = resolved
        .into_iter()
        .map(|node: Option<ResolvedHandle>| node.and_then(|node| node.object.object_id))
        .collect();
    let present = ids.chunks_exact(2).filter(|pair| pair.iter().all(Option::is_some));
    let mut call =
        CallFunctionOnParams::new(format!("function (...pairs) {{ {take}(...pairs); }}"));
    call.execution_context_id = context;
    call.arguments = Some(
        present
            .flatten()
            .flatten()
            .map(|id| CallArgument {
                object_id: Some(RemoteObjectId::from(id.clone())),
                ..CallArgument::default()
            })
            .collect(),
    );
    // Not awaited: later calls run after it. It fails only if the document or a node has gone
    // meanwhile.
    drop(cdp.post(call)?);
    Ok(true)
}

/// Returns the ids of a serialized host and its root, if the root is closed.
fn closed_root(node: &Value) -> Option<HostAndRoot> {
    let host = &node["value"];
    let root = &host["shadowRoot"]["value"];
    (root["mode"] == "closed").then_some(())?;
    Some([host["backendNodeId"].as_i64()?, root["backendNodeId"].as_i64()?])
}

/// Finds all closed roots in the document of `frame`.
async fn find_in_snapshot(cdp: &CdpSession, frame: &FrameId) -> EngineResult<Vec<HostAndRoot>> {
    // The parameter is mandatory, and an empty list would not be sent.
    let styles = vec!["display".to_owned()];
    let DomSnapshot { documents, strings } =
        cdp.execute(CaptureSnapshotParams::new(styles)).await?;
    let string = |index: usize| strings.get(index).map(String::as_str);
    let document =
        documents.into_iter().find(|document| string(document.frame_id) == Some(&**frame));
    let Some(DocumentSnapshot { nodes, .. }) = document else { return Ok(Vec::new()) };
    let NodeTree { parent_index, backend_node_id, shadow_root_type: RareStrings { index, value } } =
        nodes;
    // A snapshot has no nodes for shadow roots: the parent of a node in a root is another such
    // node, or the host.
    let inside = index.into_iter().zip(value).filter(|(_, kind)| string(*kind) == Some("closed"));
    let parent =
        |node: usize| backend_node_id.get(usize::try_from(*parent_index.get(node)?).ok()?).copied();
    let parents: BTreeSet<i64> = inside.filter_map(|(node, _)| parent(node)).collect();
    let described = await_responses(parents.iter().map(|node| {
        cdp.post(DescribeNodeParams {
            backend_node_id: Some(BackendNodeId::new(*node)),
            depth: Some(0),
            ..DescribeNodeParams::default()
        })
    }))
    .await?;
    let pair = |(host, described): (i64, Option<DescribedNode>)| {
        let roots = described?.node.shadow_roots;
        let root =
            roots.into_iter().find(|root| root.shadow_root_type.as_deref() == Some("closed"))?;
        Some([host, root.backend_node_id])
    };
    Ok(parents.into_iter().zip(described).filter_map(pair).collect())
}

/// Waits for several responses. `None` for nodes that have been removed.
async fn await_responses<T: DeserializeOwned>(
    sent: impl Iterator<Item = EngineResult<PendingCall>>,
) -> EngineResult<Vec<Option<T>>> {
    let sent = sent.collect::<EngineResult<Vec<_>>>()?;
    let answers = join_all(sent.into_iter().map(PendingCall::read::<T>)).await;
    answers
        .into_iter()
        .map(|answer| match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(ConnectionError::Refused { .. }) => Ok(None),
            Err(error) => Err(EngineError::from(error)),
        })
        .collect()
}
