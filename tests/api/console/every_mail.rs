//! Every kind of mail that the service can send to people of one organization, and the links in them.

use bailiwick_alerts::notify;
use bailiwick_domain::OrgId;
use bailiwick_events::mail::{self, FactorChange};
use bailiwick_testkit::{Persona, Test, parts::smtp::Received};
use serde_json::json;
use std::{collections::BTreeSet, time::Duration};

/// Where the alerts go.
const NOC: &str = "noc@example.org";
/// Who comes as a new user.
pub const NEW: &str = "new@example.org";
/// How many mails that are.
pub const KINDS: usize = 9;

/// Has the service send each kind of mail about this person: a welcome, the link to a new password, both mails of a changed
/// address, those of second factors, and those of an alert that fires and ends. `home`: where the new user and the alert
/// are. Returns who has come as a new user.
pub async fn everything(t: &Test, person: &Persona, home: OrgId) -> Persona {
    let owner = t.owner().await;
    let new = json!({"email": NEW, "name": "Nina", "user_role_ids": ["reader"],
        "organization_id": home.to_string()});
    let made = t.post("/api/users").bearer(&owner.token).json(new).send().await.expect(201).data();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let name = made["username"].as_str().unwrap();
    mail::forgotten(&t.app.events, &mut tx, name).await.unwrap();
    for change in [FactorChange::Added, FactorChange::RecoveryCodeUsed, FactorChange::Reset] {
        mail::second_factors_changed(&t.app.events, &mut tx, person.id, change).await.unwrap();
    }
    tx.commit().await.unwrap();
    let moved = json!({"email": "moved@example.org"});
    t.post("/api/me/change-info").bearer(&person.token).json(moved).send().await.expect(200);
    mail::run_until_idle(&t.app.events).await.unwrap();
    let layer = json!({"enabled": {"email": true}, "email_recipients": [{"address": NOC}]});
    t.alert_layer(home, layer).await;
    let system = t.system(home).await;
    let push = async |alert: &serde_json::Value| {
        let call =
            t.post("/api/services/mimir/alertmanager/api/v2/alerts").basic(&system.key, &system.secret);
        call.json(json!([alert])).send().await.expect(200);
    };
    let mut alert = json!({"labels": {"alertname": "DiskFull", "severity": "critical"}});
    push(&alert).await;
    t.advance(Duration::from_secs(60));
    notify::run_until_idle(&t.app.alerts).await.unwrap();
    alert["endsAt"] = json!(t.app.platform.now().rfc3339(0));
    push(&alert).await;
    t.advance(Duration::from_secs(600));
    notify::run_until_idle(&t.app.alerts).await.unwrap();
    Persona { id: made["id"].as_str().unwrap().parse().unwrap(), ..person.clone() }
}

/// The addresses of the service in the text and in the HTML of a mail.
pub fn links(mail: &Received, service: &str) -> BTreeSet<String> {
    let both = [mail.text.as_deref().unwrap_or_default(), mail.html.as_deref().unwrap_or_default()];
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '<');
    let mut links = BTreeSet::new();
    for text in both {
        for (start, _) in text.match_indices(service) {
            let link = text[start..].split(ends).next().unwrap().trim_end_matches('.');
            links.insert(link.replace("&amp;", "&").replace("&#x2f;", "/"));
        }
    }
    links
}
