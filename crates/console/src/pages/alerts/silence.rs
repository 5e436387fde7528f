//! Silencing an alert: a form, then what the silence would silence now, then the silence.

use super::shown::{address, shown};
use crate::{
    components::time::When,
    failure::Outcome,
    form::{Form, problems},
    page,
    pages::done,
    session::Session,
    texts,
};
use axum::extract::{Path, State};
use bailiwick_alerts::manage::{self, CallerContext, NewSilence, SilenceScope};
use bailiwick_app::App;
use bailiwick_domain::Error;
use bailiwick_policy::SILENCING;
use http::StatusCode;
use serde_json::{Value, json};

/// Lengths that can be chosen, in minutes.
const LENGTHS: [i64; 6] = [60, 240, 480, 1_440, 4_320, 10_080];

/// What the form holds.
#[derive(Debug, Default)]
struct Fields {
    duration: String,
    end_at: String,
    comment: String,
}

impl Fields {
    fn of(form: &Form) -> Fields {
        Fields {
            duration: form.text("duration_minutes"),
            end_at: form.text("end_at"),
            comment: form.text("comment"),
        }
    }

    fn silence(&self, fingerprint: &str) -> NewSilence {
        NewSilence {
            fingerprint: fingerprint.to_owned(),
            comment: self.comment.clone(),
            duration_minutes: self.duration.parse().ok(),
            end_at: (self.duration.parse::<i64>().is_err()).then(|| moment(&self.end_at)),
        }
    }
}

/// RFC 3339 of what a browser sends for a date with a time, which people read as UTC.
pub(super) fn moment(sent: &str) -> String {
    match sent.len() {
        16 => format!("{sent}:00Z"),
        19 => format!("{sent}Z"),
        _ => sent.to_owned(),
    }
}

/// `GET /console/alerts/{organization}/{fingerprint}/silence`.
pub(crate) async fn ask(
    State(app): State<App>,
    session: Session,
    Path(named): Path<(String, String)>,
) -> Outcome {
    session.needs_one_of(SILENCING)?;
    let fields = Fields { duration: LENGTHS[0].to_string(), ..Fields::default() };
    form(&app, &session, &named, &fields, None).await
}

/// `POST /console/alerts/{organization}/{fingerprint}/silence`: the preview, or with `confirm` the silence.
pub(crate) async fn make(
    State(app): State<App>,
    session: Session,
    Path(named): Path<(String, String)>,
    sent: Form,
) -> Outcome {
    session.needs_one_of(SILENCING)?;
    let fields = Fields::of(&sent);
    let context = CallerContext { caller: &session.caller, ctx: &session.context };
    let scope = SilenceScope::Organization(vec![named.0.clone()]);
    let new = || Ok(fields.silence(&named.1));
    let outcome = match sent.has("confirm") {
        true => manage::create_silence(&app.alerts, context, &scope, new).await.map(|_| None),
        false => manage::preview_silence(&app.alerts, context, &scope, new).await.map(Some),
    };
    match outcome {
        Ok(None) => Ok(done(&address(&named.0, &named.1), "silenced")),
        Ok(Some(preview)) => {
            let layout = &session.layout;
            let matchers: Vec<String> = preview.matchers.iter().map(ToString::to_string).collect();
            let values = json!({
                "href": address(&named.0, &named.1),
                "matchers": matchers,
                "until": When::of(layout.language, layout.now, preview.ends_at),
                "comment": preview.comment,
                "rows": preview.alerts.iter().map(|alert| shown(layout, alert)).collect::<Vec<_>>(),
                "total": preview.total,
                "duration": fields.duration,
                "end_at": fields.end_at,
                "sent": fields.comment,
            });
            Ok(page::show(layout, "alerts/silence_preview.html", values))
        }
        Err(error) => match problems(session.layout.language, &error) {
            Some(wrong) if wrong.get("fingerprint").is_none() => {
                form(&app, &session, &named, &fields, Some(wrong)).await
            }
            Some(_) => Err(Error::NotFound(bailiwick_domain::ObjectKind::Alert).into()),
            None => Err(error.into()),
        },
    }
}

async fn form(
    app: &App,
    session: &Session,
    named: &(String, String),
    fields: &Fields,
    wrong: Option<Value>,
) -> Outcome {
    let organization = [named.0.clone()];
    let (_, active) = manage::active_alert(&app.alerts, &session.caller, &organization, &named.1).await?;
    let language = session.layout.language;
    let length = |minutes: i64| {
        let key = format!("length_{minutes}");
        (minutes.to_string(), texts::find(language, &key).unwrap_or_default().to_owned())
    };
    let own = texts::find(language, "length_own").unwrap_or_default().to_owned();
    let lengths: Vec<(String, String)> =
        LENGTHS.into_iter().map(length).chain([("own".to_owned(), own)]).collect();
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let values = json!({
        "alert": shown(&session.layout, &active),
        "href": address(&named.0, &named.1),
        "lengths": lengths,
        "duration": fields.duration,
        "end_at": fields.end_at,
        "comment": fields.comment,
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(&session.layout, status, "alerts/silence.html", values))
}
