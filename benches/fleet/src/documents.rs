//! Inventory documents in the shapes of docs/specification/inventory-documents.md: two of three systems are clusters, the
//! others firewalls. A system's document depends on its number and its revision alone.

use crate::random::{below, pick};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Seconds of uptime at revision 0; the revision is what a document has more.
const UPTIME: u64 = 1_000_000;

/// How many documents of a thousand differ from the one before.
pub(crate) const CHANGED: u64 = 100;

/// The revision of a system's document number `turn`.
pub(crate) fn revision(seed: u64, system: usize, turn: u32) -> u32 {
    let is_changed = |turn: &u32| below(1000, &[seed, system as u64, u64::from(*turn), 77]) < CHANGED;
    u32::try_from((1..=turn).filter(is_changed).count()).unwrap_or(u32::MAX)
}

/// The document as it is sent.
pub(crate) fn document(seed: u64, system: usize, revision: u32) -> Vec<u8> {
    let machine = Machine { seed, system: system as u64, revision };
    let (installation, facts) = if machine.number(3, 0) < 2 {
        ("nethserver", machine.cluster())
    } else {
        ("nethsecurity", machine.firewall())
    };
    json!({
        "$schema": "https://schema.nethserver.org/facts/2022-12.json",
        "uuid": Uuid::from_u64_pair(machine.number(u64::MAX, 1), machine.number(u64::MAX, 2)),
        "installation": installation,
        "facts": facts,
    })
    .to_string()
    .into_bytes()
}

/// The revision of a document of this program.
pub(crate) fn revision_of(document: &Value) -> Option<u32> {
    let facts = document.get("facts")?;
    let uptime = facts.get("uptime_seconds").or_else(|| facts.pointer("/nodes/1/uptime_seconds"))?;
    u32::try_from(uptime.as_u64()?.checked_sub(UPTIME)?).ok()
}

/// Modules of clusters with what they count.
const MODULES: &[(&str, &str, &[&str])] = &[
    (
        "mail",
        "Mail",
        &["addresses_total", "addresses_wildcard", "mailboxes_total", "domains_total", "relay_rules_total"],
    ),
    ("webtop", "WebTop", &["active_users", "total_users"]),
    (
        "nethvoice",
        "NethVoice",
        &[
            "active_users",
            "total_users",
            "nethvoice_extensions",
            "nethvoice_trunks",
            "nethvoice_queues",
            "nethvoice_ivr",
        ],
    ),
    ("nextcloud", "Nextcloud", &["active_users", "total_users"]),
    ("mattermost", "Mattermost", &["active_users", "total_users"]),
    ("imapsync", "Imapsync", &["tasks_total", "tasks_delete", "tasks_inbox", "tasks_cron_enabled"]),
    ("samba", "Samba", &["shared_folders", "description", "audit_enabled", "recycle_enabled", "browseable"]),
    (
        "traefik",
        "Traefik",
        &["custom_path_routes", "custom_host_routes", "acme_manual_certificates", "acme_auto_certificates"],
    ),
    ("ldapproxy", "LDAP proxy", &[]),
    ("crowdsec", "CrowdSec", &["bans", "allowlists"]),
    ("loki", "Loki", &["retention_days"]),
    ("webserver", "Webserver", &["virtualhosts", "sftpgo_users"]),
];

/// Class, name of the class, maker and model of devices.
const DEVICES: &[(&str, &str, &str, &str)] = &[
    ("0600", "Host bridge", "Intel Corporation", "440FX - 82441FX PMC [Natoma]"),
    ("0601", "ISA bridge", "Intel Corporation", "82371SB PIIX3 ISA [Natoma/Triton II]"),
    ("0101", "IDE interface", "Intel Corporation", "82371SB PIIX3 IDE [Natoma/Triton II]"),
    ("0300", "VGA compatible controller", "Red Hat, Inc.", "QXL paravirtual graphic card"),
    ("0200", "Ethernet controller", "Red Hat, Inc.", "Virtio network device"),
    ("0100", "SCSI storage controller", "Red Hat, Inc.", "Virtio SCSI"),
    ("0c03", "USB controller", "Intel Corporation", "82371SB PIIX3 USB [Natoma/Triton II]"),
    ("0604", "PCI bridge", "Red Hat, Inc.", "QEMU PCI-PCI bridge"),
];

