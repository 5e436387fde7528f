//! Silences: the list, and one of them with its end.

use super::{
    list::{handed_on, labelled, place_chips},
    silence::moment,
};
use crate::{
    components::{
        list::{Address, Chip, Filter, PAGE_SIZE, Pager},
        time::When,
    },
    failure::Outcome,
    form::{Form, problems},
    links::segment,
    page,
    pages::done,
    session::Session,
};
use axum::extract::{Path, State};
use bailiwick_alertmanager::{ListedSilence, Nanos, SilenceState};
use bailiwick_alerts::manage::{self, CallerContext, FoundSilence, SilenceChange, SilenceScope};
use bailiwick_app::App;
use bailiwick_domain::{Error, Page, fold::fold};
use bailiwick_policy::{Permission, SILENCING};
use bailiwick_web::{Params, alerts, values};
use http::{StatusCode, Uri};
use serde_json::{Value, json};
use std::fmt::Display;

const HERE: &str = "/console/alerts/silences";

/// Where a silence is.
fn address(organization: impl Display, id: impl Display) -> String {
    format!("{HERE}/{}/{id}", segment(organization))
}

const fn state(silence: &ListedSilence) -> &'static str {
    match silence.status.state {
        SilenceState::Active => "active",
        SilenceState::Pending => "pending",
        SilenceState::Expired => "expired",
    }
}

/// `GET /console/alerts/silences`.
pub(crate) async fn show(State(app): State<App>, session: Session, uri: Uri, params: Params) -> Outcome {
    let keys = values(&params, "system_key", Some);
    let found = manage::silences(&app.alerts, &session.caller, &alerts::named(&params), keys).await?;
    let mut all = found.silences;
    let states: Option<Vec<String>> = values(&params, "state", Some);
    all.retain(|f| states.as_ref().is_none_or(|words| words.iter().any(|word| word == state(&f.silence))));
    let search = params.text("search").unwrap_or_default();
    let searched = fold(search.trim());
    all.retain(|f| {
        let texts = [&f.silence.comment, &f.silence.created_by, &f.system_key];
        let values = f.silence.matchers.iter().map(|matcher| &matcher.value);
        searched.is_empty() || texts.into_iter().chain(values).any(|text| fold(text).contains(&searched))
    });
    let request = params.page(PAGE_SIZE);
    let total = all.len() as u64;
    let from = usize::try_from(request.offset()).unwrap_or(usize::MAX);
    let size = usize::try_from(request.page_size).unwrap_or(usize::MAX);
    let rows: Vec<FoundSilence> = all.into_iter().skip(from).take(size).collect();
    let here = Address::of(HERE, uri.query());
    let language = session.layout.language;
    let filters = [Filter::of(
        "state",
        "filter_status",
        ["active", "pending"].map(|word| labelled(language, "silence_state", word)),
        &here,
    )];
    let mut chips: Vec<Chip> = filters.iter().flat_map(|filter| filter.chips(&here)).collect();
    chips.extend(place_chips(&app, &session, &here).await?);
    let page = Page { rows, total, request };
    let pager = Pager::of(&page, &here)?;
    let values = json!({
        "tab": "silences",
        "rows": shown(&app, &session, page.rows).await?,
        "filters": filters,
        "is_filtered": !chips.is_empty() || !searched.is_empty(),
        "chips": chips,
        "pager": pager,
        "warnings": found.warnings,
        "search": search,
        "kept": handed_on(&params, &["organization_id", "include", "system_key", "page_size"]),
        "bare": here.bare(),
        "may_end": session.caller.holds_one_of(SILENCING),
    });
    Ok(page::show(&session.layout, "alerts/silences.html", values))
}

async fn shown(app: &App, session: &Session, rows: Vec<FoundSilence>) -> Outcome<Vec<Value>> {
    let keys: Vec<_> = rows.iter().map(|f| (f.organization_id, f.system_key.clone())).collect();
    let systems = manage::named_systems(&app.alerts, &keys).await?;
    let row = |(f, key): (FoundSilence, &(bailiwick_domain::OrgId, String))| {
        let system = systems.get(key);
        let mut row = facts(session, &f.silence);
        row["href"] = json!(address(f.organization_id, f.silence.id));
        row["system"] = json!(system.map_or(f.system_key.as_str(), |system| system.name.as_str()));
        row["organization"] = json!(system.map(|system| system.organization.as_str()));
        row
    };
    Ok(rows.into_iter().zip(&keys).map(row).collect())
}

