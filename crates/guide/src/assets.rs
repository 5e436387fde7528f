//! The stylesheet and the script. Their names carry a hash of what they hold, so a browser may keep them for ever.

use std::hash::{DefaultHasher, Hash, Hasher};

const STYLE: &str = concat!(
    include_str!("../assets/frame.css"),
    include_str!("../assets/article.css"),
    include_str!("../assets/reference.css"),
);
const SCRIPT: &str = concat!(
    include_str!("../assets/sign_in.js"),
    include_str!("../assets/try.js"),
    include_str!("../assets/find.js")
);

/// A file that pages name.
#[derive(Clone, Debug)]
pub struct Asset {
    pub name: String,
    /// Its media type.
    pub media_type: &'static str,
    /// What it holds.
    pub text: String,
}

/// All of them.
#[derive(Clone, Debug)]
pub(crate) struct Assets {
    pub(crate) style: Asset,
    pub(crate) script: Asset,
}

impl Assets {
    /// `shared`: what comes before the own stylesheet.
    pub(crate) fn new(shared: &str) -> Assets {
        let style = [shared, STYLE].concat();
        Assets {
            style: asset("guide", "css", "text/css; charset=utf-8", style),
            script: asset("reference", "js", "text/javascript; charset=utf-8", SCRIPT.to_owned()),
        }
    }

    /// The file of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&Asset> {
        [&self.style, &self.script].into_iter().find(|asset| asset.name == name)
    }
}

fn asset(stem: &str, ending: &str, media_type: &'static str, text: String) -> Asset {
    Asset { name: format!("{stem}.{}.{ending}", hash(&text)), media_type, text }
}

/// A hash for the names of files. It is not cryptographic: two texts with one hash would do no harm.
pub(crate) fn hash(text: impl AsRef<[u8]>) -> String {
    let mut hasher = DefaultHasher::new();
    text.as_ref().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
