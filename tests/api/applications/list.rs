//! The list of applications: scopes, filters, orders, pages (spec: applications#operations).

use super::*;
use bailiwick_domain::OrgType;

/// Applications of two systems of the first branch and one of the other, with everything that orders can distinguish.
async fn zoo(t: &Test, owner: &Persona) -> [Seeded; 3] {
    let tree = t.tree().await;
    let systems =
        [t.system(tree.customer).await, t.system(tree.reseller).await, t.system(tree.other_customer).await];
    for (s, name) in systems.iter().zip(["Beta", "alfa", "Gamma"]) {
        let path = format!("/api/systems/{}", s.id);
        t.put(&path).bearer(&owner.token).json(json!({"name": name})).send().await.expect(200);
    }
    let with = |id: &str, kind: &str, version: &str, level: u64, display: &str| {
        let mut m = module(id, kind);
        (m["version"], m["certification_level"], m["ui_name"]) =
            (json!(version), json!(level), json!(display));
        m
    };
    for (s, modules) in systems.iter().zip([
        json!([
            with("mail1", "mail", "1.0", 4, "Zebra"),
            with("web1", "webserver", "2.0", 5, ""),
            with("web2", "webserver", "1.0", 4, "Café")
        ]),
        json!([
            with("mail1", "mail", "1.2", 5, "aardvark"),
            with("loki1", "loki", "1", 5, ""),
            with("doku1", "dokuwiki", "1", 3, "")
        ]),
        json!([with("cloud1", "nextcloud", "9", 4, "b_1"), with("mail2", "mail", "1.0", 4, "b%1")]),
    ]) {
        t.advance(Duration::from_secs(60));
        send(t, s, cluster(modules)).await;
    }
    let rows = by_module(t, owner, "type=webserver").await;
    assign(t, owner, rows["web1"]["id"].as_str().unwrap(), tree.customer).await.expect(200);
    let rows = by_module(t, owner, "type=nextcloud").await;
    assign(t, owner, rows["cloud1"]["id"].as_str().unwrap(), tree.other_reseller).await.expect(200);
    t.advance(Duration::from_secs(60));
    systems
}

/// `<system>/<module>` of a list, in its order.
fn names(reply: &Reply) -> Vec<String> {
    assert_eq!(reply.message(), "applications retrieved successfully", "{}", reply.text());
    let data = reply.data();
    let rows = data["applications"].as_array().unwrap().clone();
    rows.iter()
        .map(|r| format!("{}/{}", r["system"]["name"].as_str().unwrap(), r["module_id"].as_str().unwrap()))
        .collect()
}

async fn listed(t: &Test, who: &Persona, query: &str) -> Vec<String> {
    let reply = get(t, who, &format!("/applications?{query}")).await;
    let names = names(&reply);
    assert_eq!(reply.data()["pagination"]["total_count"], names.len(), "{query}");
    names
}

async fn org(t: &Test, name: &str) -> String {
    let text = "SELECT [[CAST(id AS text)||lower(hex(id))]] FROM organizations WHERE name = ?";
    let (id,): (String,) = Q::new(text).bind(name).one(&t.app.platform.db).await.unwrap();
    uuid::Uuid::parse_str(&id).unwrap().to_string()
}

