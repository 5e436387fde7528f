//! Recipients that are slow, away or refuse.

use super::*;
use bailiwick_alerting::config::Layer;
use bailiwick_alerts::config::{LastFailure, last_failures};
use std::sync::atomic::{AtomicUsize, Ordering};

impl DeliveryTest {
    /// The known failures: channel, recipient, reason.
    async fn failures(&self) -> Vec<String> {
        let layer: Layer = serde_json::from_value(self.layer()).unwrap();
        let shown = |f: LastFailure| format!("{} {}: {}", f.channel, f.recipient, f.reason);
        last_failures(&self.t.app.alerts, &layer).await.unwrap().into_iter().map(shown).collect()
    }

    /// Sent, retried and failed of a channel.
    fn counted(&self, channel: &str) -> [u64; 3] {
        let counts = notify::figures(&self.t.app.alerts).counts();
        let count = counts.iter().find(|c| c.channel == channel).unwrap();
        [count.sent, count.retried, count.failed]
    }
}

on_both!(what_may_pass_is_tried_again_and_who_was_told_is_not_told_twice, |engine| async {
    let told = DeliveryTest::start(engine).await;
    let asked = AtomicUsize::new(0);
    told.hook.answer_by(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => Answer::status(503),
        1 => Answer::status(429),
        2 => Answer::dropped(),
        _ => Answer::status(204),
    });
    told.push(&["a"], None).await;
    told.after(30 * SECOND).await;
    assert_eq!(told.heard(), ["first notification firing: a firing"; 4]);
    assert_eq!((told.mails().len(), told.failures().await.len()), (1, 0));
    assert_eq!((told.counted("webhook"), told.counted("email")), ([1, 3, 0], [1, 0, 0]));
});

on_both!(a_recipient_that_is_not_reached_shows_at_the_first_try, |engine| async {
    let told = DeliveryTest::start(engine).await;
    told.hook.answer_by(|_| Answer::status(503));
    told.push(&["a"], None).await;
    told.t.advance(30 * SECOND);
    eventually("the failure is shown while tries go on", async || {
        told.failures().await == ["webhook hook: answered with status 503"]
    })
    .await;
    assert_eq!(told.counted("webhook")[2], 0, "it is not given up");
    told.hook.answer_by(|_| Answer::status(204));
    eventually("it is reached again", async || told.failures().await.is_empty()).await;
});

on_both!(what_is_final_waits_for_the_next_flush_and_is_shown, |engine| async {
    let told = DeliveryTest::start(engine).await;
    told.hook.answer_by(|_| Answer::status(400).body("secret of the other side"));
    told.push(&["a"], None).await;
    told.after(30 * SECOND).await;
    assert_eq!((told.heard().len(), told.mails().len()), (1, 1));
    assert_eq!(told.failures().await, ["webhook hook: answered with status 400"]);
    let path = format!("/api/alerts/config?organization_id={}", told.system_organization().await);
    let owner = told.t.owner().await;
    let shown = told.t.get(&path).bearer(&owner.token).send().await.expect(200).data();
    let warning = "webhook hook: delivery failed at 2026-03-04T10:00:30Z: answered with status 400";
    assert_eq!(shown["warnings"], json!([warning]));
    told.after(5 * MINUTE).await;
    // The next flush leaves out the recipient that got the notification, and notifies the one that did not.
    assert_eq!((told.heard().len(), told.mails().len()), (1, 1));
    // A resolved alert stays in the group until the notification of its end.
    told.push(&["a"], Some(0)).await;
    told.hook.answer_by(|_| Answer::status(302).header("location", "http://127.0.0.1:1/"));
    told.after(5 * MINUTE).await;
    assert_eq!(told.mails().len(), 2);
    // The webhook never got the alert, so it gets no notification of the end. The failure shown is still the earlier
    // one.
    assert_eq!(told.failures().await, ["webhook hook: answered with status 400"]);
    told.hook.answer_by(|_| Answer::status(200));
    told.push(&["b"], None).await;
    told.after(5 * MINUTE).await;
    let heard = told.heard();
    assert_eq!(heard.last().map(String::as_str), Some("first notification firing: b firing"));
    assert_eq!((told.failures().await, told.counted("webhook")), (Vec::new(), [1, 0, 2]));
});

