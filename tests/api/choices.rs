//! A search in the choices of filters (spec: organizations#choice-search).

use crate::applications::{assign, cluster, id_of, module, send};
use bailiwick_domain::OrgType;
use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::{Value, json};

async fn choices(t: &Test, who: &Persona, path: &str) -> Value {
    t.get(&format!("/api/filters/{path}")).bearer(&who.token).send().await.expect(200).data()
}

fn names(choices: &Value, list: &str) -> Vec<String> {
    choices[list].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

api_test!(choices_are_those_with_the_text_in_their_name, |t| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    let mut customers = Vec::new();
    for name in ["Molino Bianco", "MOLINO Nero", "Forno 100%"] {
        customers.push((name, t.organization(tree.reseller, OrgType::Customer, name).await));
    }
    for (name, customer) in &customers {
        let system = t.system(*customer).await;
        let renamed = json!({"name": format!("Server of {name}")});
        let path = format!("/api/systems/{}", system.id);
        t.put(&path).bearer(&owner.token).json(renamed).send().await.expect(200);
        send(&t, &system, cluster(json!([module(&format!("mail-{customer}"), "mail")]))).await;
        assign(&t, &owner, &id_of(&t, &owner, &format!("mail-{customer}")).await, *customer)
            .await
            .expect(200);
        t.user(*customer, &["reader"]).await;
    }
    let both = ["Molino Bianco", "MOLINO Nero"];
    for path in ["systems", "users", "applications"] {
        let answer = choices(&t, &owner, &format!("{path}?q=molino")).await;
        assert_eq!(names(&answer, "organizations"), both, "{path}");
        assert_eq!(answer["more"], json!([]), "{path}");
        let first = choices(&t, &owner, &format!("{path}?q=MOLINO&limit=1")).await;
        assert_eq!(names(&first, "organizations"), both[..1], "{path}");
        assert!(first["more"].as_array().unwrap().contains(&json!("organizations")), "{path}: {first}");
        // Signs of patterns stand for themselves.
        let percent = choices(&t, &owner, &format!("{path}?q=0%25")).await;
        assert_eq!(names(&percent, "organizations"), ["Forno 100%"], "{path}");
        assert_eq!(names(&choices(&t, &owner, &format!("{path}?q=_")).await, "organizations"), [""; 0]);
        // An empty text finds every name; without it all are there, and nothing says that there are more.
        let (all, any) = (choices(&t, &owner, path).await, choices(&t, &owner, &format!("{path}?q=")).await);
        assert!(names(&all, "organizations").len() >= 3, "{path}: {all}");
        assert_eq!(names(&all, "organizations"), names(&any, "organizations"), "{path}");
        assert_eq!((&all["more"], &any["more"]), (&Value::Null, &json!([])), "{path}");
        for (limit, most) in [("0", 1), ("-99999999999999999999", 1), ("2", 2), ("101", 100), ("x", 50)] {
            let reply = choices(&t, &owner, &format!("{path}?q=&limit={limit}")).await;
            assert_eq!(
                names(&reply, "organizations").len(),
                most.min(names(&all, "organizations").len()),
                "{path} {limit}"
            );
        }
    }
    let answer = choices(&t, &owner, "applications?q=server+of+mol").await;
    assert_eq!(names(&answer, "systems"), ["Server of Molino Bianco", "Server of MOLINO Nero"]);
    // Unassigned ones are a choice of their own, found by its name.
    let system = t.system(tree.customer).await;
    send(&t, &system, cluster(json!([module("web1", "web")]))).await;
    let answer = choices(&t, &owner, "applications?q=molino&limit=1").await;
    assert_eq!(names(&answer, "organizations"), both[..1]);
    let answer = choices(&t, &owner, "applications?q=no+org").await;
    assert_eq!(names(&answer, "organizations"), ["No organization"]);
    let answer = choices(&t, &owner, "systems?q=molino").await;
    assert_eq!(answer["products"], choices(&t, &owner, "systems").await["products"]);
    assert_eq!(answer["created_by"], json!([]));
    // Another branch's names are not found.
    let other = t.user(tree.other_customer, &["admin"]).await;
    for path in ["systems", "users", "applications"] {
        let answer = choices(&t, &other, &format!("{path}?q=molino")).await;
        assert_eq!(names(&answer, "organizations"), [""; 0], "{path}");
    }
});