// Proves spec: acceptance#scenarios 30.
api_test!(each_filter, |t| async move {
    let owner = t.owner().await;
    let [beta, alfa, _] = zoo(&t, &owner).await;
    let (c, or, d) =
        (org(&t, "Alfa Customer").await, org(&t, "Beta Reseller").await, org(&t, "Beta Distributor").await);
    let unknown = "01950000-0000-7000-8000-000000000000";
    for (query, expected) in [
        (
            String::new(),
            vec!["Beta/mail1", "Beta/web1", "Beta/web2", "Gamma/cloud1", "Gamma/mail2", "alfa/mail1"],
        ),
        ("search=ZEBRA".into(), vec!["Beta/mail1"]),
        ("search=caf%C3%89".into(), vec!["Beta/web2"]),
        ("search=b_1".into(), vec!["Gamma/cloud1"]),
        ("search=b%251".into(), vec!["Gamma/mail2"]),
        ("search=webserv".into(), vec!["Beta/web1", "Beta/web2"]),
        ("search=ALFA".into(), vec!["alfa/mail1"]),
        ("search=doku".into(), vec![]),
        ("search=a%00b".into(), vec![]),
        ("type=mail".into(), vec!["Beta/mail1", "Gamma/mail2", "alfa/mail1"]),
        ("type=mail&type=nextcloud".into(), vec!["Beta/mail1", "Gamma/cloud1", "Gamma/mail2", "alfa/mail1"]),
        ("type=MAIL".into(), vec![]),
        ("type=loki".into(), vec![]),
        ("type=".into(), vec![]),
        ("version=1.0".into(), vec!["Beta/mail1", "Beta/web2", "Gamma/mail2"]),
        ("version=mail:1.0&version=nextcloud:9".into(), vec!["Beta/mail1", "Gamma/cloud1", "Gamma/mail2"]),
        ("version=mail:2.0".into(), vec![]),
        ("version=".into(), vec![]),
        (format!("system_id={}", beta.id), vec!["Beta/mail1", "Beta/web1", "Beta/web2"]),
        (format!("system_id={}&system_id={}&type=mail", beta.id, alfa.id), vec!["Beta/mail1", "alfa/mail1"]),
        ("system_id=x".into(), vec![]),
        ("status=assigned".into(), vec!["Beta/web1", "Gamma/cloud1"]),
        ("status=unassigned&type=mail".into(), vec!["Beta/mail1", "Gamma/mail2", "alfa/mail1"]),
        ("status=assigned&type=mail".into(), vec![]),
        ("status=error".into(), vec![]),
        ("status=nonsense".into(), vec![]),
        (format!("organization_id={c}"), vec!["Beta/web1"]),
        (
            format!("organization_id={c}&organization_id=no_org&type=webserver"),
            vec!["Beta/web1", "Beta/web2"],
        ),
        ("organization_id=no_org&type=nextcloud".into(), vec![]),
        (format!("organization_id={d}"), vec![]),
        (format!("organization_id={d}&include_hierarchy=true"), vec!["Gamma/cloud1"]),
        (format!("organization_id={or}&include_hierarchy=true"), vec!["Gamma/cloud1"]),
        (format!("organization_id={c}&include_hierarchy=true"), vec!["Beta/web1"]),
        (format!("organization_id={}&include_hierarchy=true", owner.org), vec!["Beta/web1", "Gamma/cloud1"]),
        (format!("organization_id={unknown}"), vec![]),
        ("organization_id=nonsense&include_hierarchy=true".into(), vec![]),
    ] {
        let mut found = listed(&t, &owner, &query).await;
        found.sort();
        assert_eq!(found, expected, "{query}");
    }
    let many = format!("/applications?{}", "type=a&".repeat(1001));
    get(&t, &owner, &many).await.expect_message(400, "too many filter values");
    let long = format!("/applications?search={}", "x".repeat(60_000));
    assert_eq!(data(&t, &owner, &long).await["applications"], json!([]));
});

