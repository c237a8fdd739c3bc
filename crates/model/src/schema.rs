//! The published JSON Schema of a trial, `docs/trial.schema.json`, follows from the types.
//!
//! It is derived in tests alone, so the program carries none of it. What is stored is also held
//! against it by a small validator of our own, which takes a property that the schema does not name
//! for an error.

use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::fixture::{self, Heat};
use crate::trial::Trial;

fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut schema = generator.into_root_schema_for::<Trial>().to_value();
    schema["title"] = "A trial of Triathlon".into();
    schema
}

/// Run with `INSTA_UPDATE=always` (`cargo xtask bless --accept`) to write it anew.
#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/trial.schema.json");
    let derived = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &derived).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == derived,
        "docs/trial.schema.json is not what the types say: cargo xtask bless --accept"
    );
}

#[test]
fn stored_trials_obey_the_schema() {
    let schema = schema();
    let mut trials = vec![fixture::closed(), fixture::open()];
    let heat = Heat {
        connections: vec![16],
        rounds: 1,
        ..Heat::default()
    };
    trials.extend(heat.trials());
    trials[0].record.response_time.record_censored();
    trials[1].agents = vec![fixture::share("gen1", 0..1, fixture::open())];
    for trial in trials {
        let value = serde_json::to_value(&trial).unwrap();
        let errors = validate(&schema, &schema, &value, "trial");
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn the_validator_sees_what_is_wrong() {
    let schema = schema();
    let good = serde_json::to_value(fixture::closed()).unwrap();
    let check = |change: fn(&mut Value), expected: &str| {
        let mut value = good.clone();
        change(&mut value);
        let errors = validate(&schema, &schema, &value, "trial").join("; ");
        assert!(errors.contains(expected), "{errors}");
    };
    check(|v| v["format"] = "1".into(), "trial.format");
    check(|v| v["more"] = 1.into(), "trial.more is not in the schema");
    check(
        |v| {
            v["plan"].as_object_mut().unwrap().remove("connections");
        },
        "trial.plan.connections is missing",
    );
    check(
        |v| v["verdict"]["status"] = "fine".into(),
        "trial.verdict.status",
    );
    check(
        |v| v["record"]["total"]["outcomes"]["ok"] = Value::from(-1),
        "trial.record.total.outcomes.ok",
    );
}

/// What is wrong with `value`, by place: the part of JSON Schema that the derived one uses.
fn validate(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#'));
        return validate(root, target.expect("a reference has a target"), value, at);
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[key].as_array() {
            let fits = choices
                .iter()
                .any(|choice| validate(root, choice, value, at).is_empty());
            return if fits {
                Vec::new()
            } else {
                vec![format!("{at} fits no choice")]
            };
        }
    }
    let mut errors = Vec::new();
    if !has_type(&schema["type"], value) {
        errors.push(format!("{at} is not {}", schema["type"]));
    }
    let wanted = schema["enum"].as_array();
    if wanted.is_some_and(|wanted| !wanted.contains(value))
        || schema.get("const").is_some_and(|wanted| wanted != value)
    {
        errors.push(format!("{at} is {value}"));
    }
    let minimum = schema["minimum"].as_f64();
    if let (Some(minimum), Some(number)) = (minimum, value.as_f64())
        && number < minimum
    {
        errors.push(format!("{at} is below {minimum}"));
    }
    for (position, item) in value.as_array().into_iter().flatten().enumerate() {
        let prefixed = schema["prefixItems"].get(position);
        if let Some(schema) = prefixed.or_else(|| schema.get("items")) {
            errors.extend(validate(root, schema, item, &format!("{at}[{position}]")));
        }
    }
    errors.extend(properties(root, schema, value, at));
    errors
}

fn properties(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let (Some(object), Some(_)) = (value.as_object(), schema.as_object()) else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().expect("a name is text");
        if !object.contains_key(name) {
            errors.push(format!("{at}.{name} is missing"));
        }
    }
    for (name, value) in object {
        let at = format!("{at}.{name}");
        let known = schema["properties"]
            .get(name)
            .or_else(|| schema.get("additionalProperties"));
        match known {
            Some(schema) => errors.extend(validate(root, schema, value, &at)),
            None if schema.get("type").is_some() => {
                errors.push(format!("{at} is not in the schema"));
            }
            None => {}
        }
    }
    errors
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        _ => false,
    };
    match wanted {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}
