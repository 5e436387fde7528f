//! Everything that is done with users, with links and forms alone.

use super::{Browser, ORIGIN, between};
use axum::http::Method;
use bailiwick_domain::UserId;
use bailiwick_testkit::{Call, Persona, Reply, Test, api_test, seed::Tree};
use serde_json::json;

/// A form with a picture.
pub async fn send_picture(browser: &Browser<'_>, path: &str, bytes: &[u8]) -> Reply {
    let head = "--frontier\r\nContent-Disposition: form-data; name=\"avatar\"; filename=\"me.png\"\r\n\
                Content-Type: image/png\r\n\r\n";
    let body = [head.as_bytes(), bytes, b"\r\n--frontier--\r\n"].concat();
    let call: Call = browser.call(Method::POST, path).header("origin", ORIGIN);
    call.header("content-type", "multipart/form-data; boundary=frontier").body(body).send().await
}

/// A picture that decodes.
pub fn picture() -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(8, 8).write_to(&mut out, image::ImageFormat::Png).unwrap();
    out.into_inner()
}

api_test!(a_user_is_made_edited_moved_suspended_deleted_and_destroyed, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    t.system(tree.customer).await;
    let browser = Browser::of(&t, &owner).await;
    assert!(
        browser
            .get("/console/")
            .await
            .expect(200)
            .text()
            .contains("class=\"number\" href=\"/console/users\"")
    );
    let form = browser.get("/console/users/new").await.expect(200).text();
    assert!(form.contains(&tree.customer.to_string()) && form.contains("value=\"admin\""), "{form}");
    assert!(
        !form.contains(&format!("value=\"{}\"", tree.owner)),
        "the owner organization takes no new users"
    );

    let organization = tree.customer.to_string();
    let wrong = [("organization_id", organization.as_str()), ("name", ""), ("email", "x")];
    let wrong = browser.post("/console/users/new", &wrong).await.expect(422).text();
    // All at once, with links to the fields and the focus in the first one.
    for field in ["name", "email", "user_role_ids"] {
        assert!(wrong.contains(&format!("id=\"{field}-wrong\"")), "{field}: {wrong}");
        assert!(wrong.contains(&format!("<a href=\"#{field}\">")), "{field}: {wrong}");
    }
    assert_eq!(wrong.matches(" autofocus").count(), 1);
    assert!(between(&wrong, "id=\"name\"", ">").contains("autofocus"), "{wrong}");
    let fields = [
        ("organization_id", organization.as_str()),
        ("name", ""),
        ("email", "x"),
        ("user_role_ids", "admin"),
    ];
    let wrong = browser.post("/console/users/new", &fields).await.expect(422).text();
    assert!(wrong.contains("id=\"name-wrong\"") && wrong.contains("id=\"email-wrong\""), "{wrong}");
    assert!(wrong.contains("value=\"admin\" checked"));
    let fields = [
        ("organization_id", organization.as_str()),
        ("name", "Anna <Neri>"),
        ("email", "anna.neri@example.org"),
        ("phone", "+39 011 5550100"),
        ("user_role_ids", "admin"),
        ("user_role_ids", "support"),
        ("data_key", "desk"),
        ("data_value", "Milano"),
    ];
    let made = browser.post("/console/users/new", &fields).await.expect(303);
    let address = made.header("location").unwrap().split('?').next().unwrap().to_owned();
    let page = browser.get(made.header("location").unwrap()).await.expect(200).text();
    assert!(
        page.contains("Anna &lt;Neri&gt;") && page.contains("anna.neri") && page.contains("Milano"),
        "{page}"
    );
    assert!(page.contains("The user is created.") && page.contains("390115550100"), "{page}");
    let taken = browser.post("/console/users/new", &fields).await.expect(422).text();
    assert!(taken.contains("This is taken already."));

    let form = browser.get(&format!("{address}/edit")).await.expect(200).text();
    assert!(form.contains("value=\"support\" checked") && form.contains("value=\"Milano\""), "{form}");
    let fields = [
        ("name", "Anna Neri"),
        ("email", "anna@example.org"),
        ("username", "anna"),
        ("phone", ""),
        ("user_role_ids", "reader"),
    ];
    browser.post(&format!("{address}/edit"), &[("name", ""), ("email", "x")]).await.expect(422);
    let saved = browser.post(&format!("{address}/edit"), &fields).await.expect(303);
    assert_eq!(saved.header("location"), Some(address.as_str()));
    let page = browser.get(&address).await.expect(200).text();
    assert!(
        page.contains("<code>anna</code>") && page.contains("Reader") && !page.contains("Milano"),
        "{page}"
    );

    let to = tree.reseller.to_string();
    assert!(browser.get(&format!("{address}/move")).await.expect(200).text().contains(&to));
    let owners = tree.owner.to_string();
    browser.post(&format!("{address}/move"), &[("organization_id", owners.as_str())]).await.expect(422);
    browser.post(&format!("{address}/move"), &[("organization_id", to.as_str())]).await.expect(303);
    assert!(browser.get(&address).await.expect(200).text().contains(&format!("organization_id={to}")));

    browser.post(&format!("{address}/suspend"), &[]).await.expect(303);
    let page = browser.get(&address).await.expect(200).text();
    assert!(page.contains("Set on the user") && page.contains("/reactivate\""), "{page}");
    browser.post(&format!("{address}/suspend"), &[]).await.expect(400);
    browser.post(&format!("{address}/reactivate"), &[]).await.expect(303);
    assert!(browser.get(&format!("{address}/delete")).await.expect(200).text().contains("Delete Anna Neri?"));
    browser.post(&format!("{address}/delete"), &[]).await.expect(303);
    browser.get(&address).await.expect(404);
    let deleted = browser.get("/console/users?status=deleted").await.expect(200).text();
    assert!(deleted.contains(&format!("{address}/restore")), "{deleted}");
    browser.get(&format!("{address}/restore")).await.expect(200);
    browser.post(&format!("{address}/restore"), &[]).await.expect(303);
    browser.post(&format!("{address}/destroy"), &[("name", "Anna")]).await.expect(422);
    browser.post(&format!("{address}/destroy"), &[("name", "Anna Neri")]).await.expect(303);
    browser.get(&address).await.expect(404);
});

