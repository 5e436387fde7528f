//! Rebranding: the organizations that have it, and of one its names and pictures, as its systems will show them.

use super::{done, organizations::head};
use crate::{
    failure::Outcome,
    form::Form,
    page,
    pages::organizations::{address as organization_address, readable_address},
    rows::{PageRow, get, post},
    session::Session,
    texts,
};
use axum::{
    extract::{Path, State},
    response::Response,
};
use bailiwick_app::App;
use bailiwick_directory::{
    organizations::{self, ListedOrganization, LocatedOrganization},
    rebranding::{self, ProductStatus, Status},
};
use bailiwick_domain::{
    Error, OrgId,
    org::OrgRef,
    rebranding::{Asset, Media, ProductType},
};
use bailiwick_policy::{Action, RebrandingChange, rebranding_gate};
use bailiwick_web::{
    Language, Params, PathId, Upload, known_version, rebranding_file, rebranding_form, status_and_text,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Organizations that the first page names.
const NAMED: u64 = 100;

/// The pages.
pub(crate) fn rows() -> Vec<PageRow> {
    vec![
        get("/console/rebranding", list),
        get("/console/organizations/{id}/rebranding", show),
        post("/console/organizations/{id}/rebranding", switch),
        post("/console/organizations/{id}/rebranding/{product}", upload),
        post("/console/organizations/{id}/rebranding/{product}/remove", remove_product),
        get("/console/organizations/{id}/rebranding/{product}/{asset}", asset),
        post("/console/organizations/{id}/rebranding/{product}/remove/{asset}", remove_asset),
    ]
}

/// Where the rebranding of an organization is.
fn address(id: impl std::fmt::Display) -> String {
    format!("{}/rebranding", organization_address(id))
}

fn may(app: &App, session: &Session, change: RebrandingChange) -> bool {
    rebranding_gate(&session.caller, change, app.settings.rebranding.organizations_manage_assets).is_ok()
}

/// `GET /console/rebranding`.
async fn list(State(app): State<App>, session: Session, params: Params) -> Outcome {
    let caller = &session.caller;
    let enabled = rebranding::enabled(&app.directory, caller, NAMED + 1).await?;
    let has_more = enabled.len() as u64 > NAMED;
    let kind = |word: &str| texts::find(session.layout.language, &format!("role_{word}")).unwrap_or_default();
    let row = |organization: &OrgRef| {
        let href = readable_address(caller, organization).map(|_| address(organization.id));
        json!({"name": organization.name, "kind": kind(organization.org_type.as_str()), "href": href})
    };
    let entry =
        |o: &ListedOrganization| row(&OrgRef { id: o.id, name: o.name.clone(), org_type: o.org_type });
    let named = enabled.iter().take(usize::try_from(NAMED).unwrap_or(usize::MAX));
    let own = caller.org().filter(|_| !caller.is_owner_level());
    let search = params.text("search").unwrap_or_default();
    let found = match search {
        "" => Vec::new(),
        text => organizations::find(&app.directory, caller, text, NAMED).await?.rows,
    };
    let products = app.settings.rebranding.products.iter();
    let values = json!({
        "products": products.map(|p| json!({"name": p.display_name, "kind": kind_of(p.product_type)})).collect::<Vec<_>>(),
        "enabled": named.map(row).collect::<Vec<_>>(),
        "has_more": has_more,
        "own": own.map(row),
        "search": search,
        "found": found.iter().map(entry).collect::<Vec<_>>(),
        "may_enable": may(&app, &session, RebrandingChange::Enable),
    });
    Ok(page::show(&session.layout, "rebranding/list.html", values))
}

/// Text of a kind of product.
const fn kind_of(product_type: ProductType) -> &'static str {
    match product_type {
        ProductType::Application => "product_kind_application",
        ProductType::System => "product_kind_system",
    }
}

/// `GET /console/organizations/{id}/rebranding`.
async fn show(State(app): State<App>, session: Session, Path(id): Path<String>) -> Outcome {
    let record = head::load(&app, &session, id.parse().ok()).await?;
    tab(&app, &session, &record, None).await
}

