//! Recipients that are slow, away or refuse.

use super::*;
use bailiwick_alertmanager::config::Layer;
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

on_both!(temporary_errors_are_retried_and_recipients_are_notified_once, |engine| async {
    let test = DeliveryTest::start(engine).await;
    let attempts = AtomicUsize::new(0);
    test.hook.answer_by(move |_| match attempts.fetch_add(1, Ordering::SeqCst) {
        0 => Answer::status(503),
        1 => Answer::status(429),
        2 => Answer::dropped(),
        _ => Answer::status(204),
    });
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    assert_eq!(test.received(), ["first notification firing: a firing"; 4]);
    assert_eq!((test.mails().len(), test.failures().await.len()), (1, 0));
    assert_eq!((test.counted("webhook"), test.counted("email")), ([1, 3, 0], [1, 0, 0]));
});

on_both!(a_recipient_that_is_not_reached_shows_at_the_first_try, |engine| async {
    let test = DeliveryTest::start(engine).await;
    test.hook.answer_by(|_| Answer::status(503));
    test.push(&["a"], None).await;
    test.t.advance(30 * SECOND);
    eventually("the failure is shown while tries go on", async || {
        test.failures().await == ["webhook hook: answered with status 503"]
    })
    .await;
    assert_eq!(test.counted("webhook")[2], 0, "it is not given up");
    test.hook.answer_by(|_| Answer::status(204));
    eventually("it is reached again", async || test.failures().await.is_empty()).await;
});

on_both!(permanent_errors_wait_for_the_next_flush_and_are_shown, |engine| async {
    let test = DeliveryTest::start(engine).await;
    test.hook.answer_by(|_| Answer::status(400).body("secret of the other side"));
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    assert_eq!((test.received().len(), test.mails().len()), (1, 1));
    assert_eq!(test.failures().await, ["webhook hook: answered with status 400"]);
    let path = format!("/api/alerts/config?organization_id={}", test.system_organization().await);
    let owner = test.t.owner().await;
    let shown = test.t.get(&path).bearer(&owner.token).send().await.expect(200).data();
    let warning = "webhook hook: delivery failed at 2026-03-04T10:00:30Z: answered with status 400";
    assert_eq!(shown["warnings"], json!([warning]));
    test.after(5 * MINUTE).await;
    // The next flush leaves out the recipient that got the notification, and notifies the one that did not.
    assert_eq!((test.received().len(), test.mails().len()), (1, 1));
    // A resolved alert stays in the group until the notification of its end.
    test.push(&["a"], Some(0)).await;
    test.hook.answer_by(|_| Answer::status(302).header("location", "http://127.0.0.1:1/"));
    test.after(5 * MINUTE).await;
    assert_eq!(test.mails().len(), 2);
    // The webhook never got the alert, so it gets no notification of the end. The failure shown is still the earlier
    // one.
    assert_eq!(test.failures().await, ["webhook hook: answered with status 400"]);
    test.hook.answer_by(|_| Answer::status(200));
    test.push(&["b"], None).await;
    test.after(5 * MINUTE).await;
    let received = test.received();
    assert_eq!(received.last().map(String::as_str), Some("first notification firing: b firing"));
    assert_eq!((test.failures().await, test.counted("webhook")), (Vec::new(), [1, 0, 2]));
});

on_both!(a_mail_server_refuses_for_now_or_for_good, |engine| async {
    let test = DeliveryTest::start(engine).await;
    test.smtp.answer(Some("550 no such user")).unwrap();
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    assert_eq!(test.failures().await, ["email noc@example.org: the mail server answered 550"]);
    assert_eq!(test.counted("email"), [0, 0, 1]);
    test.smtp.answer(Some("451 later")).unwrap();
    test.t.advance(5 * MINUTE);
    eventually("a second try", async || test.counted("email")[1] > 0).await;
    test.smtp.answer(None).unwrap();
    eventually("the mail", async || test.mails().len() == 1).await;
    test.after(Duration::ZERO).await;
    assert_eq!((test.failures().await, test.counted("email")[0]), (Vec::new(), 1));
});

on_both!(a_slow_recipient_does_not_delay_others, |engine| async {
    let test = DeliveryTest::start(engine).await;
    test.hook.answer_by(|_| Answer::status(200).held());
    test.push(&["a"], None).await;
    let mut other = test.alert("b", None);
    other["labels"]["alertname"] = json!("Other");
    test.t.advance(SECOND);
    test.client().push(&json!([other]).to_string()).await.expect(200);
    test.t.advance(29 * SECOND);
    eventually("the first mail", async || test.mails().len() == 1).await;
    // The notification of another group goes out while the first one still waits for its webhook.
    test.t.advance(SECOND);
    eventually("the other mail", async || test.mails().len() == 2).await;
    assert_eq!(test.counted("webhook")[0], 0);
    test.hook.answer_by(|_| Answer::status(200));
    test.hook.release();
    eventually("the webhooks", async || test.counted("webhook")[0] == 2).await;
});

// Proves spec: acceptance#scenarios 34, alert-guarantees#guarantees 20.
on_both!(a_private_address_is_not_contacted, |engine| async {
    let test =
        DeliveryTest::with(engine, |settings| settings.alerting.allowed_hosts = AllowedHosts::default())
            .await;
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    assert_eq!((test.received().len(), test.mails().len()), (0, 1));
    assert_eq!(test.failures().await, ["webhook hook: the address is not allowed"]);
});

on_both!(an_unreadable_configuration_does_not_delay_others, |engine| async {
    let test = DeliveryTest::start(engine).await;
    let tree = test.t.tree().await;
    let system = test.t.system(tree.customer).await;
    test.t.alert_layer(tree.customer, test.layer()).await;
    let mut tx = test.t.app.platform.db.begin().await.unwrap();
    let q = Q::new("UPDATE alert_layers SET layer = ? WHERE organization_id = ?");
    q.bind(json!({"enabled": 5})).bind(tree.customer).run(&mut tx).await.unwrap();
    Q::new("UPDATE alert_config_epoch SET n = n + 1").run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let alert = json!([{"labels": {"alertname": "A", "mount": "other"}}]).to_string();
    Client { test: &test.t, system }.push(&alert).await.expect(200);
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    assert_eq!(test.received(), ["first notification firing: a firing"]);
    // After the configuration is saved again, the waiting notification goes out.
    test.t.alert_layer(tree.customer, test.layer()).await;
    test.after(SECOND).await;
    assert_eq!(test.received(), ["first notification firing: other firing"]);
});
