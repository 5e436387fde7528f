//! The facts of a document about its system as a whole (spec: inventory#system-columns).

use crate::{Document, Family, at, member};
use bailiwick_domain::{json::Json, validate::is_too_long};
use std::{
    net::{Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

const MAX_TYPE_CHARS: usize = 50;
/// Longest fully qualified name that is accepted.
pub(crate) const MAX_FQDN_CHARS: usize = 255;
const MAX_VERSION_CHARS: usize = 100;

/// Columns of the system; none leaves the column as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// `ns8`, `nsec`, or the type that a legacy document states; at most 50 characters.
    pub system_type: Option<String>,
    /// Of the leading node or the firewall; at most 255 characters.
    pub fqdn: Option<String>,
    /// Set only if it parses as an address.
    pub ipv4: Option<Ipv4Addr>,
    /// Set only if it parses as an address.
    pub ipv6: Option<Ipv6Addr>,
    /// Of the product; at most 100 characters.
    pub version: Option<String>,
}

impl Document<'_> {
    /// The columns this document fills.
    pub fn facts(&self) -> Facts {
        match self.family() {
            Family::Cluster => cluster_facts(self.root()),
            Family::Firewall => firewall_facts(self.root()),
            Family::Legacy => legacy_facts(self.root()),
        }
    }
}

fn cluster_facts(root: &Json<'_>) -> Facts {
    let leader = at(root, &["facts", "nodes"]).and_then(leader);
    let of_leader = |key| leader.and_then(|node| member(node, key));
    Facts {
        system_type: Some("ns8".to_owned()),
        fqdn: text(of_leader("fqdn"), MAX_FQDN_CHARS),
        ipv4: address(of_leader("default_ipv4")),
        ipv6: address(of_leader("default_ipv6")),
        version: text(of_leader("version"), MAX_VERSION_CHARS),
    }
}

/// The node that leads the cluster, else the one called `1`.
fn leader<'j, 'a>(nodes: &'j Json<'a>) -> Option<&'j Json<'a>> {
    let leads = |node: &&'j Json<'a>| member(node, "cluster_leader") == Some(&Json::Bool(true));
    nodes.as_obj()?.iter().map(|(_, node)| node).find(leads).or_else(|| member(nodes, "1"))
}

fn firewall_facts(root: &Json<'_>) -> Facts {
    Facts {
        system_type: Some("nsec".to_owned()),
        fqdn: text(at(root, &["facts", "fqdn"]), MAX_FQDN_CHARS),
        ipv4: address(at(root, &["facts", "default_ipv4"])),
        ipv6: address(at(root, &["facts", "default_ipv6"])),
        version: text(at(root, &["facts", "distro", "version"]), MAX_VERSION_CHARS),
    }
}

fn legacy_facts(root: &Json<'_>) -> Facts {
    let system_type = text(at(root, &["os", "type"]), MAX_TYPE_CHARS);
    Facts {
        system_type: system_type.map(|name| match name.as_str() {
            "nethserver" => "ns8".to_owned(),
            "nethsecurity" => "nsec".to_owned(),
            _ => name,
        }),
        fqdn: text(at(root, &["networking", "fqdn"]), MAX_FQDN_CHARS),
        ipv4: address(member(root, "public_ip")),
        ipv6: None,
        version: text(at(root, &["os", "release", "full"]), MAX_VERSION_CHARS),
    }
}

/// A non-empty text that fits its column.
pub(crate) fn text(value: Option<&Json<'_>>, max_chars: usize) -> Option<String> {
    let text = value?.as_str()?;
    (!text.is_empty() && !is_too_long(text, max_chars)).then(|| text.to_owned())
}

