//! CSV import (spec: imports-and-exports#imports, imports-and-exports#import-of-users): the file, the session between
//! the two calls, and what each family makes of it.

use bailiwick_store::sql::Q;
use bailiwick_testkit::{Persona, Reply, Test, api_test};
use serde_json::{Value, json};
use std::time::Duration;

mod files;
mod organizations;
mod users;

const FAMILIES: [&str; 3] = ["distributors", "resellers", "customers"];
const ORGANIZATION_HEADER: &str =
    "company_name,description,vat_number,address,city,main_contact,email,phone,language,notes";
const USER_HEADER: &str = "email,name,phone,company_name,roles";

/// A form with a file, and before it a part that the service does not read.
fn form(part: &str, file: &[u8]) -> Vec<u8> {
    let head = format!(
        "--=_b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nx\r\n--=_b\r\n\
         Content-Disposition: form-data; name=\"{part}\"; filename=\"data.csv\"\r\nContent-Type: text/csv\r\n\r\n"
    );
    [head.as_bytes(), file, b"\r\n--=_b--\r\n"].concat()
}

pub(crate) async fn upload(t: &Test, who: &Persona, family: &str, file: impl AsRef<[u8]>) -> Reply {
    t.post(&format!("/api/{family}/import/validate"))
        .bearer(&who.token)
        .header("content-type", "multipart/form-data; boundary=\"=_b\"")
        .body(form("file", file.as_ref()))
        .send()
        .await
}

/// `data` of a validation of a file with this header and these lines.
pub(crate) async fn validated(t: &Test, who: &Persona, family: &str, lines: &[&str]) -> Value {
    let header = if family == "users" { USER_HEADER } else { ORGANIZATION_HEADER };
    let reply = upload(t, who, family, format!("{header}\n{}\n", lines.join("\n"))).await;
    reply.expect_message(200, &format!("{family} import validated")).data()
}

async fn send_confirm(t: &Test, who: &Persona, family: &str, body: Value) -> Reply {
    t.post(&format!("/api/{family}/import/confirm")).bearer(&who.token).json(body).send().await
}

/// `data` of the confirmation of an answer of [`validated`].
async fn confirmed(t: &Test, who: &Persona, family: &str, preview: &Value, overrides: bool) -> Value {
    let body = json!({"import_id": preview["import_id"], "override": overrides});
    let reply = send_confirm(t, who, family, body).await;
    reply.expect_message(200, &format!("{family} imported successfully")).data()
}

async fn get(t: &Test, who: &Persona, path: &str) -> Value {
    t.get(path).bearer(&who.token).send().await.expect(200).data()
}

/// The present name of an organization or user.
async fn name_of(t: &Test, who: &Persona, path: String) -> Value {
    get(t, who, &path).await["name"].clone()
}

async fn post(t: &Test, who: &Persona, path: &str, body: Value) -> String {
    let made = t.post(path).bearer(&who.token).json(body).send().await.expect(201).data();
    made["id"].as_str().unwrap().to_owned()
}

/// A line of an organization file with only the required cells.
fn line(name: &str, vat: &str) -> String {
    format!("{name},,{vat},,,,,,,")
}

/// `status: field message values; …` of each row.
pub(crate) fn row_issues(preview: &Value) -> Vec<String> {
    let issues = |row: &Value, key: &str| -> Vec<String> {
        let listed = row[key].as_array().cloned().unwrap_or_default();
        listed
            .iter()
            .map(|issue| {
                let mut text =
                    format!("{} {}", issue["field"].as_str().unwrap(), issue["message"].as_str().unwrap());
                let values = issue["values"].as_array().cloned().unwrap_or_default();
                for value in values.iter().chain(issue.get("value")) {
                    text.push_str(&format!(" [{}]", value.as_str().unwrap()));
                }
                text
            })
            .collect()
    };
    let rows = preview["rows"].as_array().unwrap();
    rows.iter()
        .map(|row| {
            let all = [issues(row, "errors"), issues(row, "warnings")].concat();
            format!("{}: {}", row["status"].as_str().unwrap(), all.join("; ")).trim_end().to_owned()
        })
        .collect()
}

/// `status reason-or-error` of each result.
fn outcomes(data: &Value) -> Vec<String> {
    let results = data["results"].as_array().unwrap();
    results
        .iter()
        .map(|result| {
            let why =
                result.get("reason").or(result.get("error")).and_then(Value::as_str).unwrap_or_default();
            format!("{} {why}", result["status"].as_str().unwrap()).trim_end().to_owned()
        })
        .collect()
}

