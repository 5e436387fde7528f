//! What every page shows around its content: language, theme, the signed-in person, navigation.

use crate::{assets, time::When};
use bailiwick_app::App;
use bailiwick_domain::Ts;
use bailiwick_identity::console::Open;
use bailiwick_policy::{Caller, Permission, own_account};
use bailiwick_web::{Language, THEME, THEMES, cookie};
use http::{HeaderMap, Uri};
use serde::Serialize;

/// Name of the cookie that keeps the language.
pub(crate) const LANGUAGE: &str = "bailiwick-language";

/// Around a page.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Layout {
    #[serde(skip)]
    pub(crate) language: Language,
    #[serde(skip)]
    pub(crate) now: Ts,
    /// `light`, `dark` or empty.
    theme: &'static str,
    style: String,
    script: String,
    /// The documents of the service.
    guide: String,
    /// Which area of the console it is.
    section: &'static str,
    areas: Vec<Area>,
    person: Option<Person>,
    band: Option<Band>,
    /// The word of the note at the top, about what a form has done.
    pub(crate) done: Option<String>,
}

/// Who has signed in.
#[derive(Clone, Debug, Serialize)]
struct Person {
    name: String,
    organization: String,
    role: &'static str,
    /// Whether the account is the person's own business now.
    has_account: bool,
}

/// An area of the console, as the navigation shows it; its icon and its text (`nav_<word>`) are named by its word.
#[derive(Clone, Debug, Serialize)]
struct Area {
    word: &'static str,
    href: &'static str,
}

/// Whether an area is open to a person.
type IsOpen = fn(&Caller) -> bool;

/// The areas, in the order of the navigation: word, address, who may enter.
const AREAS: &[(&str, &str, IsOpen)] = &[
    ("home", "/console/", |_| true),
    // Everybody may see their own organization.
    ("organizations", "/console/organizations", |caller| caller.org().is_some()),
    ("users", "/console/users", |caller| caller.holds(Permission::ReadUsers)),
    ("systems", "/console/systems", |caller| caller.holds(Permission::ReadSystems)),
    ("applications", "/console/applications", |caller| caller.holds(Permission::ReadApplications)),
    ("alerts", "/console/alerts", |caller| caller.holds(Permission::ReadSystems)),
    ("notifications", "/console/notifications", |caller| caller.holds(Permission::ReadAlerts)),
    ("events", "/console/timeline", |_| true),
    ("rebranding", "/console/rebranding", |caller| caller.org().is_some()),
];

/// The impersonation that is open.
#[derive(Clone, Debug, Serialize)]
struct Band {
    /// Whether this page is shown with the other person's rights.
    is_acting: bool,
    name: String,
    organization: String,
    until: When,
}

impl Layout {
    /// Of a request before the sign-in.
    pub(crate) fn of(app: &App, headers: &HeaderMap, uri: &Uri) -> Layout {
        let is_https = app.settings.public_url.starts_with("https://");
        let stored = |name| cookie(headers, name, is_https).unwrap_or_default();
        let theme = stored(THEME);
        Layout {
            language: Language::parse(&stored(LANGUAGE))
                .unwrap_or_else(|| bailiwick_web::language_of(headers)),
            now: app.platform.now(),
            theme: THEMES.into_iter().find(|word| *word == theme).unwrap_or_default(),
            style: assets::style(),
            script: assets::script(),
            guide: guide(app),
            section: section(uri.path()),
            areas: Vec::new(),
            person: None,
            band: None,
            done: None,
        }
    }

    /// Whether there is an area of this word that the person may open.
    pub(crate) fn has_area(&self, word: &str) -> bool {
        self.areas.iter().any(|area| area.word == word)
    }

    /// Of a request of a signed-in person.
    pub(crate) fn signed_in(mut self, caller: &Caller, open: Option<&Open>) -> Layout {
        self.person = caller.identity().map(|identity| Person {
            name: identity.name.clone(),
            organization: identity.organization.name.clone(),
            role: identity.organization.org_type.as_str(),
            has_account: own_account(caller).is_ok(),
        });
        let open_areas = AREAS.iter().filter(|(.., may)| may(caller));
        self.areas = open_areas.map(|(word, href, _)| Area { word, href }).collect();
        self.band = open.map(|open| Band {
            is_acting: open.is_acting,
            name: open.current.impersonated.name.clone(),
            organization: open.current.impersonated.organization_name.clone(),
            until: When::of(self.language, self.now, open.current.session.expires_at),
        });
        self
    }
}

/// Where the guide is. The files of another interface hide what is at the root from browsers.
fn guide(app: &App) -> String {
    let settings = &app.settings;
    let below = settings.base_paths.iter().find(|base| !base.is_empty());
    let base = below.filter(|_| settings.static_dir.is_some()).map_or("", String::as_str);
    format!("{base}/docs/guide")
}

/// The word of the area that an address belongs to; empty for none.
fn section(path: &str) -> &'static str {
    let rest = path.strip_prefix("/console").unwrap_or_default().trim_start_matches('/');
    let word = rest.split('/').next().unwrap_or_default();
    let is_here = |word: &str, href: &str| href.trim_start_matches("/console/") == word;
    AREAS.iter().find(|(_, href, _)| is_here(word, href)).map_or("", |(word, ..)| word)
}
