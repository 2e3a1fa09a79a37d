//! The settings of a session whose tabs are in the default user context. They are applied to each
//! of its tabs.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{
    Bidi,
    emulation::{self, ContextSetting, SettingsScope},
    network::FirefoxNetwork,
    privileged::PrivilegedScript,
};
use crate::{
    config::{ContextConfig, Viewport},
    engine::{ContextOptions, EngineResult, connection::PendingCall},
};

pub(super) struct TabSettings {
    options: Mutex<ContextOptions>,
    network: Arc<FirefoxNetwork>,
    pub headed: bool,
}

impl TabSettings {
    pub fn new(options: &ContextOptions, network: &Arc<FirefoxNetwork>, headed: bool) -> Self {
        Self { options: Mutex::new(options.clone()), network: network.clone(), headed }
    }

    pub fn config(&self) -> ContextConfig {
        self.options.lock().config.clone()
    }

    /// Sets the viewport of later tabs.
    pub fn set_viewport(&self, size: Viewport) {
        self.options.lock().config.viewport = Some(size);
    }

    /// Sends the settings to the new tab `tab` of a session that has the tabs `others`. Returns the
    /// pending responses.
    pub fn post(
        &self,
        (bidi, privileged): (&Bidi, &PrivilegedScript),
        others: Vec<Arc<str>>,
        tab: &Arc<str>,
    ) -> EngineResult<Vec<(ContextSetting, PendingCall)>> {
        let options = self.options.lock().clone();
        let scope = SettingsScope::Tabs(vec![tab.clone()]);
        let mut sent = emulation::apply(bidi, &scope, &options, self.headed)?;
        let mut tabs = others;
        tabs.push(tab.clone());
        let rules = self.network.post_tab_rules(privileged, tabs)?;
        sent.extend(rules.into_iter().map(|sent| (ContextSetting::Other, sent)));
        Ok(sent)
    }
}
