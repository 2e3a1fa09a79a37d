//! Prints a value in a template. Handlebars itself prints `[object]` for an object.

use std::collections::HashMap;

use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, JsonRender, Output, RenderContext,
    Template,
    template::{Parameter, TemplateElement},
};
use serde_json::Value;

/// The name of the helper. Templates do not call it themselves: `{{value}}` becomes `{{(print)
/// value}}` when it is parsed. No argument can have this name.
const NAME: &str = "(print)";

/// Makes each `{{value}}` of `template` call the helper.
pub(super) fn prepare(template: &mut Template) {
    for element in &mut template.elements {
        match element {
            TemplateElement::Expression(expression)
            | TemplateElement::HtmlExpression(expression) => {
                let is_value = expression.params.is_empty()
                    && expression.hash.is_empty()
                    && matches!(expression.name, Parameter::Path(_));
                if is_value {
                    let value =
                        std::mem::replace(&mut expression.name, Parameter::Name(NAME.to_owned()));
                    expression.params.push(value);
                }
            }
            TemplateElement::HelperBlock(block) => {
                block.template.iter_mut().chain(&mut block.inverse).for_each(prepare);
            }
            _ => {}
        }
    }
}

/// Returns a registry with the helper that prints values. An argument that was passed as a text is
/// printed as its entry in `texts`.
pub(super) fn printing<'a>(
    handlebars: &'a Handlebars<'static>,
    texts: HashMap<String, String>,
) -> Handlebars<'a> {
    let mut handlebars: Handlebars<'a> = handlebars.clone();
    handlebars.register_helper(NAME, Box::new(PrintHelper(texts)));
    handlebars
}

struct PrintHelper(HashMap<String, String>);

impl HelperDef for PrintHelper {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        context: &'rc Context,
        render: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let Some(value) = helper.param(0) else { return Ok(()) };
        if let Some([name]) = value.context_path().map(Vec::as_slice)
            && let Some(text) = self.0.get(name)
        {
            out.write(text)?;
            return Ok(());
        }
        // As in Handlebars for JavaScript: the key of an array's entry is its index.
        let is_key = value.relative_path().is_some_and(|path| path == "@key");
        if is_key && value.value().is_null() {
            out.write(&render.evaluate(context, "@index")?.render())?;
            return Ok(());
        }
        match value.value() {
            entries @ (Value::Object(_) | Value::Array(_)) => out.write(&entries.to_string())?,
            single => out.write(&single.render())?,
        }
        Ok(())
    }
}
