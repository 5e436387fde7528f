//! One field over organizations, users, systems and applications within the person's scope.

use crate::{failure::Outcome, links, page, pages::applications::name_of, session::Session};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_directory::{organizations::ListedOrganization, users::FoundUser};
use bailiwick_domain::{Page, System};
use bailiwick_fleet::{
    applications::ApplicationRecord,
    search::{self, MOST, SearchResults},
};
use bailiwick_web::Params;
use serde_json::{Value, json};

/// `GET /console/search`.
pub(crate) async fn show(State(app): State<App>, session: Session, params: Params) -> Outcome {
    let text = params.text("q").unwrap_or_default().trim();
    let found = search::search(&app.fleet, &session.caller, text, None, MOST).await?;
    let groups = groups(text, found);
    let is_empty = groups.iter().all(|group| group["total"] == 0);
    let values = json!({"q": text, "groups": groups, "is_empty": is_empty});
    Ok(page::show(&session.layout, "search/show.html", values))
}

fn groups(text: &str, results: SearchResults) -> Vec<Value> {
    let list = |area: &str| {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("search", text).finish();
        format!("/console/{area}?{query}")
    };
    let mut groups = Vec::new();
    groups.extend(results.systems.map(|page| group("systems", page, &system, Some(list("systems")))));
    groups.extend(
        results
            .applications
            .map(|page| group("applications", page, &application, Some(list("applications")))),
    );
    groups.extend(results.organizations.map(|page| group("organizations", page, &organization, None)));
    groups.extend(results.users.map(|page| group("users", page, &user, None)));
    groups
}

/// `all`: where the list shows them all.
fn group<T>(word: &str, page: Page<T>, row: &dyn Fn(T) -> Value, all: Option<String>) -> Value {
    let is_cut = page.total > page.rows.len() as u64;
    json!({
        "word": word,
        "total": page.total,
        "all": all.filter(|_| is_cut),
        "rows": page.rows.into_iter().map(row).collect::<Vec<_>>(),
    })
}

fn system(system: System) -> Value {
    let key = system.registered_at.map(|_| system.system_key);
    let detail = Some(system.fqdn).filter(|fqdn| !fqdn.is_empty()).or(key);
    json!({
        "href": links::system(system.id), "name": system.name, "detail": detail,
        "organization": system.organization.name,
    })
}

fn application(record: ApplicationRecord) -> Value {
    json!({
        "href": links::application(record.id), "name": name_of(&record), "detail": record.system_name,
        "organization": record.organization.map(|organization| organization.name),
    })
}

fn organization(entry: ListedOrganization) -> Value {
    json!({
        "href": links::organization(entry.id), "name": entry.name, "family": entry.org_type.as_str(),
        "detail": null, "organization": null,
    })
}

fn user(user: FoundUser) -> Value {
    json!({
        "href": links::user(user.id), "name": user.name, "detail": user.email, "organization": user.organization,
    })
}