api_test!(a_password_is_made_and_shown_once_or_chosen, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let user = t.user(tree.customer, &["reader"]).await;
    let browser = Browser::of(&t, &actor).await;
    let address = format!("/console/users/{}", user.id);
    assert!(browser.get(&address).await.expect(200).text().contains(&format!("{address}/password")));
    browser.get(&format!("{address}/password")).await.expect(200);
    let wrong =
        browser.post(&format!("{address}/password"), &[("password", "short")]).await.expect(422).text();
    assert!(wrong.contains("At least 12 characters") && !wrong.contains("short\""), "{wrong}");
    let made = browser.post(&format!("{address}/password"), &[("password", "")]).await.expect(200).text();
    let password = between(&made, "data-copy=\"", "\"");
    assert!(password.len() >= 14 && made.contains("shown only now"), "{made}");
    t.get("/api/me").bearer(&user.token).send().await.expect(401);
    let chosen = [("password", "Quiet-Harbour-58-Lamps")];
    let set = browser.post(&format!("{address}/password"), &chosen).await.expect(303);
    assert!(!browser.get(set.header("location").unwrap()).await.expect(200).text().contains("Harbour"));
});

api_test!(a_picture_comes_and_goes, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["admin"]).await;
    let user = t.user(tree.customer, &["reader"]).await;
    let browser = Browser::of(&t, &actor).await;
    let address = format!("/console/users/{}", user.id);
    let bad = send_picture(&browser, &format!("{address}/picture"), b"no picture").await.expect(422).text();
    assert!(bad.contains("must be PNG, JPEG or WebP"), "{bad}");
    let big =
        send_picture(&browser, &format!("{address}/picture"), &vec![0; 600_000]).await.expect(422).text();
    assert!(big.contains("larger than 500 kB"));
    send_picture(&browser, &format!("{address}/picture"), &picture()).await.expect(303);
    let page = browser.get(&address).await.expect(200).text();
    let source = between(&page, "class=\"face \" src=\"", "\"");
    t.get(source).send().await.expect(200);
    browser.post(&format!("{address}/picture/remove"), &[]).await.expect(303);
    assert!(!browser.get(&address).await.expect(200).text().contains("<img"));
    let forged = browser.call(Method::POST, &format!("{address}/picture"));
    forged.header("content-type", "multipart/form-data; boundary=x").body("--x--").send().await.expect(403);
});

