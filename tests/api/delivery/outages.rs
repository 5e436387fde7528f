//! Times in which no system could refresh its alerts, and clocks that are set back.

use super::*;
use bailiwick_alerts as alerts;
use bailiwick_store::router::note_alive;

/// As in operation: a minute without a sign of life is an outage.
async fn watched(engine: Engine) -> DeliveryTest {
    DeliveryTest::with(engine, |settings| settings.alerting.short_outage = MINUTE).await
}

/// Ends the background work of the process.
async fn stop(t: &Test) {
    t.app.platform.stop.cancel();
    t.app.platform.tasks.close();
    t.app.platform.tasks.wait().await;
}

on_both!(what_ended_while_the_process_could_not_work_may_still_be_refreshed, |engine| async {
    let test = watched(engine).await;
    test.push(&["a", "b"], Some(60)).await;
    test.after(30 * SECOND).await;
    assert_eq!(test.received(), ["first notification firing: a firing, b firing"]);
    // The machine sleeps, or the database is away, and both alerts end.
    test.t.advance(10 * MINUTE);
    assert_eq!(alerts::sweep_history(&test.t.app.alerts).await.unwrap(), Some(0));
    assert_eq!(alerts::purge_ended(&test.t.app.alerts).await.unwrap(), 0);
    test.after(Duration::ZERO).await;
    assert_eq!(test.client().alert_names("").await.len(), 2);
    test.push(&["a"], Some(3600)).await;
    for _ in 0..4 {
        test.after(MINUTE).await;
        assert_eq!(
            (test.received(), alerts::sweep_history(&test.t.app.alerts).await.unwrap()),
            (vec![], Some(0))
        );
    }
    test.after(MINUTE).await;
    assert_eq!(test.received(), ["some alerts resolved firing: a firing, b resolved"]);
    test.after(SECOND).await;
    assert_eq!(alerts::sweep_history(&test.t.app.alerts).await.unwrap(), Some(1));
    assert_eq!(test.client().alert_names("").await.len(), 1);
});

on_both!(alerts_that_expired_during_an_outage_may_still_be_refreshed, |engine| async {
    let test = watched(engine).await;
    test.push(&["a"], Some(60)).await;
    test.after(30 * SECOND).await;
    assert_eq!(test.received(), ["first notification firing: a firing"]);
    stop(&test.t).await;
    // Down for ten minutes, in which the alert has ended.
    test.t.advance(10 * MINUTE);
    let again = test.t.replica().await;
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    assert_eq!(test.received(), [""; 0]);
    for _ in 0..5 {
        again.advance(MINUTE);
        notify::run_until_idle(&again.app.alerts).await.unwrap();
    }
    assert_eq!(test.received(), ["all alerts resolved resolved: a resolved"]);
});

on_both!(a_process_that_cannot_learn_of_an_outage_waits, |engine| async {
    let test = watched(engine).await;
    test.push(&["a"], Some(60)).await;
    test.after(30 * SECOND).await;
    assert_eq!(test.received(), ["first notification firing: a firing"]);
    stop(&test.t).await;
    test.t.advance(10 * MINUTE);
    let rename = async |from: &str, to: &str| {
        let mut tx = test.t.app.platform.db.begin().await.unwrap();
        Q::new(&format!("ALTER TABLE {from} RENAME TO {to}")).run(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    };
    rename("router_life", "router_life_away").await;
    let again = test.t.replica().await;
    assert!(notify::run_until_idle(&again.app.alerts).await.is_err());
    assert!(alerts::sweep_history(&again.app.alerts).await.is_err());
    rename("router_life_away", "router_life").await;
    // The first process to come neither notifies of the end nor ends the alert.
    assert_eq!(alerts::sweep_history(&again.app.alerts).await.unwrap(), Some(0));
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    assert_eq!(test.received(), [""; 0]);
    for _ in 0..5 {
        again.advance(MINUTE);
        notify::run_until_idle(&again.app.alerts).await.unwrap();
    }
    assert_eq!(test.received(), ["all alerts resolved resolved: a resolved"]);
});

on_both!(an_outage_is_one_of_all_processes, |engine| async {
    let test = DeliveryTest::start(engine).await;
    let t = &test.t;
    stop(t).await;
    let sign = async || {
        let (noted_at, outage) = note_alive(&t.app.platform.db, &*t.clock, MINUTE, 5 * MINUTE).await.unwrap();
        assert_eq!(noted_at, t.app.platform.now());
        let since = |time: Ts| time.since(ManualClock::START).as_secs();
        outage.map(|o| (since(o.down_since), since(o.up_since)))
    };
    assert_eq!(sign().await, None);
    // Each of two keeps silent for 100 seconds, but not at the same time.
    for _ in 0..4 {
        t.advance(50 * SECOND);
        assert_eq!(sign().await, None);
    }
    t.advance(61 * SECOND);
    assert_eq!(sign().await, Some((200, 261)));
    // The other process sees it; an outage soon after is the same one, a later one is not.
    t.advance(20 * SECOND);
    assert_eq!(sign().await, Some((200, 261)));
    t.advance(90 * SECOND);
    assert_eq!(sign().await, Some((200, 371)));
    for _ in 0..7 {
        t.advance(50 * SECOND);
        assert_eq!(sign().await, Some((200, 371)));
    }
    t.advance(100 * SECOND);
    assert_eq!(sign().await, Some((721, 821)));
    // A clock that was set back is none.
    t.clock.set(ManualClock::START);
    assert_eq!(sign().await, Some((721, 821)));
});

on_both!(a_clock_that_is_set_back_delays_no_notification, |engine| async {
    let test = DeliveryTest::step_by_step(engine, |_| {}).await;
    let right = test.t.app.platform.now();
    test.t.advance(24 * 60 * MINUTE);
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    assert_eq!(test.received(), ["first notification firing: a firing"]);
    test.t.clock.set(right);
    test.push(&["b"], None).await;
    test.after(Duration::ZERO).await;
    assert_eq!(test.received(), ["new alerts added firing: a firing, b firing"]);
    // A notification that was sent by the wrong clock is repeated when it is time.
    let test = DeliveryTest::step_by_step(engine, |_| {}).await;
    test.t.advance(24 * 60 * MINUTE);
    test.push(&["a"], None).await;
    test.after(30 * SECOND).await;
    assert_eq!(test.received(), ["first notification firing: a firing"]);
    test.t.clock.set(right);
    test.after(Duration::ZERO).await;
    assert_eq!(test.received(), [""; 0]);
    test.after(13 * 60 * MINUTE).await;
    assert_eq!(test.received(), ["repeat interval elapsed firing: a firing"]);
});

on_both!(a_lease_of_a_clock_that_was_set_back_ends, |engine| async {
    let test = DeliveryTest::step_by_step(engine, |_| {}).await;
    test.push(&["a"], None).await;
    test.after(Duration::ZERO).await;
    let (dead, now) = (uuid::Uuid::from_u128(1), test.t.app.platform.now());
    let mut tx = test.t.app.platform.db.begin().await.unwrap();
    let q = Q::new("UPDATE router_tenants SET holder = ?, held_until = ?");
    q.bind(dead).bind(now.plus(24 * 60 * MINUTE)).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    test.after(2 * MINUTE).await;
    assert_eq!(test.received(), ["first notification firing: a firing"]);
});
