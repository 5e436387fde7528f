//! Suspend, reactivate, delete, restore, destroy, promote. Each is asked first, because it concerns everything below.

use super::{address, head, list_address};
use crate::{
    components::question::{Crumb, Question, lifecycle_action},
    failure::Outcome,
    form::Form,
    pages::done,
    session::Session,
    texts,
};
use axum::extract::{Path, State};
use bailiwick_app::App;
use bailiwick_directory::organizations::{self, LocatedOrganization, Move};
use bailiwick_domain::{Error, ObjectKind, OrgId};
use bailiwick_policy::{Action, decide};

fn action(word: &str) -> Outcome<Action> {
    let promotion = (word == "promote").then_some(Action::Promote);
    Ok(promotion.or_else(|| lifecycle_action(word)).ok_or(Error::NotFound(ObjectKind::Page))?)
}

/// `GET /console/organizations/{id}/{step}`.
pub(crate) async fn ask(
    State(app): State<App>,
    session: Session,
    Path((id, word)): Path<(String, String)>,
) -> Outcome {
    let found =
        organizations::find_for(&app.directory, &session.caller, action(&word)?, id.parse().ok()).await?;
    question(&app, &session, &found, &word, false).await
}

async fn question(
    app: &App,
    session: &Session,
    located: &LocatedOrganization,
    word: &str,
    is_wrong: bool,
) -> Outcome {
    let organization = &located.organization;
    let is_deleted = organization.deleted.is_set();
    let may_destroy = decide(&session.caller, Action::Destroy, &located.target()).is_allowed();
    let here = address(organization.id);
    let mut crumbs = head::crumbs(app, session, located).await?;
    crumbs.push(match is_deleted {
        true => Crumb::text(&*organization.details.name),
        false => Crumb::link(&*here, &*organization.details.name),
    });
    let back = if is_deleted {
        format!("{}?status=deleted", list_address(organization.org_type))
    } else {
        here.clone()
    };
    let other = (may_destroy && word == "restore").then(|| (format!("{here}/destroy"), "do_destroy"));
    Question {
        word,
        area: Some("organization"),
        name: &organization.details.name,
        crumbs,
        action: format!("{here}/{word}"),
        back,
        details: details(app, session, located, word).await?,
        types_name: word == "destroy",
        is_wrong,
        other,
    }
    .page(session)
}

/// How many objects a step concerns.
async fn details(
    app: &App,
    session: &Session,
    located: &LocatedOrganization,
    word: &str,
) -> Outcome<Vec<String>> {
    let (id, family) = (located.organization.id, located.organization.org_type);
    let numbers = match word {
        "destroy" => {
            let goes =
                organizations::extent(&app.directory, &session.caller, Action::Destroy, Some(id)).await?;
            [goes.organizations, goes.users, goes.systems, goes.applications]
        }
        "restore" => return Ok(Vec::new()),
        _ => {
            let mut stats = organizations::numbers(&app.directory, family, vec![id]).await?;
            let stats = stats.remove(&id).unwrap_or_default();
            let below = stats.resellers + stats.customers;
            // The applications of its systems go with the systems, whichever organization they are assigned to.
            let goes =
                organizations::extent(&app.directory, &session.caller, action(word)?, Some(id)).await?;
            [below, stats.subtree.users, stats.subtree.systems, goes.applications]
        }
    };
    let language = session.layout.language;
    let keys = ["goes_organizations", "goes_users", "goes_systems", "goes_applications"];
    let shown = keys.into_iter().zip(numbers).filter(|(_, number)| *number > 0);
    let shown: Vec<String> = shown.map(|(key, number)| texts::count(language, key, number)).collect();
    let nothing = || vec![texts::find(language, "goes_nothing").unwrap_or_default().to_owned()];
    Ok(if shown.is_empty() { nothing() } else { shown })
}

/// `POST /console/organizations/{id}/{step}`.
pub(crate) async fn take(
    State(app): State<App>,
    session: Session,
    Path((id, word)): Path<(String, String)>,
    form: Form,
) -> Outcome {
    let wanted = action(&word)?;
    let located = organizations::find_for(&app.directory, &session.caller, wanted, id.parse().ok()).await?;
    let organization = &located.organization;
    if wanted == Action::Destroy && form.text("name") != organization.details.name {
        return question(&app, &session, &located, &word, true).await;
    }
    take_step(&app, &session, wanted, &located, organization.id).await?;
    // People below the owner lose access to an organization that they promote.
    let is_gone = match wanted {
        Action::Delete | Action::Destroy => true,
        Action::Promote => !session.caller.is_owner_level(),
        _ => false,
    };
    let to = if is_gone { list_address(organization.org_type) } else { address(organization.id) };
    Ok(done(&to, &format!("organization_{word}")))
}

async fn take_step(
    app: &App,
    session: &Session,
    wanted: Action,
    located: &LocatedOrganization,
    id: OrgId,
) -> Outcome<()> {
    let (caller, context, family) = (&session.caller, &session.context, located.organization.org_type);
    let to = match wanted {
        Action::Promote => {
            organizations::promote(&app.directory, caller, context, Some(id)).await?;
            return Ok(());
        }
        Action::Destroy => {
            return Ok(organizations::destroy(&app.directory, caller, context, family, Some(id)).await?);
        }
        Action::Suspend => Move::Suspend,
        Action::Reactivate => Move::Reactivate,
        Action::Delete => Move::Delete,
        _ => Move::Restore,
    };
    organizations::change_state(&app.directory, caller, context, family, Some(id), to).await?;
    Ok(())
}
