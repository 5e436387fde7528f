//! The list of users, with the interface's filters in the address.

use super::{address, head};
use crate::{
    components::{
        creators::creator_filter,
        list::{Address, Chip, Column, Filter, PAGE_SIZE, Pager, hidden_fields, is_filtered},
        organizations::organization_chips,
        time::When,
    },
    failure::Outcome,
    page,
    session::Session,
    texts,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_directory::{creators::Of, exports, roles, users};
use bailiwick_policy::{Action, Resource, gate};
use bailiwick_web::{Params, asked, download, user_query};
use http::Uri;
use serde_json::{Value, json};

const STATES: [&str; 3] = ["enabled", "suspended", "deleted"];

/// `GET /console/users`.
pub(crate) async fn show(State(app): State<App>, session: Session, uri: Uri, params: Params) -> Outcome {
    let params = params.filled();
    let found = users::page(&app.directory, &session.caller, user_query(&params, PAGE_SIZE)).await?;
    let here = Address::of("/console/users", uri.query());
    let filters = filters(&app, &session, &here).await?;
    let mut chips: Vec<Chip> = filters.iter().flat_map(|filter| filter.chips(&here)).collect();
    chips.extend(organization_chips(&app, &session, &here, "column_organization").await?);
    let columns = [
        Column::of("name", "column_name", Some("name"), &here),
        Column::of("status", "column_status", Some("status"), &here),
        Column::of("roles", "column_roles", None, &here),
        Column::of("organization", "column_organization", Some("organization"), &here),
        Column::of("seen", "column_signed_in", Some("latest_login_at"), &here),
        Column::of("created", "column_created", Some("created_at"), &here),
    ];
    let values = json!({
        "pager": Pager::of(&found, &here)?,
        "rows": found.rows.iter().map(|user| row(&session, user)).collect::<Vec<_>>(),
        "columns": columns,
        "kept": hidden_fields(users::FILTERS, &filters, &here),
        "filters": filters.into_iter().filter(Filter::has_choices).collect::<Vec<_>>(),
        "chips": chips,
        "search": params.text("search").unwrap_or_default(),
        "bare": here.bare(),
        "is_filtered": is_filtered(users::FILTERS, &here),
        "may_create": gate(&session.caller, Action::Create, Resource::Users).is_ok(),
        "csv": here.at("/console/users/export").with("format", Some("csv")).text(),
        "pdf": here.at("/console/users/export").with("format", Some("pdf")).text(),
    });
    Ok(page::show(&session.layout, "users/list.html", values))
}

/// `GET /console/users/export`.
pub(crate) async fn export(State(app): State<App>, session: Session, params: Params) -> Outcome {
    let query = user_query(&params, PAGE_SIZE);
    Ok(download(
        exports::users(&app.directory, &session.caller, query, asked(&params, users::FILTERS)).await?,
    )?)
}

fn row(session: &Session, view: &users::UserView) -> Value {
    let (layout, user) = (&session.layout, &view.user);
    let when = |at| When::maybe(layout.language, layout.now, at);
    // Of a deleted user there is nothing to be read, only to be restored or removed for good.
    let href = if user.deleted.is_set() { format!("{}/restore", address(user.id)) } else { address(user.id) };
    json!({
        "href": href,
        "name": user.name,
        "email": user.email,
        "status": head::status(user),
        "roles": view.roles.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", "),
        "organization": user.organization.name,
        "signed_in": when(user.latest_login_at),
        "created": when(Some(user.created_at)),
    })
}

async fn filters(app: &App, session: &Session, here: &Address) -> Outcome<[Filter; 3]> {
    let language = session.layout.language;
    let state = |word: &str| {
        let label = texts::find(language, &format!("user_{word}")).unwrap_or(word).to_owned();
        (word.to_owned(), label)
    };
    let roles = roles::filters(&app.directory, &session.caller).into_iter().map(|role| (role.id, role.name));
    Ok([
        Filter::of("status", "filter_status", STATES.map(state), here),
        Filter::of("role", "filter_role", roles, here),
        creator_filter(app, session, Of::Users, here).await?,
    ])
}
