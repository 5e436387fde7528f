//! Schemas of toggles and recipients, made from the list of their kinds (`bailiwick_alertmanager::receivers`): a new
//! kind is in the interface at once (spec: alert-configuration#layers).

use super::alert_config::{AlertLanguage, AlertSeverity};
use bailiwick_alertmanager::{
    Severity,
    receivers::{Field, Input, RecipientKind},
};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        KnownFormat, Ref, RefOr, Schema, SchemaFormat,
        schema::{ArrayBuilder, ObjectBuilder, RefBuilder, SchemaType, Type},
    },
};

/// Whether each channel of notifications is on.
#[derive(Debug)]
pub struct AlertToggles(());

/// What is different for one system.
#[derive(Debug)]
pub struct AlertSystemOverride(());

/// The recipients of alerts: the layer of one organization, or all layers merged.
#[derive(Debug)]
pub struct AlertLayer(());

/// Most overrides of one layer.
const MAX_SYSTEMS: usize = 100;

impl PartialSchema for AlertToggles {
    fn schema() -> RefOr<Schema> {
        let toggles = ObjectBuilder::new().description(Some("Whether each channel of notifications is on."));
        let toggle = |kind: &RecipientKind| {
            let text = format!("Whether the channel `{}` is on; null means no setting.", kind.as_str());
            ObjectBuilder::new()
                .schema_type(SchemaType::from_iter([Type::Boolean, Type::Null]))
                .description(Some(text))
        };
        object(
            RecipientKind::ALL
                .iter()
                .fold(toggles, |toggles, kind| toggles.property(kind.as_str(), toggle(kind))),
        )
    }
}

impl ToSchema for AlertToggles {}

impl PartialSchema for AlertSystemOverride {
    fn schema() -> RefOr<Schema> {
        let text = "What is different for one system: for each channel, a list that is not empty and a toggle that is not \
             null replace the organization's.";
        let key = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("Key of a system of this organization."));
        let schema =
            ObjectBuilder::new().description(Some(text)).property("system_key", key).required("system_key");
        object(channels(schema))
    }
}

impl ToSchema for AlertSystemOverride {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        refer_to_channels(schemas);
    }
}

impl PartialSchema for AlertLayer {
    fn schema() -> RefOr<Schema> {
        let text = "The recipients of alerts: the layer of one organization, or all layers merged.";
        let schema = channels(ObjectBuilder::new().description(Some(text)));
        object(schema.property("systems", list(&AlertSystemOverride::name(), MAX_SYSTEMS)))
    }
}

impl ToSchema for AlertLayer {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((AlertSystemOverride::name().into_owned(), AlertSystemOverride::schema()));
        refer_to_channels(schemas);
    }
}

/// The toggles and the list of each kind.
fn channels(schema: ObjectBuilder) -> ObjectBuilder {
    let toggles = reference(&AlertToggles::name()).description(Some("Which channels are on."));
    let schema = schema.property("enabled", RefOr::Ref(toggles.build()));
    RecipientKind::ALL.iter().fold(schema, |schema, kind| {
        schema.property(kind.list_key(), list(&recipient_name(*kind), kind.max()))
    })
}

fn refer_to_channels(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((AlertToggles::name().into_owned(), AlertToggles::schema()));
    schemas.push((AlertSeverity::name().into_owned(), AlertSeverity::schema()));
    schemas.push((AlertLanguage::name().into_owned(), AlertLanguage::schema()));
    schemas.extend(RecipientKind::ALL.iter().map(|kind| (recipient_name(*kind), recipient(*kind))));
}

/// `AlertEmailRecipient`.
fn recipient_name(kind: RecipientKind) -> String {
    let mut word = kind.as_str().chars();
    let first = word.next().map(|c| c.to_ascii_uppercase());
    format!("Alert{}{}Recipient", first.unwrap_or_default(), word.as_str())
}

fn recipient(kind: RecipientKind) -> RefOr<Schema> {
    let text = format!("A recipient of the channel `{}`.", kind.as_str());
    let schema = ObjectBuilder::new().description(Some(text));
    object(kind.fields().iter().fold(schema, |schema, field| {
        let schema = schema.property(field.key, property(field));
        match field.input {
            Input::Line(_) | Input::Number => schema.required(field.key),
            Input::Severities | Input::Language | Input::Choice(_) => schema,
        }
    }))
}

fn property(field: &Field) -> RefOr<Schema> {
    let of = |kind: Type| ObjectBuilder::new().schema_type(kind);
    match field.input {
        Input::Line(most) => {
            let stored =
                if field.is_secret { " A secret: its hidden form keeps the stored one." } else { "" };
            let text = format!("At most {most} characters.{stored}");
            object(of(Type::String).max_length(Some(most)).description(Some(text)))
        }
        Input::Number => {
            let schema = of(Type::Integer).format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)));
            object(schema.description(Some("A whole number other than 0.")))
        }
        Input::Severities => {
            let text = "Severities of the alerts that are notified; empty means all.";
            list_of(&AlertSeverity::name(), Severity::ALL.len(), text)
        }
        Input::Language => {
            let text = "Language of the messages; the setting `language` unless another is named.";
            RefOr::Ref(reference(&AlertLanguage::name()).description(Some(text)).build())
        }
        Input::Choice(words) => {
            let first = words.first().copied().unwrap_or_default();
            let text = format!("`{first}` unless another is named.");
            object(of(Type::String).enum_values(Some(words.iter().copied())).description(Some(text)))
        }
    }
}

fn list(name: &str, most: usize) -> RefOr<Schema> {
    list_of(name, most, &format!("At most {most} entries."))
}

fn list_of(name: &str, most: usize, text: &str) -> RefOr<Schema> {
    let items = RefOr::<Schema>::Ref(Ref::from_schema_name(name));
    RefOr::T(Schema::Array(
        ArrayBuilder::new().items(items).max_items(Some(most)).description(Some(text)).build(),
    ))
}

fn reference(name: &str) -> RefBuilder {
    RefBuilder::new().ref_location_from_schema_name(name)
}

fn object(schema: ObjectBuilder) -> RefOr<Schema> {
    RefOr::T(Schema::Object(schema.build()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Compares with the specification's words for a kind of each shape.
    #[test]
    fn the_schema_of_a_kind_follows_from_its_fields() {
        let schema = |kind: RecipientKind| serde_json::to_value(recipient(kind)).unwrap();
        let names = |kind: RecipientKind| {
            schema(kind)["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(
            names(RecipientKind::Pagerduty),
            ["name", "routing_key", "region", "language", "severities"]
        );
        assert_eq!(schema(RecipientKind::Pagerduty)["required"], json!(["name", "routing_key"]));
        assert_eq!(schema(RecipientKind::Pagerduty)["properties"]["region"]["enum"], json!(["us", "eu"]));
        assert_eq!(schema(RecipientKind::Telegram)["required"], json!(["chat_id", "bot_token"]));
        let layer = serde_json::to_value(AlertLayer::schema()).unwrap();
        for kind in RecipientKind::ALL {
            assert_eq!(layer["properties"][kind.list_key()]["maxItems"], kind.max(), "{kind:?}");
        }
        let mut others = Vec::new();
        AlertLayer::schemas(&mut others);
        // Every name that is referred to is there.
        let all = others.iter().map(|(_, schema)| serde_json::to_value(schema).unwrap()).chain([layer]);
        for text in all.map(|schema: Value| schema.to_string()) {
            for name in text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next())
            {
                assert!(others.iter().any(|(known, _)| known == name), "{name}");
            }
        }
    }
}
