//! The media type and the media features that a page emulates.

/// The emulated values. `None` is the browser's own value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmulatedMedia {
    /// `screen` or `print`.
    pub media: Option<String>,
    /// `light`, `dark` or `no-preference`.
    pub color_scheme: Option<String>,
    /// `reduce` or `no-preference`.
    pub reduced_motion: Option<String>,
    /// `active` or `none`.
    pub forced_colors: Option<String>,
    /// `more` or `no-preference`.
    pub contrast: Option<String>,
}

impl EmulatedMedia {
    /// Returns each media feature by its name in CSS, with its value.
    pub(super) fn features(&self) -> [(&'static str, Option<&str>); 4] {
        [
            ("prefers-color-scheme", self.color_scheme.as_deref()),
            ("prefers-reduced-motion", self.reduced_motion.as_deref()),
            ("forced-colors", self.forced_colors.as_deref()),
            ("prefers-contrast", self.contrast.as_deref()),
        ]
    }
}
