//! The inventory documents of made-up systems: the first one is made of what the database says of the system, each
//! other one of the one before. As appliances do, clusters count their memory in MiB, and firewalls in 1,024ths of a
//! byte.

use crate::random::{Dice, mix};
use bailiwick_store::demo::life::{Installed, Member};
use serde_json::{Map, Value, json};

const SCHEMA: &str = "https://schema.nethserver.org/facts/2022-12.json";

/// Whether systems of this type send documents that this module can make.
pub(super) fn is_known(system_type: Option<&str>) -> bool {
    matches!(system_type, Some("ns8" | "nsec"))
}

/// The first document of a system.
pub(super) fn first(member: &Member, applications: &[Installed]) -> Value {
    let dice = Dice::new(mix(member.number.wrapping_add(77)));
    match member.system_type.as_deref() {
        Some("nsec") => firewall(member, &dice),
        _ => cluster(member, applications, &dice),
    }
}

fn cluster(member: &Member, applications: &[Installed], dice: &Dice) -> Value {
    let domain = member.fqdn.split_once('.').map_or("local.example", |(_, domain)| domain);
    let users = 4 + dice.below(180);
    let modules: Vec<Value> = applications.iter().map(module).collect();
    let [distro, release] = dice.pick(&[["Rocky", "9.5"], ["Rocky", "9.6"], ["Debian", "12"]]);
    let mut node = json!({
        "cluster_leader": true, "fqdn": member.fqdn, "default_ipv4": member.ipv4_address,
        "version": member.version, "kernel_version": "5.14.0-570.21.1.el9_6.x86_64",
        "timezone": "Europe/Rome", "uptime_seconds": 3600 * (1 + dice.below(4000)), "ui_name": "Node 1",
        "distro": { "name": distro, "version": release },
        "processors": { "count": dice.pick(&[2, 4, 8, 16]), "architecture": "x86_64",
            "model": dice.pick(&["Intel(R) Xeon(R) Silver 4314 CPU @ 2.40GHz", "AMD EPYC 7313P 16-Core Processor"]) },
        "memory": { "system": { "used_bytes": 2000 + dice.below(6000),
            "available_bytes": 2000 + dice.below(9000) } },
        "product": { "name": "Standard PC (Q35 + ICH9, 2009)", "manufacturer": "QEMU" }, "virtual": "kvm",
    });
    if !member.ipv6_address.is_empty() {
        node["default_ipv6"] = json!(member.ipv6_address);
    }
    json!({
        "$schema": SCHEMA, "uuid": member.id, "installation": "nethserver",
        "facts": {
            "cluster": {
                "leader_node_id": "1", "ui_name": member.name, "update_schedule_active": dice.per_mille(700),
                "subscription": dice.pick(&["enterprise", "enterprise", "community"]),
                "admins": { "count": 1 + dice.below(5), "2fa": dice.below(2) },
                "backup": { "backup_count": 1 + dice.below(3), "destination_count": 1,
                    "destination_providers": [dice.pick(&["backblaze", "smb", "aws"])] },
                "smarthost": { "enabled": dice.per_mille(600), "manual_configuration": false },
                "user_domains": [{ "name": format!("ad.{domain}"), "location": "internal", "protocol": "ldap",
                    "schema": "ad", "providers_count": 1, "active_users": users, "total_users": users + dice.below(20),
                    "total_groups": 3 + dice.below(25) }],
            },
            "nodes": { "1": node },
            "modules": modules,
        },
    })
}

/// An entry of the list of modules that gives the application as it is stored.
fn module(installed: &Installed) -> Value {
    let mut entry: Map<String, Value> = serde_json::from_str(&installed.inventory_data).unwrap_or_default();
    entry.insert("id".into(), json!(installed.module_id));
    entry.insert("module".into(), json!(installed.instance_of));
    entry.insert("version".into(), json!(installed.version));
    entry.insert("node".into(), json!("1"));
    for (key, value) in [("name", &installed.name), ("source", &installed.source)] {
        if let Some(text) = value {
            entry.insert(key.into(), json!(text));
        }
    }
    if let Some(level) = installed.certification_level {
        entry.insert("certification_level".into(), json!(level));
    }
    Value::Object(entry)
}