/// What every page shows of a silence.
fn facts(session: &Session, silence: &ListedSilence) -> Value {
    let (layout, language) = (&session.layout, session.layout.language);
    let when = |at: Nanos| When::of(language, layout.now, at.to_ts());
    let alert = silence.matchers.iter().find(|matcher| matcher.name == "alertname");
    json!({
        "state": state(silence),
        "alert": alert.map(|matcher| matcher.value.as_str()),
        "comment": silence.comment,
        "by": silence.created_by,
        "starts": when(silence.starts_at),
        "ends": when(silence.ends_at),
    })
}

/// `GET /console/alerts/silences/{organization}/{id}`.
pub(crate) async fn one(
    State(app): State<App>,
    session: Session,
    Path(named): Path<(String, String)>,
) -> Outcome {
    render(&app, &session, &named, None).await
}

/// `POST /console/alerts/silences/{organization}/{id}`: another end or comment.
pub(crate) async fn change(
    State(app): State<App>,
    session: Session,
    Path(named): Path<(String, String)>,
    form: Form,
) -> Outcome {
    session.needs_one_of(SILENCING)?;
    let context = CallerContext { caller: &session.caller, ctx: &session.context };
    let scope = SilenceScope::Organization(vec![named.0.clone()]);
    let stored = manage::silence(&app.alerts, context, &scope, &named.1).await?;
    let (end_at, comment) = (form.text("end_at"), form.text("comment"));
    let change = || {
        // An empty comment would keep the present one without a word.
        if comment.trim().is_empty() && !stored.comment.trim().is_empty() {
            return Err(Error::field("comment", "required"));
        }
        // The field shows no seconds. The end that it shows stays as it is.
        let is_kept = end_at == minute(stored.ends_at);
        let end_at = if is_kept { stored.ends_at.to_ts().rfc3339(6) } else { moment(&end_at) };
        Ok(SilenceChange { end_at: Some(end_at), comment: Some(comment.clone()) })
    };
    let changed = manage::change_silence(&app.alerts, context, &scope, &named.1, change).await;
    match changed {
        Ok(id) => Ok(done(&address(&named.0, id), "saved")),
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) => render(&app, &session, &named, Some((end_at, comment, wrong))).await,
            None => Err(error.into()),
        },
    }
}

/// A time as its field shows it, without seconds.
fn minute(time: Nanos) -> String {
    time.to_ts().rfc3339(0).chars().take(16).collect()
}

/// `POST /console/alerts/silences/{organization}/{id}/end`.
pub(crate) async fn end(
    State(app): State<App>,
    session: Session,
    Path(named): Path<(String, String)>,
) -> Outcome {
    session.needs_one_of(SILENCING)?;
    let context = CallerContext { caller: &session.caller, ctx: &session.context };
    let scope = SilenceScope::Organization(vec![named.0.clone()]);
    manage::end_silence(&app.alerts, context, &scope, &named.1).await?;
    Ok(done(HERE, "unsilenced"))
}

async fn render(
    app: &App,
    session: &Session,
    named: &(String, String),
    sent: Option<(String, String, Value)>,
) -> Outcome {
    session.needs(Permission::ReadSystems)?;
    let context = CallerContext { caller: &session.caller, ctx: &session.context };
    let scope = SilenceScope::Organization(vec![named.0.clone()]);
    let silence = manage::silence(&app.alerts, context, &scope, &named.1).await?;
    let is_over = silence.status.state == SilenceState::Expired;
    let status = if sent.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let (end_at, comment, wrong) =
        sent.unwrap_or_else(|| (minute(silence.ends_at), silence.comment.clone(), json!({})));
    let values = json!({
        "silence": facts(session, &silence),
        "href": address(&named.0, silence.id),
        "matchers": silence.matchers.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "may_change": session.caller.holds_one_of(SILENCING) && !is_over,
        "end_at": end_at,
        "comment": comment,
        "wrong": wrong,
    });
    Ok(page::render(&session.layout, status, "alerts/one_silence.html", values))
}
