//! The results that the two sample documents must give (spec: inventory#processing, inventory-documents#samples).
#![allow(clippy::unwrap_used, reason = "in the plain functions of a test, too, a failure is a panic")]

use bailiwick_inventory::{Application, Canonical, Document, Facts, canonical};
use std::collections::BTreeMap;

const NS8: &[u8] = include_bytes!("data/inventory-ns8.json");
const NSEC: &[u8] = include_bytes!("data/inventory-nsec.json");

fn accepted(body: &[u8]) -> Canonical {
    canonical(body).unwrap()
}

#[test]
fn canonical_texts() {
    let ns8 = accepted(NS8);
    assert_eq!(ns8.size(), 25_666);
    assert_eq!(ns8.hash, "a971ed3ad722d04e94ed5ee7e02dd1b2699c794a1bbf052186cba8d304be3ced");
    let nsec = accepted(NSEC);
    assert_eq!(nsec.size(), 20_800);
    assert_eq!(nsec.hash, "e6baf395af121cd61c399690033d1ae16508938a9f4661f785a2b7b3349d6ad6");
}

#[test]
fn the_stored_text_says_the_same_as_the_body() {
    for body in [NS8, NSEC] {
        let stored = accepted(body).text;
        let value = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
        assert_eq!(value(stored.as_bytes()), value(body));
        let (from_body, from_stored) =
            (Document::parse(body).unwrap(), Document::parse(stored.as_bytes()).unwrap());
        assert_eq!(from_body.facts(), from_stored.facts());
        assert_eq!(from_body.applications(None), from_stored.applications(None));
    }
}

fn facts(system_type: &str, fqdn: &str, version: &str, ipv4: &str, ipv6: &str) -> Facts {
    Facts {
        system_type: Some(system_type.to_owned()),
        fqdn: Some(fqdn.to_owned()),
        ipv4: Some(ipv4.parse().unwrap()),
        ipv6: Some(ipv6.parse().unwrap()),
        version: Some(version.to_owned()),
    }
}

#[test]
fn columns() {
    assert_eq!(
        Document::parse(NS8).unwrap().facts(),
        facts("ns8", "ns1.acme-demo.example", "3.19.2", "203.0.113.21", "2001:db8:10::21")
    );
    assert_eq!(
        Document::parse(NSEC).unwrap().facts(),
        facts("nsec", "fw1.acme-demo.example", "8.7.1", "203.0.113.130", "2001:db8:77::130")
    );
}

/// Whether lists show it: user-facing and of level 4 or 5 (spec: applications#operations).
fn is_visible(application: &Application) -> bool {
    application.is_user_facing && matches!(application.certification_level, Some(4 | 5))
}

#[test]
fn applications_of_the_cluster() {
    let all = Document::parse(NS8).unwrap().applications(Some("ns1.acme-demo.example"));
    assert_eq!(all.len(), 39);
    let user_facing: Vec<&Application> = all.iter().filter(|a| a.is_user_facing).collect();
    assert_eq!(user_facing.len(), 25);
    let hidden: Vec<_> = user_facing.iter().filter(|a| !is_visible(a)).collect();
    assert_eq!(hidden.len(), 1);
    assert_eq!((hidden[0].module_id.as_str(), hidden[0].certification_level), ("dokuwiki1", Some(3)));
    let mut by_type = BTreeMap::new();
    for application in all.iter().filter(|a| is_visible(a)) {
        *by_type.entry(application.instance_of.as_str()).or_insert(0) += 1;
    }
    let expected = [
        ("ejabberd", 1),
        ("imapsync", 1),
        ("mail", 1),
        ("mattermost", 1),
        ("nethvoice", 1),
        ("nethvoice-proxy", 1),
        ("nextcloud", 1),
        ("piler", 1),
        ("roundcubemail", 1),
        ("webserver", 14),
        ("webtop", 1),
    ];
    assert_eq!(by_type, BTreeMap::from(expected));
    assert_eq!(by_type.values().sum::<i32>(), 24);
}

#[test]
fn one_application_in_full() {
    let all = Document::parse(NS8).unwrap().applications(Some("ns1.acme-demo.example"));
    let nextcloud = all.iter().find(|a| a.module_id == "nextcloud1").unwrap();
    assert_eq!(
        nextcloud,
        &Application {
            module_id: "nextcloud1".into(),
            instance_of: "nextcloud".into(),
            name: Some("Nextcloud".into()),
            source: Some("ghcr.io/nethserver/nextcloud".into()),
            display_name: Some("Files".into()),
            node_id: Some(2),
            node_label: Some("Worker rack B".into()),
            version: Some("1.4.3".into()),
            certification_level: Some(5),
            is_user_facing: true,
            url: Some("https://ns1.acme-demo.example/cluster-admin/#/apps/nextcloud1".into()),
            inventory_data: concat!(
                r#"{"active_users":103,"certification_level":5,"fqdns":["files.acme-demo.example"],"#,
                r#""total_users":131,"update_available":false,"user_domains":[{"active_users":118,"#,
                r#""location":"internal","name":"ad.acme-demo.example","protocol":"ldap","providers_count":2,"#,
                r#""schema":"ad","total_groups":27,"total_users":131}]}"#
            )
            .into(),
        }
    );
    let traefik = all.iter().find(|a| a.instance_of == "traefik").unwrap();
    assert_eq!((traefik.url.as_deref(), traefik.is_user_facing), (None, false));
}

#[test]
fn no_applications_on_the_firewall() {
    assert_eq!(Document::parse(NSEC).unwrap().applications(Some("fw1.acme-demo.example")), []);
}
