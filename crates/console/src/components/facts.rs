//! What the newest document of a system says of it, laid out for a reader: clusters, firewalls and the older form.
//! Documents are stored as they come, so nothing of them is taken for granted.

use super::{filters::size_of, time::rough};
use bailiwick_web::Language;
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// Rows of a table that are shown; the whole document is one click away.
const MOST_ROWS: usize = 200;

/// One subject: pairs, a table, or both. Texts are named by their keys.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Card {
    title: &'static str,
    pairs: Vec<(&'static str, String)>,
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// Rows that are not shown.
    more: usize,
}

impl Card {
    fn new(title: &'static str) -> Card {
        Card { title, ..Card::default() }
    }

    fn pair(mut self, label: &'static str, value: impl Into<String>) -> Card {
        let value = value.into();
        if !value.is_empty() {
            self.pairs.push((label, value));
        }
        self
    }

    fn table(mut self, columns: &[&'static str], mut rows: Vec<Vec<String>>) -> Card {
        self.columns = if rows.is_empty() { Vec::new() } else { columns.to_vec() };
        self.more = rows.len().saturating_sub(MOST_ROWS);
        rows.truncate(MOST_ROWS);
        self.rows = rows;
        self
    }

    fn has_something(&self) -> bool {
        !self.pairs.is_empty() || !self.rows.is_empty()
    }
}

/// The cards of a document.
pub(crate) fn cards(language: Language, document: &Value) -> Vec<Card> {
    let facts = &document["facts"];
    let cards = match document["installation"].as_str() {
        Some("nethserver") => cluster(language, facts),
        Some("nethsecurity") => firewall(language, facts),
        _ => older(language, document),
    };
    cards.into_iter().filter(Card::has_something).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(true) => "✓".to_owned(),
        _ => String::new(),
    }
}

/// Texts with something between them, those that are empty left out.
fn joined(parts: &[String], between: &str) -> String {
    let shown: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    shown.join(between)
}

fn list(value: &Value) -> String {
    joined(&value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>(), ", ")
}

