//! One webhook: how its deliveries go, a test, and a replay.

use super::{
    address,
    webhooks::{crumbs, state},
};
use crate::{
    components::{
        list::{Address, Chip, Filter, PAGE_SIZE, Pager},
        time::When,
    },
    failure::Outcome,
    form::{Form, problems},
    page,
    session::Session,
    texts,
};
use axum::extract::State;
use bailiwick_app::App;
use bailiwick_directory::organizations::name_within;
use bailiwick_events::{
    Delivery,
    deliver::states,
    subscriptions::{self, View},
    test_and_replay::{self, Replay, Tested},
};
use bailiwick_policy::{Action, SubscriptionTarget, decide};
use bailiwick_web::{Params, PathId};
use http::{StatusCode, Uri};
use serde_json::{Value, json};
use uuid::Uuid;

/// What a form on the page has done.
#[derive(Default)]
struct Outcomes {
    tested: Option<Tested>,
    replayed: Option<u64>,
    /// The fields of a replay as sent, and what is wrong with them.
    since: String,
    wrong: Option<Value>,
}

/// `GET /console/timeline/webhooks/{id}`.
pub(crate) async fn show(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<Uuid>,
    uri: Uri,
    params: Params,
) -> Outcome {
    one(&app, &session, id, uri.query(), &params, Outcomes::default()).await
}

async fn one(
    app: &App,
    session: &Session,
    id: Option<Uuid>,
    query: Option<&str>,
    params: &Params,
    result: Outcomes,
) -> Outcome {
    let view = subscriptions::show(&app.events, &session.caller, id).await?;
    let (layout, s) = (&session.layout, &view.subscription);
    let language = layout.language;
    let wanted = params.many("status").into_iter().filter(|state| !state.is_empty()).collect();
    let found =
        test_and_replay::deliveries(&app.events, &session.caller, id, wanted, params.page(PAGE_SIZE)).await?;
    let here = Address::of(&address(s.id), query);
    let choice = |word: &str| {
        let label = texts::find(language, &format!("delivery_{word}")).unwrap_or(word);
        (word.to_owned(), label.to_owned())
    };
    let filters = [Filter::of("status", "filter_status", states().map(choice), &here)];
    let chips: Vec<Chip> = filters.iter().flat_map(|filter| filter.chips(&here)).collect();
    let target = SubscriptionTarget { id: s.id, path: s.path };
    let may = |action| decide(&session.caller, action, &target).is_allowed();
    let status = if result.wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let values = json!({
        "crumbs": crumbs(session, None),
        "href": address(s.id),
        "head": head(app, session, &view).await?,
        "rows": found.rows.iter().map(|row| delivery(session, row)).collect::<Vec<_>>(),
        "pager": Pager::of(&found, &here)?,
        "filters": filters,
        "chips": chips,
        "bare": here.bare(),
        "kept": params.one("page_size").map(|size| ("page_size", size)).into_iter().collect::<Vec<_>>(),
        "may_change": may(Action::Update),
        "may_delete": may(Action::Delete),
        "may_rotate": may(Action::Update) && session.caller.may_see_alert_secrets(),
        "tested": result.tested.as_ref().map(tested),
        "replayed": result.replayed,
        "since": result.since,
        "wrong": result.wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(layout, status, "events/webhook.html", values))
}

async fn head(app: &App, session: &Session, view: &View) -> Outcome<Value> {
    let (layout, s) = (&session.layout, &view.subscription);
    let when = |at| When::maybe(layout.language, layout.now, at);
    Ok(json!({
        "name": s.name,
        "url": view.url,
        "state": state(view),
        "organization": name_within(&app.directory, &session.caller, s.path.id).await?,
        "types": s.types,
        "pending": view.counts.pending,
        "dead": view.counts.dead,
        "is_enabled": s.is_enabled,
        "disabled_at": when(s.disabled_at),
        "disabled_reason": s.disabled_reason,
        "failing_since": when(s.failing_since),
        "last_error": s.last_error,
        "last_success": when(s.last_success_at),
        "previous_until": when(s.previous_until.filter(|until| *until > layout.now)),
        "created": when(Some(s.created_at)),
        "updated": when(Some(s.updated_at)),
    }))
}

fn delivery(session: &Session, delivery: &Delivery) -> Value {
    let when = |at| When::maybe(session.layout.language, session.layout.now, at);
    let is_waiting = delivery.state == "pending";
    json!({
        "event": delivery.event_id.to_string(),
        "sequence": delivery.seq,
        "kind": delivery.kind,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "next": when(is_waiting.then_some(delivery.next_at)),
        "finished": when(delivery.finished_at),
        "created": when(Some(delivery.created_at)),
        "status": delivery.status,
        "error": delivery.error,
    })
}

fn tested(tested: &Tested) -> Value {
    json!({
        "delivered": tested.delivered, "status": tested.status, "error": tested.error, "millis": tested.millis,
    })
}

/// `POST …/test`.
pub(crate) async fn test(State(app): State<App>, session: Session, PathId(id): PathId<Uuid>) -> Outcome {
    let tested = test_and_replay::test(&app.events, &session.caller, &session.context, id).await?;
    let result = Outcomes { tested: Some(tested), ..Outcomes::default() };
    one(&app, &session, id, None, &Params::default(), result).await
}

/// `POST …/replay`.
pub(crate) async fn replay(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<Uuid>,
    sent: Form,
) -> Outcome {
    let since = sent.text("since");
    let body = || {
        let event = Some(sent.text("event_id")).filter(|event| !event.is_empty());
        let since = event.is_none().then(|| moment(&since));
        Ok(Replay { event_id: event, since })
    };
    let result = match test_and_replay::replay(&app.events, &session.caller, &session.context, id, body).await
    {
        Ok(count) => Outcomes { replayed: Some(count), ..Outcomes::default() },
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) => Outcomes { since, wrong: Some(wrong), ..Outcomes::default() },
            None => return Err(error.into()),
        },
    };
    one(&app, &session, id, None, &Params::default(), result).await
}

/// What a field for date and time holds, in UTC, as the interface writes it.
fn moment(text: &str) -> String {
    match text.len() {
        16 => format!("{text}:00Z"),
        19 => format!("{text}Z"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn fields_of_date_and_time_become_moments() {
        assert_eq!(moment("2026-03-04T10:00"), "2026-03-04T10:00:00Z");
        assert_eq!(moment("2026-03-04T10:00:05"), "2026-03-04T10:00:05Z");
        assert_eq!(moment("yesterday"), "yesterday");
    }
}
