//! The default order of lists (spec: acceptance#guarantees rule 14). The descriptions state it for people, `x-order`
//! for programs, and the client of all tests checks it in every answer (`bailiwick_testkit::published`).

use serde_json::{Value, json};

/// A list within `data` (empty: `data` itself) and the fields it is ordered by, a minus before descending ones.
pub(super) type Usual = (&'static str, &'static [&'static str]);

const NEWEST: &[&str] = &["-created_at", "-id"];
const BY_NAME: &[&str] = &["name"];
const CREATORS: &[&str] = &["name", "user_id"];

/// The lists of an operation.
pub(super) fn usual(operation: &str) -> &'static [Usual] {
    match operation {
        "listDistributors" => &[("distributors", NEWEST)],
        "listResellers" => &[("resellers", NEWEST)],
        "listCustomers" => &[("customers", NEWEST)],
        "listUsers" => &[("users", NEWEST)],
        "listSystems" => &[("systems", NEWEST)],
        "listApplications" => &[("applications", NEWEST)],
        "listOrganizations" => &[("organizations", &["name", "id"])],
        "getApplicationsSummary" => &[("by_type", &["-count"])],
        "getDistributorFilters" | "getResellerFilters" | "getCustomerFilters" => &[("created_by", CREATORS)],
        "getUserFilters" => &[("created_by", CREATORS), ("organizations", BY_NAME)],
        "getSystemFilters" => {
            &[("created_by", CREATORS), ("organizations", BY_NAME), ("versions", &["product"])]
        }
        "getApplicationFilters" => {
            &[("types", &["instance_of"]), ("systems", BY_NAME), ("versions", &["application"])]
        }
        "getAlertFilters" => &[("alerts", BY_NAME)],
        "listThirdPartyApplications" => &[("", &["branding.display_name", "id"])],
        "listApiKeys" => &[("api_keys", NEWEST)],
        "listOwnSessions" => &[("sessions", NEWEST)],
        "listApiKeyAudit" => &[("audit", NEWEST)],
        "listImpersonationSessions" => &[("sessions", &["-start_time", "-session_id"])],
        "listImpersonationAudit" => &[("entries", &["timestamp"])],
        "listInventory" => &[("records", &["-timestamp", "-id"])],
        "listInventoryDiffs" => &[("diffs", &["-created_at", "id"])],
        "getInventoryTimeline" => &[("groups", &["-date"])],
        "listSystemBackups" | "listBackups" => &[("backups", &["-uploaded_at", "-id"])],
        "listActiveAlerts" | "listActiveAlertsAlias" | "listSystemAlerts" => {
            &[("alerts", &["-startsAt", "fingerprint"])]
        }
        "listAlertsHistory" | "listSystemAlertsHistory" => &[("alerts", NEWEST)],
        "listSilences" | "listSystemSilences" => &[("silences", &["status.state"])],
        "listAlertActivity" => &[("events", NEWEST)],
        "listAudit" => &[("audit", &["-created_at"])],
        "listEvents" => &[("events", &["-sequence"])],
        "listEventSubscriptions" => &[("subscriptions", &["id"])],
        "listEventDeliveries" => &[("deliveries", &["-sequence"])],
        _ => &[],
    }
}

/// Rules of order that cannot be expressed by fields alone.
fn more(operation: &str) -> &'static str {
    match operation {
        "listSilences" | "listSystemSilences" => {
            " Those in force go by `endsAt`, those to come behind them by `startsAt`."
        }
        // A file, not a list for programs.
        "exportDistributors" | "exportResellers" | "exportCustomers" | "exportUsers" | "exportSystems" => {
            " Order of the rows unless another is asked for: `created_at` descending, then `id` descending."
        }
        "listEvents" => " With `after`: `sequence` ascending.",
        "listRoles" | "listOrganizationRoles" => " The order is that of the catalogue of roles.",
        "listRebrandableProducts" | "listRebrandingProducts" => " The order is that of the settings.",
        "getApplicationFilters" => " Order of `organizations`: `name` ascending, behind the one for none.",
        _ => "",
    }
}

/// The sentences of a description; empty for an operation that is not a list.
pub(super) fn sentences(operation: &str) -> String {
    let word = |key: &&str| match key.strip_prefix('-') {
        Some(key) => format!("`{key}` descending"),
        None => format!("`{key}` ascending"),
    };
    let mut out = String::new();
    for (rows, keys) in usual(operation) {
        let keys = keys.iter().map(word).collect::<Vec<_>>().join(", then ");
        let of = if rows.is_empty() { String::new() } else { format!(" of `{rows}`") };
        out.push_str(&format!(" Order{of} unless another is asked for: {keys}."));
    }
    out + more(operation)
}

/// `x-order`: by list, the fields it goes by.
pub(super) fn extension(operation: &str) -> Option<Value> {
    let lists = usual(operation).iter().map(|(rows, keys)| ((*rows).to_owned(), json!(keys)));
    let lists: serde_json::Map<String, Value> = lists.collect();
    (!lists.is_empty()).then_some(Value::Object(lists))
}
