//! Tools that read a page as data.

use schemars::JsonSchema;
use serde::Deserialize;

use super::text::Target;
use crate::{
    error::Result,
    page::{Links, Metadata, Table},
    tools::tool::PageCall,
};

pub(super) async fn extract_table(call: PageCall, given: Target) -> Result<Table> {
    call.page.table(&given.selector).await
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct LinksParameters {
    /// Only links in it
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
