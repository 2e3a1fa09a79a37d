//! The rows of the tool set.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    call::{ModalState, PlaywrightHandler},
    console, evaluation, extraction, find, interaction, mouse, navigation, network, routes,
    storage, tabs, testing, unavailable,
};
use crate::tools::{
    extraction::SCRIPTS,
    interaction::UPLOADS,
    pass_through,
    tool::{Group, Hints, LifecycleEffect, Properties, Switch, Tool, ToolRunner},
};

/// A tool in `tools.json`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedTool {
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
    // Cannot fail: the text is part of the program, and a test parses it.
    let listed: Vec<ListedTool> = serde_json::from_str(TOOLS).unwrap_or_default();
    listed.into_iter().filter_map(row).collect()
}

fn row(listed: ListedTool) -> Option<Tool> {
    let ListedTool { name, capability, description, mut input_schema, annotations } = listed;
    let handler = handler(&name)?;
    let read_only = annotations["readOnlyHint"] == true;
    input_schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    for id in ["sessionId", "pageId"] {
        input_schema["properties"][id] = json!({"type": "string"});
    }
    let typed = pass_through::typed_by(&name);
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
            HARMLESS.contains(&&*name),
        ),
        name: name.into(),
        group: Group::Playwright(capability_name(&capability)),
        description: description.into(),
        input: input_schema,
        typed,
        answer: crate::tools::answer::AnswerKind::PassedThrough,
        output: None,
        output_type: None,
        listed: Some(listed),
        run: ToolRunner::Playwright(handler),
    })
}

