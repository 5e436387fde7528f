//! Layers of alert configuration: what the service stores, what is in force for each tenant, and when that changes.

mod explained;
mod merged;
mod provisioned;
mod refused;
mod saved;
mod shown;
mod slow_router;

use bailiwick_testkit::{Persona, Reply, Test};
use serde_json::{Value, json};

const PATH: &str = "/api/alerts/config";

async fn get(t: &Test, who: &Persona, query: &str) -> Value {
    t.get(&format!("{PATH}{query}")).bearer(&who.token).send().await.expect(200).data()
}

async fn post(t: &Test, who: &Persona, query: &str, body: Value) -> Reply {
    t.post(&format!("{PATH}{query}")).bearer(&who.token).json(body).send().await
}

/// A recipient of each kind; addresses need no name service.
fn three() -> Value {
    json!({
        "enabled": {"email": true, "webhook": null, "telegram": true, "slack": null, "teams": null, "pagerduty": null},
        "email_recipients": [{"address": "noc@example.org", "severities": ["critical"], "language": "it", "format": "html"}],
        "webhook_recipients": [{"name": "hook", "url": "https://8.8.8.8/h?key=secret", "severities": []}],
        "telegram_recipients": [{"bot_token": "12:secret", "chat_id": -5, "severities": ["info"], "language": "en"}],
        "slack_recipients": [{"name": "ops", "url": "https://8.8.8.8/slack/secret", "severities": [], "language": "it"}],
        "teams_recipients": [{"name": "desk", "url": "https://8.8.8.8/teams/secret", "severities": [], "language": "en"}],
        "pagerduty_recipients": [{"name": "duty", "routing_key": "secretsecretsecretsecretsecretse", "region": "eu",
            "severities": ["critical"], "language": "en"}],
        "systems": [],
    })
}
