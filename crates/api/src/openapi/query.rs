//! The parameters in the query of an operation and in its path. Unknown keys are ignored everywhere.
//!
//! Words that are known beforehand are listed from the tables that parse them, so the document matches the handlers.

use crate::manage::{alert_config::YAML, impersonation::SIDES, inventory::WITHOUT_TEXT};
use bailiwick_alerts::manage::{ActiveOrder, HistoryFilter, HistoryOrder, STATES};
use bailiwick_directory::{exports::Format, organizations, users};
use bailiwick_domain::{OrgType, PageRequest, Parameter, SortDirection, rebranding::Asset};
use bailiwick_events::deliver;
use bailiwick_fleet::{
    applications::{self, ApplicationOrder, SummaryOrder},
    inventory::{Category, ChangeKind, Severity},
    search::SearchKind as Kinds,
    systems::{self, SystemOrder},
};
use bailiwick_identity::api_keys::EVENTS;
use bailiwick_platform::trend::PERIODS;
use bailiwick_web::alerts::DESCENDANTS;
use serde_json::{Value, json};

const PAGE: &[&str] = &["page", "page_size"];
/// Of lists that can be walked by cursors.
const PAGES: &[&str] = &["page", "page_size", "cursor"];
const SORT: &[&str] = &["sort_by", "sort_direction"];
/// The organizations of alert figures.
const NAMED: &[&str] = &["organization_id*", "include"];
const DIFFS: &[&str] =
    &["severity*", "category*", "diff_type*", "inventory_id*", "from_date", "to_date", "search"];
const ALERTS: &[&str] =
    &["status*", "state*", "severity*", "system_key*", "alertname*", "assigned_user_id*", "search"];
const HISTORY: &[&str] =
    &["status*", "severity*", "system_key*", "alertname*", "from_date", "to_date", "search"];

/// The parameters of the alert router's lists of alerts (spec: alerts#query-parameters).
const MATCHING: &[&str] = &["filter*", "receiver", "receiver_matchers*", "active", "silenced", "inhibited"];

/// A filter of a list, whatever it sets.
struct Filter {
    key: &'static str,
    is_repeated: bool,
    words: Vec<&'static str>,
}

/// The filters that the list behind an operation declares.
fn filters(operation: &str) -> Vec<Filter> {
    fn of<F: 'static>(parameters: impl IntoIterator<Item = &'static Parameter<F>>) -> Vec<Filter> {
        let filter = |parameter: &Parameter<F>| Filter {
            key: parameter.key,
            is_repeated: parameter.is_repeated(),
            words: (parameter.words)(),
        };
        parameters.into_iter().map(filter).collect()
    }
    match operation {
        "listDistributors" | "exportDistributors" => of(organizations::filters(OrgType::Distributor)),
        "listResellers" | "exportResellers" => of(organizations::filters(OrgType::Reseller)),
        "listCustomers" | "exportCustomers" => of(organizations::filters(OrgType::Customer)),
        "listUsers" | "exportUsers" => of(users::FILTERS),
        "listSystems" | "exportSystems" => of(systems::FILTERS),
        "listApplications" => of(applications::FILTERS),
        _ => Vec::new(),
    }
}

/// The other keys of an operation; a star marks a repeatable key, an exclamation mark a required one.
fn keys(operation: &str) -> Vec<&'static str> {
    let groups: &[&[&str]] = match operation {
        "listDistributors" | "listResellers" | "listCustomers" | "listUsers" | "listSystems"
        | "listApplications" => &[PAGES, SORT],
        "exportDistributors" | "exportResellers" | "exportCustomers" | "exportUsers" | "exportSystems" => {
            &[&["format"], SORT]
        }
        "listOrganizations" => &[PAGE, SORT, &["search", "name", "description", "type*", "created_by"]],
        "validateVat" => &[&["vat!", "exclude_id"]],
        "getSystemsTotals" => &[&["timeout"]],
        "getApplicationsSummary" => &[PAGE, SORT, &["organization_id", "include_hierarchy", "system_id"]],
        "getDistributorsTrend"
        | "getResellersTrend"
        | "getCustomersTrend"
        | "getUsersTrend"
        | "getSystemsTrend"
        | "getApplicationsTrend" => &[&["period"]],
        "listInventory" => &[PAGE, &["from_date", "to_date", "fields"]],
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
        "getAlertConfig" | "getAlertConfigAlias" => &[&["organization_id", "format"]],
        "setAlertConfig" | "setAlertConfigAlias" | "disableAlerts" | "disableAlertsAlias" => {
            &[&["organization_id"]]
        }
        "listSilences" => &[NAMED, &["system_key*"]],
        "createSilence" | "getSilenceById" | "updateSilence" | "deleteSilence" => &[&["organization_id"]],
        "getEffectiveAlertConfig" => &[&["organization_id", "format"]],
        "listEvents" => &[PAGE, &["sort_direction", "types*", "organization_id*", "object_id*", "after"]],
        "streamEvents" => &[&["types*", "last_event_id"]],
        "listEventSubscriptions" => &[PAGE],
        "listEventDeliveries" => &[PAGE, &["status*"]],
        "search" => &[&["q!", "kinds*", "limit"]],
        "getSystemFilters" | "getUserFilters" | "getApplicationFilters" => &[&["q", "limit"]],
        "listAudit" => &[&["object_id", "actor_id", "action", "from_date", "to_date", "cursor", "page_size"]],
        "listOwnAlerts" | "listOrganizationAlerts" | "listTreeAlerts" => &[MATCHING, &["unprocessed"]],
        "listOwnAlertGroups" | "listOrganizationAlertGroups" | "listTreeAlertGroups" => {
            &[MATCHING, &["muted"]]
        }
        "listOwnSilences" | "listOrganizationSilences" | "listTreeSilences" => {
            &[&["filter*", "active", "expired", "pending"]]
        }
        "listReceivers" | "listOrganizationReceivers" | "listTreeReceivers" => &[&["receiver_matchers*"]],
        _ => &[],
    };
    groups.concat()
}