/// Ids differ from run to run.
fn masked(mut value: Value) -> Value {
    fn mask(value: &mut Value) {
        match value {
            Value::String(text) if text.parse::<uuid::Uuid>().is_ok() => "<id>".clone_into(text),
            Value::Array(items) => items.iter_mut().for_each(mask),
            Value::Object(entries) => entries.values_mut().for_each(mask),
            _ => {}
        }
    }
    mask(&mut value);
    value
}

const LOST: &str = "import session not found or expired. please re-validate the CSV file";

api_test!(only_its_own_user_confirms_a_file_for_its_own_family, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let colleague = t.user(tree.distributor, &["admin"]).await;
    let preview = validated(&t, &d, "customers", &[&line("Uno", "1")]).await;
    let body = json!({"import_id": preview["import_id"]});
    let foreign = "this import session belongs to another user";
    for other in [&colleague, &t.user(tree.other_distributor, &["admin"]).await] {
        let reply = send_confirm(&t, other, "customers", body.clone()).await;
        assert_eq!(reply.expect_message(403, foreign).data(), Value::Null);
        // The service checks the owner of an import before its kind.
        send_confirm(&t, other, "resellers", body.clone()).await.expect_message(403, foreign);
    }
    for family in ["resellers", "users"] {
        let reply = send_confirm(&t, &d, family, body.clone()).await;
        let data = reply.expect_message(400, "import session entity type mismatch").data();
        assert_eq!(data, json!({"type": "validation_error", "errors": []}));
    }
    // None of these has used it up.
    assert_eq!(outcomes(&confirmed(&t, &d, "customers", &preview, false).await), ["created"]);
    send_confirm(&t, &d, "customers", body).await.expect_message(400, LOST);
});

api_test!(bodies_of_a_confirmation, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    for family in ["resellers", "customers", "users"] {
        for body in [json!({}), json!({"import_id": ""}), json!({"import_id": null, "override": true})] {
            send_confirm(&t, &d, family, body).await.expect_message(400, "import_id is required");
        }
        for body in [json!({"import_id": 7}), json!({"import_id": "x", "override": "yes"}), json!([])] {
            let reply = send_confirm(&t, &d, family, body).await;
            let data = reply.expect_message(400, "invalid request body").data();
            assert_eq!(data, json!({"type": "validation_error", "errors": []}));
        }
        let unreadable = t.post(&format!("/api/{family}/import/confirm")).bearer(&d.token).body("{");
        unreadable.send().await.expect_message(400, "invalid request body");
        for id in ["x", "0195fada-0000-7000-8000-00000000dead", "0195fada00007000800000000000dead", "\0"] {
            send_confirm(&t, &d, family, json!({"import_id": id})).await.expect_message(400, LOST);
        }
    }
    // Choices are no business of organizations.
    let preview = validated(&t, &d, "customers", &[&line("Uno", "1")]).await;
    let body = json!({"import_id": preview["import_id"], "override": null, "resolutions": [1, "x"]});
    send_confirm(&t, &d, "customers", body).await.expect(200);
});

api_test!(a_file_waits_for_half_an_hour_and_is_then_removed, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let waiting =
        async || Q::new("SELECT COUNT(*) FROM import_sessions").count(&t.app.platform.db).await.unwrap();
    let old = validated(&t, &d, "customers", &[&line("Uno", "1")]).await;
    t.advance(Duration::from_secs(60));
    let younger = validated(&t, &d, "customers", &[&line("Due", "2")]).await;
    t.advance(Duration::from_secs(29 * 60));
    let d = t.session(d.id).await;
    let body = json!({"import_id": old["import_id"]});
    send_confirm(&t, &d, "customers", body).await.expect_message(400, LOST);
    assert_eq!(waiting().await, 2);
    assert_eq!(bailiwick_directory::imports::purge_expired(&t.app.directory).await.unwrap(), 0);
    t.advance(Duration::from_secs(1));
    assert_eq!(bailiwick_directory::imports::purge_expired(&t.app.directory).await.unwrap(), 1);
    assert_eq!(outcomes(&confirmed(&t, &d, "customers", &younger, false).await), ["created"]);
    assert_eq!(waiting().await, 0);
});

