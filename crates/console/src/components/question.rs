//! A step that is asked before it is taken, with the name to type where nothing brings it back.

use crate::{failure::Outcome, page, session::Session, texts};
use axum::response::Response;
use bailiwick_policy::Action;
use http::StatusCode;
use serde::Serialize;
use serde_json::json;

/// The action that a word of an address means; none for a word of no state.
pub(crate) fn lifecycle_action(word: &str) -> Option<Action> {
    Some(match word {
        "suspend" => Action::Suspend,
        "reactivate" => Action::Reactivate,
        "delete" => Action::Delete,
        "restore" => Action::Restore,
        "destroy" => Action::Destroy,
        _ => return None,
    })
}

/// One step of the way to a page; without an address it is text.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Crumb {
    pub(crate) href: Option<String>,
    pub(crate) text: String,
}

impl Crumb {
    pub(crate) fn link(href: impl Into<String>, text: impl Into<String>) -> Crumb {
        Crumb { href: Some(href.into()), text: text.into() }
    }

    /// A name alone.
    pub(crate) fn text(text: impl Into<String>) -> Crumb {
        Crumb { href: None, text: text.into() }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Question<'q> {
    /// Word of the action: texts `ask_<word>` (a title with `{name}`), `ask_<word>_body` and `do_<word>`.
    pub(crate) word: &'q str,
    /// An area in the key of the texts, `ask_<area>_<word>`, where systems and others differ.
    pub(crate) area: Option<&'q str>,
    /// What it is about.
    pub(crate) name: &'q str,
    pub(crate) crumbs: Vec<Crumb>,
    /// Where the form goes.
    pub(crate) action: String,
    /// Where "Cancel" leads.
    pub(crate) back: String,
    /// More sentences: what goes with it.
    pub(crate) details: Vec<String>,
    /// Whether the name has to be typed.
    pub(crate) types_name: bool,
    /// Whether the form was refused: another name was typed, or somebody else has changed the object.
    pub(crate) is_wrong: bool,
    /// Another way, in red: address and key of its text.
    pub(crate) other: Option<(String, &'q str)>,
}

impl Question<'_> {
    pub(crate) fn page(self, session: &Session) -> Outcome<Response> {
        let language = session.layout.language;
        let text = |key: &str| texts::find(language, key).unwrap_or_default();
        let key = match self.area {
            Some(area) => format!("ask_{area}_{}", self.word),
            None => format!("ask_{}", self.word),
        };
        let values = json!({
            "title": texts::with(language, &key, "name", self.name),
            "body": text(&format!("{key}_body")),
            "details": self.details,
            "crumbs": self.crumbs,
            "action": self.action,
            "type_name": self.types_name.then_some(self.name),
            "is_wrong": self.is_wrong,
            "is_danger": matches!(self.word, "delete" | "destroy" | "revoke" | "remove"),
            "button": text(&format!("do_{}", self.word)),
            "back": self.back,
            "other": self.other.map(|(href, key)| json!({"href": href, "text": text(key)})),
        });
        let status = if self.is_wrong { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
        Ok(page::render(&session.layout, status, "parts/question.html", values))
    }
}
