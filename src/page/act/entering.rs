//! Input other than that of the pointer: text, values, options, keys and files.

use std::{collections::HashSet, path::PathBuf, time::Duration};

use serde_json::{Value, json};

use crate::{
    engine::{FrameId, KeyEvent, Modifiers},
    error::{ErrorCode, Result, TroupeError},
    page::{
        Page,
        act::{
            ActionOutcome, ClickOptions, PointerTarget, SettledEffects, ValueMismatch,
            file_chooser::{check_count, one_file_only},
            keyboard,
        },
        query::ActionPoint,
        state::EventSequence,
    },
};

/// Maximum number of keys that are sent at once. Each group is awaited, so that the browser's input
/// queue does not overflow.
const KEYS_AT_ONCE: usize = 256;

/// How to type.
#[derive(Debug, Clone)]
pub struct TypeOptions {
    /// The time between two characters.
    pub delay: Duration,
    /// Whether the field is cleared first.
    pub clear: bool,
    /// Whether Enter is pressed at the end.
    pub submit: bool,
    pub timeout: Duration,
}

/// A text that was entered into a field.
struct EnteredField {
    frame: FrameId,
    /// The field as an argument of the injected script.
    argument: Value,
}

impl EnteredField {
    /// Describes the field at `action_point`. `typed`: `text` was inserted at the caret. Otherwise,
    /// it is the whole value.
    fn of(index: usize, action_point: &ActionPoint, text: &str, typed: bool) -> Self {
        let argument =
            json!({"index": index, "ref": action_point.reference, "text": text, "typed": typed});
        Self { frame: action_point.frame.clone(), argument }
    }
}

/// Returns whether `kind` is a type of date or time input, and `text` begins like its value in HTML
/// (`2026-11-21`, `09:30`). Such a text is set, not typed: the parts of the field have the order of
/// the user's language, so its keys would enter another value.
fn is_date_value(kind: &str, text: &str) -> bool {
    let (digits, separator) = match kind {
        "date" | "datetime-local" | "month" | "week" => (4, b'-'),
        "time" => (2, b':'),
        _ => return false,
    };
    let text = text.as_bytes();
    text.len() > digits
        && text[..digits].iter().all(u8::is_ascii_digit)
        && text[digits] == separator
}

impl Page {
    /// Waits until the element that `target` refers to is editable, and types `text` into it with
    /// keystrokes. Pastes the text into a code editor. With `clear`, sets the value of a date or
    /// time field.
    pub async fn type_text(
        &self,
        target: &str,
        text: &str,
        options: &TypeOptions,
    ) -> Result<ActionOutcome> {
        let action_point =
            self.await_focused(target, "type", options.clear, options.timeout).await?;
        let is_set = options.clear && is_date_value(&action_point.kind, text);
        let types_keys = !action_point.is_editor && !is_set;
        let mut groups = if types_keys { keyboard::strokes(text) } else { Vec::new() };
        if options.clear && text.is_empty() {
            groups.extend(keyboard::named("Delete").map(Vec::from));
        }
        if options.submit {
            groups.extend(keyboard::named("Enter").map(Vec::from));
        }
        let passwords = vec![action_point.is_password()];
        let field = EnteredField::of(0, &action_point, text, !options.clear);
        let typing =
            self.act(action_point.description.clone(), &action_point.frame, async |mark| {
                if action_point.is_editor {
                    self.insert_into_editor(&action_point, text, options.clear, mark).await?;
                }
                if is_set {
                    self.fill_action_point(&action_point, text, true).await?;
                }
                if options.delay.is_zero() {
                    for keys in groups.chunks(KEYS_AT_ONCE) {
                        let keys: Vec<KeyEvent> = keys.concat();
                        self.input(mark, self.engine.keyboard(&keys)).await?;
                    }
                } else {
                    for (index, keys) in groups.iter().enumerate() {
                        if index > 0 {
                            tokio::time::sleep(options.delay).await;
                        }
                        self.input(mark, self.engine.keyboard(keys)).await?;
                    }
                }
                Ok(())
            });
        let mut done = typing.await?;
        // Enter may have cleared the field.
        if !options.submit {
            self.compare_entered(&mut done, &[field]).await;
        }
        Ok(done.with_entered(passwords))
    }