const NETS: &[&str] = &["192.0.2", "198.51.100", "203.0.113"];

/// One system at one revision.
#[derive(Clone, Copy)]
struct Machine {
    seed: u64,
    system: u64,
    revision: u32,
}

impl Machine {
    /// From 0 to `n - 1`, for what `about` stands for.
    fn number(&self, n: u64, about: u64) -> u64 {
        below(n, &[self.seed, self.system, about])
    }

    fn pick<T: Copy>(&self, values: &[T], about: u64) -> T {
        pick(values, &[self.seed, self.system, about])
    }

    fn address(&self, about: u64) -> String {
        format!("{}.{}", self.pick(NETS, about), 1 + self.number(254, about + 1))
    }

    fn cluster(&self) -> Value {
        let nodes = 1 + self.number(3, 10);
        let domain = format!("ad.s{}.example", self.system);
        json!({
            "cluster": {
                "leader_node_id": "1",
                "user_domains": [{ "name": domain, "location": "internal", "protocol": "ldap", "schema": "ad",
                    "providers_count": 1, "active_users": self.number(200, 11), "total_users": 200 + self.number(50, 12),
                    "total_groups": self.number(30, 13) }],
                "subscription": self.pick(&["enterprise", "community", "disabled"], 14),
                "admins": { "count": 1 + self.number(4, 15), "2fa": self.number(2, 16) },
                "repositories": ["distfeed.nethserver.org/ns8/updates"],
                "smarthost": { "enabled": true, "manual_configuration": true },
                "backup": { "backup_count": self.number(4, 17), "destination_count": 1, "destination_providers": ["smb"] },
                "update_disabled": false,
                "update_disabled_reason": "",
                "update_schedule_active": true,
                "ui_name": format!("Cluster {}", self.system),
            },
            "nodes": (1..=nodes).map(|node| (node.to_string(), self.node(node))).collect::<Map<_, _>>(),
            "modules": (0..24 + self.number(30, 18)).map(|n| self.module(n, nodes, &domain)).collect::<Vec<_>>(),
        })
    }

    fn node(&self, node: u64) -> Value {
        let about = 1000 * node;
        let revision = if node == 1 { u64::from(self.revision) } else { 0 };
        json!({
            "creation_date": format!("2024-0{node}-11T08:21:11+00:00"),
            "cluster_leader": node == 1,
            "fqdn": format!("ns{node}.s{}.example", self.system),
            "default_ipv4": self.address(about),
            "default_ipv6": "",
            "kernel_version": "5.14.0-570.21.1.el9_6.x86_64",
            "uptime_seconds": UPTIME + revision,
            "timezone": "Europe/Rome",
            "volumesconf_mountpoint_count": self.number(3, about + 2),
            "volumesconf_application_types": [],
            "version": format!("3.{}.{}", self.number(20, 20), self.number(6, 21)),
            "distro": { "name": "Rocky", "version": "9.6" },
            "processors": { "count": 2 + self.number(14, about + 3), "model": "Intel(R) Xeon(R) Silver 4314 CPU @ 2.40GHz",
                "architecture": "x86_64" },
            "product": { "name": "Standard PC (i440FX + PIIX, 1996)", "manufacturer": "QEMU" },
            "virtual": "kvm",
            "memory": self.memory(about),
            "pci": (0..10 + self.number(4, about + 4)).map(device).collect::<Vec<_>>(),
            "ui_name": format!("Node {node}"),
            "update_available": self.number(2, about + 5) == 0,
        })
    }

