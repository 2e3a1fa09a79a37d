//! Answers file choosers that the page has opened.

use std::path::PathBuf;

use crate::{
    engine::FileChooser,
    error::{ErrorCode, Result, TroupeError},
    page::{Page, act::ActionOutcome},
};

impl Page {
    /// Selects files in the open file chooser, and waits for the effects. Without files, dismisses
    /// it.
    pub async fn answer_file_chooser(&self, files: &[PathBuf]) -> Result<ActionOutcome> {
        let Some(chooser) = self.open_file_chooser() else {
            return Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                "no file chooser is open in this page",
            )
            .suggestion("`click` the button that opens the file chooser"));
        };
        check_count(&chooser, files)?;
        let files = &*self.provide_files(files).await?;
        self.dismiss_file_chooser();
        let element = "the file chooser".to_owned();
        if files.is_empty() {
            return Ok(ActionOutcome { element, ..ActionOutcome::default() });
        }
        let choosing = async |_mark| self.guarded(self.engine.choose_files(&chooser, files)).await;
        self.act(element, &chooser.frame, choosing).await
    }

    /// Copies files to the browser's machine, if it is another one. Returns their paths there.
    pub(super) async fn provide_files(&self, files: &[PathBuf]) -> Result<Vec<PathBuf>> {
        self.engine.provide_files(files).await.map_err(|error| self.error(error))
    }

    /// Dismisses the open file chooser, if there is one. The file input keeps its files.
    pub fn dismiss_file_chooser(&self) {
        drop(self.state.take_chooser());
    }
}

/// Fails if there are several files for a chooser that accepts only one.
pub(super) fn check_count(chooser: &FileChooser, files: &[PathBuf]) -> Result<()> {
    if chooser.input.is_some() && files.len() > 1 && !chooser.multiple {
        return Err(one_file_only());
    }
    Ok(())
}

pub(super) fn one_file_only() -> TroupeError {
    TroupeError::new(ErrorCode::InvalidParameters, "the file input accepts only one file")
        .suggestion("pass one path in `files`")
}