    /// Pastes `text` into the code editor that receives key events at `action_point`. The text is
    /// not typed, because an editor indents typed lines and closes brackets.
    async fn insert_into_editor(
        &self,
        action_point: &ActionPoint,
        text: &str,
        replace: bool,
        mark: EventSequence,
    ) -> Result<()> {
        if replace {
            self.input(mark, self.engine.keyboard(&keyboard::select_all())).await?;
        }
        if text.is_empty() {
            return Ok(());
        }
        let insert = json!({"ref": action_point.reference, "text": text});
        if self.call_injected_in(&action_point.frame, "insertInto", insert).await?["isHandled"]
            == true
        {
            return Ok(());
        }
        let insert = [KeyEvent::Insert { text: text.to_owned() }];
        self.input(mark, self.engine.keyboard(&insert)).await
    }

    /// Waits until `target` is actionable for `action`, and focuses it. With `replace`, selects its
    /// text. All of this is one call, so that the keys can follow directly.
    async fn await_focused(
        &self,
        target: &str,
        action: &str,
        replace: bool,
        timeout: Duration,
    ) -> Result<ActionPoint> {
        let arguments = json!({"action": action, "focus": {"replace": replace}});
        let action_point = self.await_actionable_with(target, arguments, timeout).await?;
        if action_point.focused {
            return Ok(action_point);
        }
        let (code, what) = match action {
            "type" => (ErrorCode::ElementNotEditable, &action_point.description),
            _ => (ErrorCode::ElementNotClickable, &action_point.description),
        };
        Err(TroupeError::new(code, format!("{what} cannot be focused"))
            .detail("reason", "not focusable")
            .detail("selector", target)
            .suggestion("`click` it, then `press` without `selector`"))
    }

    /// Sets the value of a field, and dispatches `input` and `change`. With `with_key`, also
    /// dispatches the last key event of a paste: some forms validate only on key events.
    pub async fn fill(
        &self,
        target: &str,
        value: &str,
        with_key: bool,
        timeout: Duration,
    ) -> Result<ActionOutcome> {
        let action_point = self.await_actionable(target, "fill", false, timeout).await?;
        if action_point.is_editor {
            return self.fill_editor(&action_point, value, timeout).await;
        }
        let filling = async |_mark| self.fill_action_point(&action_point, value, with_key).await;
        let mut done =
            self.act(action_point.description.clone(), &action_point.frame, filling).await?;
        self.compare_entered(&mut done, &[EnteredField::of(0, &action_point, value, false)]).await;
        Ok(done.with_entered(vec![action_point.is_password()]))
    }

    /// Replaces the text of the code editor that receives key events at `action_point`.
    async fn fill_editor(
        &self,
        action_point: &ActionPoint,
        value: &str,
        timeout: Duration,
    ) -> Result<ActionOutcome> {
        let options = TypeOptions { delay: Duration::ZERO, clear: true, submit: false, timeout };
        Box::pin(self.type_text(&action_point.reference, value, &options)).await
    }

    /// Sets the value of the field at `action_point`.
    async fn fill_action_point(
        &self,
        action_point: &ActionPoint,
        value: &str,
        with_key: bool,
    ) -> Result<()> {
        let arguments = json!({"ref": action_point.reference, "value": value, "withKey": with_key});
        let filled = self.call_injected_in(&action_point.frame, "fill", arguments).await?;
        let has_rest =
            value.is_empty() && filled["value"].as_str().is_some_and(|rest| !rest.is_empty());
        if has_rest {
            // A rich-text editor that cancels the deletion handles keystrokes itself.
            let keys: Vec<KeyEvent> = keyboard::select_all()
                .into_iter()
                .chain(keyboard::named("Delete").into_iter().flatten())
                .collect();
            self.input(self.state.mark(), self.engine.keyboard(&keys)).await?;
        }
        Ok(())
    }

