//! What may stand in the query of an operation. Unknown keys are ignored everywhere.

use serde_json::{Value, json};

const PAGE: &[&str] = &["page", "page_size"];
const SORT: &[&str] = &["sort_by", "sort_direction"];
const BY_ORGANIZATION: &[&str] = &["organization_id*", "include_hierarchy"];
/// The organizations that figures of alerts are about.
const NAMED: &[&str] = &["organization_id*", "include"];
const FAMILY: &[&str] = &["search", "status*", "created_by*"];
const USERS: &[&str] = &["search", "status*", "organization_id*", "role*", "created_by*"];
const SYSTEMS: &[&str] = &["search", "name", "system_key", "type*", "version*", "status*", "created_by*"];
const APPLICATIONS: &[&str] = &["search", "type*", "version*", "system_id*", "status*"];
const DIFFS: &[&str] =
    &["severity*", "category*", "diff_type*", "inventory_id*", "from_date", "to_date", "search"];
const ALERTS: &[&str] = &["status*", "state*", "severity*", "system_key*", "alertname*", "assigned_user_id*"];
const HISTORY: &[&str] = &["status*", "severity*", "system_key*", "alertname*", "from_date", "to_date"];

/// Keys of an operation; a star says that a key may be repeated, an exclamation mark that it must be there.
fn keys(operation: &str) -> Vec<&'static str> {
    let groups: &[&[&str]] = match operation {
        "listDistributors" => &[PAGE, SORT, FAMILY],
        "listResellers" | "listCustomers" => &[PAGE, SORT, FAMILY, BY_ORGANIZATION],
        "exportDistributors" => &[&["format"], SORT, FAMILY],
        "exportResellers" | "exportCustomers" => &[&["format"], SORT, FAMILY, BY_ORGANIZATION],
        "listOrganizations" => &[PAGE, SORT, &["search", "name", "description", "type*", "created_by"]],
        "validateVat" => &[&["vat!", "exclude_id"]],
        "listUsers" => &[PAGE, SORT, USERS],
        "exportUsers" => &[&["format"], SORT, USERS],
        "listSystems" => &[PAGE, SORT, SYSTEMS, BY_ORGANIZATION],
        "exportSystems" => &[&["format"], SORT, SYSTEMS, BY_ORGANIZATION],
        "getSystemsTotals" => &[&["timeout"]],
        "listApplications" => &[PAGE, SORT, APPLICATIONS, BY_ORGANIZATION],
        "getApplicationsSummary" => &[PAGE, SORT, &["organization_id", "include_hierarchy", "system_id"]],
        "getDistributorsTrend"
        | "getResellersTrend"
        | "getCustomersTrend"
        | "getUsersTrend"
        | "getSystemsTrend"
        | "getApplicationsTrend" => &[&["period"]],
        "listInventory" => &[PAGE, &["from_date", "to_date"]],
        "listInventoryDiffs" | "getInventoryTimeline" => &[PAGE, DIFFS],
        "listApiKeyAudit" => &[PAGE, &["event*", "api_key_id*"]],
        "listImpersonationSessions" => &[PAGE, SORT, &["as"]],
        "listImpersonationAudit" => &[PAGE, SORT],
        "listActiveAlerts" | "listActiveAlertsAlias" => &[PAGE, SORT, ALERTS, NAMED],
        "listSystemAlerts" => &[PAGE, SORT, ALERTS],
        "listAlertsHistory" => &[PAGE, SORT, HISTORY, NAMED],
        "listSystemAlertsHistory" => &[PAGE, SORT, HISTORY],
        "getAlertsTotals" => &[NAMED],
        "getAlertsTrend" => &[NAMED, &["period"]],
        "getAlertsStats" => &[NAMED, &["from_date", "to_date", "top"]],
        "listAlertActivity" => &[&["organization_id", "limit"]],
        "addAlertNote" | "assignAlert" => &[&["organization_id"]],
        "getAlertConfig" | "setAlertConfig" | "disableAlerts" => &[&["organization_id"]],
        "getEffectiveAlertConfig" => &[&["organization_id", "format"]],
        "listEvents" => &[PAGE, &["sort_direction", "types*", "organization_id*", "object_id*", "after"]],
        "streamEvents" => &[&["types*", "organization_id*", "object_id*", "last_event_id"]],
        "listEventSubscriptions" => &[PAGE],
        "listEventDeliveries" => &[PAGE, &["status*"]],
        _ => &[],
    };
    groups.concat()
}

/// The parameters of the document.
pub(super) fn parameters(operation: &str) -> impl Iterator<Item = Value> + use<> {
    keys(operation).into_iter().map(|key| {
        let name = key.trim_end_matches(['*', '!']);
        let (schema, about) = meaning(name);
        let schema = if key.ends_with('*') { json!({"type": "array", "items": schema}) } else { schema };
        json!({
            "name": name, "in": "query", "required": key.ends_with('!'), "description": about, "schema": schema,
        })
    })
}

fn meaning(name: &str) -> (Value, &'static str) {
    let (kind, about) = match name {
        "page" => ("integer", "From 1."),
        "page_size" => ("integer", "Rows of a page; at most 100."),
        "sort_by" => ("string", "Column; an unknown one gives the usual order."),
        "sort_direction" => ("string", "`asc` or `desc`."),
        "search" => ("string", "Text that must occur, in any case."),
        "status" | "state" => ("string", "State to show; repeat for several."),
        "created_by" => ("string", "Id of the creating user or organization."),
        "organization_id" => ("string", "Id of an organization."),
        "include_hierarchy" => ("boolean", "Whether `organization_id` takes in what is below."),
        "include" => ("string", "`descendants`: also what is below the organizations named."),
        "role" => ("string", "Key of a role."),
        "type" => ("string", "Type; repeat for several."),
        "version" => ("string", "`<product>:<version>`, or a version of any product."),
        "system_id" => ("string", "Id of a system."),
        "system_key" => ("string", "Key of a system."),
        "period" => ("string", "Days to look back, as the operation allows."),
        "timeout" => ("integer", "Minutes after which a system counts as inactive."),
        "format" => ("string", "Form of the answer, as the operation allows."),
        "from_date" | "to_date" => ("string", "Date or time, RFC 3339."),
        "severity" => ("string", "Severity; repeat for several."),
        "category" => ("string", "Category of change; repeat for several."),
        "diff_type" => ("string", "Kind of change; repeat for several."),
        "inventory_id" => ("integer", "Number of a record."),
        "alertname" => ("string", "Name of an alert."),
        "assigned_user_id" => ("string", "Id of who has taken charge."),
        "event" => ("string", "Kind of event."),
        "api_key_id" => ("string", "Id of an API key."),
        "as" => ("string", "`target` or `impersonator`."),
        "vat" => ("string", "VAT number to look for."),
        "exclude_id" => ("string", "Organization that is left out."),
        "types" => ("string", "Type of event, `<what>.*`, or `*`; repeat for several."),
        "object_id" => ("string", "Id of what events are about; repeat for several."),
        "after" => ("string", "Only events behind this sequence number."),
        "last_event_id" => ("string", "Sequence number to go on behind, like the header `Last-Event-ID`."),
        "limit" | "top" => ("integer", "Most rows."),
        _ => ("string", "Exact value."),
    };
    (json!({"type": kind}), about)
}
