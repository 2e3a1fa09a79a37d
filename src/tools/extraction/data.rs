//! Tools that read a page as data.

use schemars::JsonSchema;
use serde::Deserialize;

use super::text::RequiredTarget;
use crate::{
    error::Result,
    page::{Links, Metadata, Table},
    tools::tool::PageCall,
};

pub(super) async fn extract_table(call: PageCall, given: RequiredTarget) -> Result<Table> {
    call.page.table(&given.selector).await
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct LinksParameters {
    /// Only links inside
    selector: Option<String>,
}

pub(super) async fn extract_links(call: PageCall, given: LinksParameters) -> Result<Links> {
    call.page.links(given.selector.as_deref()).await
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct MetadataParameters {}

pub(super) async fn get_page_metadata(
    call: PageCall,
    _given: MetadataParameters,
) -> Result<Metadata> {
    call.page.metadata().await
}
