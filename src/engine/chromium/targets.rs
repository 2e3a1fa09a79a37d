//! The attachment of CDP sessions to targets.

use std::sync::Arc;

use chromiumoxide::cdp::browser_protocol::target::{
    FilterEntry, SetAutoAttachParams, TargetFilter,
};
use serde::Deserialize;

/// The parameters of `Target.attachedToTarget`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AttachedToTarget {
    pub session_id: Arc<str>,
    pub target_info: TargetInfo,
    #[serde(default)]
    pub waiting_for_debugger: bool,
}

/// The parameters of `Target.detachedFromTarget`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DetachedFromTarget {
    pub session_id: Arc<str>,
}

/// The result of `Target.createTarget`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CreatedTarget {
    pub target_id: String,
}

/// CDP's description of a target.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TargetInfo {
    pub target_id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub browser_context_id: Option<String>,
    pub opener_id: Option<String>,
    #[serde(default)]
    pub url: String,
    #[serde(default)]
    pub title: String,
}

/// Returns the command that attaches to new targets of these types and pauses them.
pub(super) fn auto_attach(kinds: &[&str]) -> SetAutoAttachParams {
    let included = kinds
        .iter()
        .map(|kind| FilterEntry { exclude: Some(false), r#type: Some((*kind).to_owned()) });
    let others = FilterEntry { exclude: Some(true), r#type: None };
    let mut attach = SetAutoAttachParams::new(true, true);
    attach.flatten = Some(true);
    attach.filter = Some(TargetFilter::new(included.chain([others]).collect::<Vec<_>>()));
    attach
}
