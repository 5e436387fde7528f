//! Alerts are delivered to people and programs: the embedded router against a real mail server and webhooks (spec:
//! alert-delivery#routing to alert-delivery#mail-and-telegram).

mod chats;
mod configuration_changes;
mod conformance;
mod day;
mod destroyed;
mod fairness;
mod faults;
mod groups;
mod many;
mod outages;
mod shared;
mod test_messages;

use crate::{mail, proxy::Client, proxy::generous};
use bailiwick_alerts::notify;
use bailiwick_domain::Ts;
use bailiwick_settings::{AllowedHosts, Network, Settings};
use bailiwick_store::sql::Q;
use bailiwick_testkit::{
    Engine, ManualClock, Test, eventually,
    parts::{
        recorder::{Answer, Recorded, Recorder},
        smtp::{Received, SmtpSink},
    },
};
use serde_json::{Value, json};
use std::time::Duration;

/// `on_both!(name, |engine| async { … })` becomes `name::sqlite` and `name::postgres`.
macro_rules! on_both {
    ($name:ident, |$engine:ident| $body:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            async fn body_of_it($engine: Engine) {
                $body.await
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                body_of_it(Engine::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                body_of_it(Engine::Postgres).await;
            }
        }
    };
}
use on_both;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// Webhooks may go to this machine; mail goes to a server on this port.
fn settings(smtp: u16) -> Settings {
    let mut settings = mail::settings(smtp);
    settings.public_url = "https://bailiwick.example.org".to_owned();
    settings.alerting.allowed_hosts =
        AllowedHosts::new([], vec![Network { address: [127, 0, 0, 0].into(), bits: 8 }]);
    generous(&mut settings);
    settings
}

/// A service with a customer's system. The alerts of the system go to a webhook and to a mailbox.
struct DeliveryTest {
    t: Test,
    system: bailiwick_testkit::seed::Seeded,
    hook: Recorder,
    smtp: SmtpSink,
}

impl DeliveryTest {
    async fn start(engine: Engine) -> DeliveryTest {
        DeliveryTest::with(engine, |_| {}).await
    }

    async fn with(engine: Engine, change: impl FnOnce(&mut Settings)) -> DeliveryTest {
        DeliveryTest::of(change, async |settings| Test::with(engine, settings).await).await
    }

    /// Nothing is sent but by [`after`](DeliveryTest::after).
    async fn step_by_step(engine: Engine, change: impl FnOnce(&mut Settings)) -> DeliveryTest {
        DeliveryTest::of(change, async |settings| Test::without_background(engine, settings).await).await
    }

    async fn of(
        change: impl FnOnce(&mut Settings),
        service: impl AsyncFnOnce(Settings) -> Test,
    ) -> DeliveryTest {
        let smtp = SmtpSink::start().await.unwrap_or_else(|e| panic!("{e}"));
        let hook = Recorder::start(|_| Answer::status(200)).await.unwrap();
        let mut settings = settings(smtp.port());
        change(&mut settings);
        let t = service(settings).await;
        let tree = t.tree().await;
        let system = t.system(tree.customer).await;
        let test = DeliveryTest { t, system, hook, smtp };
        let layer = test.layer();
        test.t.alert_layer(tree.customer, layer).await;
        test
    }

    /// Both recipients.
    fn layer(&self) -> Value {
        json!({"enabled": {"email": true, "webhook": true},
            "email_recipients": [{"address": "noc@example.org", "language": "it"}],
            "webhook_recipients": [{"name": "hook", "url": format!("{}/hook", self.hook.url())}]})
    }

    fn client(&self) -> Client<'_> {
        let (id, key, secret) = (self.system.id, self.system.key.clone(), self.system.secret.clone());
        Client { test: &self.t, system: bailiwick_testkit::seed::Seeded { id, key, secret } }
    }

    /// The tenant.
    async fn system_organization(&self) -> bailiwick_domain::OrgId {
        let q = Q::new("SELECT organization_id FROM systems WHERE id = ?").bind(self.system.id);
        let (id,): (uuid::Uuid,) = q.one(&self.t.app.platform.db).await.unwrap();
        bailiwick_domain::OrgId(id)
    }

    /// Pushes alerts named `DiskFull` of these mounts; `ends` seconds from now.
    async fn push(&self, mounts: &[&str], ends: Option<i64>) {
        let alerts: Vec<Value> = mounts.iter().map(|mount| self.alert(mount, ends)).collect();
        self.client().push(&json!(alerts).to_string()).await.expect(200);
    }

    fn alert(&self, mount: &str, ends: Option<i64>) -> Value {
        let mut alert = json!({
            "labels": {"alertname": "DiskFull", "severity": "critical", "mount": mount},
            "annotations": {"summary": format!("{mount} is full")},
        });
        if let Some(ends) = ends {
            alert["endsAt"] = json!(Ts(self.t.app.platform.now().0 + ends * 1_000_000).rfc3339(0));
        }
        alert
    }

    /// Lets time pass, then sends all due notifications.
    async fn after(&self, time: Duration) {
        self.t.advance(time);
        notify::run_until_idle(&self.t.app.alerts).await.unwrap();
    }

    /// What the webhook received since the last call: the reason, the status, and the mounts with their states.
    fn received(&self) -> Vec<String> {
        self.hook.take().iter().map(summary).collect()
    }

    fn mails(&self) -> Vec<Received> {
        self.smtp.messages().unwrap()
    }
}

/// `first notification firing: a firing, b resolved`
fn summary(request: &Recorded) -> String {
    let body = request.json().unwrap();
    let alerts = body["alerts"].as_array().unwrap().iter();
    let alerts: Vec<String> = alerts
        .map(|a| format!("{} {}", a["labels"]["mount"].as_str().unwrap(), a["status"].as_str().unwrap()))
        .collect();
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    format!("{} {}: {}", text("notification_reason"), text("status"), alerts.join(", "))
}
