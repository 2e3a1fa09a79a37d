//! The rows of the tool set.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    call::{Handler, ModalState},
    console, evaluation, extraction, find, interaction, mouse, navigation, network, routes,
    storage, tabs, testing, unavailable,
};
use crate::tools::{
    extraction::SCRIPTS,
    interaction::UPLOADS,
    passed,
    tool::{Group, Hints, LifecycleEffect, Properties, Run, Switch, Tool},
};

/// A tool in `tools.json`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    /// The value of `--caps` that enables the tool. Tools of `core` are always enabled.
    capability: String,
    description: String,
    input_schema: Value,
    annotations: Value,
}

const TOOLS: &str = include_str!("tools.json");

/// Returns all tools of the set, in the order in which they are listed.
pub(in crate::tools) fn tools() -> Vec<Tool> {
    // Part of the program: a test parses it.
    let listed: Vec<Listed> = serde_json::from_str(TOOLS).unwrap_or_default();
    listed.into_iter().filter_map(row).collect()
}

fn row(listed: Listed) -> Option<Tool> {
    let Listed { name, capability, description, mut input_schema, annotations } = listed;
    let handler = handler(&name)?;
    let read_only = annotations["readOnlyHint"] == true;
    input_schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    for id in ["sessionId", "pageId"] {
        input_schema["properties"][id] = json!({"type": "string"});
    }
    let typed = passed::typed_by(&name);
    let listed = json!({
        "name": name,
        "description": description,
        "inputSchema": input_schema,
        "annotations": annotations,
    });
    Some(Tool {
        properties: Properties::of_playwright(
            Hints { read_only, destructive: !read_only },
            switch(&name),
            (name == "browser_close").then_some(LifecycleEffect::Close),
        ),
        name: name.into(),
        group: Group::Playwright(capability_name(&capability)),
        description: description.into(),
        input: input_schema,
        typed,
        answer: crate::tools::answer::AnswerKind::Passed,
        output: None,
        output_type: None,
        listed: Some(listed),
        run: Run::Playwright(handler),
    })
}

/// Returns the option that can disable a tool.
fn switch(name: &str) -> Option<Switch> {
    match name {
        "browser_evaluate" => Some(SCRIPTS),
        "browser_file_upload" | "browser_drop" => Some(UPLOADS),
        _ => None,
    }
}

/// The capabilities of `tools.json`.
const CAPABILITIES: &[&str] =
    &["core", "config", "network", "pdf", "storage", "testing", "tracing", "vision"];

fn capability_name(name: &str) -> &'static str {
    CAPABILITIES.iter().find(|known| **known == name).copied().unwrap_or("core")
}

