//! The identity of a sender: the labels and display values the service owns, and placeholders for them (spec:
//! alerts#identity-labels).

use crate::labels::is_name;

/// The stable labels and the display values of one system. An empty display value counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SenderLabels {
    /// Stable: public key of the system.
    pub system_key: String,
    /// Stable: id of the system.
    pub system_id: String,
    /// Stable: id of its organization, which is also the tenant.
    pub organization_id: String,
    /// Display: name of the system.
    pub system_name: String,
    /// Display: type of the system.
    pub system_type: String,
    /// Display: its full host name.
    pub system_fqdn: String,
    /// Display: its IPv4 address.
    pub system_ipv4: String,
    /// Display: name of its organization.
    pub organization_name: String,
    /// Display: `owner`, `distributor`, `reseller` or `customer`.
    pub organization_type: String,
    /// Display: VAT number of the organization.
    pub organization_vat: String,
}

impl SenderLabels {
    /// The labels that never change for a system in its organization; they count for the fingerprint.
    pub fn stable(&self) -> [(&'static str, &str); 3] {
        [
            ("organization_id", &self.organization_id),
            ("system_id", &self.system_id),
            (SYSTEM_KEY, &self.system_key),
        ]
    }

    /// The value of a stable label of this name.
    pub fn stable_value(&self, name: &str) -> Option<&str> {
        self.stable().into_iter().find(|(stable, _)| *stable == name).map(|(_, value)| value)
    }

    /// The values for people, sorted by name, empty ones included; they are sent as annotations.
    pub fn display(&self) -> [(&'static str, &str); 7] {
        [
            ("organization_name", &self.organization_name),
            ("organization_type", &self.organization_type),
            ("organization_vat", &self.organization_vat),
            ("system_fqdn", &self.system_fqdn),
            ("system_ipv4", &self.system_ipv4),
            ("system_name", &self.system_name),
            ("system_type", &self.system_type),
        ]
    }

    /// A stable label or a display value that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut all = self.stable().into_iter().chain(self.display());
        all.find(|(n, v)| *n == name && !v.is_empty()).map(|(_, v)| v)
    }
}

/// The label with the key of the system that an alert or a silence belongs to.
pub const SYSTEM_KEY: &str = "system_key";

/// Names that clients can neither set nor remove, as labels or annotations.
pub fn is_server_owned(name: &str) -> bool {
    matches!(name, "system_key" | "system_id" | "organization_id") || is_display(name)
}

/// Names of display values. No stored label has one; lists for people add them.
pub fn is_display(name: &str) -> bool {
    matches!(
        name,
        "system_name"
            | "system_type"
            | "system_fqdn"
            | "system_ipv4"
            | "organization_name"
            | "organization_type"
            | "organization_vat"
    )
}

/// Replaces `{{ .name }}` by the value of that name if there is one. All other text stays, and inserted values are not
/// expanded again. `None` when the result would exceed `max` bytes.
pub fn expand<'v>(text: &str, max: usize, value: impl Fn(&str) -> Option<&'v str>) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let (before, here) = rest.split_at(at);
        out.push_str(before);
        match placeholder(here).and_then(|(name, len)| Some((value(name)?, len))) {
            Some((value, len)) => {
                out.push_str(value);
                rest = &here[len..];
            }
            // One brace at a time: in `{{{ .a }}` the placeholder begins at the second.
            None => {
                out.push('{');
                rest = &here[1..];
            }
        }
        if out.len() > max {
            return None;
        }
    }
    out.push_str(rest);
    (out.len() <= max).then_some(out)
}

/// The name and the length of the placeholder at the start.
fn placeholder(text: &str) -> Option<(&str, usize)> {
    let inner = text.strip_prefix("{{")?.trim_start_matches(' ').strip_prefix('.')?;
    // Names are short; a longer search would make many open braces quadratic.
    let len = inner.bytes().take(256).take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let (name, after) = inner.split_at(len);
    let after = after.trim_start_matches(' ').strip_prefix("}}")?;
    is_name(name).then(|| (name, text.len() - after.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders() {
        let value = |name: &str| match name {
            "a" => Some("1"),
            "b" => Some("{{ .a }}"),
            _ => None,
        };
        for (text, expected) in [
            ("x {{ .a }} y {{.a}}", "x 1 y 1"),
            ("{{   .a}}{{ .b }}", "1{{ .a }}"),
            (
                "{{ .c }} {{ a }} {{ .a | html }} {{.a.b}} {{ . }}",
                "{{ .c }} {{ a }} {{ .a | html }} {{.a.b}} {{ . }}",
            ),
            ("{{{ .a }}}", "{1}"),
            ("{{ .a", "{{ .a"),
            ("{{\n.a }}", "{{\n.a }}"),
            ("{{ {{ .a }} }}", "{{ 1 }}"),
            ("", ""),
        ] {
            assert_eq!(expand(text, 1000, value).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(expand("{{ .a }}{{ .a }}", 1, value), None);
        assert_eq!(expand("12345", 4, value), None);
    }

    #[test]
    fn owned_names_are_exactly_those_of_an_identity() {
        let id = SenderLabels { system_name: "n".into(), ..SenderLabels::default() };
        for (name, _) in id.stable().into_iter().chain(id.display()) {
            assert!(is_server_owned(name), "{name}");
        }
        assert!(!is_server_owned("alertname"));
        assert_eq!((id.get("system_name"), id.get("system_fqdn"), id.get("x")), (Some("n"), None, None));
    }
}
