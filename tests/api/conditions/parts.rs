//! Values that change by themselves must not stand in the way of a caller who changes something.

use super::*;
use crate::applications::{cluster, module, send};
use bailiwick_testkit::api_test;
use std::time::Duration;

/// Both halves of a tag: the values that people change, and everything that is shown.
#[track_caller]
fn halves(tag: &str) -> (String, String) {
    let (state, shown) = tag.trim_matches('"').split_once('.').unwrap();
    (state.to_owned(), shown.to_owned())
}

api_test!(reports_of_a_system_do_not_block_a_change, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let path = format!("/api/systems/{}", system.id);
    for (round, report) in ["heartbeat", "inventory", "time"].into_iter().enumerate() {
        // The clock outlives a session.
        let owner = t.owner().await;
        let read = async || tag(&t.get(&path).bearer(&owner.token).send().await.expect(200));
        let put = |notes: &str| t.put(&path).bearer(&owner.token).json(json!({"notes": notes}));
        let ask = |etag: &str| t.get(&path).bearer(&owner.token).header("if-none-match", etag);
        let etag = read().await;
        assert_eq!(read().await, etag);
        t.advance(Duration::from_secs(60));
        match report {
            "heartbeat" => {
                let call = t.post("/systems/heartbeat").basic(&system.key, &system.secret);
                assert!(call.send().await.status.is_success());
            }
            "inventory" => send(&t, &system, cluster(json!([]))).await,
            // Minutes since the last heartbeat.
            _ => t.advance(Duration::from_secs(300)),
        }
        // There is something new to see, but no person has changed anything.
        let shown = ask(&etag).send().await.expect(200);
        let (before, after) = (halves(&etag), halves(&tag(&shown)));
        assert_eq!(before.0, after.0, "{report}");
        assert_ne!(before.1, after.1, "{report}");
        put(&format!("round {round}")).header("if-match", &etag).send().await.expect(200);
        refused(put("lost").header("if-match", &etag).send().await, "If-Match");
    }
});

api_test!(inventory_of_an_application_does_not_block_a_change, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let system = t.system(tree.customer).await;
    let document = |version: &str| {
        let mut mail = module("mail1", "mail");
        mail["version"] = json!(version);
        cluster(json!([mail]))
    };
    send(&t, &system, document("1.0")).await;
    let path = format!("/api/applications/{}-mail1", system.id);
    let read = async || tag(&t.get(&path).bearer(&owner.token).send().await.expect(200));
    let etag = read().await;
    t.advance(Duration::from_secs(60));
    send(&t, &system, document("2.0")).await;
    let now = read().await;
    assert_eq!(halves(&etag).0, halves(&now).0);
    assert_ne!(etag, now);
    let put = || t.put(&path).bearer(&owner.token).json(json!({"notes": "seen to"}));
    put().header("if-match", &etag).send().await.expect(200);
    refused(put().header("if-match", &etag).send().await, "If-Match");
});

// A new name, or another state, of the organization is shown with its people and systems; it is no change of them.
api_test!(changes_above_do_not_block_a_change, |t| async move {
    let tree = t.tree().await;
    let (owner, entities) = entities(&t, &tree).await;
    let below: Vec<&Entity> = entities
        .iter()
        .filter(|e| ["/users/", "/systems/"].iter().any(|kind| e.path.contains(kind)))
        .collect();
    let mut etag = Vec::new();
    for entity in &below {
        etag.push(entity.tag(&t, &owner).await);
    }
    for (family, id) in [("resellers", tree.other_reseller), ("customers", tree.other_customer)] {
        let body = json!({"name": format!("New {family}")});
        t.put(&format!("/api/{family}/{id}")).bearer(&owner.token).json(body).send().await.expect(200);
    }
    let distributor = format!("/api/distributors/{}", tree.other_distributor);
    t.patch(&format!("{distributor}/suspend")).bearer(&owner.token).send().await.expect(200);
    for (entity, etag) in below.iter().zip(&etag) {
        let now = entity.tag(&t, &owner).await;
        assert_eq!(halves(etag).0, halves(&now).0, "{}", entity.path);
        assert_ne!(*etag, now, "{}", entity.path);
    }
    t.patch(&format!("{distributor}/reactivate")).bearer(&owner.token).send().await.expect(200);
    for (entity, etag) in below.iter().zip(&etag) {
        entity.write(&t, &owner, "changed").header("if-match", etag).send().await.expect(200);
    }
});

// Two changes within one tick of the clock are two states; the same content again is the same state.
api_test!(a_tag_goes_by_content_and_not_by_time, |t| async move {
    let tree = t.tree().await;
    let (owner, entities) = entities(&t, &tree).await;
    for entity in entities {
        let mut tags = Vec::new();
        for word in ["one", "two", "one"] {
            entity.write(&t, &owner, word).send().await.expect(200);
            tags.push(halves(&entity.tag(&t, &owner).await).0);
        }
        assert_ne!(tags[0], tags[1], "{}", entity.path);
        assert_eq!(tags[0], tags[2], "{}", entity.path);
        t.advance(Duration::from_secs(60));
        let etag = entity.tag(&t, &owner).await;
        entity.write(&t, &owner, "one").header("if-match", &etag).send().await.expect(200);
        entity.write(&t, &owner, "two").header("if-match", &etag).send().await.expect(200);
    }
});
