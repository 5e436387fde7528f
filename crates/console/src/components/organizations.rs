//! The choice of an organization: the person's own and those below it, the first ones or those that a text finds.

use crate::{
    components::list::{Address, Chip, MOST_CHIPS},
    failure::Outcome,
    form::Form,
    session::Session,
    texts,
};
use bailiwick_app::App;
use bailiwick_directory::organizations::{self, name_within};
use bailiwick_domain::OrgType;
use bailiwick_web::alerts::DESCENDANTS;
use serde_json::{Value, json};

/// Organizations that are offered at once; more are found by a text.
const OFFERED: u64 = 50;

/// What the organization is to have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ToHave {
    /// A system, an application, a webhook: every organization can.
    Anything,
    /// A user: the owner organization takes no new ones.
    User,
    /// A new organization of this family below it.
    Organization(OrgType),
}

/// The choice as a form holds it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picked {
    /// Id of the organization that is chosen; empty = none.
    pub(crate) id: String,
    /// The text that those offered have in their name.
    find: String,
    /// Whether the form was sent to search and not to save.
    pub(crate) is_search: bool,
}

impl Picked {
    /// With this organization chosen; empty = none.
    pub(crate) fn of(id: impl Into<String>) -> Picked {
        Picked { id: id.into(), ..Picked::default() }
    }

    /// As sent; `field`: the name of the choice. It is a search by its button, and when Enter sent a text that the list
    /// has not been searched for.
    pub(crate) fn sent(form: &Form, field: &str) -> Picked {
        let find = form.text("find");
        Picked { id: form.text(field), is_search: form.has("search") || find != form.text("found"), find }
    }
}

/// The organizations to choose from, for the macro `organization` of `parts/form.html`. Nothing is chosen for the
/// person where there are several, unless a search has found exactly one.
pub(crate) async fn offered(
    app: &App,
    session: &Session,
    to_have: ToHave,
    picked: &Picked,
) -> Outcome<Value> {
    let (caller, find) = (&session.caller, picked.find.as_str());
    let mut page = match to_have {
        ToHave::Organization(family) => {
            organizations::find_parents(&app.directory, caller, family, find, OFFERED).await?
        }
        _ => organizations::find(&app.directory, caller, find, OFFERED).await?,
    };
    let mut own = caller.org();
    if to_have == ToHave::User && caller.is_owner_level() {
        let before = page.rows.len();
        page.rows.retain(|entry| own.is_none_or(|own| entry.id != own.id));
        page.total = page.total.saturating_sub((before - page.rows.len()) as u64);
        own = None;
    }
    let row = |id: String, name: &str, org_type: OrgType| match to_have {
        ToHave::Organization(_) => {
            let key = format!("role_{}", org_type.as_str());
            (id, format!("{name} · {}", texts::find(session.layout.language, &key).unwrap_or_default()))
        }
        _ => (id, name.to_owned()),
    };
    let own = own.filter(|_| find.is_empty());
    let mut rows: Vec<(String, String)> =
        own.map(|own| row(own.id.to_string(), &own.name, own.org_type)).into_iter().collect();
    for entry in &page.rows {
        let id = entry.id.to_string();
        if rows.iter().all(|(id_offered, _)| *id_offered != id) {
            rows.push(row(id, &entry.name, entry.org_type));
        }
    }
    let chosen = match (&*page.rows, &*rows) {
        ([only], _) if picked.is_search => only.id.to_string(),
        (_, [only]) if find.is_empty() && picked.id.is_empty() => only.0.clone(),
        _ => picked.id.clone(),
    };
    // The one that is chosen stays, wherever the search leads.
    if rows.iter().all(|(id_offered, _)| *id_offered != chosen)
        && let Ok(id) = chosen.parse()
        && let Some(name) = name_within(&app.directory, caller, id).await?
    {
        rows.insert(0, (chosen.clone(), name));
    }
    Ok(json!({
        "chosen": rows.iter().find(|(id_offered, _)| *id_offered == chosen).map(|(id_offered, _)| id_offered),
        "rows": rows,
        "total": page.total,
        "most": OFFERED,
        "is_all": page.total <= OFFERED && find.is_empty(),
        "find": find,
        "is_search": picked.is_search,
    }))
}

/// The two ways to read a list of one organization: it alone, or with those below it. None for any other list, and for
/// people with nothing below them.
pub(crate) fn reach(session: &Session, here: &Address) -> Option<Value> {
    let is_customer = session.caller.org_type() == Some(OrgType::Customer);
    if is_customer || here.values("organization_id").count() != 1 {
        return None;
    }
    let is_below = here.values("include").next() == Some(DESCENDANTS);
    let way = |text: &str, word: Option<&str>| json!({"text": text, "href": here.with("include", word).text(), "is_here": is_below == word.is_some()});
    Some(json!([way("reach_alone", None), way("reach_below", Some(DESCENDANTS))]))
}

/// The organizations that a list is filtered by, each with its name if the person may see it; `text`: key of the
/// filter's text.
pub(crate) async fn organization_chips(
    app: &App,
    session: &Session,
    here: &Address,
    text: &'static str,
) -> Outcome<Vec<Chip>> {
    const KEY: &str = "organization_id";
    let mut chips = Vec::new();
    for id in here.values(KEY).take(MOST_CHIPS) {
        let name = match id.parse() {
            Ok(id) => name_within(&app.directory, &session.caller, id).await?,
            Err(_) => None,
        };
        chips.push(here.chip(KEY, text, id, name));
    }
    Ok(chips)
}