/// The tab. `wrong`: a product and the problem of its form.
async fn tab(
    app: &App,
    session: &Session,
    located: &LocatedOrganization,
    wrong: Option<(&str, &str, String)>,
) -> Outcome<Response> {
    let (caller, id) = (&session.caller, located.organization.id);
    let own = rebranding::status(&app.directory, caller, Some(id)).await?;
    let nearest = located.organization.rebranding;
    // People see the values of an organization above if they may see that organization.
    let above = nearest.filter(|nearest| *nearest != id);
    let above = match above {
        Some(above) => match organizations::find_for(&app.directory, caller, Action::Read, Some(above)).await
        {
            Ok(located) => Some(located),
            Err(Error::NotFound(_) | Error::Forbidden { .. }) => None,
            Err(error) => return Err(error.into()),
        },
        None => None,
    };
    let above = above.map(|located| (located.organization.id, located.organization.details.name));
    let inherited: Option<(OrgId, Status)> = match &above {
        Some((above, _)) => Some((*above, rebranding::status(&app.directory, caller, Some(*above)).await?)),
        None => None,
    };
    let source = if own.enabled { Some((id, &own)) } else { inherited.as_ref().map(|(id, s)| (*id, s)) };
    let products: Vec<Value> = own.products.iter().map(|p| product(id, p, source)).collect();
    let is_wrong = wrong.is_some();
    let values = json!({
        "head": head::head(app, session, located, "rebranding").await?,
        "here": address(id),
        "is_own": own.enabled,
        "is_inherited": !own.enabled && nearest.is_some(),
        "from": above.map(|(id, name)| json!({"name": name, "href": address(id)})),
        "products": products,
        "may_switch": may(app, session, RebrandingChange::Enable),
        "may_upload": own.enabled && may(app, session, RebrandingChange::Update),
        "may_remove": may(app, session, RebrandingChange::Delete),
        "wrong_product": wrong.as_ref().map(|(product, ..)| product),
        "wrong": wrong.iter().map(|(product, field, text)| (format!("{product}-{field}"), text)).collect::<BTreeMap<_, _>>(),
    });
    let status = if is_wrong { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(page::render(&session.layout, status, "rebranding/tab.html", values))
}

/// A product: the stored values and those in force. `source`: the organization that gives the latter.
fn product(id: OrgId, own: &ProductStatus, source: Option<(OrgId, &Status)>) -> Value {
    let product = &own.product;
    let href = |of: OrgId, asset: &Asset| format!("{}/{}/{}", address(of), product.id, asset.as_str());
    let own_asset = |asset: &Asset| {
        let is_there = own.assets.contains(asset);
        json!({
            "word": asset.as_str(),
            "href": is_there.then(|| href(id, asset)),
            "accept": accepted(*asset).map(Media::content_type).collect::<Vec<_>>().join(","),
            "kinds": kinds(*asset),
            "most": asset.max_bytes(),
        })
    };
    let given = source.and_then(|(of, status)| {
        let given = status.products.iter().find(|given| given.product.id == product.id)?;
        Some((of, given))
    });
    let shown: serde_json::Map<String, Value> = Asset::ALL
        .iter()
        .map(|asset| {
            let there = given.filter(|(_, given)| given.assets.contains(asset));
            (asset.as_str().to_owned(), json!(there.map(|(of, _)| href(of, asset))))
        })
        .collect();
    let name = given.and_then(|(_, given)| given.name.clone());
    json!({
        "id": product.id,
        "title": product.display_name,
        "kind": kind_of(product.product_type),
        "name": own.name,
        "assets": Asset::ALL.iter().map(own_asset).collect::<Vec<_>>(),
        "has_own": own.name.is_some() || !own.assets.is_empty(),
        "is_given": given.is_some_and(|(_, given)| given.name.is_some() || !given.assets.is_empty()),
        "shown": shown,
        "shown_name": name.unwrap_or_else(|| product.display_name.clone()),
    })
}

/// The kinds of file that an asset can be.
fn accepted(asset: Asset) -> impl Iterator<Item = Media> {
    Media::ALL.into_iter().filter(move |media| asset.takes(*media))
}

/// Their names: `PNG, SVG`.
fn kinds(asset: Asset) -> String {
    accepted(asset).map(|media| media.extension().to_uppercase()).collect::<Vec<_>>().join(", ")
}

/// `POST /console/organizations/{id}/rebranding`: on or off.
async fn switch(
    State(app): State<App>,
    session: Session,
    PathId(id): PathId<OrgId>,
    Path(sent): Path<String>,
    form: Form,
) -> Outcome {
    let (caller, context) = (&session.caller, &session.context);
    let is_on = form.has("on");
    if is_on {
        rebranding::enable(&app.directory, caller, context, id).await?;
    } else {
        rebranding::disable(&app.directory, caller, context, id).await?;
    }
    Ok(done(&address(sent), if is_on { "rebranding_on" } else { "rebranding_off" }))
}

/// `POST /console/organizations/{id}/rebranding/{product}`: a name and pictures.
async fn upload(
    State(app): State<App>,
    session: Session,
    Path((id, product)): Path<(String, String)>,
    upload: Upload,
) -> Outcome {
    let organization: Option<OrgId> = id.parse().ok();
    let target = (organization, product.as_str());
    let form = rebranding_form(upload);
    match rebranding::upload(&app.directory, &session.caller, &session.context, target, form).await {
        Ok(()) => Ok(done(&address(id), "saved")),
        Err(error @ (Error::BadRequest { .. } | Error::TooLarge { .. })) => {
            let record = head::load(&app, &session, organization).await?;
            let (field, text) = problem(session.layout.language, &error);
            tab(&app, &session, &record, Some((&product, field, text))).await
        }
        Err(error) => Err(error.into()),
    }
}

/// The problem of a form: the field, or `form` where it is not about one, and the reason, in words of the page where
/// there are some.
fn problem(language: Language, error: &Error) -> (&'static str, String) {
    let (_, message) = status_and_text(error, None);
    let text = |rest: &str| texts::find(language, &format!("asset_{}", rest.trim().replace(' ', "_")));
    let of_asset = Asset::ALL.iter().find_map(|asset| {
        let message = text(message.strip_prefix(asset.as_str())?)?;
        Some((asset.as_str(), message.replace("{kinds}", &kinds(*asset))))
    });
    let of_name = || Some(("name", text(message.strip_prefix("product name")?)?.to_owned()));
    let whole = || text(message).map(|text| ("form", text.to_owned()));
    of_asset.or_else(of_name).or_else(whole).unwrap_or_else(|| ("form", message.to_string()))
}

/// `POST /console/organizations/{id}/rebranding/{product}/remove`: all of a product.
async fn remove_product(
    State(app): State<App>,
    session: Session,
    Path((id, product)): Path<(String, String)>,
) -> Outcome {
    let organization = id.parse().ok();
    rebranding::delete_product(&app.directory, &session.caller, &session.context, organization, &product)
        .await?;
    Ok(done(&address(id), "rebranding_removed"))
}

/// `POST /console/organizations/{id}/rebranding/{product}/remove/{asset}`.
async fn remove_asset(
    State(app): State<App>,
    session: Session,
    Path((id, product, asset)): Path<(String, String, String)>,
) -> Outcome {
    let target = (product.as_str(), asset.as_str());
    rebranding::delete_asset(&app.directory, &session.caller, &session.context, id.parse().ok(), target)
        .await?;
    Ok(done(&address(id), "rebranding_removed"))
}

/// `GET /console/organizations/{id}/rebranding/{product}/{asset}`: a picture.
async fn asset(
    State(app): State<App>,
    session: Session,
    Path((id, product, asset)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Outcome {
    let target = (product.as_str(), asset.as_str());
    let known = known_version(&headers);
    let shown = rebranding::asset(&app.directory, &session.caller, id.parse().ok(), target, known).await?;
    let mut response = rebranding_file(shown)?;
    // A removed or replaced picture must not be shown any more.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("cookie"));
    Ok(response)
}