/// Unsubscribed systems send a pseudonym instead of an address.
fn address<A: FromStr>(value: Option<&Json<'_>>) -> Option<A> {
    value?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(body: &str) -> Facts {
        Document::parse(body.as_bytes()).unwrap().facts()
    }

    fn of_type(name: &str) -> Facts {
        Facts { system_type: Some(name.to_owned()), ..Facts::default() }
    }

    fn cluster(facts_json: &str) -> Facts {
        facts(&format!(r#"{{"installation":"nethserver","facts":{facts_json}}}"#))
    }

    fn firewall(facts_json: &str) -> Facts {
        facts(&format!(r#"{{"installation":"nethsecurity","facts":{facts_json}}}"#))
    }

    #[test]
    fn leader_by_mark_else_node_1() {
        let two = r#"{"nodes":{"1":{"fqdn":"one","version":"3"},"2":{"fqdn":"two","cluster_leader":MARK}}}"#;
        assert_eq!(
            cluster(&two.replace("MARK", "true")),
            Facts { fqdn: Some("two".into()), ..of_type("ns8") }
        );
        for no_mark in ["false", "\"true\"", "1", "null"] {
            let found = cluster(&two.replace("MARK", no_mark));
            assert_eq!(
                (found.fqdn.as_deref(), found.version.as_deref()),
                (Some("one"), Some("3")),
                "{no_mark}"
            );
        }
        assert_eq!(cluster(r#"{"nodes":{"2":{"fqdn":"two"},"10":{"fqdn":"ten"}}}"#), of_type("ns8"));
    }

    #[test]
    fn facts_without_text_are_left_out() {
        for value in ["null", "\"\"", "7", "true", "[]", "{}", "[\"x\"]"] {
            let keys =
                ["fqdn", "default_ipv4", "default_ipv6"].map(|key| format!("\"{key}\":{value}")).join(",");
            let node = format!(r#"{{"nodes":{{"1":{{{keys},"version":{value}}}}}}}"#);
            assert_eq!(cluster(&node), of_type("ns8"), "{value}");
            assert_eq!(firewall(&format!(r#"{{{keys},"distro":{{"version":{value}}}}}"#)), of_type("nsec"));
            assert_eq!(firewall(&format!(r#"{{"distro":{value}}}"#)), of_type("nsec"));
            let legacy = format!(
                r#"{{"os":{{"type":{value},"release":{{"full":{value}}}}},"networking":{{"fqdn":{value}}},"public_ip":{value}}}"#
            );
            assert_eq!(facts(&legacy), Facts::default(), "{value}");
            assert_eq!(facts(&format!(r#"{{"os":{value},"networking":{value}}}"#)), Facts::default());
        }
    }

    #[test]
    fn facts_of_any_type() {
        for value in
            ["null", "[]", "{}", "\"x\"", "0", "[{\"nodes\":1}]", r#"{"nodes":[{"cluster_leader":true}]}"#]
        {
            assert_eq!(cluster(value), of_type("ns8"), "{value}");
            assert_eq!(firewall(value), of_type("nsec"), "{value}");
        }
        for value in ["null", "[]", "{}", "\"x\"", r#"{"1":null}"#, r#"{"1":[]}"#, r#"{"1":"x"}"#] {
            assert_eq!(cluster(&format!("{{\"nodes\":{value}}}")), of_type("ns8"), "{value}");
        }
        assert_eq!(facts("{}"), Facts::default());
    }

    #[test]
    fn over_long_text_is_left_out() {
        for (length, fits) in [(255, true), (256, false)] {
            let facts_read = firewall(&format!(r#"{{"fqdn":"{}"}}"#, "é".repeat(length)));
            assert_eq!(facts_read.fqdn.is_some(), fits);
        }
        for (length, fits) in [(100, true), (101, false)] {
            let facts_read = firewall(&format!(r#"{{"distro":{{"version":"{}"}}}}"#, "é".repeat(length)));
            assert_eq!(facts_read.version.is_some(), fits);
        }
        for (length, fits) in [(50, true), (51, false)] {
            let facts_read = facts(&format!(r#"{{"os":{{"type":"{}"}}}}"#, "é".repeat(length)));
            assert_eq!(facts_read.system_type.is_some(), fits);
        }
    }

    #[test]
    fn addresses_that_do_not_parse_are_left_out() {
        for (v4, v6, parsed) in [
            ("203.0.113.9", "2001:DB8:0:0::1", true),
            ("anon-0123456789abcdef", "anon-0123456789abcdef", false),
            ("2001:db8::1", "203.0.113.9", false),
            ("203.0.113.9/24", "2001:db8::1/64", false),
            (" 203.0.113.9", "2001:db8::1%eth0", false),
            ("203.0.113.256", "[2001:db8::1]", false),
        ] {
            let facts_read = firewall(&format!(r#"{{"default_ipv4":"{v4}","default_ipv6":"{v6}"}}"#));
            assert_eq!((facts_read.ipv4.is_some(), facts_read.ipv6.is_some()), (parsed, parsed), "{v4} {v6}");
        }
        let facts_read = firewall(r#"{"default_ipv6":"2001:DB8:0:0::1"}"#);
        assert_eq!(facts_read.ipv6.unwrap().to_string(), "2001:db8::1");
    }

    #[test]
    fn legacy_documents() {
        let body = r#"{"os":{"type":"TYPE","release":{"full":"7.9.2009"}},"networking":{"fqdn":"old.example"},
            "public_ip":"198.51.100.7"}"#;
        for (name, system_type) in [
            ("nethserver", "ns8"),
            ("nethsecurity", "nsec"),
            ("NethServer", "NethServer"),
            ("other", "other"),
        ] {
            assert_eq!(
                facts(&body.replace("TYPE", name)),
                Facts {
                    system_type: Some(system_type.into()),
                    fqdn: Some("old.example".into()),
                    ipv4: Some(Ipv4Addr::new(198, 51, 100, 7)),
                    ipv6: None,
                    version: Some("7.9.2009".into()),
                }
            );
        }
        // Without `installation`, the places of the other families are ignored.
        assert_eq!(facts(r#"{"facts":{"fqdn":"x","nodes":{"1":{"fqdn":"y"}}}}"#), Facts::default());
    }
}
