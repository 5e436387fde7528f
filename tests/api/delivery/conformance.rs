//! The notifications of the embedded router to a webhook, and their times, beside a real Prometheus Alertmanager with
//! the document that the service gives to a remote router (spec: alert-router#conformance). The test moves the clock of
//! the service by hand, so it waits for the real one only.

use super::*;
use bailiwick_alertmanager::{
    config::{Layer, Publishing, Timing, Upload, merge},
    texts::{Pages, Surroundings, Zone},
};
use bailiwick_testkit::parts::alertmanager::Alertmanager;

/// The real one sends no reminder while a busy machine takes its time for a step.
const TIMING: Timing = Timing {
    group_wait: SECOND,
    group_interval: Duration::from_secs(2),
    repeat_interval: Duration::from_secs(30),
};

/// The alerts pushed, how long the service may go on until the webhook gets a notification, and its reason. Debian's
/// Alertmanager 0.25 gives no reasons; they are those of spec: alert-delivery#routing.
type Step = (&'static [(&'static str, bool)], u64, &'static str);

const STEPS: &[Step] = &[
    (&[("a", true)], 1, "first notification"),
    (&[("a", true), ("b", true)], 2, "new alerts added"),
    (&[("a", false)], 2, "some alerts resolved"),
    (&[("c", true)], 2, "new alerts added"),
    // Refreshes alone send nothing until the repeat interval has passed.
    (&[("b", true), ("c", true)], 33, "repeat interval elapsed"),
    (&[("b", false), ("c", false)], 2, "all alerts resolved"),
    (&[("b", true)], 4, "first notification"),
];

fn publishing() -> Publishing {
    Publishing {
        resolve_timeout: Duration::from_secs(21_600),
        timing: TIMING,
        smtp: None,
        omitted: Vec::new(),
        history: None,
        surroundings: Surroundings {
            pages: Pages::Other("https://ui.example.org".to_owned()),
            zone: Zone::utc(),
        },
    }
}

/// The body without what differs: present times, the own address, and the reason.
fn comparable(body: &Value) -> Value {
    let mut body = body.clone();
    let fields = body.as_object_mut().unwrap();
    fields.remove("externalURL");
    fields.remove("notification_reason");
    for alert in fields["alerts"].as_array_mut().unwrap() {
        let is_zero = alert["endsAt"] == "0001-01-01T00:00:00Z";
        alert["endsAt"] = json!(if is_zero { "never" } else { "some time" });
        alert["startsAt"] = json!("some time");
    }
    body
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_webhook_receives_what_a_real_alertmanager_sends() {
    let test = DeliveryTest::with(Engine::Sqlite, |settings| settings.alerting.timing = TIMING).await;
    let other = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let organization = test.system_organization().await;
    let layer = |url: String| json!({"enabled": {"webhook": true}, "webhook_recipients": [{"name": "hook", "url": url}]});
    test.t.alert_layer(organization, layer(test.hook.url())).await;
    let effective: Layer = serde_json::from_value(layer(other.url())).unwrap();
    let effective = merge([], Some(&effective));
    let upload = Upload::new(&organization.to_string(), &effective, &publishing()).unwrap();
    let real = Alertmanager::start(&upload.alertmanager_config).await.unwrap();

    for (n, (pushed, seconds, reason)) in STEPS.iter().enumerate() {
        let mut alerts = Vec::new();
        for (mount, fires) in *pushed {
            alerts.push(test.alert(mount, if *fires { None } else { Some(0) }));
        }
        test.client().push(&json!(alerts).to_string()).await.expect(200);
        for _ in 0..*seconds {
            test.after(SECOND).await;
        }
        let ours = test.hook.take();
        assert_eq!(ours.len(), 1, "step {n}: {:?}", ours.iter().map(summary).collect::<Vec<_>>());
        let ours = ours[0].json().unwrap();
        assert_eq!(ours["notification_reason"], *reason, "step {n}");

        // The same alerts as they are stored here: with identity and display values.
        let annotations: Value = ours["alerts"][0]["annotations"].clone();
        for alert in &mut alerts {
            for label in ["system_key", "system_id", "organization_id"] {
                alert["labels"][label] = ours["commonLabels"][label].clone();
            }
            for (name, value) in annotations.as_object().unwrap() {
                if name != "summary" {
                    alert["annotations"][name.as_str()] = value.clone();
                }
            }
            if alert.get("endsAt").is_some() {
                alert["endsAt"] = json!(jiff::Timestamp::now().to_string());
            }
        }
        let posted = reqwest::Client::new()
            .post(format!("{}/api/v2/alerts", real.url()))
            .header("content-type", "application/json")
            .body(json!(alerts).to_string())
            .send()
            .await
            .unwrap();
        assert_eq!(posted.status(), 200, "step {n}");
        let theirs = other.wait_for(1).await.unwrap_or_else(|e| panic!("step {n}: {e} {}", real.log()));
        let _ = other.take();
        assert_eq!(comparable(&ours), comparable(&theirs[0].json().unwrap()), "step {n}");
    }
}
