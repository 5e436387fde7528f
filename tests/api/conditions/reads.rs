//! Answers that a reader gets, and does not get twice.

use super::*;
use bailiwick_policy::KeyMode;
use bailiwick_testkit::api_test;

api_test!(an_entity_that_has_not_changed_is_not_sent_again, |t| async move {
    let tree = t.tree().await;
    let (owner, entities) = entities(&t, &tree).await;
    for entity in entities {
        entity.write(&t, &owner, "first").send().await.expect(200);
        let path = entity.path.as_str();
        let read = entity.read(&t, &owner).await;
        let (tag, body) = (tag(&read), read.json());
        let varies: Vec<&str> = read.headers.get_all("vary").iter().map(|v| v.to_str().unwrap()).collect();
        assert!(varies.iter().any(|v| v.eq_ignore_ascii_case("authorization")), "{path}: {varies:?}");
        assert_eq!(read.header("cache-control"), Some("no-store"), "{path}");

        let ask = |etag: &str| t.get(path).bearer(&owner.token).header("if-none-match", etag);
        let weak = format!("W/{tag}");
        let listed = format!("\"a,b\" ,, {tag},W/\"c\"");
        for etag in [tag.as_str(), &weak, &listed, "*", " * "] {
            let reply = ask(etag).send().await.expect(304);
            assert_eq!((reply.body.len(), reply.header("etag")), (0, Some(tag.as_str())), "{path} {etag}");
            assert_eq!(reply.header("content-type"), None, "{path} {etag}");
            assert!(reply.headers.contains_key("vary"), "{path} {etag}");
        }
        ask("\"x\"").header("if-none-match", &tag).send().await.expect(304);
        // A header that cannot be read is as good as none: a reader gets everything.
        for etag in ["\"x\"", "", "x", &tag[1..], "*, \"x\"", "w/\"x\""] {
            assert_eq!(ask(etag).send().await.expect(200).json(), body, "{path} {etag}");
        }
        let head = t.call(Method::HEAD, path).bearer(&owner.token);
        assert_eq!(head.send().await.expect(200).header("etag"), Some(tag.as_str()), "{path}");
        let head = t.call(Method::HEAD, path).bearer(&owner.token).header("if-none-match", &tag);
        head.send().await.expect(304);

        entity.write(&t, &owner, "second").send().await.expect(200);
        let changed = ask(&tag).send().await.expect(200);
        assert_ne!(super::tag(&changed), tag, "{path}");
        assert_ne!(changed.data(), body["data"], "{path}");
    }
});

// If-Match comes first, also where something is only read (RFC 9110 §13.2.2).
api_test!(a_reader_may_insist_on_what_he_knows, |t| async move {
    let tree = t.tree().await;
    let (owner, entities) = entities(&t, &tree).await;
    for entity in entities {
        entity.write(&t, &owner, "first").send().await.expect(200);
        let old = entity.tag(&t, &owner).await;
        let ask = |etag: &str| t.get(&entity.path).bearer(&owner.token).header("if-match", etag);
        ask(&old).send().await.expect(200);
        ask(&old).header("if-none-match", &old).send().await.expect(304);
        entity.write(&t, &owner, "second").send().await.expect(200);
        refused(ask(&old).send().await, "If-Match");
        let new = entity.tag(&t, &owner).await;
        refused(ask(&old).header("if-none-match", &new).send().await, "If-Match");
        ask("*").send().await.expect(200);
    }
});

