//! The note at the top of the page after a form, such as "Saved.". A sealed cookie carries it to that page, which shows
//! it once: not in the address, where reloads, the way back and shared links would repeat it.

use crate::texts;
use bailiwick_app::App;
use bailiwick_domain::Language;
use http::{Method, Uri};
use std::time::Duration;

/// The purpose that the cookie is sealed for.
const SEAL: &str = "console-note";
/// Longest time between the form and the page after it.
pub(crate) const LIFE: Duration = Duration::from_secs(60);

/// What a form has done. An answer carries it as an extension, and [`crate::session`] makes it a cookie.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    /// The page that shows the note.
    pub(crate) address: String,
    /// The note's text is `done_<word>`.
    pub(crate) word: String,
}

impl Done {
    /// The value of the cookie.
    pub(crate) fn sealed(&self, app: &App) -> bailiwick_domain::Result<String> {
        let plain = format!("{}\n{}", self.word, self.address);
        app.platform.keys.seal_for_address(SEAL, plain.as_bytes(), &*app.platform.entropy)
    }
}

/// The word of the note that this page shows, if the browser comes from a form that leads here. `sealed`: its cookie.
pub(crate) fn word_for(
    app: &App,
    sealed: Option<String>,
    method: &Method,
    uri: &Uri,
    language: Language,
) -> Option<String> {
    if *method != Method::GET {
        return None;
    }
    let plain = String::from_utf8(app.platform.keys.open_from_address(SEAL, &sealed?).ok()?).ok()?;
    let (word, address) = plain.split_once('\n')?;
    let requested = uri.path_and_query()?.as_str();
    let is_here = address.split('#').next() == Some(requested);
    (is_here && texts::find(language, &format!("done_{word}")).is_some()).then(|| word.to_owned())
}
