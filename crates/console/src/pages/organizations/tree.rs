//! The tree below the person's organization. Which branches are open is in the address, so it needs no script; a search
//! shows what it finds in one list.

use super::{address, below_address, creatable, kind, list_address, second_factor, views};
use crate::{failure::Outcome, page, session::Session};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_directory::organizations::{self, Branch, Node};
use bailiwick_domain::{OrgId, OrgType};
use bailiwick_web::Params;
use serde_json::{Value, json};

/// Organizations that a search shows.
const FOUND: u64 = 50;

/// `GET /console/organizations`.
pub(crate) async fn show(State(app): State<App>, session: Session, params: Params) -> Outcome {
    let caller = &session.caller;
    let search = params.text("search").unwrap_or_default();
    let mut values = json!({
        "views": views(caller, None),
        "creatable": creatable(caller),
        "search": search,
        "root": null, "found": null,
        "second_factor": own_second_factor(&app, &session),
    });
    if search.is_empty() {
        let open: Vec<OrgId> =
            params.many("open").iter().filter_map(|id| id.parse().ok()).take(organizations::OPEN).collect();
        let branch = organizations::tree(&app.directory, caller, &open).await?;
        values["root"] = root(&session, &branch, &open);
    } else {
        values["found"] = found(&app, &session, search).await?;
    }
    Ok(page::show(&session.layout, "organizations/tree.html", values))
}

/// The page of what the owner organization requires, which has no page of its own.
fn own_second_factor(app: &App, session: &Session) -> Option<String> {
    let own = session.caller.org().filter(|own| own.org_type == OrgType::Owner)?;
    second_factor::page_of(app, &session.caller, own.id)
}

/// The person's own organization and those below it.
fn root(session: &Session, branch: &Branch, open: &[OrgId]) -> Value {
    let own = session.caller.org();
    let families = organizations::readable(&session.caller);
    // The owner organization has no page of its own.
    let href = own.filter(|own| own.org_type != OrgType::Owner).map(|own| address(own.id));
    let more: Vec<Value> = families.iter().map(|family| more(*family, list_address(*family))).collect();
    json!({
        "name": own.map(|own| own.name.as_str()).unwrap_or_default(),
        "kind": own.map(|own| kind(session.layout.language, own.org_type)).unwrap_or_default(),
        "href": href,
        "nodes": branch.nodes.iter().map(|n| node(session, &families, n, open)).collect::<Vec<_>>(),
        "more": if branch.has_more { more } else { Vec::new() },
    })
}

fn more(family: OrgType, href: String) -> Value {
    json!({"text": format!("all_{}", family.plural()), "href": href})
}

fn node(session: &Session, families: &[OrgType], node: &Node, open: &[OrgId]) -> Value {
    let (child, stats) = (&node.child, &node.stats);
    let below: Vec<OrgType> =
        families.iter().copied().filter(|family| family.level() > child.org_type.level()).collect();
    let number =
        |family: OrgType| if family == OrgType::Reseller { stats.resellers } else { stats.customers };
    let mut figures: Vec<Value> =
        below.iter().map(|family| json!({"word": family.plural(), "number": number(*family)})).collect();
    figures.push(json!({"word": "systems", "number": stats.subtree.systems}));
    let has_below = below.iter().any(|family| number(*family) > 0);
    let branch = node.branch.as_ref();
    let more: Vec<Value> = below.iter().map(|f| more(*f, below_address(*f, child.id))).collect();
    json!({
        "id": child.id.to_string(),
        "name": child.name,
        "kind": kind(session.layout.language, child.org_type),
        "href": address(child.id),
        "is_suspended": child.suspended_at.is_some(),
        "figures": figures,
        "toggle": has_below.then(|| toggled(child.id, open)),
        "is_open": branch.is_some(),
        "nodes": branch.map(|b| b.nodes.iter().map(|n| self::node(session, families, n, open)).collect::<Vec<_>>()),
        "more": if branch.is_some_and(|b| b.has_more) { more } else { Vec::new() },
    })
}

/// The address of the tree with one branch opened, or closed if it is open.
fn toggled(id: OrgId, open: &[OrgId]) -> String {
    let mut ids: Vec<OrgId> = open.iter().copied().filter(|open_id| *open_id != id).collect();
    if ids.len() == open.len() {
        ids.push(id);
    }
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(ids.iter().map(|id| ("open", id.to_string())))
        .finish();
    format!("/console/organizations?{query}#b-{id}")
}

/// The matches of a search, of the families that the person may read.
async fn found(app: &App, session: &Session, search: &str) -> Outcome<Value> {
    let families = organizations::readable(&session.caller);
    let found = organizations::find(&app.directory, &session.caller, search, FOUND).await?;
    let own = session.caller.org().map(|own| own.id);
    let rows: Vec<Value> = found
        .rows
        .iter()
        .filter(|entry| families.contains(&entry.org_type) || Some(entry.id) == own)
        .map(|entry| {
            json!({
                "name": entry.name,
                "description": entry.description,
                "kind": kind(session.layout.language, entry.org_type),
                "href": address(entry.id),
            })
        })
        .collect();
    Ok(json!({"rows": rows, "total": found.total, "has_more": found.total > FOUND}))
}
