//! Moves beside everything else that happens at the same moment: no request gets a fault, and all figures stay true.

use super::*;
use bailiwick_testkit::Call;
use futures_util::future::join_all;

/// The requests at once, each as a task of its own.
async fn at_once(calls: impl IntoIterator<Item = Call>) -> Vec<Reply> {
    let tasks: Vec<_> = calls.into_iter().map(|call| tokio::spawn(call.send())).collect();
    join_all(tasks).await.into_iter().map(Result::unwrap).collect()
}

fn moving(t: &Test, who: &Persona, system: &Seeded, to: OrgId) -> Call {
    let call = t.put(&format!("/api/systems/{}", system.id)).bearer(&who.token);
    call.json(json!({"organization_id": to}))
}

/// Checks that applications and hosts are where their systems are, and that the figures of assignments and all other
/// figures and counters are true.
async fn places_are_true(t: &Test) {
    for table in ["applications", "application_hosts"] {
        let sql = format!(
            "SELECT COUNT(*) FROM {table} a JOIN systems s ON s.id = a.system_id WHERE a.home_id <> s.organization_id \
             OR a.p2 <> s.p2 OR a.p3 <> s.p3"
        );
        assert_eq!(Q::new(&sql).count(&t.app.platform.db).await.unwrap(), 0, "{table}");
    }
    let sql = "SELECT COUNT(*) FROM systems s JOIN organizations o ON o.id = s.organization_id \
         WHERE s.p2 <> o.p2 OR s.p3 <> o.p3";
    assert_eq!(Q::new(sql).count(&t.app.platform.db).await.unwrap(), 0);
    figures_are_true(t).await;
    counters_are_true(t).await;
}

// Proves spec: guarantees#systems 42.
api_test!(many_parallel_moves_leave_the_system_in_one_place, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let system = furnished(&t, &tree).await;
    let ends = [tree.customer, tree.reseller, tree.other_customer, tree.other_reseller];
    let mut answered = 0;
    for round in 0..3 {
        let replies = at_once((0..8).map(|n| moving(&t, &owner, &system, ends[(round + n) % 4]))).await;
        for reply in &replies {
            match reply.status.as_u16() {
                200 => answered += 1,
                409 => assert_eq!(reply.message(), RIVAL),
                _ => panic!("{}", reply.text()),
            }
        }
        places_are_true(&t).await;
        t.advance(Duration::from_secs(1));
    }
    // The moves are one line, each from where the one before it led, and every one of them was answered.
    let sql = "SELECT before, after FROM audit_log WHERE action = 'system.reassign' ORDER BY id";
    let line: Vec<(Value, Value)> = Q::new(sql).all(&t.app.platform.db).await.unwrap();
    let home = |end: &Value| end["organization_id"].clone();
    assert!(line.windows(2).all(|pair| home(&pair[0].1) == home(&pair[1].0)), "{line:?}");
    assert_eq!(home(&line.last().unwrap().1), home_of(&t, &system).await);
    // To where it already is goes no move.
    let sql = "SELECT COUNT(*) FROM audit_log WHERE action = 'system.update'";
    let stayed = Q::new(sql).count(&t.app.platform.db).await.unwrap();
    assert_eq!((line.len() as u64 + stayed, move_records(&t).await.len()), (answered, line.len()));
});

