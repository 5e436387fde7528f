//! Bodies without a wire type: handlers read them as they come, by rules of their own.

use serde_json::{Value, json};

/// The schema of an operation's body; none where a wire type describes it, or where there is no body.
pub(super) fn of(operation: &str) -> Option<Value> {
    let time = json!({"type": "string", "description": "RFC 3339."});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    match operation {
        "sendInventory" | "sendInventoryAlias" => {
            Some(json!({"type": "object", "description": "What is on the system (contract 03 §6)."}))
        }
        "saveAlertHistory" => {
            Some(json!({"type": "object", "description": "A webhook of an Alertmanager, version 4."}))
        }
        "pushAlerts" | "pushAlertsAlias" | "pushAlertsAliasLong" => Some(json!({
            "type": ["array", "null"],
            "items": {
                "type": "object",
                "required": ["labels"],
                "properties": {
                    "labels": texts,
                    "annotations": texts,
                    "startsAt": time,
                    "endsAt": time,
                    "generatorURL": {"type": "string"},
                },
            },
        })),
        "setSilence" => Some(json!({
            "type": "object",
            "required": ["matchers", "startsAt", "endsAt", "createdBy", "comment"],
            "properties": {
                "id": {"type": "string", "description": "Of a silence that is changed."},
                "matchers": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name", "value", "isRegex"],
                        "properties": {
                            "name": {"type": "string"},
                            "value": {"type": "string"},
                            "isRegex": {"type": "boolean"},
                            "isEqual": {"type": "boolean", "description": "True unless said."},
                        },
                    },
                },
                "startsAt": time,
                "endsAt": time,
                "createdBy": {"type": "string"},
                "comment": {"type": "string"},
            },
        })),
        _ => None,
    }
}
