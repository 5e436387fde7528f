//! The four things people manage with one form each, as the application's pages do it (spec:
//! browser-client#organizations, browser-client#systems).

use super::*;
use bailiwick_testkit::seed::Tree;

/// One of distributors, resellers, customers, users, systems.
pub(super) struct Entity {
    /// Its place and, without the slash, the name of its list.
    pub(super) path: &'static str,
    form: Value,
    /// The query of its list beside pages.
    filters: String,
    /// The fields of its filter answer.
    choices: &'static [&'static str],
}

impl Entity {
    /// All five; `n` makes unique fields differ.
    pub(super) fn all(tree: &Tree, n: usize) -> [Entity; 5] {
        let organization = |path: &'static str, parent: Value, filters: &str| {
            let custom = json!({"vat": format!("IT9{n:010}"), "address": "", "city": "Torino", "main_contact": "",
                "email": "info@nuova.example.org", "phone": "+39 (02) 12-34567", "language": "it",
                "notes": "prima riga\nseconda"});
            let mut form = json!({"name": format!("Nuova {n}"), "custom_data": custom});
            if !parent.is_null() {
                form["created_by_organization_id"] = parent;
            }
            Entity {
                path,
                form,
                filters: format!("&status=enabled&status=suspended{filters}"),
                choices: &["created_by"],
            }
        };
        let user = json!({"email": format!("anna{n}@example.org"), "name": "Anna", "phone": "",
            "user_role_ids": ["admin", "support"], "organization_id": tree.customer, "custom_data": {}});
        let system = json!({"name": format!("Box {n}"), "organization_id": tree.customer, "notes": "",
            "custom_data": {"site": "x"}});
        [
            organization("/distributors", Value::Null, ""),
            organization("/resellers", json!(tree.distributor), ""),
            organization("/customers", json!(tree.reseller), "&include_hierarchy=true"),
            Entity {
                path: "/users",
                form: user,
                filters: "&status=enabled&status=suspended&role=admin&role=support".to_owned(),
                choices: &["roles", "organizations", "created_by"],
            },
            Entity {
                path: "/systems",
                form: system,
                filters: "&status=active&status=inactive&status=unknown&status=suspended".to_owned(),
                choices: &["products", "versions", "created_by", "organizations"],
            },
        ]
    }

    /// The form as it is sent at first.
    pub(super) fn form(&self) -> Value {
        self.form.clone()
    }

    fn is_organization(&self) -> bool {
        !matches!(self.path, "/users" | "/systems")
    }

    async fn listed(&self, spa: &Spa, more: &str) -> Vec<Value> {
        let data = spa.get(&format!("{}{}", self.path, page(more))).await.expect(200).data();
        for field in ["page", "page_size", "total_count", "total_pages"] {
            assert!(data["pagination"][field].is_u64(), "{field}: {data}");
        }
        for field in ["has_next", "has_prev"] {
            assert!(data["pagination"][field].is_boolean(), "{field}: {data}");
        }
        data[&self.path[1..]].as_array().expect("rows").clone()
    }

    /// Checks the fields of each row that a page reads without looking (spec: browser-client#required-fields).
    fn is_whole(&self, row: &Value) {
        assert!(row["created_by"].is_object(), "{row}");
        if self.is_organization() {
            assert!(row["custom_data"].is_object() && row["logto_id"] == row["id"], "{row}");
        } else {
            assert!(
                row["organization"]["type"].is_string() && row["organization"]["logto_id"].is_string(),
                "{row}"
            );
        }
    }

    /// Creates one, looks at it everywhere, changes it and moves it through its states; returns its id, for a later
    /// destruction.
    pub(super) async fn whole_life(&self, spa: &Spa) -> String {
        let path = self.path;
        let name = text(&self.form, "name");
        let made = spa.post(path, self.form.clone()).await.expect(201).data();
        let id = text(&made, "id");
        let one = format!("{path}/{id}");
        let search = format!("&search={}", name.replace(' ', "%20"));
        let rows = self.listed(spa, &format!("{}{search}", self.filters)).await;
        let row = rows.iter().find(|row| row["id"] == id.as_str()).expect("listed");
        self.is_whole(row);
        let mut whole = spa.get(&one).await.expect(200).data();
        self.is_whole(&whole);
        if self.is_organization() {
            // Every field of the form is shown as it was sent; one that was left empty may be null.
            for (field, sent) in self.form["custom_data"].as_object().expect("a form") {
                let shown = &whole["custom_data"][field];
                assert!(shown == sent || (sent == "" && shown.is_null()), "{field}: {whole}");
            }
            assert!(spa.get(&format!("{one}/stats")).await.expect(200).data()["users_count"].is_u64());
        }
        if path == "/systems" {
            let renewed = spa.post(&format!("{one}/regenerate-secret"), json!({})).await.expect(200).data();
            assert!(renewed["system_secret"].is_string());
            assert_eq!(spa.get(&format!("{one}/inventory/latest")).await.expect(200).data(), Value::Null);
            assert_eq!(spa.get(&format!("{one}/inventory/changes")).await.expect(200).data(), Value::Null);
            let diffs = "?page=1&page_size=10&severity=high&severity=low&category=os&diff_type=update&search=x\
                &from_date=2026-03-01T00:00:00Z&to_date=2026-03-04T23:59:59Z&inventory_id=1&inventory_id=2";
            let diffs = spa.get(&format!("{one}/inventory/diffs{diffs}")).await.expect(200).data();
            assert_eq!((&diffs["diffs"], &diffs["pagination"]["has_next"]), (&json!([]), &json!(false)));
        }
        if path == "/users" {
            let password = json!({"password": "Trombone-47-Quux!"});
            spa.send(Method::PATCH, &format!("{one}/password"), Some(password)).await.expect(200);
        }
        // The whole object comes back, with the id it is also known by.
        whole["name"] = json!(format!("{name} bis"));
        whole["logto_id"] = json!(id);
        if path == "/users" {
            whole["user_role_ids"] = self.form["user_role_ids"].clone();
            whole["organization_id"] = self.form["organization_id"].clone();
            whole["phone"] = json!("");
        }
        spa.put(&one, whole).await.expect(200);
        assert_eq!(spa.get(&one).await.expect(200).data()["name"], json!(format!("{name} bis")));

        spa.patch(&format!("{one}/suspend")).await.expect(200);
        assert!(spa.get(&one).await.expect(200).data()["suspended_at"].is_string());
        assert_eq!(self.listed(spa, &format!("&status=suspended{search}")).await.len(), 1);
        spa.patch(&format!("{one}/reactivate")).await.expect(200);
        spa.delete(&one).await.expect(200);
        let deleted = self.listed(spa, &format!("&status=deleted{search}")).await;
        assert!(deleted.iter().any(|row| row["id"] == id.as_str() && row["deleted_at"].is_string()));
        spa.patch(&format!("{one}/restore")).await.expect(200);

        let totals = spa.get(&format!("{path}/totals")).await.expect(200).data();
        assert!(totals["total"].as_u64() >= Some(1), "{totals}");
        let choices = spa.get(&format!("/filters{path}")).await.expect(200).data();
        for field in self.choices {
            assert!(choices[field].is_array(), "{field}: {choices}");
        }
        for format in ["csv", "pdf"] {
            // The application reads whatever comes as text.
            let file =
                spa.get(&format!("{path}/export?format={format}&sort_by=&sort_direction=asc{search}")).await;
            let file = file.expect(200);
            assert!(std::str::from_utf8(&file.body).is_ok(), "{path} {format}");
            let disposition = file.header("content-disposition").unwrap_or_default();
            assert!(disposition.starts_with("attachment; filename=\""), "{disposition}");
        }
        id
    }
}