/// Returns the function of a tool.
fn handler(name: &str) -> Option<Handler> {
    use ModalState::{Any, Dialog, FileChooser, None as Never};
    Some(match name {
        "browser_close" => Handler::new(Any, tabs::close_browser),
        "browser_resize" => Handler::new(Never, navigation::resize),
        "browser_get_config" => Handler::new(Any, tabs::get_config),
        "browser_console_messages" => Handler::new(Never, console::messages),
        "browser_cookie_list" => Handler::new(Any, storage::list_cookies),
        "browser_cookie_get" => Handler::new(Any, storage::get_cookie),
        "browser_cookie_set" => Handler::new(Any, storage::set_cookie),
        "browser_cookie_delete" => Handler::new(Any, storage::delete_cookie),
        "browser_cookie_clear" => Handler::new(Any, storage::clear_cookies),
        "browser_highlight" => Handler::new(Never, testing::highlight),
        "browser_hide_highlight" => Handler::new(Never, testing::hide_highlight),
        "browser_handle_dialog" => Handler::new(Dialog, interaction::handle_dialog),
        "browser_emulate_media" => Handler::new(Never, navigation::emulate_media),
        "browser_evaluate" => Handler::new(Never, evaluation::evaluate),
        "browser_file_upload" => Handler::new(FileChooser, interaction::upload_files),
        "browser_drop" => Handler::new(Never, interaction::drop_data),
        "browser_find" => Handler::new(Never, find::find),
        "browser_fill_form" => Handler::new(Never, interaction::fill_form),
        "browser_press_key" => Handler::new(Never, interaction::press_key),
        "browser_type" => Handler::new(Never, interaction::type_text),
        "browser_mouse_move_xy" => Handler::new(Never, mouse::move_to),
        "browser_mouse_click_xy" => Handler::new(Never, mouse::click),
        "browser_mouse_drag_xy" => Handler::new(Never, mouse::drag),
        "browser_mouse_down" => Handler::new(Never, mouse::press),
        "browser_mouse_up" => Handler::new(Never, mouse::release),
        "browser_mouse_wheel" => Handler::new(Never, mouse::wheel),
        "browser_navigate" => Handler::new(Any, navigation::navigate),
        "browser_navigate_back" => Handler::new(Never, navigation::go_back),
        "browser_network_requests" => Handler::new(Never, network::requests),
        "browser_network_request" => Handler::new(Never, network::request),
        "browser_network_state_set" => Handler::new(Any, network::set_state),
        "browser_pdf_save" => Handler::new(Never, extraction::save_pdf),
        "browser_route" => Handler::new(Any, routes::add),
        "browser_route_list" => Handler::new(Any, routes::list),
        "browser_unroute" => Handler::new(Any, routes::remove),
        "browser_take_screenshot" => Handler::new(Never, extraction::screenshot),
        "browser_snapshot" => Handler::new(Never, extraction::snapshot),
        "browser_click" => Handler::new(Never, interaction::click),
        "browser_drag" => Handler::new(Never, interaction::drag),
        "browser_hover" => Handler::new(Never, interaction::hover),
        "browser_select_option" => Handler::new(Never, interaction::select),
        "browser_generate_locator" => Handler::new(Never, testing::generate_locator),
        "browser_storage_state" => Handler::new(Any, storage::save_state),
        "browser_set_storage_state" => Handler::new(Any, storage::restore_state),
        "browser_tabs" => Handler::new(Any, tabs::tabs),
        "browser_verify_element_visible" => Handler::new(Never, testing::verify_element),
        "browser_verify_text_visible" => Handler::new(Never, testing::verify_text),
        "browser_verify_list_visible" => Handler::new(Never, testing::verify_list),
        "browser_verify_value" => Handler::new(Never, testing::verify_value),
        "browser_wait_for" => Handler::new(Any, navigation::wait_for),
        "browser_localstorage_list" => Handler::new(Never, storage::list::<storage::Local>),
        "browser_localstorage_get" => Handler::new(Never, storage::get::<storage::Local>),
        "browser_localstorage_set" => Handler::new(Never, storage::set::<storage::Local>),
        "browser_localstorage_delete" => Handler::new(Never, storage::delete::<storage::Local>),
        "browser_localstorage_clear" => Handler::new(Never, storage::clear::<storage::Local>),
        "browser_sessionstorage_list" => Handler::new(Never, storage::list::<storage::Session>),
        "browser_sessionstorage_get" => Handler::new(Never, storage::get::<storage::Session>),
        "browser_sessionstorage_set" => Handler::new(Never, storage::set::<storage::Session>),
        "browser_sessionstorage_delete" => Handler::new(Never, storage::delete::<storage::Session>),
        "browser_sessionstorage_clear" => Handler::new(Never, storage::clear::<storage::Session>),
        "browser_run_code_unsafe" => Handler::new(Any, unavailable::run_code),
        "browser_annotate" => Handler::new(Any, unavailable::annotate),
        "browser_resume" => Handler::new(Any, unavailable::resume),
        "browser_start_recording" => Handler::new(Any, unavailable::recording),
        "browser_stop_recording" => Handler::new(Any, unavailable::recording),
        "browser_start_tracing" => Handler::new(Any, unavailable::tracing),
        "browser_stop_tracing" => Handler::new(Any, unavailable::tracing),
        "browser_start_video" => Handler::new(Any, unavailable::video),
        "browser_stop_video" => Handler::new(Any, unavailable::video),
        "browser_video_chapter" => Handler::new(Any, unavailable::video),
        "browser_video_show_actions" => Handler::new(Any, unavailable::video),
        "browser_video_hide_actions" => Handler::new(Any, unavailable::video),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_of_the_list_has_a_row_and_a_known_capability() {
        let listed: Vec<Listed> = serde_json::from_str(TOOLS).unwrap();
        assert_eq!(listed.len(), 72);
        assert_eq!(tools().len(), listed.len());
        for Listed { name, capability, .. } in listed {
            assert!(CAPABILITIES.contains(&&*capability), "{name}: {capability}");
        }
    }
}
