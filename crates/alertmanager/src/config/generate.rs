//! The document a remote router gets for a tenant, and the check that it notifies the intended recipients (spec:
//! alert-delivery#generated-configuration).

use super::{
    document::{Document, Global, Route, Span},
    layer::Layer,
    plan::{Plan, Timing},
    templates::files,
    tree::Tree,
};
use crate::{
    Labels, Severity,
    receivers::{
        Authorization, HttpConfig, Listed as _, ReceiverConfig, Recipient as _, RecipientKind, Recipients,
    },
    receivers::{WebhookConfig, for_each_kind},
    redacted::REDACTED,
    texts::Surroundings,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

/// The receiver that reports resolved alerts to the service itself.
pub const HISTORY: &str = "builtin-history";

/// The settings that the documents of all tenants share.
#[derive(Clone, Debug)]
pub struct Publishing {
    /// Life of an alert pushed without end.
    pub resolve_timeout: Duration,
    /// Times of all groups.
    pub timing: Timing,
    /// Mail server.
    pub smtp: Option<Smtp>,
    /// Recipients of these kinds are left out: a router refuses the whole document when it has a kind that the router
    /// does not know, or mail without a mail server.
    pub omitted: Vec<RecipientKind>,
    /// The webhook that receives resolved alerts for the alert history.
    pub history: Option<History>,
    /// The settings that messages show besides the alert.
    pub surroundings: Surroundings,
}

/// A mail server as a remote router uses it.
#[derive(Clone)]
pub struct Smtp {
    /// `host:port`.
    pub smarthost: String,
    /// Plain address of the sender.
    pub from: String,
    /// Account.
    pub username: Option<String>,
    /// Its password.
    pub password: Option<String>,
    /// Whether mail goes only over TLS.
    pub requires_tls: bool,
}

/// The webhook that receives resolved alerts for the alert history.
#[derive(Clone)]
pub struct History {
    /// Address.
    pub url: String,
    /// Bearer token.
    pub secret: String,
}

// Secrets do not print.
impl fmt::Debug for Smtp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Smtp").field("smarthost", &self.smarthost).finish_non_exhaustive()
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("History")
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let templates: Vec<&String> = self.template_files.keys().collect();
        f.debug_struct("Upload").field("template_files", &templates).finish_non_exhaustive()
    }
}

/// The reason a document cannot be published: always a fault of this module, never of the stored configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateError(String);

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GenerateError {}

fn fault(text: impl fmt::Display) -> GenerateError {
    GenerateError(text.to_string())
}

/// The upload: the configuration and the templates it names.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upload {
    /// Templates by name.
    pub template_files: BTreeMap<String, String>,
    /// The document as YAML.
    pub alertmanager_config: String,
}

impl Upload {
    /// The upload for a tenant, checked: the document is read back and walked with alerts of every kind, and must
    /// notify exactly the recipients of the layer. The same layers give the same bytes.
    ///
    /// # Errors
    /// The check fails.
    pub fn new(tenant: &str, effective: &Layer, publishing: &Publishing) -> Result<Upload, GenerateError> {
        let (document, template_files) = document(tenant, effective, publishing);
        let alertmanager_config = document.to_yaml()?;
        check(&alertmanager_config, tenant, effective, publishing)?;
        Ok(Upload { template_files, alertmanager_config })
    }

    /// Reads the body of an upload.
    ///
    /// # Errors
    /// It is none.
    pub fn from_yaml(text: &str) -> Result<Upload, GenerateError> {
        let options = serde_saphyr::options! { with_snippet: false };
        serde_saphyr::from_str_with_options(text, options).map_err(fault)
    }

