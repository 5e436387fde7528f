//! Rendering: templates are files in `templates/`, built into the program. A name that a template does not know is an
//! error, never an empty place.

use crate::{
    About,
    assets::{Assets, hash},
    links::ROOT,
    text::escaped,
};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context, escape_formatter, value::Serde};
use serde_json::Value;

/// Stands in rendered pages where the theme goes.
const THEME: &str = "\u{e001}";
/// Stands in rendered pages where the base path of operations goes.
const BASE: &str = "\u{e002}";

const SOURCES: [(&str, &str); 9] = [
    ("layout.html", include_str!("../templates/layout.html")),
    ("shelves.html", include_str!("../templates/shelves.html")),
    ("document.html", include_str!("../templates/document.html")),
    ("missing.html", include_str!("../templates/missing.html")),
    ("search.html", include_str!("../templates/search.html")),
    ("reference.html", include_str!("../templates/reference.html")),
    ("operations.html", include_str!("../templates/operations.html")),
    ("operation.html", include_str!("../templates/operation.html")),
    ("signed_in.html", include_str!("../templates/signed_in.html")),
];

/// Where and how a page is shown.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The address of `/docs`, with the base path that was asked.
    pub root: &'a str,
    /// The base path of operations.
    pub base: &'a str,
    /// `light` or `dark`; empty: the system decides.
    pub theme: &'a str,
}

#[derive(Clone, Debug)]
pub struct Page {
    /// The page.
    pub html: String,
    /// Tells its states apart; to be quoted.
    pub tag: String,
}

/// A page that can be shown anywhere.
#[derive(Clone, Debug)]
pub(crate) struct Framed {
    html: String,
    tag: String,
}

impl Framed {
    /// The page for this place.
    pub(crate) fn at(&self, at: &At<'_>) -> Page {
        let theme = if at.theme.is_empty() { String::new() } else { format!(" data-theme=\"{}\"", at.theme) };
        let html = self.html.replace(ROOT, at.root).replace(THEME, &theme).replace(BASE, at.base);
        let state = hash([at.root, at.base, at.theme].join(" "));
        Page { html, tag: format!("{}-{state}", self.tag) }
    }
}

/// The templates with what all pages say.
#[derive(Debug)]
pub(crate) struct Templates {
    all: Environment<'static>,
    common: minijinja::Value,
}

impl Templates {
    pub(crate) fn new(about: &About, assets: &Assets) -> Templates {
        let mut all = Environment::new();
        all.set_undefined_behavior(UndefinedBehavior::Strict);
        // Addresses stay readable: the own escaping of the engine replaces slashes too.
        all.set_formatter(|out, state, value| match (state.auto_escape(), value.as_str()) {
            (AutoEscape::Html, Some(text)) if !value.is_safe() => Ok(out.write_str(&escaped(text))?),
            _ => escape_formatter(out, state, value),
        });
        for (name, text) in SOURCES {
            if let Err(error) = all.add_template(name, text) {
                tracing::error!(%error, name, "a template of the guide cannot be read");
            }
        }
        let sign_in = about.sign_in.as_ref();
        let common = context! {
            root => ROOT,
            theme => THEME,
            base => BASE,
            q => "",
            style => assets.style.name.clone(),
            script => assets.script.name.clone(),
            has_console => about.has_console,
            issuer => sign_in.map(|at| at.issuer.clone()),
            client_id => sign_in.map(|at| at.client_id.clone()),
        };
        Templates { all, common }
    }

    /// A page; an empty one if it cannot be rendered, which is logged.
    pub(crate) fn render(&self, template: &str, values: Value) -> Framed {
        let values = context! { ..minijinja::Value::from(Serde(values)), ..self.common.clone() };
        let html = self.all.get_template(template).and_then(|page| page.render(values));
        let html = html.inspect_err(|error| tracing::error!(%error, template, "a page cannot be rendered"));
        let html = html.unwrap_or_default();
        Framed { tag: hash(&html), html }
    }
}
