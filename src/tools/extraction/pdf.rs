//! Saves the page as a PDF file.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run_blocking;
use crate::{
    error::{ErrorCode, Result, TroupeError},
    files::IfExists,
    tools::tool::PageCall,
};

/// Maximum length of a file name that is derived from a page's title.
const MAX_NAME_LENGTH: usize = 60;

#[derive(Deserialize, JsonSchema)]
pub(super) struct PdfParameters {
    path: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct SavedPdf {
    success: bool,
    path: String,
    bytes: u64,
}

pub(super) async fn save_pdf(call: PageCall, given: PdfParameters) -> Result<SavedPdf> {
    let is_named = given.path.is_some();
    let mut name = match given.path {
        Some(path) => path,
        None => named_after(&call.page.title().await.unwrap_or_default()),
    };
    if Path::new(&name).extension().is_none() {
        name.push_str(".pdf");
    }
    // A path outside of the allowed folders is reported before the page is printed.
    let files = call.session.files();
    files.check_output(&name).await?;
    let printed = call.page.pdf().await?;
    let bytes = run_blocking(move || {
        STANDARD.decode(printed).map_err(|error| {
            TroupeError::new(
                ErrorCode::InternalError,
                format!("the browser's PDF is not base64: {error}"),
            )
        })
    })
    .await?;
    let if_exists = if is_named { IfExists::Fail } else { IfExists::Rename };
    let size = bytes.len() as u64;
    let path = files.create(&name, if_exists, false, bytes).await?;
    Ok(SavedPdf { success: true, path: path.to_string(), bytes: size })
}

/// Returns a file name with the letters and digits of a title.
fn named_after(title: &str) -> String {
    let words =
        title.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty());
    let name: String = words.collect::<Vec<_>>().join("-").chars().take(MAX_NAME_LENGTH).collect();
    if name.is_empty() { "page".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_after_its_page() {
        assert_eq!(named_after("../Größe: 3 / 4 – a\\b.exe"), "Größe-3-4-a-b-exe");
        assert_eq!(named_after("…"), "page");
    }
}