    fn module(&self, n: u64, nodes: u64, domain: &str) -> Value {
        let kinds = MODULES.len() as u64;
        let (module, name, counts) = MODULES[usize::try_from(n % kinds).unwrap_or(0)];
        let (about, instance) = (100_000 + 100 * n, n / kinds + 1);
        // An update of one module is what differs between revisions.
        let patch = if n == 0 { u64::from(self.revision) } else { self.number(9, about) };
        let mut value = json!({
            "id": format!("{module}{instance}"),
            "version": format!("1.{}.{patch}", self.number(9, about + 1)),
            "module": module,
            "name": name,
            "source": format!("ghcr.io/nethserver/{module}"),
            "node": (1 + n % nodes).to_string(),
            "certification_level": self.number(6, about + 2),
            "update_available": self.number(5, about + 3) == 0,
            "user_domains": [domain],
            "fqdns": [format!("{module}{instance}.s{}.example", self.system)],
            "ui_name": if instance == 1 { name } else { "" },
            "limits": { "memory_high_bytes": 1_u64 << 31, "processes": 512, "open_files": 4096, "log_level": "warning" },
        });
        if let Some(module) = value.as_object_mut() {
            for (at, count) in counts.iter().enumerate() {
                module.insert(format!("{count}_count"), self.number(300, about + 10 + at as u64).into());
            }
        }
        value
    }

    fn memory(&self, about: u64) -> Value {
        let used = 1000 + self.number(30_000, about + 50);
        json!({ "swap": { "used_bytes": 12, "available_bytes": 4083 },
            "system": { "used_bytes": used, "available_bytes": 32_000 - used / 2 } })
    }

    fn firewall(&self) -> Value {
        json!({
            "distro": { "name": "NethSecurity", "version": format!("8.{}.{}", self.number(8, 20), self.revision) },
            "processors": { "count": "4", "model": "Intel(R) Celeron(R) J6412 @ 2.00GHz", "architecture": "x86_64" },
            "product": { "name": "NethBox Z3 Plus", "manufacturer": "Nethesis" },
            "virtual": "physical",
            "memory": self.memory(0),
            "pci": (0..25).map(device).collect::<Vec<_>>(),
            "mountpoints": self.mountpoints(),
            "features": self.features(),
            "default_ipv4": self.address(40),
            "default_ipv6": "",
            "dns_servers": ["192.0.2.53", "198.51.100.53"],
            "fqdn": format!("fw1.s{}.example", self.system),
            "image_updates_available": self.number(2, 41) == 0,
            "kernel_version": "6.6.110",
            "package_updates_available": false,
            "timezone": "Europe/Rome",
            "uptime_seconds": UPTIME + u64::from(self.revision),
        })
    }

    fn mountpoints(&self) -> Map<String, Value> {
        let mount = |(path, about): (&&str, u64)| {
            let (total, used) = (1_u64 << 32, self.number(1 << 31, about));
            (
                (*path).to_owned(),
                json!({ "total_bytes": total, "used_bytes": used, "available_bytes": total - used }),
            )
        };
        ["/", "/tmp", "/boot", "/mnt/data", "/dev/shm"].iter().zip(30..).map(mount).collect()
    }