api_test!(every_order_is_total_and_pages_are_stable, |t| async move {
    let owner = t.owner().await;
    zoo(&t, &owner).await;
    for (order, expected) in [
        (
            "display_name",
            ["alfa/mail1", "Gamma/mail2", "Gamma/cloud1", "Beta/web2", "Beta/web1", "Beta/mail1"],
        ),
        ("version", ["1.0", "1.0", "1.0", "1.2", "2.0", "9"]),
        ("certification_level", ["4", "4", "4", "4", "5", "5"]),
        ("instance_of", ["mail", "mail", "mail", "nextcloud", "webserver", "webserver"]),
        ("module_id", ["cloud1", "mail1", "mail1", "mail2", "web1", "web2"]),
        ("status", ["assigned", "assigned", "unassigned", "unassigned", "unassigned", "unassigned"]),
        ("system_name", ["alfa", "Beta", "Beta", "Beta", "Gamma", "Gamma"]),
        ("organization_name", ["Alfa Customer", "Beta Reseller", "-", "-", "-", "-"]),
        ("created_at", [""; 6]),
        ("updated_at", [""; 6]),
        ("last_inventory_at", [""; 6]),
    ] {
        let rows = data(&t, &owner, &format!("/applications?sort_by={order}")).await;
        let rows = rows["applications"].as_array().unwrap().clone();
        let shown: Vec<String> = rows
            .iter()
            .map(|r| match order {
                "display_name" => {
                    format!("{}/{}", r["system"]["name"].as_str().unwrap(), r["module_id"].as_str().unwrap())
                }
                "system_name" => r["system"]["name"].as_str().unwrap().to_owned(),
                "organization_name" => r["organization"]["name"].as_str().unwrap_or("-").to_owned(),
                "certification_level" => r["inventory_data"][order].to_string(),
                _ => r[order].as_str().unwrap_or_default().to_owned(),
            })
            .collect();
        match order {
            "created_at" | "last_inventory_at" => assert!(shown.is_sorted(), "{order}: {shown:?}"),
            "updated_at" => {}
            _ => assert_eq!(shown, expected, "{order}"),
        }
        let ids = |data: &Value| -> Vec<String> {
            let rows = data["applications"].as_array().unwrap();
            rows.iter().map(|r| r["id"].as_str().unwrap().to_owned()).collect()
        };
        let up = ids(&data(&t, &owner, &format!("/applications?sort_by={order}")).await);
        let mut down =
            ids(&data(&t, &owner, &format!("/applications?sort_by={order}&sort_direction=desc")).await);
        down.reverse();
        assert_eq!(up, down, "{order}");
        for size in [1, 4] {
            let mut pages = Vec::new();
            for page in 1..=6_usize.div_ceil(size) {
                let path = format!("/applications?sort_by={order}&page_size={size}&page={page}");
                let page = data(&t, &owner, &path).await;
                assert_eq!(
                    (&page["pagination"]["total_count"], &page["pagination"]["sort_by"]),
                    (&json!(6), &json!(order))
                );
                pages.extend(ids(&page));
            }
            assert_eq!(pages, up, "{order} in pages of {size}");
        }
    }
    let default = listed(&t, &owner, "").await;
    let newest = listed(&t, &owner, "sort_by=created_at&sort_direction=desc").await;
    assert_eq!((&default, listed(&t, &owner, "sort_by=nonsense").await), (&newest, newest.clone()));
    let past = data(&t, &owner, "/applications?page=99&page_size=101").await;
    assert_eq!((&past["applications"], &past["pagination"]["total_count"]), (&json!([]), &json!(6)));
    assert_eq!(past["pagination"]["page_size"], 100);
    assert_eq!(data(&t, &owner, "/applications?page_size=0").await["pagination"]["page_size"], 50);
});

api_test!(lists_stay_inside_the_scope, |t| async move {
    let owner = t.owner().await;
    zoo(&t, &owner).await;
    for (name, expected) in [
        ("Alfa Distributor", vec!["Beta/mail1", "Beta/web1", "Beta/web2", "alfa/mail1"]),
        ("Alfa Reseller", vec!["Beta/mail1", "Beta/web1", "Beta/web2", "alfa/mail1"]),
        ("Alfa Customer", vec!["Beta/mail1", "Beta/web1", "Beta/web2"]),
        ("Beta Distributor", vec!["Gamma/cloud1", "Gamma/mail2"]),
        // Assigned to a reseller, yet the organization of its system decides which users see it.
        ("Beta Reseller", vec!["Gamma/cloud1", "Gamma/mail2"]),
    ] {
        let who = t.user(org(&t, name).await.parse().unwrap(), &["reader"]).await;
        for order in ["display_name", "system_name", "organization_name", "last_inventory_at", "created_at"] {
            let mut found = listed(&t, &who, &format!("sort_by={order}")).await;
            found.sort();
            assert_eq!(found, expected, "{name} by {order}");
        }
        // A filter never widens it.
        let query = format!("organization_id={}&include_hierarchy=true", owner.org);
        assert!(listed(&t, &who, &query).await.iter().all(|n| expected.contains(&n.as_str())));
    }
    let stranger = t.organization(owner.org, OrgType::Customer, "Stranger").await;
    let stranger = t.user(stranger, &["reader"]).await;
    assert_eq!(listed(&t, &stranger, "").await, Vec::<String>::new());
    t.get("/api/applications").send().await.expect_message(401, "authorization header required");
});

