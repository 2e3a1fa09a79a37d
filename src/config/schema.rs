//! The JSON Schema of the configuration for the file and the Node library, built from the table of
//! options.

use serde_json::{Map, Value, json};

use super::{
    Config,
    file::LABELS,
    options::{ConfigOption, OPTIONS},
    spelling::camel,
    value::{ItemKind, Kind},
};

/// Flat keys of the options, and the sections of the nested file.
pub fn schema() -> Value {
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    let mut properties = Map::new();
    for option in OPTIONS.iter().filter(|option| !option.at.is_empty()) {
        properties.insert(option.key(), described(option, &defaults));
        for alias in option.aliases {
            let same = format!("Same as `{}`", option.key());
            properties.insert(camel(alias), with_description(kind(&option.kind), same));
        }
        if option.negatable {
            let negated = with_description(kind(&option.kind), option.help.to_owned());
            properties.insert(camel(&format!("no-{}", option.name)), negated);
        }
    }
    for (label, description) in LABELS {
        properties
            .insert((*label).to_owned(), json!({"type": "string", "description": description}));
    }
    let mut sections: Map<String, Value> = Map::new();
    let nested =
        OPTIONS.iter().filter_map(|option| Some((option.nested?, described(option, &defaults))));
    for (key, schema) in nested {
        let Some((section, key)) = key.split_once('.') else { continue };
        let section =
            sections.entry(section).or_insert_with(|| json!({"type": "object", "properties": {}}));
        section["properties"][key] = schema;
    }
    for (name, section) in sections {
        // `browser` can be a name or a section.
        let both = properties.get(&name).map(|flat| {
            let mut flat = flat.clone();
            let description = flat["description"].take();
            json!({"description": description, "anyOf": [flat, section]})
        });
        properties.insert(name, both.unwrap_or(section));
    }
    json!({"type": "object", "properties": properties})
}

/// Returns a row for each option, in the order of `--help`: `{group, flag, variable, key, nested?,
/// aliases, help, negatable, choices?, default?}`. Absent fields have no value. Every switch has a
/// default.
pub fn option_rows() -> Value {
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    OPTIONS
        .iter()
        .filter(|option| option.refusal.is_none())
        .map(|option| {
            let name =
                if option.negatable { format!("no-{}", option.name) } else { option.name.into() };
            json!({
                "group": option.group,
                "flag": format!("--{name}"),
                "variable": option.variable(),
                "key": option.key(),
                "nested": option.nested,
                "aliases": option.aliases,
                "help": option.help,
                "negatable": option.negatable,
                "choices": option.choices(),
                "default": option.default_text(&defaults).or_else(|| default_switch(option, &defaults)),
            })
        })
        .collect()
}

/// Returns the default of a switch, which `--help` does not show.
fn default_switch(option: &ConfigOption, defaults: &Value) -> Option<String> {
    let value = defaults.pointer(&pointer_to(option))?;
    value.as_bool().map(|is_on| is_on.to_string())
}

/// Returns the JSON pointer of an option's value in the configuration.
fn pointer_to(option: &ConfigOption) -> String {
    format!("/{}", option.at.replace('.', "/"))
}

/// Returns the schema of an option's value, with the text of `--help` as description.
fn described(option: &ConfigOption, defaults: &Value) -> Value {
    let help =
        if option.negatable { format!("`false`: {}", option.help) } else { option.help.to_owned() };
    let default = match defaults.pointer(&pointer_to(option)) {
        None | Some(Value::Null) => String::new(),
        Some(Value::Array(list)) if list.is_empty() => String::new(),
        Some(Value::String(text)) if text.is_empty() => String::new(),
        Some(Value::String(text)) => format!(". Default: {text}"),
        Some(value) => format!(". Default: {value}"),
    };
    with_description(kind(&option.kind), format!("{help}{default}"))
}

fn with_description(mut schema: Value, description: String) -> Value {
    schema["description"] = description.into();
    schema
}

fn kind(kind: &Kind) -> Value {
    match kind {
        Kind::Switch => json!({"type": "boolean"}),
        Kind::Choice(names) => json!({"enum": names}),
        Kind::Attach => json!({"type": ["boolean", "integer", "string"]}),
        Kind::Number { .. } | Kind::Millis { .. } | Kind::Bytes => json!({"type": "integer"}),
        Kind::Factor => json!({"type": "number"}),
        Kind::Size => {
            let side = json!({"type": "integer"});
            let size = json!({"width": side, "height": side});
            let size =
                json!({"type": "object", "properties": size, "required": ["width", "height"]});
            json!({"anyOf": [{"type": "string"}, size]})
        }
        Kind::List { item, .. } => {
            let item = match item {
                ItemKind::Choice(names) => json!({"enum": names}),
                ItemKind::Text
                | ItemKind::File
                | ItemKind::Domain
                | ItemKind::Network
                | ItemKind::Header
                | ItemKind::Capability => {
                    json!({"type": "string"})
                }
            };
            json!({"type": "array", "items": item})
        }
        Kind::Text
        | Kind::Path
        | Kind::File
        | Kind::Store
        | Kind::Output
        | Kind::Url(_)
        | Kind::Proxy
        | Kind::Locale
        | Kind::UrlPath
        | Kind::Retention => {
            json!({"type": "string"})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_has_the_options_and_the_sections_of_the_file() {
        let schema = schema();
        let properties = &schema["properties"];
        assert_eq!(properties["maxSessions"]["type"], "integer");
        assert_eq!(
            properties["maxConnections"]["description"],
            "Maximum number of connections. Default: 2000"
        );
        assert_eq!(properties["browser"]["anyOf"][1]["properties"]["headless"]["type"], "boolean");
        assert_eq!(properties["logging"]["properties"]["destination"]["enum"][0], "stdout");
        assert!(properties.get("config").is_none(), "a configuration file cannot name another one");
        for spelling in ["noSandbox", "noAuth", "viewport", "browserArgs", "cdpEndpoint"] {
            assert!(properties[spelling].is_object(), "{spelling}");
        }
    }

    #[test]
    fn every_key_of_it_is_read() {
        let schema = schema();
        for key in schema["properties"].as_object().unwrap().keys() {
            // Null sets nothing. An unknown key is rejected with any value. A section requires an
            // object.
            let read = |value: &str| Config::from_json(&format!("{{\"{key}\": {value}}}"));
            assert!(read("null").is_ok() || read("{}").is_ok(), "{key}");
        }
    }
}