api_test!(the_latest_five_files_of_a_user_wait, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let other = t.user(tree.distributor, &["admin"]).await;
    let theirs = validated(&t, &other, "customers", &[&line("Altro", "9")]).await;
    let mut previews = Vec::new();
    for n in 0..6 {
        t.advance(Duration::from_secs(1));
        previews.push(validated(&t, &d, "customers", &[&line("Uno", &n.to_string())]).await);
    }
    let body = json!({"import_id": previews[0]["import_id"]});
    send_confirm(&t, &d, "customers", body).await.expect_message(400, LOST);
    for preview in &previews[1..] {
        assert_eq!(confirmed(&t, &d, "customers", preview, false).await["results"][0]["row_number"], 2);
    }
    assert_eq!(confirmed(&t, &other, "customers", &theirs, false).await["created"], 1);
});

api_test!(of_several_confirmations_one_wins, |t| async move {
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let lines: Vec<String> = (0..5).map(|n| line("Gara", &format!("R{n}"))).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let preview = validated(&t, &d, "customers", &lines).await;
    let race = async || {
        let body = json!({"import_id": preview["import_id"]});
        let reply = send_confirm(&t, &d, "customers", body).await;
        if reply.status == 400 {
            reply.clone().expect_message(400, LOST);
        }
        reply.status.as_u16()
    };
    let mut statuses: [u16; 4] = tokio::join!(race(), race(), race(), race()).into();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400, 400, 400]);
    let list = get(&t, &d, "/api/customers?search=Gara").await;
    assert_eq!(list["pagination"]["total_count"], 5);
});

// Proves spec: guarantees#organizations 8.
api_test!(a_confirmation_asks_for_every_right_again, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let mut previews = Vec::new();
    for family in ["resellers", "customers"] {
        previews.push((family, validated(&t, &d, family, &[&line("Uno", "1")]).await));
    }
    let user = "new@example.org,Nuovo,,Alfa Customer,Reader";
    previews.push(("users", validated(&t, &d, "users", &[user]).await));
    let roles = async |ids: &[&str]| {
        let path = format!("/api/users/{}", d.id);
        t.put(&path).bearer(&owner.token).json(json!({"user_role_ids": ids})).send().await.expect(200);
    };
    roles(&["reader"]).await;
    for (family, preview) in &previews {
        let body = json!({"import_id": preview["import_id"]});
        send_confirm(&t, &d, family, body).await.expect_message(403, "insufficient permissions");
    }
    // After the move to a lower organization the user has the same roles, but no longer creates resellers.
    roles(&["admin"]).await;
    let path = format!("/api/users/{}", d.id);
    let body = json!({"organization_id": tree.reseller});
    t.put(&path).bearer(&owner.token).json(body).send().await.expect(200);
    let body = json!({"import_id": previews[0].1["import_id"]});
    send_confirm(&t, &d, "resellers", body).await.expect_message(403, "insufficient permissions");
    let made = confirmed(&t, &d, "customers", &previews[1].1, false).await;
    let path = format!("/api/customers/{}", made["results"][0]["id"].as_str().unwrap());
    assert_eq!(get(&t, &d, &path).await["custom_data"]["createdBy"], json!(tree.reseller));
    assert_eq!(outcomes(&confirmed(&t, &d, "users", &previews[2].1, false).await), ["created"]);
});

api_test!(gates_of_the_import_routes, |t| async move {
    let tree = t.tree().await;
    let refused = "insufficient permissions";
    let d = t.user(tree.distributor, &["admin"]).await;
    let reader = t.user(tree.distributor, &["reader"]).await;
    let c = t.user(tree.customer, &["admin"]).await;
    upload(&t, &d, "distributors", "x").await.expect_message(403, refused);
    t.get("/api/distributors/import/template").bearer(&d.token).send().await.expect_message(403, refused);
    for family in ["resellers", "customers", "users"] {
        t.get(&format!("/api/{family}/import/template")).bearer(&reader.token).send().await.expect(200);
        upload(&t, &reader, family, "").await.expect_message(403, refused);
        send_confirm(&t, &reader, family, json!({})).await.expect_message(403, refused);
    }
    upload(&t, &c, "customers", "").await.expect_message(403, refused);
    assert_eq!(
        row_issues(&validated(&t, &c, "users", &["x@example.org,X,,Alfa Customer,Reader"]).await),
        ["valid:"]
    );
});
