//! Organizations: the three families from birth to end, and operations across them.

use super::*;

const HEADER: &str =
    "company_name,description,vat_number,address,city,main_contact,email,phone,language,notes";

/// The branch that everything after this is about.
pub struct Places {
    pub distributor: String,
    pub customer: String,
}

struct Family {
    many: &'static str,
    one: &'static str,
    name: &'static str,
    vat: &'static str,
}

fn body(name: &str, vat: &str, parent: Option<&str>) -> Value {
    let mut body = json!({
        "name": name,
        "description": "Branch in Torino",
        // In the order that PostgreSQL keeps.
        "custom_data": {"vat": vat, "city": "Torino", "address": "Via Roma 1", "main_contact": "Ada Neri"},
    });
    if let Some(parent) = parent {
        body["created_by_organization_id"] = json!(parent);
    }
    body
}

async fn family(b: &mut Book<'_>, owner: &Persona, f: &Family, parent: Option<&str>) -> String {
    let (many, one) = (f.many, f.one);
    let plural = format!("{one}s");
    let made = b.call(owner, &format!("create{one}"), &format!("/{many}"), body(f.name, f.vat, parent)).await;
    let id = text(&made, "id");
    let path = format!("/{many}/{id}");
    b.ask(owner, &format!("list{plural}"), &format!("/{many}?page=1&page_size=20&sort_by=name")).await;
    b.ask(owner, &format!("get{plural}Totals"), &format!("/{many}/totals")).await;
    b.ask(owner, &format!("get{plural}Trend"), &format!("/{many}/trend?period=7")).await;
    b.ask(owner, &format!("get{one}Filters"), &format!("/filters/{many}")).await;
    b.ask(owner, &format!("export{plural}"), &format!("/{many}/export?format=csv")).await;
    b.ask(owner, &format!("get{one}"), &path).await;
    b.ask(owner, &format!("get{one}Stats"), &format!("{path}/stats")).await;
    let change =
        json!({"description": "Branch in Torino and Asti", "custom_data": {"vat": f.vat, "city": "Asti"}});
    b.call(owner, &format!("update{one}"), &path, change).await;
    for (verb, operation) in [("suspend", "suspend"), ("reactivate", "reactivate")] {
        b.ask(owner, &format!("{operation}{one}"), &format!("{path}/{verb}")).await;
    }
    b.ask(owner, &format!("delete{one}"), &path).await;
    b.ask(owner, &format!("restore{one}"), &format!("{path}/restore")).await;
    import(b, owner, f).await;
    id
}

async fn import(b: &mut Book<'_>, owner: &Persona, f: &Family) {
    let (many, plural) = (f.many, format!("{}s", f.one));
    let import = format!("/{many}/import");
    b.ask(owner, &format!("get{plural}ImportTemplate"), &format!("{import}/template")).await;
    let line = format!(
        "{} Due,Second branch,{}9,Via Po 2,Torino,Bice Bruni,info@due.example.org,,it,",
        f.name, f.vat
    );
    let file = format!("{HEADER}\n{line}\n,,,,,,,,,\n");
    let part = [("file", Some("text/csv"), file.as_bytes())];
    let preview = b
        .call(owner, &format!("validate{plural}Import"), &format!("{import}/validate"), Sent::Form(&part))
        .await;
    let body = json!({"import_id": preview["import_id"], "override": false});
    let done = b.call(owner, &format!("confirm{plural}Import"), &format!("{import}/confirm"), body).await;
    let second = text(&done["results"][0], "id");
    b.ask(owner, &format!("destroy{}", f.one), &format!("/{many}/{second}/destroy")).await;
}

/// The whole tree; leaves one branch.
pub async fn walk(b: &mut Book<'_>) -> Places {
    let owner = b.test.owner().await;
    b.ask(Who::Nobody, "getHealth", "/health").await;
    let mut parent = None;
    let mut ids = Vec::new();
    for f in [
        Family { many: "distributors", one: "Distributor", name: "Alfa Distribution", vat: "IT01234567890" },
        Family { many: "resellers", one: "Reseller", name: "Beta Resale", vat: "IT09876543210" },
        Family { many: "customers", one: "Customer", name: "Gamma Srl", vat: "IT11122233344" },
    ] {
        let id = family(b, &owner, &f, parent.as_deref()).await;
        parent = Some(id.clone());
        ids.push(id);
    }
    b.ask(&owner, "listOrganizations", "/organizations?page=1&page_size=20").await;
    b.ask(&owner, "validateVat", "/validators/vat/customers?vat=IT11122233344").await;
    let rising = body("Delta Rivendite", "IT55566677788", Some(&ids[0]));
    let made =
        b.test.post("/api/resellers").bearer(&owner.token).json(rising).send().await.expect(201).data();
    b.ask(&owner, "promoteReseller", &format!("/resellers/{}/promote", text(&made, "id"))).await;
    Places { distributor: ids[0].clone(), customer: ids[2].clone() }
}