on_both!(a_mail_server_refuses_for_now_or_for_good, |engine| async {
    let told = DeliveryTest::start(engine).await;
    told.smtp.answer(Some("550 no such user")).unwrap();
    told.push(&["a"], None).await;
    told.after(30 * SECOND).await;
    assert_eq!(told.failures().await, ["email noc@example.org: the mail server answered 550"]);
    assert_eq!(told.counted("email"), [0, 0, 1]);
    told.smtp.answer(Some("451 later")).unwrap();
    told.t.advance(5 * MINUTE);
    eventually("a second try", async || told.counted("email")[1] > 0).await;
    told.smtp.answer(None).unwrap();
    eventually("the mail", async || told.mails().len() == 1).await;
    told.after(Duration::ZERO).await;
    assert_eq!((told.failures().await, told.counted("email")[0]), (Vec::new(), 1));
});

on_both!(a_slow_recipient_keeps_nobody_waiting, |engine| async {
    let told = DeliveryTest::start(engine).await;
    told.hook.answer_by(|_| Answer::status(200).held());
    told.push(&["a"], None).await;
    let mut other = told.alert("b", None);
    other["labels"]["alertname"] = json!("Other");
    told.t.advance(SECOND);
    told.client().push(&json!([other]).to_string()).await.expect(200);
    told.t.advance(29 * SECOND);
    eventually("the first mail", async || told.mails().len() == 1).await;
    // The notification of another group goes out while the first one still waits for its webhook.
    told.t.advance(SECOND);
    eventually("the other mail", async || told.mails().len() == 2).await;
    assert_eq!(told.counted("webhook")[0], 0);
    told.hook.answer_by(|_| Answer::status(200));
    told.hook.release();
    eventually("the webhooks", async || told.counted("webhook")[0] == 2).await;
});

// Proves spec: acceptance#scenarios 34, alert-guarantees#guarantees 20.
on_both!(a_private_address_is_not_contacted, |engine| async {
    let told =
        DeliveryTest::with(engine, |settings| settings.alerting.allowed_hosts = AllowedHosts::default())
            .await;
    told.push(&["a"], None).await;
    told.after(30 * SECOND).await;
    assert_eq!((told.heard().len(), told.mails().len()), (0, 1));
    assert_eq!(told.failures().await, ["webhook hook: the address is not allowed"]);
});

on_both!(a_configuration_that_cannot_be_read_keeps_nobody_else_waiting, |engine| async {
    let told = DeliveryTest::start(engine).await;
    let tree = told.t.tree().await;
    let system = told.t.system(tree.customer).await;
    told.t.alert_layer(tree.customer, told.layer()).await;
    let mut tx = told.t.app.platform.db.begin().await.unwrap();
    let q = Q::new("UPDATE alert_layers SET layer = ? WHERE organization_id = ?");
    q.bind(json!({"enabled": 5})).bind(tree.customer).run(&mut tx).await.unwrap();
    Q::new("UPDATE alert_config_epoch SET n = n + 1").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let alert = json!([{"labels": {"alertname": "A", "mount": "other"}}]).to_string();
    Client { test: &told.t, system }.push(&alert).await.expect(200);
    told.push(&["a"], None).await;
    told.after(30 * SECOND).await;
    assert_eq!(told.heard(), ["first notification firing: a firing"]);
    // After the configuration is saved again, the waiting notification goes out.
    told.t.alert_layer(tree.customer, told.layer()).await;
    told.after(SECOND).await;
    assert_eq!(told.heard(), ["first notification firing: other firing"]);
});
