//! The form of new organizations and of those that exist.

use super::{
    address, head, kind, list_address,
    overview::{KNOWN, further, text_of},
};
use crate::{
    components::{
        organizations::{Picked, ToHave, offered},
        question::Crumb,
    },
    failure::Outcome,
    form::{Form, etag, is_outdated, problems_by},
    page,
    pages::done,
    session::Session,
    texts,
};
use axum::{extract::State, response::Response};
use bailiwick_app::App;
use bailiwick_directory::organizations::{self, LocatedOrganization, OrganizationBody};
use bailiwick_domain::{Error, ObjectKind, OrgId, OrgType, Organization};
use bailiwick_policy::{Action, NewOrganization, Parent, attributing, decide};
use bailiwick_web::{Params, PathId};
use http::StatusCode;
use serde_json::{Map, Value, json};

/// Empty rows for further data.
const SPARE_ROWS: usize = 2;
/// The field of the organization above.
const PARENT: &str = "created_by_organization_id";

/// The organization of a form.
#[derive(Clone, Copy)]
enum About<'f> {
    /// A new organization of a family.
    New(OrgType),
    /// One that exists.
    Present(&'f LocatedOrganization),
}

/// The family that an address or a form names.
fn family(word: &str) -> Outcome<OrgType> {
    let family = OrgType::FAMILIES.into_iter().find(|family| family.as_str() == word);
    Ok(family.ok_or(Error::NotFound(ObjectKind::Page))?)
}

/// `GET /console/organizations/new`.
pub(crate) async fn show_new(State(app): State<App>, session: Session, params: Params) -> Outcome {
    let family = family(params.one("family").unwrap_or_default())?;
    decide(&session.caller, Action::Create, &NewOrganization { family, parent: Parent::Own }).granted()?;
    let own = session.caller.org().map(|own| own.id.to_string());
    let parent = params.text(PARENT).map(str::to_owned).or(own).unwrap_or_default();
    let fields = Fields { parent: Picked::of(parent), ..Fields::default() };
    form(&app, &session, About::New(family), &fields, None).await
}

/// `POST /console/organizations/new`.
pub(crate) async fn create(State(app): State<App>, session: Session, sent: Form) -> Outcome {
    let family = family(&sent.text("family"))?;
    let fields = Fields::of(&sent);
    if fields.parent.is_search {
        decide(&session.caller, Action::Create, &NewOrganization { family, parent: Parent::Own })
            .granted()?;
        return form(&app, &session, About::New(family), &fields, None).await;
    }
    let body = || Ok(fields.body(None));
    match organizations::create(&app.directory, &session.caller, &session.context, family, body).await {
        Ok(created) => Ok(done(&address(created.id), "organization_create")),
        Err(error) => match wrong(&session, &error) {
            Some(wrong) => form(&app, &session, About::New(family), &fields, Some(wrong)).await,
            None => Err(error.into()),
        },
    }
}

/// `GET /console/organizations/{id}/edit`.
pub(crate) async fn show(State(app): State<App>, session: Session, PathId(id): PathId<OrgId>) -> Outcome {
    let located = organizations::find_for(&app.directory, &session.caller, Action::Update, id).await?;
    let fields = Fields::stored(&located.organization);
    form(&app, &session, About::Present(&located), &fields, None).await
}

/// `POST /console/organizations/{id}/edit`.
pub(crate) async fn update(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<OrgId>,
    sent: Form,
) -> Outcome {
    let located = organizations::find_for(&app.directory, &session.caller, Action::Update, id).await?;
    let (mut fields, family) = (Fields::of(&sent), located.organization.org_type);
    let body = || Ok(fields.body(Some(&located.organization)));
    let context = sent.conditional(&session.context);
    match organizations::update(&app.directory, &session.caller, &context, family, id, body).await {
        Ok(organization) => Ok(done(&address(organization.id), "saved")),
        Err(error) => match wrong(&session, &error) {
            Some(wrong) => form(&app, &session, About::Present(&located), &fields, Some(wrong)).await,
            None if is_outdated(&error) => {
                fields.add_unseen(&located.organization);
                let wrong = json!({"outdated": text(&session, "form_outdated")});
                form(&app, &session, About::Present(&located), &fields, Some(wrong)).await
            }
            None => Err(error.into()),
        },
    }
}

/// The problems, by the fields of the form; keys of the free data without a field of their own share one.
fn wrong(session: &Session, error: &Error) -> Option<Value> {
    problems_by(session.layout.language, error, |key| match key.strip_prefix("custom_data.") {
        Some(key) if key == "vat" || KNOWN.contains(&key) => key,
        Some(_) => "custom_data",
        None => key,
    })
}

/// The fields of a form.
#[derive(Clone, Debug, Default)]
struct Fields {
    name: String,
    description: String,
    vat: String,
    parent: Picked,
    /// In the order of [`KNOWN`].
    details: Vec<(&'static str, String)>,
    data: Vec<(String, String)>,
}

impl Fields {
    fn of(form: &Form) -> Fields {
        Fields {
            name: form.text("name"),
            description: form.text("description"),
            vat: form.text("vat"),
            parent: Picked::sent(form, PARENT),
            details: KNOWN.into_iter().map(|key| (key, form.text(key))).collect(),
            data: form.free_data(),
        }
    }