api_test!(
    a_move_beside_everything_the_system_sends,
    |settings| settings.alerting.limits.request_burst = 1_000_000,
    |t| async move {
        let tree = t.tree().await;
        let owner = t.owner().await;
        let system = furnished(&t, &tree).await;
        let basic = |call: Call| call.basic(&system.key, &system.secret);
        let alerts = format!("{ALERTS}/alerts");
        for round in 0..6_usize {
            let to = [tree.other_customer, tree.customer][round % 2];
            let modules = json!([module("mail1"), module(&format!("mail{}", round + 2))]);
            let document = json!({"installation": "nethserver", "facts": {"modules": modules, "n": round}});
            let calls = [
                basic(t.post("/systems/heartbeat")),
                basic(t.post("/systems/inventory")).json(document),
                moving(&t, &owner, &system, to),
                basic(t.post(&alerts)).json(json!([{"labels": {"alertname": format!("A{round}")}}])),
                basic(t.post("/systems/heartbeat")),
                basic(t.get("/systems/info")),
            ];
            let app = t.app.clone();
            let worker = tokio::spawn(async move { inventory::run_until_idle(&app.fleet).await });
            let replies = at_once(calls).await;
            let statuses: Vec<u16> = replies.iter().map(|r| r.status.as_u16()).collect();
            assert_eq!(statuses, [200, 202, 200, 200, 200, 200], "{:?}", replies.last().unwrap().text());
            worker.await.unwrap().unwrap();
            inventory::run_until_idle(&t.app.fleet).await.unwrap();
            places_are_true(&t).await;
        }
        let shown = get(&t, &owner, &format!("/{}", system.id)).await.expect(200).data();
        assert_eq!(
            (&shown["organization"]["id"], &shown["status"]),
            (&json!(tree.customer), &json!("active"))
        );
        // Whatever tenant an alert was stored in, in the end it fires in the system's own only.
        t.advance(Duration::from_secs(120));
        cleared(&t).await;
        t.advance(Duration::from_secs(1));
        assert_eq!(in_force(&t, tree.other_customer).await, (0, 0));
    }
);

api_test!(systems_pass_each_other_and_applications_are_assigned_meanwhile, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let (a, b) = (furnished(&t, &tree).await, furnished(&t, &tree).await);
    shift(&t, &owner, &b, tree.other_customer).await.expect(200);
    for round in 0..6_usize {
        let (here, there) =
            [(tree.customer, tree.other_customer), (tree.other_customer, tree.customer)][round % 2];
        let assign = |s: &Seeded, to: OrgId| {
            let path = format!("/api/applications/{}-mail3/assign", s.id);
            t.patch(&path).bearer(&owner.token).json(json!({"organization_id": to}))
        };
        let calls = [
            moving(&t, &owner, &a, there),
            moving(&t, &owner, &b, here),
            assign(&a, here),
            assign(&b, there),
        ];
        for reply in at_once(calls).await {
            reply.expect(200);
        }
        places_are_true(&t).await;
    }
});

api_test!(an_organization_that_goes_while_a_system_comes, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for round in 0..6_usize {
        let target = t.organization(tree.other_reseller, OrgType::Customer, "Target").await;
        let system = t.system(tree.customer).await;
        let end = format!("/api/customers/{target}");
        let end = match round % 3 {
            0 => t.delete(&format!("{end}/destroy")),
            1 => t.delete(&end),
            _ => t.patch(&format!("{end}/suspend")),
        };
        let replies = at_once([moving(&t, &owner, &system, target), end.bearer(&owner.token)]).await;
        let [moved, ended] = replies.as_slice() else { panic!("{replies:?}") };
        assert_eq!(ended.status, 200, "{}", ended.text());
        let shown = get(&t, &owner, &format!("/{}", system.id)).await;
        match (moved.status.as_u16(), round % 3) {
            // The system went along into the organization that was destroyed or deleted right after.
            (200, 0 | 1) => drop(shown.expect(404)),
            (200, _) => assert_eq!(shown.expect(200).data()["status"], "suspended"),
            (403, 0 | 1) => {
                assert_eq!(moved.message(), "access denied: organization not in your hierarchy");
                assert_eq!(shown.expect(200).data()["organization"]["id"], json!(tree.customer));
            }
            _ => panic!("{}", moved.text()),
        }
        places_are_true(&t).await;
    }
    // The other way round: the organization it leaves is destroyed meanwhile.
    for _ in 0..4 {
        let source = t.organization(tree.reseller, OrgType::Customer, "Source").await;
        let system = t.system(source).await;
        stored(&t, &system, "ciphertext").await;
        let end = t.delete(&format!("/api/customers/{source}/destroy")).bearer(&owner.token);
        let replies = at_once([moving(&t, &owner, &system, tree.other_customer), end]).await;
        assert_eq!(replies[1].status, 200, "{}", replies[1].text());
        let shown = get(&t, &owner, &format!("/{}", system.id)).await;
        match replies[0].status.as_u16() {
            200 => assert_eq!(shown.expect(200).data()["organization"]["id"], json!(tree.other_customer)),
            404 => drop(shown.expect(404)),
            _ => panic!("{}", replies[0].text()),
        }
        places_are_true(&t).await;
    }
});