// Packed bytes are others, so they have a tag of their own; both are known again.
api_test!(a_packed_answer_has_a_tag_of_its_own, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let path = format!("/api/customers/{}", tree.customer);
    let about = "x".repeat(4000);
    let write = |about: &str| t.put(&path).bearer(&owner.token).json(json!({"description": about}));
    write(&about).send().await.expect(200);
    let plain = tag(&t.get(&path).bearer(&owner.token).send().await.expect(200));
    let ask = || t.get(&path).bearer(&owner.token).header("accept-encoding", "gzip");
    let reply = ask().send().await.expect(200);
    assert_eq!(reply.header("content-encoding"), Some("gzip"));
    let packed = tag(&reply);
    assert_ne!(packed, plain);
    let head = t.call(Method::HEAD, &path).bearer(&owner.token).header("accept-encoding", "gzip");
    let head = head.send().await.expect(200);
    for name in ["content-encoding", "etag", "vary"] {
        assert_eq!(head.header(name), reply.header(name), "{name} of HEAD");
    }
    for etag in [&plain, &packed] {
        ask().header("if-none-match", etag).send().await.expect(304);
        t.get(&path).bearer(&owner.token).header("if-none-match", etag).send().await.expect(304);
    }
    write("short").header("if-match", &packed).send().await.expect(200);
    refused(write("shorter").header("if-match", &packed).send().await, "If-Match");
});

// A caller with less access gets other bytes, hence another tag, and may still send it as a condition.
api_test!(callers_with_different_views_get_different_tags, |t| async move {
    let tree = t.tree().await;
    let admin = t.user(tree.reseller, &["admin"]).await;
    // A key is not shown secrets.
    let (_, token) = t.api_key(admin.id, KeyMode::Read).await;
    let reader = Persona { token, ..admin.clone() };
    let path = "/api/alerts/config";
    let read = async |who: &Persona| t.get(path).bearer(&who.token).send().await.expect(200);
    let hook = |key: &str| {
        let url = format!("https://8.8.8.8/h?key={key}");
        json!({"webhook_recipients": [{"name": "hook", "url": url, "severities": []}]})
    };
    let save = |key: &str| t.post(path).bearer(&admin.token).json(hook(key));
    save("first").send().await.expect(200);
    let (whole, redacted) = (read(&admin).await, read(&reader).await);
    assert_ne!(whole.data(), redacted.data());
    assert_ne!(tag(&whole), tag(&redacted));
    let foreign = t.get(path).bearer(&reader.token).header("if-none-match", &tag(&whole));
    foreign.send().await.expect(200);
    save("second").header("if-match", &tag(&redacted)).send().await.expect(200);
    // A new secret is a change, also for a caller who may not see it.
    refused(save("third").header("if-match", &tag(&redacted)).send().await, "If-Match");
    assert_ne!(tag(&read(&reader).await), tag(&redacted));

    let person = t.user(tree.reseller, &["reader"]).await;
    let path = format!("/api/users/{}", person.id);
    let owner = t.owner().await;
    let reply_to = async |who: &Persona| t.get(&path).bearer(&who.token).send().await.expect(200);
    let (more, less) = (reply_to(&owner).await, reply_to(&admin).await);
    assert_ne!((more.data(), tag(&more)), (less.data(), tag(&less)));
});

api_test!(
    pages_of_other_origins_may_use_conditions,
    |settings| settings.cors_origins = vec!["https://ui.example.org".into()],
    |t| async move {
        let owner = t.owner().await;
        let path = format!("/api/users/{}", owner.id);
        let ask = |method: Method| t.call(method, &path).header("origin", "https://ui.example.org");
        let reply =
            ask(Method::OPTIONS).header("access-control-request-method", "PUT").send().await.expect(200);
        let allowed = reply.header("access-control-allow-headers").unwrap();
        for header in ["if-match", "if-none-match"] {
            assert!(allowed.split(',').any(|one| one == header), "{allowed}");
        }
        let reply = ask(Method::GET).bearer(&owner.token).send().await.expect(200);
        let exposed = reply.header("access-control-expose-headers").unwrap();
        assert!(exposed.split(',').any(|one| one == "etag"), "{exposed}");
        let again = ask(Method::GET).bearer(&owner.token).header("if-none-match", &tag(&reply));
        let again = again.send().await.expect(304);
        assert_eq!(again.header("access-control-allow-origin"), Some("https://ui.example.org"));
    }
);
