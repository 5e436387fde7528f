//! Recipients that change during a notification, and configurations that cannot be read.

use super::*;
use std::time::Instant;

/// A statement as an operator would run it.
async fn run(told: &DeliveryTest, statement: &str) {
    let mut tx = told.t.app.platform.db.begin().await.unwrap();
    Q::new(statement).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
}

async fn count(told: &DeliveryTest, what: &str) -> u64 {
    Q::new(&format!("SELECT CAST(COUNT(*) AS BIGINT) FROM {what}"))
        .count(&told.t.app.platform.db)
        .await
        .unwrap()
}

on_both!(a_change_while_somebody_is_being_told_tells_nobody_twice, |engine| async {
    let told = DeliveryTest::start(engine).await;
    let other = Recorder::start(|_| Answer::status(200)).await.unwrap();
    told.hook.answer_by(|_| Answer::status(200).after(3 * SECOND));
    told.push(&["a"], None).await;
    told.t.advance(30 * SECOND);
    eventually("the request", async || !told.hook.requests().is_empty()).await;
    let mut layer = told.layer();
    layer["webhook_recipients"] =
        json!([{"name": "other", "url": other.url()}, layer["webhook_recipients"][0]]);
    told.t.alert_layer(told.system_organization().await, layer).await;
    eventually("the new one", async || !other.requests().is_empty()).await;
    told.after(Duration::ZERO).await;
    assert_eq!(told.heard(), ["first notification firing: a firing"]);
    assert_eq!(other.take().iter().map(said).collect::<Vec<_>>(), ["first notification firing: a firing"]);
    assert_eq!(told.mails().len(), 1);
    // The next notification is sent once, too.
    told.push(&["a"], Some(0)).await;
    told.after(5 * MINUTE).await;
    assert_eq!(told.heard(), ["all alerts resolved resolved: a resolved"]);
    assert_eq!((other.take().len(), told.mails().len()), (1, 2));
    assert_eq!(count(&told, "router_groups").await, 0);
});

on_both!(who_is_told_no_more_is_not_tried_any_more, |engine| async {
    let told = DeliveryTest::start(engine).await;
    told.hook.answer_by(|_| Answer::status(503));
    told.push(&["a"], None).await;
    told.t.advance(30 * SECOND);
    eventually("the request", async || !told.hook.requests().is_empty()).await;
    let mut layer = told.layer();
    layer["webhook_recipients"] = json!([]);
    told.t.alert_layer(told.system_organization().await, layer).await;
    // It would be tried for five minutes.
    let start = Instant::now();
    told.after(Duration::ZERO).await;
    assert!(start.elapsed() < MINUTE, "{:?}", start.elapsed());
    assert_eq!(
        (told.mails().len(), count(&told, "router_groups WHERE started_at IS NOT NULL").await),
        (1, 0)
    );
});

on_both!(groups_that_fit_no_configuration_are_made_anew, |engine| async {
    let told = DeliveryTest::start(engine).await;
    told.push(&["a"], None).await;
    told.after(Duration::ZERO).await;
    run(&told, "UPDATE router_alerts SET group_id = 'of another version'").await;
    run(&told, "UPDATE router_groups SET id = 'of another version'").await;
    told.after(30 * SECOND).await;
    assert_eq!(told.heard(), ["first notification firing: a firing"]);
    assert_eq!((count(&told, "router_groups").await, told.mails().len()), (1, 1));
});

on_both!(what_could_not_be_read_is_told_of_as_soon_as_it_can_be, |engine| async {
    let told = DeliveryTest::start(engine).await;
    let spoil = "UPDATE alert_layers SET layer = [[jsonb_set(layer, '{enabled}', '5')||json_set(layer, '$.enabled', 5)]]";
    run(&told, spoil).await;
    run(&told, "UPDATE alert_config_epoch SET n = n + 1").await;
    told.push(&["a"], None).await;
    told.after(30 * SECOND).await;
    assert_eq!((told.heard().len(), told.mails().len()), (0, 0));
    // The service keeps in mind that the configuration cannot be read, and does not read it all the time.
    assert_eq!(count(&told, "router_tenants WHERE version = 0").await, 0);
    // The configuration comes back without being saved.
    let good = "{\"email\": true, \"webhook\": true, \"telegram\": null}";
    let mend = format!(
        "UPDATE alert_layers SET layer = [[jsonb_set(layer, '{{enabled}}', '{good}')||json_set(layer, '$.enabled', json('{good}'))]]"
    );
    run(&told, &mend).await;
    told.after(10 * SECOND).await;
    assert_eq!(told.heard(), [""; 0]);
    told.after(MINUTE).await;
    assert_eq!(told.heard(), ["first notification firing: a firing"]);
    assert_eq!(told.mails().len(), 1);
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
    let told = DeliveryTest::start(engine).await;
    told.forbid().await;
    told.push(&["a"], None).await;
    told.t.advance(30 * SECOND);
    eventually("the first", async || told.mails().len() == 1 && told.hook.requests().len() == 1).await;
    told.t.app.platform.stop.cancel();
    told.t.app.platform.tasks.close();
    told.t.app.platform.tasks.wait().await;
    told.permit().await;
    let _ = told.heard();
    let again = told.t.replica().await;
    // Before the clock jumps, the new process looks at the work that was left.
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    let (id, key, secret) = (told.system.id, told.system.key.clone(), told.system.secret.clone());
    let client = Client { test: &again, system: bailiwick_testkit::seed::Seeded { id, key, secret } };
    client.push(&json!([told.alert("b", None)]).to_string()).await.expect(200);
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    again.advance(5 * MINUTE);
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    assert_eq!(told.heard(), ["new alerts added firing: a firing, b firing"]);
});

on_both!(what_cannot_be_written_down_is_written_later_and_told_once, |engine| async {
    let told = DeliveryTest::start(engine).await;
    told.forbid().await;
    told.push(&["a"], None).await;
    told.t.advance(30 * SECOND);
    eventually("the first", async || told.mails().len() == 1 && told.hook.requests().len() == 1).await;
    assert_eq!(count(&told, "router_groups WHERE started_at IS NOT NULL").await, 1);
    told.permit().await;
    told.after(Duration::ZERO).await;
    assert_eq!(count(&told, "router_groups WHERE started_at IS NOT NULL").await, 0);
    told.push(&["b"], None).await;
    told.after(5 * MINUTE).await;
    let expected = ["first notification firing: a firing", "new alerts added firing: a firing, b firing"];
    assert_eq!((told.heard(), told.mails().len()), (expected.map(str::to_owned).to_vec(), 2));
});
