//! Emulates media types and media features.

use crate::{engine::EmulatedMedia, error::Result, page::Page};

/// Changes of the emulated media. `None` keeps a value, and `Some(None)` removes its override.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MediaEmulation {
    /// The media type: `screen` or `print`.
    pub media: Option<Option<String>>,
    /// `light`, `dark` or `no-preference`.
    pub color_scheme: Option<Option<String>>,
    /// `reduce` or `no-preference`.
    pub reduced_motion: Option<Option<String>>,
    /// `active` or `none`.
    pub forced_colors: Option<Option<String>>,
    /// `more` or `no-preference`.
    pub contrast: Option<Option<String>>,
}

impl MediaEmulation {
    /// Returns `current` with the changes.
    fn applied_to(&self, current: &EmulatedMedia) -> EmulatedMedia {
        let merge = |change: &Option<Option<String>>, current: &Option<String>| {
            change.clone().unwrap_or_else(|| current.clone())
        };
        EmulatedMedia {
            media: merge(&self.media, &current.media),
            color_scheme: merge(&self.color_scheme, &current.color_scheme),
            reduced_motion: merge(&self.reduced_motion, &current.reduced_motion),
            forced_colors: merge(&self.forced_colors, &current.forced_colors),
            contrast: merge(&self.contrast, &current.contrast),
        }
    }
}

impl Page {
    /// Changes the emulated media of the page's present and future documents.
    pub async fn emulate_media(&self, media: &MediaEmulation) -> Result<()> {
        let emulated = media.applied_to(&self.media.lock());
        self.guarded(self.engine.emulate_media(&emulated)).await?;
        *self.media.lock() = emulated;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_keeps_the_other_values() {
        let dark = MediaEmulation { color_scheme: Some(Some("dark".into())), ..Default::default() };
        let print = MediaEmulation { media: Some(Some("print".into())), ..Default::default() };
        let both = print.applied_to(&dark.applied_to(&EmulatedMedia::default()));
        assert_eq!(both.color_scheme.as_deref(), Some("dark"));
        assert_eq!(both.media.as_deref(), Some("print"));
        let cleared = MediaEmulation { color_scheme: Some(None), ..Default::default() };
        let rest = cleared.applied_to(&both);
        assert_eq!((rest.color_scheme, rest.media.as_deref()), (None, Some("print")));
    }
}
