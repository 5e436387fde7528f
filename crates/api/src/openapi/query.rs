//! The parameters in the query of an operation and in its path.

use crate::{query_key::QueryKey, route::Route};
use bailiwick_domain::{OrgType, PageRequest, rebranding::Asset};
use serde_json::{Value, json};

/// The parameters of the document.
pub(super) fn parameters(route: &Route) -> impl Iterator<Item = Value> {
    route.query.iter().map(parameter)
}

fn parameter(key: &QueryKey) -> Value {
    let (mut schema, mut about) = meaning(key.name);
    if key.is_ignored {
        about = "Has no effect.";
    }
    if !key.words.is_empty() {
        schema["enum"] = json!(key.words);
    }
    if let Some(number) = key.default {
        schema["default"] = json!(number);
    }
    let schema = if key.is_repeated { json!({"type": "array", "items": schema}) } else { schema };
    let mut parameter = json!({
        "name": key.name, "in": "query", "required": key.is_required, "description": about, "schema": schema,
    });
    // Clients send it empty for the usual order.
    if key.name == "sort_by" {
        parameter["allowEmptyValue"] = json!(true);
    }
    if key.is_ignored || key.name == "state" {
        parameter["deprecated"] = json!(true);
    }
    parameter
}

/// What a part of a path names.
pub(super) fn about_part(name: &str) -> &'static str {
    match name {
        "id" => "Id of the object.",
        "org_id" => "Id of the organization.",
        "entity_type" => "Family of organizations.",
        "backup_id" => "Id of the backup.",
        "inventory_id" => "Number of the inventory record.",
        "product_id" => "Id of the product.",
        "asset" => "Name of the picture or text.",
        "token" => "Token of the link.",
        "silence_id" => "Id of the silence.",
        "session_id" => "Id of the impersonation session.",
        "fingerprint" => "Fingerprint of the alert.",
        _ => "Part of the address.",
    }
}

/// The schema of a part of a path.
pub(super) fn of_path(name: &str) -> Value {
    let words: Vec<&str> = match name {
        "entity_type" => OrgType::FAMILIES.map(OrgType::plural).to_vec(),
        "asset" => Asset::ALL.map(Asset::as_str).to_vec(),
        _ => return json!({"type": "string"}),
    };
    json!({"type": "string", "enum": words})
}

fn meaning(name: &str) -> (Value, &'static str) {
    let (kind, about) = match name {
        "page" => ("integer", "Number of the page, from 1."),
        "page_size" => ("integer", "Rows of a page; a number above the maximum gives the maximum."),
        "sort_by" => ("string", "Field to order by; an unknown one gives the default order."),
        "sort_direction" => ("string", "Direction of the order."),
        "search" => ("string", "Text to find, upper and lower case alike."),
        "status" => ("string", "State to list; repeat for several."),
        "state" => ("string", "State to list; repeat for several."),
        "created_by" => ("string", "Id of the creating user or organization."),
        "organization_id" => ("string", "Id of an organization."),
        "include_hierarchy" => ("boolean", "Whether `organization_id` includes the organizations below."),
        "include" => ("string", "`descendants`: also the organizations below the named ones."),
        "role" => ("string", "Key of a role."),
        "type" => ("string", "Type; repeat for several."),
        "version" => ("string", "`<product>:<version>`, or a version of any product."),
        "system_id" => ("string", "Id of a system."),
        "system_key" => ("string", "Key of a system."),
        "period" => ("string", "Days to look back; the operation defines which."),
        "timeout" => ("integer", "Minutes after which a system counts as inactive."),
        "format" => ("string", "Format of the answer; the operation defines which."),
        "from_date" | "to_date" => ("string", "Date or time in RFC 3339."),
        "severity" => ("string", "Severity; repeat for several."),
        "category" => ("string", "Category of change; repeat for several."),
        "diff_type" => ("string", "Kind of change; repeat for several."),
        "inventory_id" => ("integer", "Number of a record."),
        "alertname" => ("string", "Name of an alert."),
        "assigned_user_id" => ("string", "Id of the user in charge."),
        "event" => ("string", "Kind of event."),
        "api_key_id" => ("string", "Id of an API key."),
        "as" => ("string", "Side of the caller in the sessions; `target` by default."),
        "fields" => ("string", "`meta`: records without their documents."),
        "vat" => ("string", "VAT number to find."),
        "exclude_id" => ("string", "Id of an organization to leave out."),
        "types" => ("string", "Type of event, `<what>.*`, or `*`; repeat for several."),
        "object_id" => ("string", "Id of the object that the entry is about."),
        "after" => ("string", "Sequence number; only later events are listed."),
        "last_event_id" => ("string", "Sequence number to continue after, like the header `Last-Event-ID`."),
        "q" => ("string", "Text to find, upper and lower case alike."),
        "kinds" => ("string", "Kind of objects to search, by default all; repeat for several."),
        "actor_id" => ("string", "Id of the user who acted."),
        "action" => ("string", "Whole name of an action, such as `system.create`."),
        "cursor" => ("string", "`next_cursor` of the previous page; empty for the first page."),
        "filter" => {
            ("string", "Matcher such as `severity=\"critical\"`; repeat for several, which must all match.")
        }
        "receiver" => ("string", "Regular expression that the whole name of a receiver must match."),
        "receiver_matchers" => ("string", "Matcher of a receiver; repeat for several."),
        "active" | "silenced" | "inhibited" | "unprocessed" | "muted" | "expired" | "pending" => {
            ("boolean", "Whether entries in this state are listed, by default true.")
        }
        "limit" | "top" => ("integer", "Maximum number of rows."),
        _ => ("string", "Exact value of the field."),
    };
    let mut schema = json!({"type": kind});
    if name == "page_size" {
        schema["maximum"] = json!(PageRequest::MAX_SIZE);
    }
    (schema, about)
}