    fn stored(organization: &Organization) -> Fields {
        Fields {
            name: organization.details.name.clone(),
            description: organization.details.description.clone(),
            vat: organization.vat.clone().unwrap_or_default(),
            parent: Picked::default(),
            details: KNOWN.into_iter().map(|key| (key, text_of(organization, key))).collect(),
            data: further(organization),
        }
    }

    /// The body for the use case. It holds only the free data that differ from the stored ones, so values that are no
    /// texts stay as they are. A stored key cannot be removed: without its row it gets the empty value, and pages leave it
    /// out.
    fn body(&self, stored: Option<&Organization>) -> OrganizationBody {
        let vat = ("vat".to_owned(), self.vat.clone());
        let details = self.details.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        let removed = stored.map(further).unwrap_or_default().into_iter();
        let removed = removed.filter(|(key, _)| !self.has_row(key)).map(|(key, _)| (key, String::new()));
        // Keys with a field of their own come last, so their fields win.
        let further = self.data.iter().filter(|(key, _)| !key.is_empty()).cloned();
        let all = removed.chain(further).chain(details).chain([vat]);
        let is_new = |(key, value): &(String, String)| match stored {
            None => !value.is_empty() || key == "vat",
            Some(stored) => *value != text_of(stored, key),
        };
        let custom_data: Map<String, Value> =
            all.filter(is_new).map(|(key, value)| (key, Value::String(value))).collect();
        OrganizationBody {
            name: Some(self.name.clone()),
            description: Some(self.description.clone()),
            custom_data: Some(custom_data),
            created_by_organization_id: Some(self.parent.id.clone()).filter(|id| !id.is_empty()),
        }
    }

    /// Adds a row for each stored key that has none. Another person may have added the key meanwhile, and saving the
    /// form again would clear it.
    fn add_unseen(&mut self, stored: &Organization) {
        let unseen = further(stored).into_iter().filter(|(key, _)| !self.has_row(key)).collect::<Vec<_>>();
        self.data.extend(unseen);
    }

    fn has_row(&self, key: &str) -> bool {
        self.data.iter().any(|(kept, _)| kept == key.trim())
    }

    fn value(&self, key: &str) -> &str {
        self.details.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| value)
    }
}

/// The form. `wrong`: problems by field.
async fn form(
    app: &App,
    session: &Session,
    about: About<'_>,
    fields: &Fields,
    wrong: Option<Value>,
) -> Outcome<Response> {
    let language = session.layout.language;
    let (family, href, crumbs, offered) = match about {
        About::New(family) => {
            let crumbs = vec![
                Crumb::link("/console/organizations", text(session, "nav_organizations")),
                Crumb::link(list_address(family), text(session, &format!("count_{}", family.plural()))),
            ];
            (family, None, crumbs, parents(app, session, family, &fields.parent).await?)
        }
        About::Present(found) => {
            let mut crumbs = head::crumbs(app, session, found).await?;
            let here = address(found.organization.id);
            crumbs.push(Crumb::link(&*here, &*found.organization.details.name));
            (found.organization.org_type, Some(here), crumbs, None)
        }
    };
    let etag = match about {
        About::New(_) => None,
        About::Present(found) => Some(etag(&app.platform, &found.organization)?),
    };
    let status = if wrong.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let mut data = fields.data.clone();
    data.extend(std::iter::repeat_n((String::new(), String::new()), SPARE_ROWS));
    let details: Map<String, Value> =
        KNOWN.into_iter().map(|key| (key.to_owned(), json!(fields.value(key)))).collect();
    let values = json!({
        "seen": etag,
        "family": family.as_str(),
        "is_new": href.is_none(),
        "title": text(session, &format!("{}_{}", if href.is_none() { "new" } else { "edit" }, family.as_str())),
        "back": href.clone().unwrap_or_else(|| list_address(family)),
        "action": href.map_or_else(|| "/console/organizations/new".to_owned(), |href| format!("{href}/edit")),
        "crumbs": crumbs,
        "name": fields.name,
        "description": fields.description,
        "vat": fields.vat,
        "known": details,
        "languages": languages(fields.value("language"), session),
        "data": data,
        "offered": offered,
        "kind": kind(language, family),
        "wrong": wrong.unwrap_or_else(|| json!({})),
    });
    Ok(page::render(&session.layout, status, "organizations/form.html", values))
}

fn text(session: &Session, key: &str) -> &'static str {
    texts::find(session.layout.language, key).unwrap_or_default()
}

/// Languages to choose, with the present value whatever it is.
fn languages(present: &str, session: &Session) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = ["en", "it"]
        .map(|code| (code.to_owned(), text(session, &format!("language_{code}")).to_owned()))
        .into();
    if !present.is_empty() && rows.iter().all(|(code, _)| code != present) {
        rows.push((present.to_owned(), present.to_owned()));
    }
    rows
}

/// Organizations that a new one of the family can belong to; none where there is nothing to choose.
async fn parents(app: &App, session: &Session, family: OrgType, picked: &Picked) -> Outcome<Option<Value>> {
    if family == OrgType::Distributor || attributing(&session.caller, PARENT).is_err() {
        return Ok(None);
    }
    Ok(Some(offered(app, session, ToHave::Organization(family), picked).await?))
}