    /// Sets several fields: text, options or checkboxes, depending on their type.
    pub async fn fill_form(
        &self,
        fields: &[(String, Value)],
        timeout: Duration,
    ) -> Result<ActionOutcome> {
        let count = fields.len();
        let element = if count == 1 { "1 field".to_owned() } else { format!("{count} fields") };
        let mut passwords = Vec::with_capacity(count);
        let mut entered = Vec::new();
        let mut done = self
            .act(element, self.main_frame(), async |_mark| {
                for (index, (target, value)) in fields.iter().enumerate() {
                    let (password, text_field) =
                        self.fill_field(index, target, value, timeout).await.map_err(|error| {
                            error.detail("field", target.as_str()).detail("filled", index)
                        })?;
                    passwords.push(password);
                    entered.extend(text_field);
                }
                Ok(())
            })
            .await?;
        self.compare_entered(&mut done, &entered).await;
        Ok(done.with_entered(passwords))
    }

    /// Records the fields whose value differs from the entered text: truncated by `maxlength`, or
    /// changed by the page.
    async fn compare_entered(&self, done: &mut ActionOutcome, fields: &[EnteredField]) {
        let SettledEffects { navigated, closed, ref dialog, .. } = done.settled;
        if navigated || closed || dialog.is_some() {
            return;
        }
        let frames: HashSet<&FrameId> = fields.iter().map(|field| &field.frame).collect();
        for frame in frames {
            let of_frame = fields.iter().filter(|field| field.frame == *frame);
            let arguments =
                json!({"fields": of_frame.map(|field| &field.argument).collect::<Vec<_>>()});
            let comparison = self.call_injected_in(frame, "differentFields", arguments);
            // The action is done. It must not fail because a frame was removed or does not respond.
            if let Some(Ok(mut answer)) = self.within(self.config.timeout_settle, comparison).await
            {
                let different = serde_json::from_value(answer["different"].take());
                done.other_values.extend(different.unwrap_or_else(|_| Vec::<ValueMismatch>::new()));
            }
        }
        done.other_values.sort_by_key(|field| field.index);
    }

    /// Sets one field. Returns whether it is a password field, and the entered text, if it is text.
    async fn fill_field(
        &self,
        index: usize,
        target: &str,
        value: &Value,
        timeout: Duration,
    ) -> Result<(bool, Option<EnteredField>)> {
        let action_point = self.await_actionable(target, "check", false, timeout).await?;
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let password = action_point.is_password();
        match (action_point.tag.as_str(), action_point.kind.as_str()) {
            ("select", _) => {
                let values = json!({"ref": action_point.reference, "values": [text]});
                self.call_injected_in(&action_point.frame, "select", values).await?;
            }
            ("input", "checkbox" | "radio") => {
                let on = matches!(text.as_str(), "true" | "on" | "yes" | "1" | "checked");
                self.set_checked_at_point(action_point, on, timeout).await?;
            }
            _ => {
                let action_point =
                    self.await_actionable(&action_point.reference, "fill", false, timeout).await?;
                if action_point.is_editor {
                    self.fill_editor(&action_point, &text, timeout).await?;
                } else {
                    self.fill_action_point(&action_point, &text, true).await?;
                }
                return Ok((password, Some(EnteredField::of(index, &action_point, &text, false))));
            }
        }
        Ok((password, None))
    }

    /// Selects options of a `<select>` by value, label or index. `focus`: also focuses it, as a
    /// user does.
    pub async fn select(
        &self,
        target: &str,
        values: &[String],
        focus: bool,
        timeout: Duration,
    ) -> Result<ActionOutcome> {
        let action_point = self.await_actionable(target, "select", false, timeout).await?;
        self.act(action_point.description, &action_point.frame, async |_mark| {
            let arguments =
                json!({"ref": action_point.reference, "values": values, "focus": focus});
            self.call_injected_in(&action_point.frame, "select", arguments).await.map(drop)
        })
        .await
    }

    /// Checks or unchecks a checkbox, switch or radio button, unless it is in that state already.
    pub async fn set_checked(
        &self,
        target: &str,
        on: bool,
        timeout: Duration,
    ) -> Result<ActionOutcome> {
        let action_point = self.await_actionable(target, "check", false, timeout).await?;
        self.set_checked_at_point(action_point, on, timeout).await
    }