fn rows<'v>(value: &'v Value, row: impl Fn(&'v Value) -> Vec<String>) -> Vec<Vec<String>> {
    value.as_array().into_iter().flatten().map(row).collect()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn uptime(language: Language, seconds: &Value) -> String {
    let seconds = seconds.as_u64().or_else(|| seconds.as_str().and_then(|text| text.parse().ok()));
    seconds.map(|seconds| rough(language, Duration::from_secs(seconds))).unwrap_or_default()
}

fn processors(value: &Value) -> String {
    let count = text(&value["count"]);
    joined(&[if count.is_empty() { count } else { format!("{count} ×") }, text(&value["model"])], " ")
}

/// Used and all memory; `bytes` turns a number of the document into bytes.
fn memory(value: &Value, bytes: impl Fn(u64) -> u64) -> String {
    let number = |key: &str| value["system"][key].as_u64().map(&bytes);
    let used = number("used_bytes");
    let all = used.zip(number("available_bytes")).map(|(used, free)| used.saturating_add(free));
    used.zip(all).map(|(used, all)| format!("{} / {}", size_of(used), size_of(all))).unwrap_or_default()
}

fn os(value: &Value) -> String {
    joined(&[text(&value["name"]), text(&value["version"])], " ")
}

fn cluster(language: Language, facts: &Value) -> Vec<Card> {
    const MEBI: u64 = 1024 * 1024;
    let cluster = &facts["cluster"];
    let node = |(id, node): (&String, &Value)| {
        let name = text(&node["ui_name"]);
        let leads = if node["cluster_leader"] == true { "★ " } else { "" };
        vec![
            format!("{leads}{}", if name.is_empty() { id.clone() } else { format!("{name} ({id})") }),
            text(&node["fqdn"]),
            text(&node["version"]),
            joined(&[text(&node["default_ipv4"]), text(&node["default_ipv6"])], " · "),
            os(&node["distro"]),
            memory(&node["memory"], |n| n.saturating_mul(MEBI)),
            uptime(language, &node["uptime_seconds"]),
            text(&node["update_available"]),
            processors(&node["processors"]),
        ]
    };
    let nodes: Vec<Vec<String>> = members(&facts["nodes"]).map(node).collect();
    let module = |module: &Value| {
        let name = text(&module["ui_name"]);
        let id = text(&module["id"]);
        vec![
            if name.is_empty() { id } else { format!("{name} ({id})") },
            text(&module["name"]),
            text(&module["version"]),
            text(&module["node"]),
            text(&module["update_available"]),
        ]
    };
    let domain = |domain: &Value| {
        vec![
            text(&domain["name"]),
            text(&domain["schema"]),
            text(&domain["location"]),
            text(&domain["active_users"]),
            text(&domain["total_users"]),
        ]
    };
    vec![
        Card::new("fact_cluster")
            .pair("fact_name", text(&cluster["ui_name"]))
            .pair("fact_subscription", text(&cluster["subscription"]))
            .pair("fact_backups", text(&cluster["backup"]["backup_count"]))
            .pair("fact_backup_places", list(&cluster["backup"]["destination_providers"]))
            .pair("fact_smarthost", text(&cluster["smarthost"]["enabled"]))
            .pair("fact_admins", text(&cluster["admins"]["count"]))
            .pair("fact_admins_2fa", text(&cluster["admins"]["2fa"]))
            .pair("fact_repositories", list(&cluster["repositories"]))
            .table(
                &["fact_domain", "fact_schema", "fact_location", "fact_active_users", "fact_users"],
                rows(&cluster["user_domains"], domain),
            ),
        Card::new("fact_nodes").table(
            &[
                "fact_node",
                "fact_fqdn",
                "fact_version",
                "fact_addresses",
                "fact_os",
                "fact_memory",
                "fact_uptime",
                "fact_update",
                "fact_processors",
            ],
            nodes,
        ),
        Card::new("fact_modules").table(
            &["fact_module", "fact_product", "fact_version", "fact_node", "fact_update"],
            rows(&facts["modules"], module),
        ),
    ]
}

fn firewall(language: Language, facts: &Value) -> Vec<Card> {
    let features = &facts["features"];
    let mount = |(path, mount): (&String, &Value)| {
        let size = |key: &str| mount[key].as_u64().map(size_of).unwrap_or_default();
        vec![path.clone(), size("used_bytes"), size("total_bytes")]
    };
    let device = |(name, device): (&String, &Value)| {
        let props = &device["props"];
        vec![
            name.clone(),
            text(&device["type"]),
            text(&props["role"]),
            joined(&[text(&props["ipaddr"]), text(&props["netmask"])], " / "),
            text(&props["gateway"]),
        ]
    };
    let is_on =
        |feature: &Value| feature["enabled"] == true || feature["enabled"].as_i64().is_some_and(|n| n > 0);
    let on: Vec<String> = members(features)
        .filter(|(_, feature)| is_on(feature))
        .map(|(name, _)| name.replace('_', " "))
        .collect();
    let zones: Vec<String> = features["network"]["zones"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|zone| text(&zone["name"]))
        .collect();
    vec![
        Card::new("fact_machine")
            .pair("fact_os", os(&facts["distro"]))
            .pair("fact_hardware", hardware(facts))
            .pair("fact_processors", processors(&facts["processors"]))
            .pair("fact_memory", memory(&facts["memory"], |n| n / 1024))
            .pair("fact_kernel", text(&facts["kernel_version"]))
            .pair("fact_uptime", uptime(language, &facts["uptime_seconds"]))
            .pair("fact_timezone", text(&facts["timezone"]))
            .pair("fact_subscription", text(&features["subscription_status"]["status"]))
            .pair("fact_image_update", text(&facts["image_updates_available"]))
            .pair("fact_package_update", text(&facts["package_updates_available"])),
        Card::new("fact_network")
            .pair("fact_dns", list(&facts["dns_servers"]))
            .pair("fact_zones", joined(&zones, ", "))
            .table(
                &["fact_device", "fact_kind", "fact_role", "fact_addresses", "fact_gateway"],
                members(&features["network"]["configuration"]).map(device).collect(),
            ),
        Card::new("fact_features").pair("fact_switched_on", joined(&on, ", ")),
        Card::new("fact_storage").table(
            &["fact_mount", "fact_used", "fact_size"],
            members(&facts["mountpoints"]).map(mount).collect(),
        ),
    ]
}

fn hardware(facts: &Value) -> String {
    let product = joined(&[text(&facts["product"]["manufacturer"]), text(&facts["product"]["name"])], " ");
    joined(&[product, text(&facts["virtual"])], " · ")
}

fn older(language: Language, document: &Value) -> Vec<Card> {
    let network = |network: &Value| {
        let props = &network["props"];
        vec![
            text(&network["name"]),
            text(&network["type"]),
            text(&props["role"]),
            joined(&[text(&props["ipaddr"]), text(&props["netmask"])], " / "),
            text(&props["gateway"]),
        ]
    };
    let release = &document["os"]["release"];
    vec![
        Card::new("fact_machine")
            .pair("fact_os", joined(&[text(&document["os"]["name"]), text(&release["full"])], " "))
            .pair(
                "fact_hardware",
                joined(&[text(&document["dmi"]["product"]["name"]), text(&document["virtual"])], " · "),
            )
            .pair("fact_processors", text(&document["processors"]["count"]))
            .pair("fact_kernel", text(&document["kernelrelease"]))
            .pair("fact_uptime", uptime(language, &document["system_uptime"]["seconds"]))
            .pair("fact_timezone", text(&document["timezone"]))
            .pair("fact_public_address", text(&document["public_ip"])),
        Card::new("fact_network").table(
            &["fact_device", "fact_kind", "fact_role", "fact_addresses", "fact_gateway"],
            rows(&document["esmithdb"]["networks"], network),
        ),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail anywhere")]

    use super::*;
    use crate::texts;

    fn of(text: &str) -> Vec<Card> {
        cards(Language::English, &serde_json::from_str(text).unwrap())
    }

    #[test]
    fn both_kinds_of_documents_are_laid_out() {
        let cluster = of(include_str!("../../../inventory/tests/data/inventory-ns8.json"));
        let firewall = of(include_str!("../../../inventory/tests/data/inventory-nsec.json"));
        let titles = |cards: &[Card]| cards.iter().map(|card| card.title).collect::<Vec<_>>();
        assert_eq!(titles(&cluster), ["fact_cluster", "fact_nodes", "fact_modules"]);
        assert_eq!(titles(&firewall), ["fact_machine", "fact_network", "fact_features", "fact_storage"]);
        assert_eq!(cluster[1].rows[0][5], "13.1 GiB / 31.3 GiB");
        for card in cluster.iter().chain(&firewall) {
            let pairs = card.pairs.iter().map(|(label, _)| *label);
            for key in pairs.chain(card.columns.iter().copied()).chain([card.title]) {
                assert!(texts::find(Language::English, key).is_some(), "{key}");
            }
        }
    }

    #[test]
    fn nothing_is_taken_for_granted() {
        for odd in [
            "{}",
            "[]",
            "null",
            r#"{"installation":"nethserver","facts":{"cluster":null,"nodes":{"1":7},"modules":[3,null]}}"#,
            r#"{"installation":"nethsecurity","facts":{"memory":{"system":{"used_bytes":-1}},"features":[1]}}"#,
        ] {
            of(odd);
        }
    }
}
