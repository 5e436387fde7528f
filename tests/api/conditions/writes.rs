//! Changes of exactly the state that a caller has seen.

use super::*;
use bailiwick_testkit::api_test;

api_test!(a_change_of_an_outdated_state_is_refused, |t| async move {
    let tree = t.tree().await;
    let (owner, entities) = entities(&t, &tree).await;
    for entity in entities {
        let path = entity.path.as_str();
        entity.write(&t, &owner, "first").send().await.expect(200);
        let etag = entity.tag(&t, &owner).await;
        let written = entity.write(&t, &owner, "second").header("if-match", &etag).send().await.expect(200);
        // The body of a change is not the answer of a read (RFC 9110 §9.3.4).
        assert_eq!(written.header("etag"), None, "{path}");
        let now = entity.tag(&t, &owner).await;
        refused(entity.write(&t, &owner, "lost").header("if-match", &etag).send().await, "If-Match");
        let weak = format!("W/{now}");
        let unknown = format!("\"x\", {etag}");
        for etag in [weak.as_str(), "\"x\"", &unknown, "", "\"\"", "\"x.y\""] {
            let reply = entity.write(&t, &owner, "lost").header("if-match", etag).send().await;
            refused(reply, "If-Match");
        }
        for etag in ["*", &now, &weak] {
            let reply = entity.write(&t, &owner, "lost").header("if-none-match", etag).send().await;
            refused(reply, "If-None-Match");
        }
        let reply = entity.write(&t, &owner, "lost").header("if-match", &now).header("if-none-match", "*");
        refused(reply.send().await, "If-None-Match");
        // Nothing of it has been done.
        assert_eq!(entity.tag(&t, &owner).await, now, "{path}");

        let listed = format!("\"x\",{now}");
        let write = |word: &str| entity.write(&t, &owner, word);
        write("third").header("if-match", &listed).send().await.expect(200);
        write("fourth").header("if-match", "*").header("if-none-match", "\"x\"").send().await.expect(200);
        let now = entity.tag(&t, &owner).await;
        write("fifth").header("if-match", "\"x\"").header("if-match", &now).send().await.expect(200);
        // Without a condition as ever.
        write("sixth").send().await.expect(200);
        assert!(entity.word(&t, &owner).await.as_str().unwrap().starts_with("sixth"), "{path}");
    }
});

// The service must not ignore a condition that it cannot read: the condition guards a change.
api_test!(a_condition_that_cannot_be_read_changes_nothing, |t| async move {
    let tree = t.tree().await;
    let (owner, entities) = entities(&t, &tree).await;
    for entity in entities {
        entity.write(&t, &owner, "first").send().await.expect(200);
        let before = entity.tag(&t, &owner).await;
        for (name, header) in [("If-Match", "if-match"), ("If-None-Match", "if-none-match")] {
            for unreadable in ["x", "\"x", "W/x", "w/\"x\"", "*, \"x\"", "\"x\" \"y\"", "\"x\"y", "**"] {
                let reply = entity.write(&t, &owner, "lost").header(header, unreadable).send().await;
                let data = reply.expect_fields(&[(name, "malformed_header")]).data();
                assert_eq!(data["errors"][0]["value"], unreadable);
            }
        }
        assert_eq!(entity.tag(&t, &owner).await, before, "{}", entity.path);
    }
});

// A caller who may not read the entity gets nothing of its state. A caller who may gets the answer about its state
// before the body is read.
api_test!(a_condition_is_looked_at_between_scope_and_body, |t| async move {
    let tree = t.tree().await;
    let (owner, entities) = entities(&t, &tree).await;
    let (foreign, below) =
        (t.user(tree.reseller, &["admin"]).await, t.user(tree.other_distributor, &["reader"]).await);
    for entity in entities {
        entity.write(&t, &owner, "first").send().await.expect(200);
        let now = entity.tag(&t, &owner).await;
        let path = entity.path.as_str();
        for etag in ["\"x\"", "x", "*", &now] {
            let write = |who: &Persona| entity.write(&t, who, "lost").header("if-match", etag);
            write(&below).send().await.expect_message(403, "insufficient permissions");
            let plain = entity.write(&t, &foreign, "lost").send().await;
            assert!([403, 404].contains(&plain.status.as_u16()), "{path}: {}", plain.text());
            let reply = write(&foreign).send().await;
            assert_eq!((reply.status, reply.text()), (plain.status, plain.text()), "{path} {etag}");
        }
        let broken = |etag: &str| {
            let call = t.call(entity.method.clone(), path).bearer(&owner.token).header("if-match", etag);
            call.body("{").send()
        };
        refused(broken("\"x\"").await, "If-Match");
        broken("x").await.expect_fields(&[("If-Match", "malformed_header")]);
        broken(&now).await.expect(400);
        broken("*").await.expect(400);
        assert_eq!(entity.tag(&t, &owner).await, now, "{path}");
    }
});

// A layer exists once a caller has saved one.
api_test!(a_layer_is_saved_for_the_first_time_or_not_at_all, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for path in ["/api/alerts/config", "/api/alerting/config"] {
        let path = format!("{path}?organization_id={}", tree.customer);
        let save = |word: &str| t.post(&path).bearer(&owner.token).json(layer(word));
        let remove = || t.delete(&path).bearer(&owner.token);
        let read = async || t.get(&path).bearer(&owner.token).send().await.expect(200);
        let none = tag(&read().await);
        t.get(&path).bearer(&owner.token).header("if-none-match", &none).send().await.expect(304);
        t.get(&path).bearer(&owner.token).header("if-none-match", "*").send().await.expect(200);
        refused(save("a").header("if-match", "*").send().await, "If-Match");
        refused(remove().header("if-match", "*").send().await, "If-Match");
        save("a").header("if-none-match", "*").send().await.expect(200);
        refused(save("b").header("if-none-match", "*").send().await, "If-None-Match");
        refused(save("b").header("if-match", &none).send().await, "If-Match");
        refused(remove().header("if-match", &none).send().await, "If-Match");
        let first = tag(&read().await);
        remove().header("if-match", &first).send().await.expect(200);
        refused(remove().header("if-match", &first).send().await, "If-Match");
        assert_eq!(tag(&read().await), none);
        save("c").header("if-match", &none).send().await.expect(200);
        remove().send().await.expect(200);
        // The merged layers of all organizations are no entity that a caller could change.
        let yaml = t.get(&format!("{path}&format=yaml")).bearer(&owner.token).header("if-none-match", "*");
        assert_eq!(yaml.send().await.expect(200).header("etag"), None);
    }
});
