//! The applications a cluster document lists (spec: applications#intake).

use crate::{Document, Family, at, facts, member};
use bailiwick_domain::{
    json::{Json, write_str},
    validate::is_too_long,
};
use std::collections::{BTreeMap, HashMap};

/// Modules that serve other modules or the administrator, not users.
const NOT_USER_FACING: [&str; 10] = [
    "traefik",
    "loki",
    "ldapproxy",
    "metrics",
    "crowdsec",
    "openldap",
    "promtail",
    "prometheus",
    "grafana",
    "samba",
];

/// Keys that have columns of their own; all others are stored as the application's data.
const COLUMNS: [&str; 7] = ["id", "module", "name", "node", "source", "ui_name", "version"];

/// Longest module id and module name of an application, in characters: both are index keys.
const MAX_ID_CHARS: usize = 255;

/// Bytes of domain objects put into all applications of one document together. A real cluster needs some kilobytes;
/// without a bound, many modules that name one huge domain would blow a small document up a thousandfold.
const MAX_DOMAIN_BYTES: usize = 8 << 20;

/// One application as its document shows it. Where a field says "kept", none leaves the stored value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// With the system, the key of the application.
    pub module_id: String,
    /// Name of the module it is an instance of.
    pub instance_of: String,
    /// Kept when none.
    pub name: Option<String>,
    /// Kept when none.
    pub source: Option<String>,
    /// Kept when none; never empty.
    pub display_name: Option<String>,
    /// Number of the node it runs on.
    pub node_id: Option<i64>,
    /// Name of that node.
    pub node_label: Option<String>,
    /// Version of the application.
    pub version: Option<String>,
    /// 0 to 5.
    pub certification_level: Option<u8>,
    /// Whether users work with it.
    pub is_user_facing: bool,
    /// Address of its administration; only if it is user-facing and the cluster's name is known.
    pub url: Option<String>,
    /// All other keys as canonical JSON, an object; domains by name are replaced by their objects.
    pub inventory_data: String,
}

/// Address of an application's administration on the cluster of that name (spec: applications#intake).
pub fn administered_at(fqdn: &str, module_id: &str) -> String {
    format!("https://{fqdn}/cluster-admin/#/apps/{module_id}")
}

impl Document<'_> {
    /// The applications it lists, by module id, each id once (the last entry wins). Empty when it lists none or is not
    /// a cluster's document: in that case known applications have not disappeared.
    ///
    /// `system_fqdn` is the system's name after [`Document::facts`] was applied, for documents whose cluster has none.
    /// Entries without a usable id or module are skipped (also above 255 characters).
    pub fn applications(&self, system_fqdn: Option<&str>) -> Vec<Application> {
        if self.family() != Family::Cluster {
            return Vec::new();
        }
        let Some(facts) = member(self.root(), "facts") else { return Vec::new() };
        let mut around = Surroundings::new(facts, system_fqdn);
        let modules = member(facts, "modules").and_then(Json::as_arr).unwrap_or_default();
        // Collected first, so that an entry that a later one replaces does not use up the bound on domains.
        let by_id: BTreeMap<&str, (&str, &Json<'_>)> = modules
            .iter()
            .filter_map(|module| Some((identifier(module, "id")?, (identifier(module, "module")?, module))))
            .collect();
        by_id
            .into_iter()
            .map(|(id, (instance_of, module))| around.application(id, instance_of, module))
            .collect()
    }
}

fn identifier<'j>(module: &'j Json<'_>, key: &str) -> Option<&'j str> {
    let text = member(module, key)?.as_str()?;
    (!text.is_empty() && !is_too_long(text, MAX_ID_CHARS)).then_some(text)
}

fn string(module: &Json<'_>, key: &str) -> Option<String> {
    member(module, key)?.as_str().map(str::to_owned)
}

/// The parts of the document that its entries refer to.
struct Surroundings<'j, 'a> {
    nodes: Option<&'j Json<'a>>,
    domains: HashMap<&'j str, &'j Json<'a>>,
    domain_bytes_left: usize,
    fqdn: Option<String>,
}