api_test!(the_list_has_filters_order_pages_and_an_export, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for _ in 0..21 {
        t.user(tree.customer, &["reader"]).await;
    }
    let admin = t.user(tree.reseller, &["admin"]).await;
    let browser = Browser::of(&t, &owner).await;
    let page = browser.get("/console/users?sort_by=name").await.expect(200).text();
    assert!(page.contains("aria-sort=\"ascending\"") && page.contains("page=2"), "{page}");
    let admins = browser.get("/console/users?role=admin&page_size=100").await.expect(200).text();
    assert!(admins.contains(&admin.id.to_string()) && !admins.contains("Reader</td>"), "{admins}");
    assert!(admins.contains("Remove the filter"));
    let here =
        browser.get(&format!("/console/users?organization_id={}", tree.reseller)).await.expect(200).text();
    assert!(here.contains(&admin.id.to_string()) && here.contains("Alfa"), "{here}");
    assert!(
        browser.get("/console/users?search=nowhere").await.expect(200).text().contains("No user matches")
    );
    let suspended = browser.get("/console/users?status=suspended").await.expect(200).text();
    assert!(suspended.contains("No user matches"));
    let file = browser.get("/console/users/export?format=csv&role=admin").await.expect(200);
    assert!(file.header("content-type").unwrap().starts_with("text/csv"));
    // In the order of the list.
    for name in ["Aaron First", "Zoe Last"] {
        let body = json!({"name": name, "email": format!("{}@example.org", &name[..3]),
            "user_role_ids": ["reader"], "organization_id": tree.customer});
        t.post("/api/users").bearer(&owner.token).json(body).send().await.expect(201);
    }
    let query = "sort_by=name&search=st&page_size=100";
    for path in ["/console/users", "/console/users/export"] {
        let text = browser.get(&format!("{path}?{query}&format=csv")).await.expect(200).text();
        let [first, last] = ["Aaron First", "Zoe Last"].map(|name| text.find(name).unwrap());
        assert!(first < last, "{path}: {text}");
    }
});

/// Words of actions that the page of a user offers.
async fn offered(browser: &Browser<'_>, id: UserId) -> Vec<&'static str> {
    let page = browser.get(&format!("/console/users/{id}")).await.expect(200).text();
    let words =
        ["edit", "move", "password", "suspend", "reactivate", "delete", "destroy", "picture", "impersonate"];
    words.into_iter().filter(|word| page.contains(&format!("/console/users/{id}/{word}\""))).collect()
}

api_test!(actions_are_those_of_the_person, |t| async move {
    let tree = t.tree().await;
    let target = t.user(tree.customer, &["reader"]).await;
    let manage = ["edit", "move", "password", "suspend", "delete"];
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for (role, is_manager, may_destroy) in [
            ("super", true, true),
            ("admin", true, false),
            ("backoffice", true, false),
            ("support", false, false),
            ("reader", false, false),
        ] {
            let user = t.user(org, &[role]).await;
            let browser = Browser::of(&t, &user).await;
            let reply = t.get(&format!("/api/users/{}", target.id)).bearer(&user.token).send().await;
            let home = browser.get("/console/").await.expect(200).text();
            let page = browser.get(&format!("/console/users/{}", target.id)).await;
            assert_eq!(page.status, reply.status, "{role}");
            if reply.status != 200 {
                assert!(!home.contains("href=\"/console/users\""), "{role}");
                assert_eq!(
                    browser.get("/console/users").await.status,
                    t.get("/api/users").bearer(&user.token).send().await.status
                );
                continue;
            }
            assert!(home.contains("href=\"/console/users\""), "{role}");
            let mut expected: Vec<&str> = Vec::new();
            let update = t.put(&format!("/api/users/{}", target.id)).bearer(&user.token).json(json!({}));
            let can = update.send().await.status == 200;
            assert_eq!(can, is_manager, "{role} of {org}");
            if can {
                expected.extend(manage);
                expected.extend(may_destroy.then_some("destroy"));
                expected.push("picture");
            }
            assert_eq!(offered(&browser, target.id).await, expected, "{role} of {org}");
            let list = browser.get("/console/users").await.expect(200).text();
            assert_eq!(list.contains("/console/users/new"), is_manager, "{role}");
            for word in ["edit", "move", "password", "suspend", "delete", "destroy"] {
                if !expected.contains(&word) {
                    let form = [("name", "x"), ("password", "Quiet-Harbour-58-Lamps")];
                    browser.post(&format!("/console/users/{}/{word}", target.id), &form).await.expect(403);
                }
            }
            if !can {
                let path = format!("/console/users/{}/picture", target.id);
                send_picture(&browser, &path, &picture()).await.expect(403);
                browser.post(&format!("{path}/remove"), &[]).await.expect(403);
                browser.get("/console/users/new").await.expect(403);
                browser.post("/console/users/new", &[("name", "x")]).await.expect(403);
            }
        }
    }
});

