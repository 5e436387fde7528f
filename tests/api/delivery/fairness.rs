//! A recipient that is slow, or a tenant with many notifications, is not in the way of the others.

use super::*;
use bailiwick_testkit::seed::Seeded;

/// Alerts of these names that began long ago: each is a group that is due at once.
fn old(names: impl Iterator<Item = String>) -> String {
    let start = ManualClock::START.minus(10 * MINUTE).rfc3339(0);
    let alerts: Vec<Value> = names
        .map(|n| json!({"labels": {"alertname": n, "severity": "critical"}, "startsAt": start}))
        .collect();
    json!(alerts).to_string()
}

fn webhook(url: String) -> Value {
    json!({"enabled": {"webhook": true}, "webhook_recipients": [{"name": "hook", "url": url}]})
}

impl DeliveryTest {
    async fn push_as(&self, system: &Seeded, alerts: &str) {
        let system = Seeded { id: system.id, key: system.key.clone(), secret: system.secret.clone() };
        Client { test: &self.t, system }.push(alerts).await.expect(200);
    }

    /// At which place of all requests this alert was.
    fn place_of(&self, name: &str) -> Option<usize> {
        let is_it = |r: &Recorded| r.json().unwrap()["commonLabels"]["alertname"] == name;
        self.hook.requests().iter().position(is_it)
    }
}

on_both!(a_tenant_whose_webhook_does_not_answer_keeps_no_other_from_the_same_host, |engine| async {
    let test = DeliveryTest::start(engine).await;
    test.hook.answer_by(|request| match request.path.as_str() {
        "/dead" => Answer::status(200).held(),
        _ => Answer::status(200),
    });
    let other = test.t.tree().await.other_customer;
    let system = test.t.system(other).await;
    test.t.alert_layer(other, webhook(format!("{}/hook", test.hook.url()))).await;
    let dead = webhook(format!("{}/dead", test.hook.url()));
    test.t.alert_layer(test.system_organization().await, dead).await;
    test.push_as(&test.system, &old((0..60).map(|n| format!("Dead{n}")))).await;
    eventually("the dead", async || test.hook.requests().len() >= 4).await;
    // Behind sixty requests with ten seconds each it would not be sent in time.
    test.push_as(&system, &old(["Alive".to_owned()].into_iter())).await;
    eventually("the other", async || test.place_of("Alive").is_some()).await;
});

on_both!(a_system_with_much_to_say_is_not_in_the_way_of_another, |engine| async {
    const MANY: usize = 300;
    let test = DeliveryTest::start(engine).await;
    let organization = test.system_organization().await;
    let second = test.t.system(organization).await;
    test.t.alert_layer(organization, webhook(format!("{}/hook", test.hook.url()))).await;
    test.hook.answer_by(|_| Answer::status(200).held());
    test.push_as(&test.system, &old((0..MANY).map(|n| format!("Much{n}")))).await;
    eventually("some of them", async || test.hook.requests().len() >= 4).await;
    test.push_as(&second, &old(["Little".to_owned()].into_iter())).await;
    // A busy machine may be late to find it, and the others would be far by then.
    let begun = "SELECT CAST(COUNT(*) AS BIGINT) FROM router_groups WHERE started_at IS NOT NULL";
    eventually("its notification is begun", async || {
        Q::new(begun).count(&test.t.app.platform.db).await.unwrap() == MANY as u64 + 1
    })
    .await;
    test.hook.answer_by(|_| Answer::status(200));
    test.hook.release();
    test.hook.wait_for(MANY + 1).await.unwrap();
    // The systems take turns, so it comes long before all of the other's.
    let position = test.place_of("Little").unwrap();
    assert!(position < 2 * MANY / 3, "{position}");
});
