//! Times in which no system could refresh its alerts, and clocks that are set back.

use super::*;
use bailiwick_alerts as alerting;
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
    let told = watched(engine).await;
    told.push(&["a", "b"], Some(60)).await;
    told.after(30 * SECOND).await;
    assert_eq!(told.heard(), ["first notification firing: a firing, b firing"]);
    // The machine sleeps, or the database is away, and both alerts end.
    told.t.advance(10 * MINUTE);
    assert_eq!(alerting::sweep_history(&told.t.app.alerts).await.unwrap(), Some(0));
    assert_eq!(alerting::purge_ended(&told.t.app.alerts).await.unwrap(), 0);
    told.after(Duration::ZERO).await;
    assert_eq!(told.client().alert_names("").await.len(), 2);
    told.push(&["a"], Some(3600)).await;
    for _ in 0..4 {
        told.after(MINUTE).await;
        assert_eq!(
            (told.heard(), alerting::sweep_history(&told.t.app.alerts).await.unwrap()),
            (vec![], Some(0))
        );
    }
    told.after(MINUTE).await;
    assert_eq!(told.heard(), ["some alerts resolved firing: a firing, b resolved"]);
    told.after(SECOND).await;
    assert_eq!(alerting::sweep_history(&told.t.app.alerts).await.unwrap(), Some(1));
    assert_eq!(told.client().alert_names("").await.len(), 1);
});

on_both!(what_ended_while_nobody_served_may_still_be_refreshed, |engine| async {
    let told = watched(engine).await;
    told.push(&["a"], Some(60)).await;
    told.after(30 * SECOND).await;
    assert_eq!(told.heard(), ["first notification firing: a firing"]);
    stop(&told.t).await;
    // Down for ten minutes, in which the alert has ended.
    told.t.advance(10 * MINUTE);
    let again = told.t.replica().await;
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    assert_eq!(told.heard(), [""; 0]);
    for _ in 0..5 {
        again.advance(MINUTE);
        notify::run_until_idle(&again.app.alerts).await.unwrap();
    }
    assert_eq!(told.heard(), ["all alerts resolved resolved: a resolved"]);
});

on_both!(a_process_that_cannot_learn_of_an_outage_waits, |engine| async {
    let told = watched(engine).await;
    told.push(&["a"], Some(60)).await;
    told.after(30 * SECOND).await;
    assert_eq!(told.heard(), ["first notification firing: a firing"]);
    stop(&told.t).await;
    told.t.advance(10 * MINUTE);
    let rename = async |from: &str, to: &str| {
        let mut tx = told.t.app.platform.db.begin().await.unwrap();
        Q::new(&format!("ALTER TABLE {from} RENAME TO {to}")).run(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    };
    rename("router_life", "router_life_away").await;
    let again = told.t.replica().await;
    assert!(notify::run_until_idle(&again.app.alerts).await.is_err());
    assert!(alerting::sweep_history(&again.app.alerts).await.is_err());
    rename("router_life_away", "router_life").await;
    // The first process to come neither notifies of the end nor ends the alert.
    assert_eq!(alerting::sweep_history(&again.app.alerts).await.unwrap(), Some(0));
    notify::run_until_idle(&again.app.alerts).await.unwrap();
    assert_eq!(told.heard(), [""; 0]);
    for _ in 0..5 {
        again.advance(MINUTE);
        notify::run_until_idle(&again.app.alerts).await.unwrap();
    }
    assert_eq!(told.heard(), ["all alerts resolved resolved: a resolved"]);
});

on_both!(an_outage_is_one_of_all_processes, |engine| async {
    let told = DeliveryTest::start(engine).await;
    let t = &told.t;
    stop(t).await;
    let sign = async || {
        let (at, outage) = note_alive(&t.app.platform.db, &*t.clock, MINUTE, 5 * MINUTE).await.unwrap();
        assert_eq!(at, t.app.platform.now());
        let since = |at: Ts| at.since(ManualClock::START).as_secs();
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
    // The other learns of it; one soon after is the same, a later one is not.
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

on_both!(a_clock_that_is_set_back_keeps_nobody_waiting, |engine| async {
    let told = DeliveryTest::start(engine).await;
    let right = told.t.app.platform.now();
    told.t.advance(24 * 60 * MINUTE);
    told.push(&["a"], None).await;
    told.after(30 * SECOND).await;
    assert_eq!(told.heard(), ["first notification firing: a firing"]);
    told.t.clock.set(right);
    told.push(&["b"], None).await;
    told.after(Duration::ZERO).await;
    assert_eq!(told.heard(), ["new alerts added firing: a firing, b firing"]);
    // A notification that was sent by the wrong clock is repeated when it is time.
    let told = DeliveryTest::start(engine).await;
    told.t.advance(24 * 60 * MINUTE);
    told.push(&["a"], None).await;
    told.after(30 * SECOND).await;
    assert_eq!(told.heard(), ["first notification firing: a firing"]);
    told.t.clock.set(right);
    told.after(Duration::ZERO).await;
    assert_eq!(told.heard(), [""; 0]);
    told.after(13 * 60 * MINUTE).await;
    assert_eq!(told.heard(), ["repeat interval elapsed firing: a firing"]);
});

on_both!(a_lease_of_a_clock_that_was_set_back_ends, |engine| async {
    let told = DeliveryTest::start(engine).await;
    told.push(&["a"], None).await;
    told.after(Duration::ZERO).await;
    let (dead, now) = (uuid::Uuid::from_u128(1), told.t.app.platform.now());
    let mut tx = told.t.app.platform.db.begin().await.unwrap();
    let q = Q::new("UPDATE router_tenants SET holder = ?, held_until = ?");
    q.bind(dead).bind(now.plus(24 * 60 * MINUTE)).run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    told.after(2 * MINUTE).await;
    assert_eq!(told.heard(), ["first notification firing: a firing"]);
});