impl<'j, 'a> Surroundings<'j, 'a> {
    fn new(facts: &'j Json<'a>, system_fqdn: Option<&str>) -> Self {
        let domains = at(facts, &["cluster", "user_domains"]).and_then(Json::as_arr).unwrap_or_default();
        let named = domains.iter().filter_map(|domain| Some((member(domain, "name")?.as_str()?, domain)));
        let of_cluster = facts::text(at(facts, &["cluster", "fqdn"]), facts::MAX_FQDN_CHARS);
        let of_system = system_fqdn.filter(|name| !name.is_empty()).map(str::to_owned);
        Surroundings {
            nodes: member(facts, "nodes"),
            domains: named.collect(),
            domain_bytes_left: MAX_DOMAIN_BYTES,
            fqdn: of_cluster.or(of_system),
        }
    }

    fn application(&mut self, module_id: &str, instance_of: &str, module: &Json<'a>) -> Application {
        // A string in practice; a number would name the same node.
        let node = match member(module, "node") {
            Some(Json::Str(text)) => Some(text.as_ref()),
            Some(Json::Num(literal)) => Some(*literal),
            _ => None,
        };
        let on_node = node.and_then(|key| member(self.nodes?, key));
        let is_user_facing = !NOT_USER_FACING.contains(&instance_of);
        let fqdn = self.fqdn.as_ref().filter(|_| is_user_facing);
        Application {
            module_id: module_id.to_owned(),
            instance_of: instance_of.to_owned(),
            name: string(module, "name"),
            source: string(module, "source"),
            display_name: string(module, "ui_name").filter(|name| !name.is_empty()),
            node_id: node.and_then(|key| key.parse().ok()),
            node_label: on_node.and_then(|node| string(node, "ui_name")),
            version: string(module, "version"),
            certification_level: certification_level(module),
            is_user_facing,
            url: fqdn.map(|fqdn| administered_at(fqdn, module_id)),
            inventory_data: self.other_keys(module),
        }
    }

    fn other_keys(&mut self, module: &Json<'a>) -> String {
        let mut out = String::from("{");
        let others = module.as_obj().unwrap_or_default().iter();
        for (key, value) in others.filter(|(key, _)| !COLUMNS.contains(&key.as_ref())) {
            if out.len() > 1 {
                out.push(',');
            }
            write_str(&mut out, key);
            out.push(':');
            match value {
                Json::Arr(names) if key == "user_domains" => self.write_domains(&mut out, names),
                _ => value.write(&mut out),
            }
        }
        out.push('}');
        out
    }

    fn write_domains(&mut self, out: &mut String, names: &[Json<'a>]) {
        out.push('[');
        for (index, name) in names.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            match name {
                Json::Str(text) => self.write_domain(out, text),
                // Not a name: as it was sent.
                other => other.write(out),
            }
        }
        out.push(']');
    }

    fn write_domain(&mut self, out: &mut String, name: &str) {
        // Writing costs as much as it adds, so the bound is checked first.
        if self.domain_bytes_left > 0
            && let Some(domain) = self.domains.get(name)
        {
            let start = out.len();
            domain.write(out);
            if let Some(left) = self.domain_bytes_left.checked_sub(out.len() - start) {
                self.domain_bytes_left = left;
                return;
            }
            self.domain_bytes_left = 0;
            out.truncate(start);
        }
        out.push_str("{\"name\":");
        write_str(out, name);
        out.push('}');
    }
}

