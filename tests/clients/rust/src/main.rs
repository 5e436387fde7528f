//! The README's tour with a generated client; prints what tests/clients/tour.txt says.

use chrono::{TimeDelta, Utc};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};
use std::{collections::HashMap, env, error::Error, fs, time::Instant};

#[allow(clippy::all, dead_code, unused, mismatched_lifetime_syntaxes, reason = "nobody has written it")]
mod bailiwick {
    include!(concat!(env!("OUT_DIR"), "/client.rs"));
}
use bailiwick::{Client, types};

type Done<T = ()> = Result<T, Box<dyn Error>>;

/// Of one base path, with a credential or without.
fn client(at: &str, authorization: Option<String>) -> Done<Client> {
    let mut headers = HeaderMap::new();
    if let Some(authorization) = authorization {
        headers.insert(AUTHORIZATION, HeaderValue::from_str(&authorization)?);
    }
    let http = reqwest::Client::builder().default_headers(headers).build()?;
    Ok(Client::new_with_client(&format!("{}{at}", env::var("TOUR_BASE")?), http))
}

fn basic(system: &System) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    format!("Basic {}", STANDARD.encode(format!("{}:{}", system.key, system.secret)))
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

struct System {
    id: String,
    key: String,
    secret: String,
}

async fn system(people: &Client, name: &str, organization: &str) -> Done<System> {
    let body = types::NewSystemInput::builder().name(name).organization_id(organization);
    let made = people.create_system().body(body).send().await?.into_inner().data;
    let secret = made.system_secret.ok_or("no secret")?;
    let body = types::RegistrationInput::builder().system_secret(secret.clone());
    let registered = client("/api", None)?.register_system().body(body).send().await?.into_inner();
    println!("{name}: {}", registered.message);
    Ok(System { id: made.id, key: registered.data.system_key, secret })
}

fn organization(name: &str, vat: &str, above: Option<&str>) -> Done<types::builder::OrganizationInput> {
    Ok(types::OrganizationInput::builder()
        .name(types::OrganizationInputName::try_from(name)?)
        .custom_data(object(json!({"vat": vat})))
        .created_by_organization_id(above.map(str::to_owned)))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done {
    let body = types::Exchange::builder().access_token(env::var("TOUR_ACCESS")?);
    let session = client("/api", None)?.exchange_token().body(body).send().await?.into_inner();
    let people = client("/api", Some(format!("Bearer {}", session.data.token)))?;
    let me = people.get_me().send().await?.into_inner().data;
    println!("me: {}, {}", me.name, me.org_role);

    // The chain.
    let body = organization("Alfa Distribution", "IT01234567890", None)?;
    let alfa = people.create_distributor().body(body).send().await?.into_inner().data;
    let body = organization("Beta Resale", "IT09876543210", Some(&alfa.id))?;
    let beta = people.create_reseller().body(body).send().await?.into_inner().data;
    let body = organization("Gamma Srl", "IT11122233344", Some(&beta.id))?;
    let gamma = people.create_customer().body(body).send().await?.into_inner().data;
    let milan = system(&people, "Milan cluster", &gamma.id).await?;
    let customers = people.list_customers().page_size(10).sort_by("name").send().await?.into_inner();
    for c in customers.data.customers {
        println!("customer: {}, {} system", c.name, c.systems_count.unwrap_or_default());
    }

    // Be the system.
    let itself = client("/collect/api", Some(basic(&milan)))?;
    println!("{}", itself.send_heartbeat().send().await?.into_inner().message);
    let file = fs::read("crates/inventory/tests/data/inventory-ns8.json")?;
    let mut inventory: Value = serde_json::from_slice(&file)?;
    let sent = itself.send_inventory().body(object(inventory.clone())).send().await?.into_inner();
    println!("{}", sent.message);
    let limit = Instant::now();
    while people.get_latest_inventory().id(&milan.id).send().await?.into_inner().data.is_none() {
        assert!(limit.elapsed().as_secs() < 60, "no inventory");
    }
    let shown = people.get_system().id(&milan.id).send().await?.into_inner().data;
    println!(
        "system: {} {}, {}, {}",
        shown.type_.unwrap_or_default(),
        shown.version,
        shown.status,
        shown.fqdn
    );

    // Something changes.
    for module in inventory["facts"]["modules"].as_array_mut().into_iter().flatten() {
        if module["id"] == "mail1" {
            module["version"] = json!("1.9.5");
        }
    }
    itself.send_inventory().body(object(inventory)).send().await?;
    let diffs = loop {
        let diffs = people.list_inventory_diffs().id(&milan.id).send().await?.into_inner().data.diffs;
        if !diffs.is_empty() {
            break diffs;
        }
        assert!(limit.elapsed().as_secs() < 60, "no change");
    };
    for d in diffs {
        println!("changed: {} {} {} {}", d.severity, d.diff_type, d.category, d.field_path);
    }
    alert(&people, &milan).await?;

    // A refusal is typed as well.
    let body = types::OrganizationInput::builder();
    match people.create_customer().body(body).send().await {
        Err(bailiwick::Error::ErrorResponse(refused)) => println!("refused: {}", refused.message),
        other => panic!("no name: {other:?}"),
    }
    Ok(())
}

async fn alert(people: &Client, milan: &System) -> Done {
    // The router is mounted at services/<name>/alertmanager.
    let mount = "/collect/api/services/mimir";
    let router = client(mount, Some(basic(milan)))?;
    let service = "alertmanager";
    let labels = [("alertname", "DiskSpaceLow"), ("severity", "warning"), ("mountpoint", "/")];
    let labels: HashMap<String, String> = labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let alert = types::PushedAlert::builder().labels(labels);
    let alerts = types::PushedAlerts(Some(vec![alert.try_into()?]));
    router.push_alerts().service(service).body(alerts).send().await?;
    let show = async || -> Done {
        for a in router.list_own_alerts().service(service).send().await?.into_inner().0 {
            println!("alert: {}, {}", a.labels["alertname"], a.status.state);
        }
        Ok(())
    };
    show().await?;
    let matcher = types::SilenceMatcher::builder().name("alertname").value("DiskSpaceLow").is_regex(false);
    let silence = types::SilenceToSet::builder()
        .matchers(vec![matcher.try_into()?])
        .starts_at(Utc::now().to_rfc3339())
        .ends_at((Utc::now() + TimeDelta::hours(1)).to_rfc3339())
        .created_by("me")
        .comment("looking at it");
    let silence = router.set_silence().service(service).body(silence).send().await?.into_inner();
    show().await?;

    // No other system sees it.
    let body = organization("Delta Srl", "IT55566677788", None)?;
    let delta = people.create_customer().body(body).send().await?.into_inner().data;
    let rome = system(people, "Rome firewall", &delta.id).await?;
    let other = client(mount, Some(basic(&rome)))?;
    let seen = other.list_own_alerts().service(service).send().await?.into_inner().0.len();
    println!("others' alerts: {seen}");
    let hidden = other.get_silence().service(service).silence_id(silence.silence_id).send().await;
    let status = hidden.err().and_then(|e| e.status()).map(|status| status.as_u16());
    println!("others' silence: {}", status.unwrap_or_default());
    Ok(())
}