/// Tools that change no page and nothing that a site stores, although they are not read-only.
const HARMLESS: &[&str] = &[
    "browser_close",
    "browser_navigate",
    "browser_navigate_back",
    "browser_resize",
    "browser_tabs",
];

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
fn handler(name: &str) -> Option<PlaywrightHandler> {
    use ModalState::{Any, Dialog, FileChooser, None as Never};
    Some(match name {
        "browser_close" => PlaywrightHandler::new(Any, tabs::close_browser),
        "browser_resize" => PlaywrightHandler::new(Never, navigation::resize),
        "browser_get_config" => PlaywrightHandler::new(Any, tabs::get_config),
        "browser_console_messages" => PlaywrightHandler::new(Never, console::messages),
        "browser_cookie_list" => PlaywrightHandler::new(Any, storage::list_cookies),
        "browser_cookie_get" => PlaywrightHandler::new(Any, storage::get_cookie),
        "browser_cookie_set" => PlaywrightHandler::new(Any, storage::set_cookie),
        "browser_cookie_delete" => PlaywrightHandler::new(Any, storage::delete_cookie),
        "browser_cookie_clear" => PlaywrightHandler::new(Any, storage::clear_cookies),
        "browser_highlight" => PlaywrightHandler::new(Never, testing::highlight),
        "browser_hide_highlight" => PlaywrightHandler::new(Never, testing::hide_highlight),
        "browser_handle_dialog" => PlaywrightHandler::new(Dialog, interaction::handle_dialog),
        "browser_emulate_media" => PlaywrightHandler::new(Never, navigation::emulate_media),
        "browser_evaluate" => PlaywrightHandler::new(Never, evaluation::evaluate),
        "browser_file_upload" => PlaywrightHandler::new(FileChooser, interaction::upload_files),
        "browser_drop" => PlaywrightHandler::new(Never, interaction::drop_data),
        "browser_find" => PlaywrightHandler::new(Never, find::find),
        "browser_fill_form" => PlaywrightHandler::new(Never, interaction::fill_form),
        "browser_press_key" => PlaywrightHandler::new(Never, interaction::press_key),
        "browser_type" => PlaywrightHandler::new(Never, interaction::type_text),
        "browser_mouse_move_xy" => PlaywrightHandler::new(Never, mouse::move_to),
        "browser_mouse_click_xy" => PlaywrightHandler::new(Never, mouse::click),
        "browser_mouse_drag_xy" => PlaywrightHandler::new(Never, mouse::drag),
        "browser_mouse_down" => PlaywrightHandler::new(Never, mouse::press),
        "browser_mouse_up" => PlaywrightHandler::new(Never, mouse::release),
        "browser_mouse_wheel" => PlaywrightHandler::new(Never, mouse::wheel),
        "browser_navigate" => PlaywrightHandler::new(Any, navigation::navigate),
        "browser_navigate_back" => PlaywrightHandler::new(Never, navigation::go_back),
        "browser_network_requests" => PlaywrightHandler::new(Never, network::requests),
        "browser_network_request" => PlaywrightHandler::new(Never, network::request),
        "browser_network_state_set" => PlaywrightHandler::new(Any, network::set_state),
        "browser_pdf_save" => PlaywrightHandler::new(Never, extraction::save_pdf),
        "browser_route" => PlaywrightHandler::new(Any, routes::add),
        "browser_route_list" => PlaywrightHandler::new(Any, routes::list),
        "browser_unroute" => PlaywrightHandler::new(Any, routes::remove),
        "browser_take_screenshot" => PlaywrightHandler::new(Never, extraction::screenshot),
        "browser_snapshot" => PlaywrightHandler::new(Never, extraction::snapshot),
        "browser_click" => PlaywrightHandler::new(Never, interaction::click),
        "browser_drag" => PlaywrightHandler::new(Never, interaction::drag),
        "browser_hover" => PlaywrightHandler::new(Never, interaction::hover),
        "browser_select_option" => PlaywrightHandler::new(Never, interaction::select),
        "browser_generate_locator" => PlaywrightHandler::new(Never, testing::generate_locator),
        "browser_storage_state" => PlaywrightHandler::new(Any, storage::save_state),
        "browser_set_storage_state" => PlaywrightHandler::new(Any, storage::restore_state),
        "browser_tabs" => PlaywrightHandler::new(Any, tabs::tabs),
        "browser_verify_element_visible" => PlaywrightHandler::new(Never, testing::verify_element),
        "browser_verify_text_visible" => PlaywrightHandler::new(Never, testing::verify_text),
        "browser_verify_list_visible" => PlaywrightHandler::new(Never, testing::verify_list),
        "browser_verify_value" => PlaywrightHandler::new(Never, testing::verify_value),
        "browser_wait_for" => PlaywrightHandler::new(Any, navigation::wait_for),
        "browser_localstorage_list" => {
            PlaywrightHandler::new(Never, storage::list::<storage::LocalStorage>)
        }
        "browser_localstorage_get" => {
            PlaywrightHandler::new(Never, storage::get::<storage::LocalStorage>)
        }
        "browser_localstorage_set" => {
            PlaywrightHandler::new(Never, storage::set::<storage::LocalStorage>)
        }
        "browser_localstorage_delete" => {
            PlaywrightHandler::new(Never, storage::delete::<storage::LocalStorage>)
        }
        "browser_localstorage_clear" => {
            PlaywrightHandler::new(Never, storage::clear::<storage::LocalStorage>)
        }
        "browser_sessionstorage_list" => {
            PlaywrightHandler::new(Never, storage::list::<storage::SessionStorage>)
        }
        "browser_sessionstorage_get" => {
            PlaywrightHandler::new(Never, storage::get::<storage::SessionStorage>)
        }
        "browser_sessionstorage_set" => {
            PlaywrightHandler::new(Never, storage::set::<storage::SessionStorage>)
        }
        "browser_sessionstorage_delete" => {
            PlaywrightHandler::new(Never, storage::delete::<storage::SessionStorage>)
        }
        "browser_sessionstorage_clear" => {
            PlaywrightHandler::new(Never, storage::clear::<storage::SessionStorage>)
        }
        "browser_run_code_unsafe" => PlaywrightHandler::new(Any, unavailable::run_code),
        "browser_annotate" => PlaywrightHandler::new(Any, unavailable::annotate),
        "browser_resume" => PlaywrightHandler::new(Any, unavailable::resume),
        "browser_start_recording" => PlaywrightHandler::new(Any, unavailable::recording),
        "browser_stop_recording" => PlaywrightHandler::new(Any, unavailable::recording),
        "browser_start_tracing" => PlaywrightHandler::new(Any, unavailable::tracing),
        "browser_stop_tracing" => PlaywrightHandler::new(Any, unavailable::tracing),
        "browser_start_video" => PlaywrightHandler::new(Any, unavailable::video),
        "browser_stop_video" => PlaywrightHandler::new(Any, unavailable::video),
        "browser_video_chapter" => PlaywrightHandler::new(Any, unavailable::video),
        "browser_video_show_actions" => PlaywrightHandler::new(Any, unavailable::video),
        "browser_video_hide_actions" => PlaywrightHandler::new(Any, unavailable::video),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_of_the_list_has_a_row_and_a_known_capability() {
        let listed: Vec<ListedTool> = serde_json::from_str(TOOLS).unwrap();
        assert_eq!(listed.len(), 72);
        assert_eq!(tools().len(), listed.len());
        for ListedTool { name, capability, .. } in listed {
            assert!(CAPABILITIES.contains(&&*capability), "{name}: {capability}");
        }
    }
}