    /// Whether the configuration that a router returns is this one. Routers write the envelope in their own way and may
    /// add to it.
    pub fn matches_layers(&self, uploaded: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct ExpectedSends {
            #[serde(default)]
            template_files: Option<BTreeMap<String, String>>,
            #[serde(default)]
            alertmanager_config: String,
        }
        let Ok(text) = std::str::from_utf8(uploaded) else { return false };
        let options = serde_saphyr::options! { with_snippet: false };
        let Ok(uploaded) = serde_saphyr::from_str_with_options::<ExpectedSends>(text, options) else {
            return false;
        };
        let templates = uploaded.template_files.unwrap_or_default();
        let is_same = |(name, text): (&String, &String)| {
            templates.get(name).is_some_and(|found| found.trim_end() == text.trim_end())
        };
        uploaded.alertmanager_config.trim_end() == self.alertmanager_config.trim_end()
            && templates.len() == self.template_files.len()
            && self.template_files.iter().all(is_same)
    }

    /// The body of the upload.
    ///
    /// # Errors
    /// The serializer's.
    pub fn to_yaml(&self) -> Result<String, GenerateError> {
        serde_saphyr::to_string(self).map_err(fault)
    }
}

/// The document of a tenant as people may see it; `None` when it has no recipients.
///
/// # Errors
/// The serializer's.
pub fn shown_yaml(
    tenant: &str,
    effective: &Layer,
    publishing: &Publishing,
) -> Result<Option<String>, GenerateError> {
    let plan = publishing.plan(tenant, effective);
    if !plan.has_recipients() {
        return Ok(None);
    }
    document(tenant, effective, publishing).0.redacted().to_yaml().map(Some)
}

impl Publishing {
    fn plan(&self, tenant: &str, effective: &Layer) -> Plan {
        let mut deliverable = effective.clone();
        for channels in deliverable.all_channels_mut() {
            self.omitted.iter().for_each(|kind| channels.clear(*kind));
        }
        Plan::new(tenant, &deliverable, &self.timing)
    }
}

/// The document with the templates it needs.
fn document(
    tenant: &str,
    effective: &Layer,
    publishing: &Publishing,
) -> (Document, BTreeMap<String, String>) {
    let Plan { mut route, receivers } = publishing.plan(tenant, effective);
    let mut languages = BTreeSet::new();
    for receiver in &receivers {
        let all = &receiver.recipients;
        for_each_kind!(R => languages.extend(R::of(all).iter().filter_map(|r| r.language())));
    }
    let mut configs: Vec<ReceiverConfig> =
        receivers.into_iter().map(|r| receiver_config(r.name, &r.recipients)).collect();
    if let Some(history) = &publishing.history {
        route.routes.insert(0, Route { continues: Some(true), ..Route::to(HISTORY) });
        configs.insert(1, history_config(history));
    }
    let template_files = files(&languages, &publishing.surroundings);
    let templates = template_files.keys().cloned().collect();
    (Document { global: global(publishing), route, receivers: configs, templates }, template_files)
}

fn global(publishing: &Publishing) -> Global {
    let smtp = publishing.smtp.as_ref();
    Global {
        resolve_timeout: Span(publishing.resolve_timeout),
        smtp_smarthost: smtp.map(|s| s.smarthost.clone()),
        smtp_from: smtp.map(|s| s.from.clone()),
        smtp_auth_username: smtp.and_then(|s| s.username.clone()),
        smtp_auth_password: smtp.and_then(|s| s.password.clone()),
        smtp_require_tls: smtp.map(|s| s.requires_tls),
    }
}

fn history_config(history: &History) -> ReceiverConfig {
    let authorization = Authorization { scheme: "Bearer".to_owned(), credentials: history.secret.clone() };
    ReceiverConfig {
        name: HISTORY.to_owned(),
        webhook_configs: vec![WebhookConfig {
            url: history.url.clone(),
            send_resolved: true,
            http_config: Some(HttpConfig { authorization }),
        }],
        ..ReceiverConfig::default()
    }
}

fn receiver_config(name: String, recipients: &Recipients) -> ReceiverConfig {
    let mut config = ReceiverConfig { name, ..ReceiverConfig::default() };
    for_each_kind!(R => *R::configs_mut(&mut config) = R::of(recipients).iter().map(|r| r.config()).collect());
    config
}