    fn features(&self) -> Value {
        let tunnels = |kind: &str, from: u64| {
            let tunnel = |n| {
                json!({ "section": format!("ns_{:08x}", self.number(1 << 32, from + n)), "mode": kind,
                "authentication": "username_password_certificate", "user_database": "main" })
            };
            (0..20 + self.number(20, from)).map(tunnel).collect::<Vec<_>>()
        };
        let interface = |n: u64| {
            json!({ "name": format!("eth{}.{n}", n % 5), "device": format!("br-{n}"), "type": "bridge", "zone": "lan",
                "protocol": "static", "addresses": [{ "address": self.address(600 + 2 * n), "prefix": 24 }],
                "statistics": { "received_packets": self.number(1 << 40, 700 + n), "sent_packets": self.number(1 << 40, 800 + n),
                    "received_errors": 0, "sent_errors": 0, "speed": 1000, "mtu": 1500 } })
        };
        json!({
            "adblock": { "enabled": true, "community": self.number(5, 50), "enterprise": self.number(5, 51) },
            "backups": { "backup_passphrase": true, "passphrase_date": 1_735_891_200 },
            "certificates_info": { "custom_certificates": { "count": 2 }, "acme_certificates": { "count": 4, "issued": 4, "pending": 0 } },
            "controller": { "enabled": true },
            "database_stats": { "main": { "users": self.number(200, 52) } },
            "dhcp_server": { "count": 9, "static_leases": self.number(90, 53), "dynamic_leases": self.number(300, 54),
                "dns_records_count": 31, "dns_forwarder_enabled": true },
            "firewall_stats": { "firewall": { "port_forward": self.number(40, 55), "nat": { "masquerade": 3, "snat": 5 },
                "rules": { "forward": self.number(200, 56), "input": 27, "output": 6 } } },
            "flashstart": { "enabled": true, "bypass": 4, "pro_plus": true, "custom_servers": 2 },
            "ha": { "enabled": self.number(5, 57) == 0, "vips": 6 },
            "multiwan": { "enabled": true, "policies": { "backup": 1, "balance": 2, "custom": 1 }, "rules": 9 },
            "netifyd": { "enabled": true },
            "network": { "zones": (0..8).map(|n| json!({ "name": format!("zone{n}"), "ipv4": 1, "ipv6": 0 })).collect::<Vec<_>>(),
                "configuration": (0..24).map(interface).collect::<Vec<_>>() },
            "openvpn_rw": { "enabled": 3, "server": 3, "instances": tunnels("tun", 1000) },
            "openvpn_tun": { "client": 9, "server": 31, "tunnels": tunnels("p2p", 2000) },
            "snort": { "enabled": true, "policy": "connectivity", "oink_enabled": true, "disabled_rules": self.number(40, 58) },
            "subscription_status": { "status": "enterprise" },
            "threat_shield": { "enabled": true, "community": 4, "enterprise": 3 },
            "wireguard": { "enabled": true, "servers": (1..=12).map(|n| (format!("wg{n}"),
                json!({ "peers": self.number(20, 900 + n), "routing_all_traffic": n % 2 }))).collect::<Map<_, _>>() },
        })
    }
}

fn device(n: u64) -> Value {
    let (class, class_name, vendor, name) = DEVICES[usize::try_from(n).unwrap_or(0) % DEVICES.len()];
    json!({ "class_id": class, "vendor_id": "8086", "device_id": format!("{:04x}", 0x1237 + n), "revision": "02",
        "class_name": class_name, "vendor_name": vendor, "device_name": name, "driver": "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_the_size_and_the_facts_of_real_ones() {
        let (mut kinds, mut bytes_of_all) = ([0; 2], 0);
        for system in 0..60 {
            let bytes = document(1, system, 3);
            assert!((12_000..45_000).contains(&bytes.len()), "{}", bytes.len());
            bytes_of_all += bytes.len();
            let value: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(revision_of(&value), Some(3));
            let is_cluster = value["installation"] == "nethserver";
            kinds[usize::from(is_cluster)] += 1;
            let fqdn = if is_cluster { "/facts/nodes/1/fqdn" } else { "/facts/fqdn" };
            assert!(value.pointer(fqdn).unwrap().as_str().unwrap().ends_with(&format!(".s{system}.example")));
        }
        assert!(kinds.iter().all(|n| *n > 10), "{kinds:?}");
        assert!((20_000..30_000).contains(&(bytes_of_all / 60)), "{}", bytes_of_all / 60);
        assert_eq!(revision_of(&json!({ "facts": { "uptime_seconds": 3 } })), None);
    }

    #[test]
    fn a_revision_repeats_and_differs_from_the_one_before_in_a_version() {
        for system in 0..6 {
            let (one, two) = (document(1, system, 1), document(1, system, 2));
            assert_eq!(one, document(1, system, 1));
            let changed = one.iter().zip(&two).filter(|(a, b)| a != b).count();
            assert_eq!((one.len(), changed), (two.len(), 2), "uptime and version");
            assert_ne!(one, document(2, system, 1));
        }
    }

    #[test]
    fn a_tenth_of_the_documents_has_changes() {
        let steps: u32 = (0..500).map(|system| revision(1, system, 40)).sum();
        assert!((1_800..2_200).contains(&steps), "{steps}");
        assert_eq!(revision(1, 3, 0), 0);
        assert!((0..40).all(|turn| revision(1, 3, turn) <= revision(1, 3, turn + 1)));
    }
}