api_test!(roles_are_offered_within_rank_and_nobody_acts_on_themselves, |t| async move {
    let tree = t.tree().await;
    let admin = t.user(tree.distributor, &["admin"]).await;
    let browser = Browser::of(&t, &admin).await;
    let form = browser.get("/console/users/new").await.expect(200).text();
    assert!(form.contains("value=\"reader\"") && !form.contains("value=\"super\""), "{form}");
    let organization = tree.customer.to_string();
    let above = [
        ("organization_id", organization.as_str()),
        ("name", "Above"),
        ("email", "above@example.org"),
        ("user_role_ids", "super"),
    ];
    browser.post("/console/users/new", &above).await.expect(403);
    let own = format!("/console/users/{}", admin.id);
    let page = browser.get(&own).await.expect(200).text();
    assert!(page.contains("This is you") && offered(&browser, admin.id).await.is_empty(), "{page}");
    for word in ["edit", "suspend", "delete", "password"] {
        browser.post(&format!("{own}/{word}"), &[("name", "x")]).await.expect(403);
    }
});

/// Pages of users in other branches, of missing ones and of nonsense.
async fn ids(t: &Test, tree: &Tree) -> [String; 3] {
    let foreign = t.user(tree.other_customer, &["reader"]).await;
    let missing: UserId = t.app.platform.fresh();
    [foreign.id.to_string(), missing.to_string(), "nonsense".to_owned()]
}

api_test!(what_is_foreign_and_what_never_was_are_the_same_page, |t| async move {
    let tree = t.tree().await;
    let ids = ids(&t, &tree).await;
    for org in [tree.distributor, tree.reseller, tree.customer] {
        let user: Persona = t.user(org, &["super"]).await;
        let browser = Browser::of(&t, &user).await;
        let gets = ["", "/edit", "/move", "/password", "/suspend", "/destroy", "/restore"];
        let posts = [
            "/edit",
            "/move",
            "/password",
            "/suspend",
            "/reactivate",
            "/delete",
            "/restore",
            "/destroy",
            "/picture/remove",
        ];
        for tail in gets {
            let mut pages = Vec::new();
            for id in &ids {
                pages.push(browser.get(&format!("/console/users/{id}{tail}")).await.expect(404).body);
            }
            assert!(pages.windows(2).all(|pair| pair[0] == pair[1]), "{tail}");
        }
        for tail in posts {
            let mut pages = Vec::new();
            for id in &ids {
                let form = [("name", "x"), ("organization_id", "x")];
                pages.push(browser.post(&format!("/console/users/{id}{tail}"), &form).await.expect(404).body);
            }
            assert!(pages.windows(2).all(|pair| pair[0] == pair[1]), "{tail}");
        }
        let mut pages = Vec::new();
        for id in &ids {
            pages.push(
                send_picture(&browser, &format!("/console/users/{id}/picture"), &picture())
                    .await
                    .expect(404)
                    .body,
            );
        }
        assert!(pages.windows(2).all(|pair| pair[0] == pair[1]));
        let list = browser.get("/console/users?page_size=100").await.expect(200).text();
        assert!(!list.contains(&ids[0]) && !list.contains("Beta"));
        let named = format!("/console/users?organization_id={}&created_by={}", tree.other_customer, ids[0]);
        assert!(!browser.get(&named).await.expect(200).text().contains("Beta"));
    }
});

api_test!(somebody_acts_as_a_user_who_agrees, |t| async move {
    let tree = t.tree().await;
    let actor = t.user(tree.distributor, &["super"]).await;
    let target = t.user(tree.customer, &["reader"]).await;
    let browser = Browser::of(&t, &actor).await;
    let address = format!("/console/users/{}", target.id);
    let page = browser.get(&address).await.expect(200).text();
    assert!(page.contains("Not now:") && !page.contains(&format!("{address}/impersonate")), "{page}");
    browser.post(&format!("{address}/impersonate"), &[]).await.expect(403);
    let consent = t.post("/api/impersonate/consent").bearer(&target.token);
    consent.json(json!({"duration_hours": 2})).send().await.expect(200);
    let page = browser.get(&address).await.expect(200).text();
    assert!(page.contains(&format!("{address}/impersonate")) && page.contains("Until"), "{page}");
    let begun = browser.post(&format!("{address}/impersonate"), &[]).await.expect(303);
    assert_eq!(begun.header("location"), Some("/console/"));
    let home = browser.get("/console/").await.expect(200).text();
    assert!(home.contains("You act as"), "{home}");
    browser.post(&format!("{address}/impersonate"), &[]).await.expect(403);
    let reader = t.user(tree.distributor, &["reader"]).await;
    Browser::of(&t, &reader).await.post(&format!("{address}/impersonate"), &[]).await.expect(403);
});