impl Document {
    /// As YAML: no folded lines, no text that a YAML 1.1 parser would read as another type.
    ///
    /// # Errors
    /// The serializer's.
    pub fn to_yaml(&self) -> Result<String, GenerateError> {
        let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
        serde_saphyr::to_string_with_options(self, options).map_err(fault)
    }

    /// Reads one back.
    ///
    /// # Errors
    /// It is none, or has keys that this service does not write.
    pub fn from_yaml(text: &str) -> Result<Document, GenerateError> {
        // The limits of the largest configuration. Errors name the place and never show the text, because it has
        // secrets.
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_events: 8_000_000,
                max_nodes: 4_000_000,
                max_total_scalar_bytes: 256 * 1024 * 1024,
            },
            with_snippet: false,
        };
        serde_saphyr::from_str_with_options(text, options).map_err(fault)
    }

    /// Without secrets (spec: alert-configuration#layers).
    #[must_use]
    pub fn redacted(mut self) -> Document {
        let hidden = || REDACTED.to_owned();
        let global = &mut self.global;
        for secret in
            [&mut global.smtp_smarthost, &mut global.smtp_auth_username, &mut global.smtp_auth_password]
        {
            *secret = secret.take().map(|_| hidden());
        }
        for receiver in &mut self.receivers {
            for_each_kind!(R => R::configs_mut(receiver).iter_mut().for_each(R::redact_config));
        }
        self
    }
}

/// Reads a document back and walks its tree with an alert of every kind: of each severity, of none and of an unknown
/// one; from each system with an override, from one without, and from none; of this tenant and of another.
pub(super) fn check(
    yaml: &str,
    tenant: &str,
    effective: &Layer,
    publishing: &Publishing,
) -> Result<(), GenerateError> {
    let document = Document::from_yaml(yaml)?;
    let tree = Tree::new(&document.route).map_err(fault)?;
    let mut systems: Vec<&str> = effective.systems.iter().map(|o| o.system_key.as_str()).collect();
    let unlike_all = format!("{}-", systems.iter().max_by_key(|key| key.len()).unwrap_or(&"other"));
    systems.extend(["", &unlike_all]);
    for system_key in systems {
        for severity in ["critical", "warning", "info", "", "none", "Critical"] {
            let ours: Labels =
                [("organization_id", tenant), ("system_key", system_key), ("severity", severity)]
                    .into_iter()
                    .filter(|(_, value)| !value.is_empty())
                    .collect();
            let mut recipients = effective.recipients(system_key, Severity::of_label(severity));
            for_each_kind!(R => if publishing.omitted.contains(&R::KIND) {
                R::of_mut(&mut recipients).clear();
            });
            let wanted = receiver_config(String::new(), &recipients);
            let found = routed(&document, &tree, &ours)?;
            if found != wanted {
                return Err(fault(format!(
                    "alerts of severity \"{severity}\" from system \"{system_key}\" would go to {} instead of {} recipients",
                    count(&found),
                    count(&wanted)
                )));
            }
        }
    }
    let foreign: Labels = [("organization_id", "another"), ("severity", "critical")].into_iter().collect();
    if count(&routed(&document, &tree, &foreign)?) > 0 {
        return Err(fault("alerts of another tenant would go to somebody"));
    }
    Ok(())
}

fn count(config: &ReceiverConfig) -> usize {
    let mut count = 0;
    for_each_kind!(R => count += R::configs(config).len());
    count
}

/// All recipients of an alert, without the receiver of the alert history.
fn routed(document: &Document, tree: &Tree, labels: &Labels) -> Result<ReceiverConfig, GenerateError> {
    let mut all = ReceiverConfig::default();
    for destination in tree.route(labels) {
        let receiver = document.receivers.iter().find(|r| r.name == destination.receiver);
        let receiver = receiver.ok_or_else(|| fault(format!("no receiver \"{}\"", destination.receiver)))?;
        if receiver.name != HISTORY {
            for_each_kind!(R => R::configs_mut(&mut all).extend_from_slice(R::configs(receiver)));
        }
    }
    Ok(all)
}