    async fn set_checked_at_point(
        &self,
        action_point: ActionPoint,
        on: bool,
        timeout: Duration,
    ) -> Result<ActionOutcome> {
        let (frame, reference, element) = (
            action_point.frame.clone(),
            action_point.reference.clone(),
            action_point.description.clone(),
        );
        let state = self
            .call_injected_in(&frame, "checkedState", json!({"ref": reference, "wanted": on}))
            .await?;
        if state["checked"] == on {
            return Ok(ActionOutcome { element, ..ActionOutcome::default() });
        }
        let refuse = |reason: &str, why: &str| {
            TroupeError::new(ErrorCode::ElementNotEditable, format!("{element} {why}"))
                .detail("reason", reason.to_owned())
        };
        if !on && state["radio"] == true {
            return Err(refuse("radio", "is a radio button: checking another one unchecks it"));
        }
        let options = ClickOptions::left_button(timeout);
        let done = self.click_action_point(action_point, &options).await?;
        if !done.settled.navigated && done.settled.dialog.is_none() && !done.settled.closed {
            let state =
                self.call_injected_in(&frame, "checkedState", json!({"ref": reference})).await;
            if state.is_ok_and(|state| state["checked"] != on) {
                return Err(refuse("unchanged", "did not change when it was clicked"));
            }
        }
        Ok(done)
    }

    /// Presses a key or a key combination (`Control+A`) in the focused element, or in the element
    /// that `target` refers to.
    pub async fn press(
        &self,
        key: &str,
        modifiers: Modifiers,
        target: Option<&str>,
        timeout: Duration,
    ) -> Result<ActionOutcome> {
        let events = keyboard::chord(key, modifiers).ok_or_else(|| {
            TroupeError::new(ErrorCode::InvalidParameters, format!("`{key}` is not a key"))
                .detail("key", key)
                .suggestion(
                    "pass a `key`: a character (a, ?), a name (Enter, ArrowDown, F5) or a chord (Control+Shift+A)",
                )
        })?;
        let pressing = async |mark| self.input(mark, self.engine.keyboard(&events)).await;
        let (element, frame) = match target {
            None => (format!("`{key}`"), self.main_frame().clone()),
            Some(target) => {
                let action_point = self.await_focused(target, "focus", false, timeout).await?;
                (format!("`{key}` in {}", action_point.description), action_point.frame)
            }
        };
        let done = self.act(element, &frame, pressing).await?;
        // A key changes the focused field.
        let password = done.settled.password.is_some();
        Ok(done.with_entered(vec![password]))
    }

    /// Selects files in a file input, or in the file chooser that a click on the element opens.
    pub async fn upload(
        &self,
        target: &str,
        files: &[PathBuf],
        timeout: Duration,
    ) -> Result<ActionOutcome> {
        // A transfer may take long, and the action point is valid only for a short time.
        let files = &*self.provide_files(files).await?;
        let action_point = self.await_actionable(target, "upload", false, timeout).await?;
        let element = action_point.description.clone();
        if action_point.tag == "input" && action_point.kind == "file" {
            return self
                .act(element, &action_point.frame, async |_mark| {
                    if files.len() != 1 {
                        let arguments =
                            json!({"ref": action_point.reference, "empty": files.is_empty()});
                        let input = self
                            .call_injected_in(&action_point.frame, "fileInput", arguments)
                            .await?;
                        if files.is_empty() {
                            return Ok(());
                        }
                        if input["multiple"] == false {
                            return Err(one_file_only());
                        }
                    }
                    self.guarded(self.engine.set_files(
                        &action_point.frame,
                        &action_point.reference,
                        files,
                    ))
                    .await
                })
                .await;
        }
        let options = ClickOptions::left_button(timeout);
        let done = self.click(&PointerTarget::element(&action_point.reference), &options).await?;
        let Some(chooser) = done.settled.file_chooser.clone() else {
            return Err(TroupeError::new(
                ErrorCode::ElementNotEditable,
                format!("{element} is not a file input, and clicking it opened no file chooser"),
            )
            .suggestion("pass the `selector` of the file input, or of the button that opens the file chooser")
            .detail("reason", "no file input"));
        };
        self.dismiss_file_chooser();
        check_count(&chooser, files)?;
        if files.is_empty() {
            // Without files, the chooser is only dismissed.
            return Ok(done);
        }
        let choosing = async |_mark| self.guarded(self.engine.choose_files(&chooser, files)).await;
        self.act(element, &chooser.frame, choosing).await
    }
}
