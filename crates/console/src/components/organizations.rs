//! The choice of an organization: the person's own and those below it, the first ones or those that a text finds.

use crate::{
    components::list::{Address, Chip, MOST_CHIPS},
    failure::Outcome,
    session::Guest,
};
use bailiwick_app::App;
use bailiwick_directory::organizations::{self, name_within};
use bailiwick_domain::OrgType;
use bailiwick_web::alerts::DESCENDANTS;
use serde_json::{Value, json};

/// Organizations that are offered at once; more are found by a text.
const OFFERED: u64 = 50;

/// Organizations that can have something: where it is now (id and name), the person's own and those below it. Rows of id and
/// name, how many match, whether that is all there are.
pub(crate) async fn offered(
    app: &App,
    guest: &Guest,
    find: &str,
    present: Option<(String, String)>,
) -> Outcome<Value> {
    let found = organizations::find(app, &guest.caller, find, OFFERED).await?;
    let own = guest.caller.org().map(|own| (own.id.to_string(), own.name.clone()));
    let is_other = own.filter(|own| present.as_ref().is_none_or(|present| present.0 != own.0));
    let mut rows: Vec<(String, String)> = present.into_iter().chain(is_other).collect();
    for entry in &found.rows {
        let id = entry.id.to_string();
        if rows.iter().all(|(known, _)| *known != id) {
            rows.push((id, entry.name.clone()));
        }
    }
    Ok(json!({"rows": rows, "total": found.total, "is_all": found.total <= OFFERED && find.is_empty()}))
}

/// The same without the owner organization, which takes no new users.
pub(crate) async fn below(
    app: &App,
    guest: &Guest,
    find: &str,
    present: Option<(String, String)>,
) -> Outcome<Value> {
    let mut offered = offered(app, guest, find, present).await?;
    let owner = guest.caller.org().filter(|_| guest.caller.is_owner_level()).map(|own| own.id.to_string());
    if let (Some(owner), Some(rows)) = (owner, offered["rows"].as_array_mut()) {
        rows.retain(|row| row[0] != owner.as_str());
    }
    Ok(offered)
}

/// The two ways to read a list of one organization: it alone, or with those below it. None for any other list, and for
/// people with nothing below them.
pub(crate) fn reach(guest: &Guest, here: &Address) -> Option<Value> {
    let is_customer = guest.caller.org_type() == Some(OrgType::Customer);
    if is_customer || here.values("organization_id").count() != 1 {
        return None;
    }
    let is_below = here.values("include").next() == Some(DESCENDANTS);
    let way = |text: &str, word: Option<&str>| json!({"text": text, "href": here.with("include", word).text(), "is_here": is_below == word.is_some()});
    Some(json!([way("reach_alone", None), way("reach_below", Some(DESCENDANTS))]))
}

/// The organizations that a list is filtered by, each with its name if the person may see it; `text`: key of the filter's
/// text.
pub(crate) async fn organization_chips(
    app: &App,
    guest: &Guest,
    here: &Address,
    text: &'static str,
) -> Outcome<Vec<Chip>> {
    const KEY: &str = "organization_id";
    let mut chips = Vec::new();
    for id in here.values(KEY).take(MOST_CHIPS) {
        let name = match id.parse() {
            Ok(id) => name_within(app, &guest.caller, id).await?,
            Err(_) => None,
        };
        chips.push(here.chip(KEY, text, id, name));
    }
    Ok(chips)
}
