//! Recipients that change during a notification, and configurations that cannot be read.

use super::*;
use std::time::Instant;

/// A statement as an operator would run it.
async fn run(test: &DeliveryTest, statement: &str) {
    let mut tx = test.t.app.platform.db.begin().await.unwrap();
    Q::new(statement).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
}

async fn count(test: &DeliveryTest, what: &str) -> u64 {
    Q::new(&format!("SELECT CAST(COUNT(*) AS BIGINT) FROM {what}"))
        .count(&test.t.app.platform.db)
        .await
        .unwrap()
}

on_both!(a_change_during_a_notification_repeats_none, |engine| async {
    let test = DeliveryTest::start(engine).await;
    let other = Recorder::start(|_| Answer::status(200)).await.unwrap();
    test.hook.answer_by(|_| Answer::status(200).after(3 * SECOND));
    test.push(&["a"], None).await;
    test.t.advance(30 * SECOND);
    eventually("the request", async || !test.hook.requests().is_empty()).await;
    let mut layer = test.layer();
    layer["webhook_recipients"] =
        json!([{"name": "other", "url": other.url()}, layer["webhook_recipients"][0]]);
    test.t.alert_layer(test.system_organization().await, layer).await;
    eventually("the new one", async || !other.requests().is_empty()).await;
    test.after(Duration::ZERO).await;
    assert_eq!(test.received(), ["first notification firing: a firing"]);
    assert_eq!(other.take().iter().map(summary).collect::<Vec<_>>(), ["first notification firing: a firing"]);
    assert_eq!(test.mails().len(), 1);
    // The next notification is sent once, too.
    test.push(&["a"], Some(0)).await;
    test.after(5 * MINUTE).await;
    assert_eq!(test.received(), ["all alerts resolved resolved: a resolved"]);
    assert_eq!((other.take().len(), test.mails().len()), (1, 2));
    assert_eq!(count(&test, "router_groups").await, 0);
});

on_both!(removed_recipients_are_not_retried, |engine| async {
    let test = DeliveryTest::start(engine).await;
    test.hook.answer_by(|_| Answer::status(503));
    test.push(&["a"], None).await;
    test.t.advance(30 * SECOND);
    eventually("the request", async || !test.hook.requests().is_empty()).await;
    let mut layer = test.layer();
    layer["webhook_recipients"] = json!([]);
    test.t.alert_layer(test.system_organization().await, layer).await;
    // It would be tried for five minutes.
    let start = Instant::now();
    test.after(Duration::ZERO).await;
    assert!(start.elapsed() < MINUTE, "{:?}", start.elapsed());
    assert_eq!(
        (test.mails().len(), count(&test, "router_groups WHERE started_at IS NOT NULL").await),
        (1, 0)
    );
});

on_both!(groups_that_fit_no_configuration_are_made_anew, |engine| async {
    let test = DeliveryTest::step_by_step(engine, |_| {}).await;
    test.push(&["a"], None).await;
    test.after(Duration::ZERO).await;
    run(&test, "UPDATE router_alerts SET group_id = 'of another version'").await;
    run(&test, "UPDATE router_groups SET id = 'of another version'").await;
    test.after(30 * SECOND).await;
    assert_eq!(test.received(), ["first notification firing: a firing"]);
    assert_eq!((count(&test, "router_groups").await, test.mails().len()), (1, 1));
});

on_both!(alerts_of_an_unreadable_configuration_are_sent_once_it_is_readable, |engine| async {
    let test = DeliveryTest::start(engine).await;
    let spoil = "UPDATE alert_layers SET layer = [[jsonb_set(layer, '{enabled}', '5')||json_set(layer, '$.enabled', 5)]]";
    run(&test, spoil).await;
    run(&test, "UPDATE alert_config_epoch SET n = n + 1").await;
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    assert_eq!((test.received().len(), test.mails().len()), (0, 0));
    // The service keeps in mind that the configuration cannot be read, and does not read it all the time.
    assert_eq!(count(&test, "router_tenants WHERE version = 0").await, 0);
    // The configuration comes back without being saved.
    let good = "{\"email\": true, \"webhook\": true, \"telegram\": null}";
    let mend = format!(
        "UPDATE alert_layers SET layer = [[jsonb_set(layer, '{{enabled}}', '{good}')||json_set(layer, '$.enabled', json('{good}'))]]"
    );
    run(&test, &mend).await;
    test.after(10 * SECOND).await;
    assert_eq!(test.received(), [""; 0]);
    test.after(MINUTE).await;
    assert_eq!(test.received(), ["first notification firing: a firing"]);
    assert_eq!(test.mails().len(), 1);
});

/// Makes it impossible to record the end of a notification, but not to take over work that another process left.
const FORBID: [&str; 2] = [
    "CREATE FUNCTION forbid() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'forbidden'; END $$",
    "CREATE TRIGGER forbidden BEFORE UPDATE ON router_groups FOR EACH ROW \
     WHEN (OLD.started_at IS NOT NULL AND NEW.started_at IS NULL AND NEW.due_at = OLD.due_at) [[EXECUTE FUNCTION forbid()\
     ||BEGIN SELECT RAISE(ABORT, 'forbidden'); END]]",
];

impl DeliveryTest {
    async fn forbid(&self) {
        for statement in FORBID.iter().skip(usize::from(!self.t.app.platform.db.is_postgres())) {
            run(self, statement).await;
        }
    }

    async fn permit(&self) {
        run(self, "DROP TRIGGER forbidden [[ON router_groups||]]").await;
    }
}

on_both!(a_process_that_cannot_write_down_the_end_leaves_no_group_behind, |engine| async {
    let test = DeliveryTest::start(engine).await;
    test.forbid().await;
    test.push(&["a"], None).await;
    test.t.advance(30 * SECOND);
    eventually("the first", async || test.mails().len() == 1 && test.hook.requests().len() == 1).await;
    test.t.app.platform.stop.cancel();
    test.t.app.platform.tasks.close();
    test.t.app.platform.tasks.wait().await;
    test.permit().await;
    let _ = test.received();
    let again = test.t.replica().await;
    // Before the clock jumps, the new process looks at the work that was left.
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    let (id, key, secret) = (test.system.id, test.system.key.clone(), test.system.secret.clone());
    let client = Client { test: &again, system: bailiwick_testkit::seed::Seeded { id, key, secret } };
    client.push(&json!([test.alert("b", None)]).to_string()).await.expect(200);
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    again.advance(5 * MINUTE);
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    assert_eq!(test.received(), ["new alerts added firing: a firing, b firing"]);
});

on_both!(an_unrecorded_notification_is_recorded_later_and_sent_once, |engine| async {
    let test = DeliveryTest::start(engine).await;
    test.forbid().await;
    test.push(&["a"], None).await;
    test.t.advance(30 * SECOND);
    eventually("the first", async || test.mails().len() == 1 && test.hook.requests().len() == 1).await;
    assert_eq!(count(&test, "router_groups WHERE started_at IS NOT NULL").await, 1);
    test.permit().await;
    test.after(Duration::ZERO).await;
    assert_eq!(count(&test, "router_groups WHERE started_at IS NOT NULL").await, 0);
    test.push(&["b"], None).await;
    test.after(5 * MINUTE).await;
    let expected = ["first notification firing: a firing", "new alerts added firing: a firing, b firing"];
    assert_eq!((test.received(), test.mails().len()), (expected.map(str::to_owned).to_vec(), 2));
});