fn certification_level(module: &Json<'_>) -> Option<u8> {
    match member(module, "certification_level")? {
        Json::Num(literal) => literal.parse().ok().filter(|level| *level <= 5),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether lists show it: user-facing and of level 4 or 5 (spec: applications#operations).
    fn is_visible(application: &Application) -> bool {
        application.is_user_facing && matches!(application.certification_level, Some(4 | 5))
    }

    fn applications(facts: &str) -> Vec<Application> {
        let body = format!(r#"{{"installation":"nethserver","facts":{facts}}}"#);
        Document::parse(body.as_bytes()).unwrap().applications(Some("row.example"))
    }

    fn one(module: &str) -> Application {
        let mut found = applications(&format!(r#"{{"modules":[{module}]}}"#));
        assert_eq!(found.len(), 1, "{module}");
        found.remove(0)
    }

    #[test]
    fn bare_entry() {
        assert_eq!(
            one(r#"{"id":"mail1","module":"mail"}"#),
            Application {
                module_id: "mail1".into(),
                instance_of: "mail".into(),
                name: None,
                source: None,
                display_name: None,
                node_id: None,
                node_label: None,
                version: None,
                certification_level: None,
                is_user_facing: true,
                url: Some("https://row.example/cluster-admin/#/apps/mail1".into()),
                inventory_data: "{}".into(),
            }
        );
    }

    #[test]
    fn entries_without_id_or_module_are_passed_over() {
        let long = "x".repeat(256);
        for bad in ["null", "\"\"", "1", "[]", "{}", "true", &format!("\"{long}\"")] {
            let modules = format!(
                r#"[{{"id":{bad},"module":"m"}},{{"id":"i","module":{bad}}},{{"id":"ok","module":"m"}},{bad}]"#
            );
            let found = applications(&format!("{{\"modules\":{modules}}}"));
            assert_eq!(found.iter().map(|a| a.module_id.as_str()).collect::<Vec<_>>(), ["ok"], "{bad}");
        }
    }

    #[test]
    fn one_row_for_each_id() {
        let found = applications(
            r#"{"modules":[{"id":"b","module":"x"},{"id":"a","module":"y"},{"id":"b","module":"z","k":1}]}"#,
        );
        let rows: Vec<_> = found.iter().map(|a| (a.module_id.as_str(), a.instance_of.as_str())).collect();
        assert_eq!(rows, [("a", "y"), ("b", "z")]);
        assert_eq!(found[1].inventory_data, r#"{"k":1}"#);
    }

    #[test]
    fn nothing_but_arrays_of_clusters() {
        for facts in ["null", "[]", "{}", r#"{"modules":null}"#, r#"{"modules":{"id":"a","module":"b"}}"#] {
            assert_eq!(applications(facts), [], "{facts}");
        }
        for installation in ["nethsecurity", "other"] {
            let body = format!(
                r#"{{"installation":"{installation}","facts":{{"modules":[{{"id":"a","module":"b"}}]}}}}"#
            );
            assert_eq!(Document::parse(body.as_bytes()).unwrap().applications(None), []);
        }
    }

    #[test]
    fn texts() {
        let application =
            one(r#"{"id":"a","module":"b","name":"","source":"s","ui_name":"","version":"1.2"}"#);
        assert_eq!(application.name.as_deref(), Some(""));
        assert_eq!(application.source.as_deref(), Some("s"));
        assert_eq!(application.display_name, None);
        assert_eq!(application.version.as_deref(), Some("1.2"));
        assert_eq!(
            one(r#"{"id":"a","module":"b","ui_name":"Files"}"#).display_name.as_deref(),
            Some("Files")
        );
        let wrong =
            one(r#"{"id":"a","module":"b","name":1,"source":[],"ui_name":{},"version":null,"node":{}}"#);
        assert_eq!(
            (wrong.name, wrong.source, wrong.display_name, wrong.version, wrong.node_id),
            (None, None, None, None, None)
        );
        assert_eq!(wrong.inventory_data, "{}");
    }

    #[test]
    fn node() {
        for (node, id, label) in [
            ("\"2\"", Some(2), Some("Rack B")),
            ("2", Some(2), Some("Rack B")),
            ("\"7\"", Some(7), None),
            ("\"x\"", None, Some("by name")),
            ("\"2.0\"", None, None),
            ("99999999999999999999", None, None),
            ("null", None, None),
        ] {
            let facts = format!(
                r#"{{"nodes":{{"2":{{"ui_name":"Rack B"}},"x":{{"ui_name":"by name"}},"3":null}},
                    "modules":[{{"id":"a","module":"b","node":{node}}}]}}"#
            );
            let found = applications(&facts).remove(0);
            assert_eq!((found.node_id, found.node_label.as_deref()), (id, label), "{node}");
        }
    }

    #[test]
    fn certification() {
        for (level, column) in [
            ("0", Some(0)),
            ("5", Some(5)),
            ("6", None),
            ("-1", None),
            ("4.0", None),
            ("4e0", None),
            ("\"4\"", None),
            ("null", None),
            ("1e999", None),
        ] {
            let application = one(&format!(r#"{{"id":"a","module":"b","certification_level":{level}}}"#));
            assert_eq!(application.certification_level, column, "{level}");
            assert_eq!(application.inventory_data, format!(r#"{{"certification_level":{level}}}"#));
            assert_eq!(is_visible(&application), matches!(column, Some(4 | 5)));
        }
    }

    #[test]
    fn user_facing() {
        for module in NOT_USER_FACING {
            let application = one(&format!(r#"{{"id":"a1","module":"{module}","certification_level":5}}"#));
            assert_eq!(
                (application.is_user_facing, application.url.as_deref(), is_visible(&application)),
                (false, None, false)
            );
        }
        for module in ["nextcloud", "Samba", "samba2"] {
            let application = one(&format!(r#"{{"id":"a1","module":"{module}","certification_level":4}}"#));
            assert!(
                application.is_user_facing && application.url.is_some() && is_visible(&application),
                "{module}"
            );
        }
    }

    #[test]
    fn name_in_the_url() {
        for (cluster, row, host) in [
            (r#"{"fqdn":"cluster.example"}"#, Some("row.example"), Some("cluster.example")),
            (r#"{"fqdn":""}"#, Some("row.example"), Some("row.example")),
            (r#"{"fqdn":1}"#, Some("row.example"), Some("row.example")),
            ("null", Some("row.example"), Some("row.example")),
            ("null", Some(""), None),
            ("null", None, None),
        ] {
            let body = format!(
                r#"{{"installation":"nethserver","facts":{{"cluster":{cluster},"modules":[{{"id":"a","module":"b"}}]}}}}"#
            );
            let found = Document::parse(body.as_bytes()).unwrap().applications(row).remove(0);
            assert_eq!(
                found.url,
                host.map(|host| format!("https://{host}/cluster-admin/#/apps/a")),
                "{cluster}"
            );
        }
    }

    #[test]
    fn domains_are_replaced_by_their_objects() {
        let facts = |domains: &str| {
            format!(
                r#"{{"cluster":{{"user_domains":[{{"schema":"ad","name":"ad.example"}},{{"name":7}},null]}},
                    "modules":[{{"id":"a","module":"b","z":[],"user_domains":{domains},"B":"x"}}]}}"#
            )
        };
        for (sent, stored) in [
            (
                r#"["ad.example","gone\"","ad.example"]"#,
                r#"[{"name":"ad.example","schema":"ad"},{"name":"gone\""},{"name":"ad.example","schema":"ad"}]"#,
            ),
            ("[]", "[]"),
            (r#"[1,null,{"name":"ad.example"}]"#, r#"[1,null,{"name":"ad.example"}]"#),
            (r#""ad.example""#, r#""ad.example""#),
            ("null", "null"),
        ] {
            let found = applications(&facts(sent)).remove(0);
            assert_eq!(found.inventory_data, format!(r#"{{"B":"x","user_domains":{stored},"z":[]}}"#));
        }
        let unknown = one(r#"{"id":"a","module":"b","user_domains":["x"]}"#);
        assert_eq!(unknown.inventory_data, r#"{"user_domains":[{"name":"x"}]}"#);
    }

    #[test]
    fn domains_do_not_blow_a_document_up() {
        let domain = format!(r#"{{"name":"d","x":"{}"}}"#, "x".repeat(1 << 20));
        let modules: Vec<_> =
            (0..100).map(|n| format!(r#"{{"id":"m{n}","module":"m","user_domains":["d","d"]}}"#)).collect();
        let facts =
            format!(r#"{{"cluster":{{"user_domains":[{domain}]}},"modules":[{}]}}"#, modules.join(","));
        let list = applications(&facts);
        assert_eq!(list.len(), 100);
        let bytes: usize = list.iter().map(|a| a.inventory_data.len()).sum();
        assert!(bytes > 7 << 20 && bytes < MAX_DOMAIN_BYTES + 100 * 100, "{bytes}");
        assert_eq!(list[99].inventory_data, r#"{"user_domains":[{"name":"d"},{"name":"d"}]}"#);
    }
}