fn firewall(member: &Member, dice: &Dice) -> Value {
    let mut facts = json!({
        "fqdn": member.fqdn, "default_ipv4": member.ipv4_address,
        "distro": { "name": "NethSecurity", "version": member.version },
        "processors": { "count": "4", "architecture": "x86_64", "model": "Intel(R) Celeron(R) J6412 @ 2.00GHz" },
        "product": { "name": dice.pick(&["NethBox Z3 Plus", "NethBox Z1", "NethBox Z5"]), "manufacturer": "Nethesis" },
        "virtual": "physical", "uptime_seconds": 3600 * (1 + dice.below(4000)),
        "memory": { "system": { "used_bytes": (300 + dice.below(900)) << 30,
            "available_bytes": (1000 + dice.below(6000)) << 30 } },
        "features": {
            "controller": { "enabled": dice.per_mille(800) },
            "certificates_info": { "acme_certificates": { "count": 2, "issued": 2, "pending": 0 },
                "custom_certificates": { "count": dice.below(2) } },
            "database_stats": { "main": { "users": 2 + dice.below(60) } },
            "dhcp_server": { "count": 1 + dice.below(4), "static_leases": dice.below(90), "dns_forwarder_enabled": true },
            "firewall_stats": { "firewall": { "port_forward": dice.below(25),
                "rules": { "forward": 4 + dice.below(100), "input": 2 + dice.below(20), "output": dice.below(5) } } },
            "ha": { "enabled": dice.per_mille(150) },
            "ipsec": { "count": dice.below(6) },
            "multiwan": { "enabled": dice.per_mille(500), "policies": { "backup": dice.below(2), "balance": dice.below(3) } },
            "openvpn_rw": { "enabled": dice.per_mille(700), "server": 1 + dice.below(2) },
            "threat_shield": { "enabled": dice.per_mille(400) },
            "wireguard": { "instances": dice.below(3) },
        },
    });
    if !member.ipv6_address.is_empty() {
        facts["default_ipv6"] = json!(member.ipv6_address);
    }
    json!({ "$schema": SCHEMA, "uuid": member.id, "installation": "nethsecurity", "facts": facts })
}

/// Something that changes on an appliance in the course of weeks.
enum Change {
    /// A newer version of the text there.
    Upgrade(&'static str),
    /// A number that goes up or down a little.
    Drift(&'static str),
    /// A switch.
    Flip(&'static str),
    /// A newer version of one of the modules.
    Module,
}

const CLUSTER: &[Change] = &[
    Change::Module,
    Change::Module,
    Change::Module,
    Change::Upgrade("/facts/nodes/1/version"),
    Change::Upgrade("/facts/nodes/1/distro/version"),
    Change::Drift("/facts/cluster/user_domains/0/active_users"),
    Change::Drift("/facts/cluster/admins/count"),
    Change::Drift("/facts/cluster/backup/backup_count"),
    Change::Flip("/facts/cluster/smarthost/enabled"),
    Change::Flip("/facts/cluster/update_schedule_active"),
];
const FIREWALL: &[Change] = &[
    Change::Upgrade("/facts/distro/version"),
    Change::Upgrade("/facts/distro/version"),
    Change::Drift("/facts/features/firewall_stats/firewall/rules/forward"),
    Change::Drift("/facts/features/firewall_stats/firewall/port_forward"),
    Change::Drift("/facts/features/database_stats/main/users"),
    Change::Drift("/facts/features/ipsec/count"),
    Change::Drift("/facts/features/wireguard/instances"),
    Change::Flip("/facts/features/threat_shield/enabled"),
    Change::Flip("/facts/features/openvpn_rw/enabled"),
];

/// Makes one to three changes.
pub(super) fn change(document: &mut Value, dice: &Dice) {
    let is_cluster = document["installation"] == "nethserver";
    for _ in 0..=dice.below(3) {
        let all = if is_cluster { CLUSTER } else { FIREWALL };
        match &all[dice.position(all.len())] {
            Change::Upgrade(pointer) => upgrade(document.pointer_mut(pointer)),
            Change::Drift(pointer) => drift(document.pointer_mut(pointer), dice),
            Change::Flip(pointer) => flip(document.pointer_mut(pointer)),
            Change::Module => {
                let modules = document.pointer_mut("/facts/modules").and_then(Value::as_array_mut);
                let modules = modules.filter(|modules| !modules.is_empty());
                upgrade(modules.and_then(|all| {
                    let position = dice.position(all.len());
                    all.get_mut(position)?.get_mut("version")
                }));
            }
        }
    }
}

fn upgrade(version: Option<&mut Value>) {
    if let Some(version) = version
        && let Some(text) = version.as_str()
    {
        *version = json!(next_version(text));
    }
}

/// The last number plus one; after nine the one before it goes up.
fn next_version(text: &str) -> String {
    let mut numbers: Vec<u64> = text.split('.').map(|part| part.parse().unwrap_or(0)).collect();
    let last = numbers.len() - 1;
    if numbers[last] < 9 || last == 0 {
        numbers[last] += 1;
    } else {
        numbers[last] = 0;
        numbers[last - 1] += 1;
    }
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}

fn drift(number: Option<&mut Value>, dice: &Dice) {
    if let Some(number) = number
        && let Some(now) = number.as_u64()
    {
        let step = 1 + dice.below(now / 10 + 1);
        *number = json!(if now > step && dice.per_mille(400) { now - step } else { now + step });
    }
}

fn flip(switch: Option<&mut Value>) {
    if let Some(switch) = switch
        && let Some(is_on) = switch.as_bool()
    {
        *switch = json!(!is_on);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_go_up() {
        for (old, new) in
            [("1.4.2", "1.4.3"), ("3.12.9", "3.13.0"), ("9.5", "9.6"), ("12", "13"), ("9", "10")]
        {
            assert_eq!(next_version(old), new);
        }
    }
}