api_test!(a_renamed_system_moves_in_the_order, |t| async move {
    let owner = t.owner().await;
    let [beta, ..] = zoo(&t, &owner).await;
    let path = format!("/api/systems/{}", beta.id);
    t.put(&path).bearer(&owner.token).json(json!({"name": "Zeta"})).send().await.expect(200);
    let found = listed(&t, &owner, "sort_by=system_name").await;
    assert!(found[5].starts_with("Zeta/") && found[0].starts_with("alfa/"), "{found:?}");
    assert_eq!(listed(&t, &owner, "search=zeta").await.len(), 3);
});

// Proves spec: authorization#guarantees 14.
api_test!(an_organization_outside_the_readers_hierarchy_is_not_shown, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let hidden = t.organization(tree.distributor, OrgType::Customer, "Hidden of another branch").await;
    let s = t.system(tree.customer).await;
    send(
        &t,
        &s,
        cluster(json!([module("files1", "nextcloud"), module("mail1", "mail"), module("web1", "web")])),
    )
    .await;
    let id = id_of(&t, &d, "files1").await;
    assign(&t, &d, &id, hidden).await.expect(200);
    assign(&t, &d, &id_of(&t, &d, "mail1").await, tree.customer).await.expect(200);
    let order = async |who: &Persona, direction: &str| {
        let query = format!("/applications?sort_by=organization_name&sort_direction={direction}");
        let rows = data(&t, who, &query).await["applications"].clone();
        let names = rows.as_array().unwrap().iter().map(|r| r["module_id"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    for who in [t.user(tree.reseller, &["admin"]).await, t.user(tree.customer, &["admin"]).await] {
        for path in [
            "/applications".to_owned(),
            format!("/applications/{id}"),
            format!("/applications/{}-files1", s.id),
            "/applications?cursor=".to_owned(),
            "/applications?search=files1".to_owned(),
            "/filters/applications".to_owned(),
            "/filters/applications?q=Hidden".to_owned(),
            "/search?q=files1".to_owned(),
        ] {
            let text = get(&t, &who, &path).await.expect(200).text();
            assert!(!text.contains("Hidden") && !text.contains(&hidden.to_string()), "{path}: {text}");
        }
        for query in [
            format!("organization_id={hidden}"),
            format!("organization_id={hidden}&include_hierarchy=true"),
            format!("organization_id={hidden}&status=assigned"),
        ] {
            assert_eq!(listed(&t, &who, &query).await, Vec::<String>::new(), "{query}");
        }
        let shown = data(&t, &who, &format!("/applications/{id}")).await;
        assert_eq!((&shown["status"], &shown["organization_id"]), (&json!("assigned"), &Value::Null));
        assert!(shown.get("organization").is_none(), "{shown}");
        assert_eq!(listed(&t, &who, &format!("organization_id={}", tree.customer)).await.len(), 1);
        assert_eq!(order(&who, "asc").await, ["mail1", "files1", "web1"]);
        assert_eq!(order(&who, "desc").await, ["web1", "files1", "mail1"]);
        // The tag belongs to what is shown.
        let read = get(&t, &who, &format!("/applications/{id}")).await;
        let call = t.put(&format!("/api/applications/{id}")).bearer(&who.token).json(json!({"notes": "n"}));
        let changed = call.header("if-match", read.header("etag").unwrap()).send().await.expect(200);
        assert!(!changed.text().contains("Hidden"), "{}", changed.text());
    }
    let shown = data(&t, &d, &format!("/applications/{id}")).await;
    assert_eq!(shown["organization"]["name"], "Hidden of another branch");
    assert_eq!(listed(&t, &d, &format!("organization_id={hidden}")).await.len(), 1);
    assert_eq!(order(&d, "asc").await, ["mail1", "files1", "web1"]);
});
