//! The tree as people build, suspend and take it down (spec: acceptance#scenarios scenarios 9, 11, 12).

use super::*;
use bailiwick_testkit::api_test;

// Proves spec: acceptance#scenarios 9.
api_test!(who_creates_what, |t| async move {
    let tree = t.tree().await;
    let families = ["distributors", "resellers", "customers"];
    for (org, allowed) in [
        (tree.owner, &families[..]),
        (tree.distributor, &families[1..]),
        (tree.reseller, &families[2..]),
        (tree.customer, &[]),
    ] {
        let who = t.user(org, &["admin"]).await;
        let me = shown(&t, &who, "/api/me").await;
        for family in families {
            let body = json!({"name": "N", "custom_data": {"vat": format!("{org}-{family}")}});
            let reply = t.post(&format!("/api/{family}")).bearer(&who.token).json(body).send().await;
            let is_allowed = allowed.contains(&family);
            assert_eq!(reply.status.as_u16(), if is_allowed { 201 } else { 403 }, "{org} {family}");
            // The user object offers exactly what the user may do.
            let offered =
                me["org_permissions"].as_array().unwrap().contains(&json!(format!("manage:{family}")));
            assert_eq!(offered, is_allowed, "{org} {family}");
        }
    }
});

/// A user and a system of an organization, and whether they get in.
struct Member {
    user: Persona,
    system: bailiwick_testkit::seed::Seeded,
}

impl Member {
    async fn of(t: &Test, org: bailiwick_domain::OrgId) -> Member {
        Member { user: t.user(org, &["admin"]).await, system: t.system(org).await }
    }

    /// A fresh login and a heartbeat.
    async fn gets_in(&self, t: &Test) -> (bool, bool) {
        let login = bailiwick_identity::auth::issue_token(&t.app.identity, self.user.id).await.is_ok();
        let beat = t.post("/collect/api/systems/heartbeat").basic(&self.system.key, &self.system.secret);
        (login, beat.send().await.status == 200)
    }
}

// Proves spec: acceptance#scenarios 11.
api_test!(a_suspension_shuts_the_subtree_out_and_its_end_lets_exactly_it_back, |t| async move {
    let tree = t.tree().await;
    let running = t.serve().await;
    let spa = Spa::new(&running, "/api", &t.owner().await.token);
    let members = [
        Member::of(&t, tree.distributor).await,
        Member::of(&t, tree.reseller).await,
        Member::of(&t, tree.customer).await,
    ];
    let bystander = Member::of(&t, tree.other_customer).await;
    let own = t.organization(tree.reseller, bailiwick_domain::OrgType::Customer, "On its own").await;
    let alone = Member::of(&t, own).await;
    spa.patch(&format!("/customers/{own}/suspend")).await.expect(200);
    let distributor = format!("/distributors/{}", tree.distributor);
    spa.patch(&format!("{distributor}/suspend")).await.expect(200);
    for member in members.iter().chain([&alone]) {
        assert_eq!(member.gets_in(&t).await, (false, false));
    }
    assert_eq!(bystander.gets_in(&t).await, (true, true));
    let reply = spa.patch(&format!("/customers/{}/reactivate", tree.customer)).await.expect(403);
    assert!(reply.message().contains("parent organization"), "{}", reply.text());
    spa.patch(&format!("{distributor}/reactivate")).await.expect(200);
    for member in &members {
        assert_eq!(member.gets_in(&t).await, (true, true));
    }
    assert_eq!(alone.gets_in(&t).await, (false, false));
    spa.patch(&format!("/customers/{own}/reactivate")).await.expect(200);
    assert_eq!(alone.gets_in(&t).await, (true, true));
});

api_test!(
    // Proves spec: acceptance#scenarios 12.
    an_archived_subtree_is_hidden_shown_when_asked_for_restored_and_destroyed,
    |t| async move {
        let tree = t.tree().await;
        let running = t.serve().await;
        let spa = Spa::new(&running, "/api", &t.owner().await.token);
        let member = Member::of(&t, tree.customer).await;
        let reseller = format!("/resellers/{}", tree.reseller);
        let of_member = [
            reseller.clone(),
            format!("/customers/{}", tree.customer),
            format!("/users/{}", member.user.id),
            format!("/systems/{}", member.system.id),
        ];
        let listed = async |list: &str, status: &str| {
            let data = spa.get(&format!("/{list}{}", page(status))).await.expect(200).data();
            data[list].as_array().unwrap().iter().map(|row| text(row, "id")).collect::<Vec<_>>()
        };
        spa.delete(&reseller).await.expect(200);
        for path in &of_member {
            spa.get(path).await.expect(404);
            let (list, id) = path[1..].split_once('/').unwrap();
            let usual = if list == "systems" { "" } else { "&status=enabled&status=suspended" };
            assert!(!listed(list, usual).await.contains(&id.to_owned()), "{path}");
            assert!(listed(list, "&status=deleted").await.contains(&id.to_owned()), "{path}");
        }
        assert_eq!(member.gets_in(&t).await, (false, false));
        spa.patch(&format!("{reseller}/restore")).await.expect(200);
        for path in &of_member {
            spa.get(path).await.expect(200);
        }
        assert_eq!(member.gets_in(&t).await, (true, true));
        spa.delete(&reseller).await.expect(200);
        spa.delete(&format!("{reseller}/destroy")).await.expect(200);
        for path in &of_member {
            spa.get(path).await.expect(404);
            let (list, id) = path[1..].split_once('/').unwrap();
            assert!(!listed(list, "&status=deleted").await.contains(&id.to_owned()), "{path}");
        }
        spa.patch(&format!("{reseller}/restore")).await.expect(404);
    }
);