/// The words with a meaning for a key of an operation, as its handler parses them; none where any text is allowed.
fn words(operation: &str, name: &str) -> Vec<&'static str> {
    match name {
        "sort_direction" => SortDirection::WORDS.list(),
        "sort_by" => orders(operation),
        "status" => statuses(operation),
        "state" => STATES.list(),
        "type" if operation == "listOrganizations" => OrgType::FAMILIES.map(OrgType::as_str).to_vec(),
        "severity" if is_of_inventory(operation) => Severity::ALL.iter().map(|word| word.word()).collect(),
        "category" => Category::ALL.iter().map(|word| word.word()).collect(),
        "diff_type" => ChangeKind::ALL.iter().map(|word| word.word()).collect(),
        "event" => EVENTS.to_vec(),
        "period" => PERIODS.list(),
        "as" => SIDES.list(),
        "include" => vec![DESCENDANTS],
        "fields" => vec![WITHOUT_TEXT],
        "kinds" => Kinds::WORDS.list(),
        "format" if operation.starts_with("export") => Format::WORDS.list(),
        "format" => vec![YAML],
        _ => Vec::new(),
    }
}

fn is_of_inventory(operation: &str) -> bool {
    ["listInventoryDiffs", "getInventoryTimeline"].contains(&operation)
}

fn orders(operation: &str) -> Vec<&'static str> {
    match operation {
        "listOrganizations" => organizations::DIRECTORY_ORDERS.list(),
        "listUsers" | "exportUsers" => users::ORDERS.list(),
        "listSystems" | "exportSystems" => SystemOrder::WORDS.list(),
        "listApplications" => ApplicationOrder::WORDS.list(),
        "getApplicationsSummary" => SummaryOrder::WORDS.list(),
        "listActiveAlerts" | "listActiveAlertsAlias" | "listSystemAlerts" => ActiveOrder::WORDS.list(),
        "listAlertsHistory" | "listSystemAlertsHistory" => HistoryOrder::WORDS.list(),
        _ => organizations::ORDERS.list(),
    }
}

fn statuses(operation: &str) -> Vec<&'static str> {
    match operation {
        "listActiveAlerts" | "listActiveAlertsAlias" | "listSystemAlerts" => STATES.list(),
        "listAlertsHistory" | "listSystemAlertsHistory" => HistoryFilter::STATUSES.list(),
        "listEventDeliveries" => deliver::states().collect(),
        _ => Vec::new(),
    }
}

/// Taken and never looked at.
fn has_no_effect(operation: &str, name: &str) -> bool {
    match operation {
        "listImpersonationSessions" | "listImpersonationAudit" => SORT.contains(&name),
        "getEffectiveAlertConfig" => name == "format",
        _ => false,
    }
}

/// The parameters of the document.
pub(super) fn parameters(operation: &str) -> impl Iterator<Item = Value> + use<> {
    let operation = operation.to_owned();
    let own = keys(&operation).into_iter().map(|key| {
        let name = key.trim_end_matches(['*', '!']);
        let filter = Filter { key: name, is_repeated: key.ends_with('*'), words: words(&operation, name) };
        (filter, key.ends_with('!'))
    });
    let all: Vec<_> = own.chain(filters(&operation).into_iter().map(|filter| (filter, false))).collect();
    all.into_iter().map(move |(Filter { key: name, is_repeated, words }, is_required)| {
        let (mut schema, mut about) = meaning(name);
        let is_idle = has_no_effect(&operation, name);
        if !words.is_empty() && !is_idle {
            schema["enum"] = json!(words);
        }
        if is_idle {
            about = "Has no effect.";
        }
        let schema = if is_repeated { json!({"type": "array", "items": schema}) } else { schema };
        let mut parameter = json!({
            "name": name, "in": "query", "required": is_required, "description": about, "schema": schema,
        });
        // Clients send it empty for the usual order.
        if name == "sort_by" {
            parameter["allowEmptyValue"] = json!(true);
        }
        if is_idle || name == "state" {
            parameter["deprecated"] = json!(true);
        }
        parameter
    })
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
