//! The settings that the documents of all tenants share.

use crate::Alerts;
use bailiwick_alertmanager::{
    config::{History, Layer, Publishing, Smtp},
    receivers::RecipientKind,
    texts::Surroundings,
};
use bailiwick_outbound::mail::Security;
use bailiwick_settings::Router;

/// The settings that the documents of all tenants share.
pub(crate) fn publishing(service: &Alerts) -> Publishing {
    let settings = &service.settings;
    let alerting = &settings.alerting;
    let is_remote = matches!(alerting.router, Router::Remote(_));
    let smtp = settings.mail.as_ref().map(|mail| {
        let host = if mail.host.contains(':') { format!("[{}]", mail.host) } else { mail.host.clone() };
        Smtp {
            smarthost: format!("{host}:{}", mail.port),
            from: mail.from.clone(),
            username: mail.credentials.as_ref().map(|(user, _)| user.clone()),
            password: mail.credentials.as_ref().map(|(_, password)| password.reveal().clone()),
            requires_tls: mail.security != Security::None,
        }
    });
    let mut omitted = Vec::new();
    if is_remote && smtp.is_none() {
        omitted.push(RecipientKind::Email);
    }
    if omits_teams(service) {
        omitted.push(RecipientKind::Teams);
    }
    let history = alerting.history_url.as_ref().zip(alerting.history_secret.as_ref()).filter(|_| is_remote);
    Publishing {
        resolve_timeout: alerting.resolve_timeout,
        timing: alerting.timing,
        omitted,
        smtp,
        history: history.map(|(url, secret)| History { url: url.clone(), secret: secret.reveal().clone() }),
        surroundings: Surroundings { pages: settings.pages(), zone: alerting.zone.clone() },
    }
}

/// Whether a remote router would refuse a document with recipients of Microsoft Teams.
fn omits_teams(service: &Alerts) -> bool {
    let alerting = &service.settings.alerting;
    matches!(alerting.router, Router::Remote(_)) && !alerting.remote_teams
}

/// Warnings about parts of a layer that have no effect at present, in the words of spec:
/// alert-delivery#mail-and-telegram, alerts#settings.
pub(super) fn warnings(service: &Alerts, layer: &Layer) -> Vec<String> {
    let mut warnings = Vec::new();
    if service.settings.mail.is_none() && layer.has(RecipientKind::Email) {
        warnings.push("email delivery is not configured".to_owned());
    }
    // A remote router has its own Telegram client.
    let is_silent = service.state.is_embedded() && !service.settings.alerting.telegram;
    if is_silent && layer.has(RecipientKind::Telegram) {
        warnings.push("telegram delivery is not available".to_owned());
    }
    if omits_teams(service) && layer.has(RecipientKind::Teams) {
        warnings.push("teams delivery is not available".to_owned());
    }
    warnings
}
