//! Closed shadow roots: no script sees them, the protocol does.

use std::sync::atomic::{AtomicU64, Ordering};

use chromiumoxide::cdp::{
    browser_protocol::dom::{BackendNodeId, DescribeNodeParams, ResolveNodeParams},
    js_protocol::runtime::{
        CallArgument, CallFunctionOnParams, GetPropertiesParams, ReleaseObjectGroupParams, RemoteObjectId,
    },
};
use futures_util::future::join_all;
use serde::{Deserialize, de::DeserializeOwned};

use super::{ChromiumPage, Described, script::Evaluated};
use crate::engine::{
    EngineError, EngineResult, FrameId, World,
    chromium::Link,
    wire::{Sent, WireError},
};

/// Numbers for the groups that the handles of one look are released with.
static GROUPS: AtomicU64 = AtomicU64::new(0);

#[derive(Deserialize)]
struct Properties {
    result: Vec<Property>,
}

#[derive(Deserialize)]
struct Property {
    name: String,
    value: Option<Object>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    object_id: Option<String>,
}

#[derive(Deserialize)]
struct Resolved {
    object: Object,
}

/// See [`crate::engine::Page::hand_over_roots`].
pub(super) async fn hand_over(
    page: &ChromiumPage,
    frame: &FrameId,
    hosts: &str,
    take: &str,
) -> EngineResult<()> {
    let group = format!("closed-{}", GROUPS.fetch_add(1, Ordering::Relaxed));
    let (link, array) = page.object_in(frame, hosts, Some(&group)).await?;
    let outcome = look_into(page, &link, frame, array, take, &group).await;
    drop(link.post(ReleaseObjectGroupParams::new(group)));
    outcome
}

async fn look_into(
    page: &ChromiumPage,
    link: &Link,
    frame: &FrameId,
    array: String,
    take: &str,
    group: &str,
) -> EngineResult<()> {
    let mut params = GetPropertiesParams::new(array);
    params.own_properties = Some(true);
    let elements: Properties = link.execute(params).await?;
    let hosts: Vec<String> = elements
        .result
        .into_iter()
        .filter(|property| property.name.parse::<usize>().is_ok())
        .filter_map(|property| property.value?.object_id)
        .collect();
    let descriptions = together(hosts.iter().map(|host| {
        link.post(DescribeNodeParams {
            object_id: Some(host.clone().into()),
            depth: Some(0),
            ..DescribeNodeParams::default()
        })
    }))
    .await?;
    let closed: Vec<(String, i64)> = hosts
        .into_iter()
        .zip(descriptions)
        .filter_map(|(host, described)| {
            let Described { node } = described?;
            let closed =
                node.shadow_roots.iter().find(|root| root.shadow_root_type.as_deref() == Some("closed"))?;
            Some((host, closed.backend_node_id))
        })
        .collect();
    if closed.is_empty() {
        return Ok(());
    }
    let context = page.context_of(link, frame, World::Isolated).await?;
    let roots = together(closed.iter().map(|(_, root)| {
        link.post(ResolveNodeParams {
            backend_node_id: Some(BackendNodeId::new(*root)),
            object_group: Some(group.to_owned()),
            execution_context_id: context,
            ..ResolveNodeParams::default()
        })
    }))
    .await?;
    let pairs = closed.into_iter().zip(roots).filter_map(|((host, _), root)| {
        let Resolved { object } = root?;
        Some([host, object.object_id?])
    });
    let mut call = CallFunctionOnParams::new(format!(
        "function (...pairs) {{ for (let at = 0; at < pairs.length; at += 2) {take}(pairs[at], pairs[at + 1]); }}"
    ));
    call.execution_context_id = context;
    call.arguments = Some(
        pairs
            .flatten()
            .map(|id| CallArgument { object_id: Some(RemoteObjectId::from(id)), ..CallArgument::default() })
            .collect(),
    );
    link.execute::<Evaluated>(call).await?.outcome().map(drop)
}

/// The answers to commands that were written together; `None` for what is gone meanwhile.
async fn together<T: DeserializeOwned>(
    sent: impl Iterator<Item = EngineResult<Sent>>,
) -> EngineResult<Vec<Option<T>>> {
    let sent = sent.collect::<EngineResult<Vec<_>>>()?;
    let answers = join_all(sent.into_iter().map(Sent::read::<T>)).await;
    answers
        .into_iter()
        .map(|answer| match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(WireError::Refused { .. }) => Ok(None),
            Err(error) => Err(EngineError::from(error)),
        })
        .collect()
}
