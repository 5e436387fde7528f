//! Types of settings for the places of objects and images.

use super::value::{Choice, Value, ValueType};
use bailiwick_settings::ImageHome;

/// Longest prefix, in bytes: a key may have 1024 of them at S3.
const PREFIX_BYTES: usize = 255;

impl Choice for ImageHome {
    const NAME: &'static str = "image store";
    const WORDS: &'static [&'static str] = &["database", "bucket"];
    const VALUES: &'static [Self] = &[ImageHome::Database, ImageHome::Bucket];
}

/// The prefix of object keys: segments of `A-Z a-z 0-9 - _ .`, which need no escaping, between slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPrefix(String);

impl KeyPrefix {
    /// Without a slash at its ends.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for KeyPrefix {
    const KIND: ValueType = ValueType {
        pattern: Some("^[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)*$"),
        ..ValueType::text("prefix")
    };
    fn parse(text: &str) -> Result<Self, String> {
        let is_fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        let is_segment = |segment: &str| {
            segment.bytes().all(is_fine) && segment.starts_with(|c: char| c.is_ascii_alphanumeric())
        };
        if text.len() <= PREFIX_BYTES && text.split('/').all(is_segment) {
            Ok(KeyPrefix(text.to_owned()))
        } else {
            Err("is not like fleet or fleet/production, of at most 255 characters".into())
        }
    }
    fn show(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use crate::config::load;

    fn problems(flags: &[(&str, &str)]) -> Vec<String> {
        let flags: Vec<(String, String)> =
            flags.iter().map(|(name, text)| (format!("assets.{name}"), (*text).to_owned())).collect();
        let problems = load(None, std::iter::empty(), &flags).err().unwrap_or_default();
        problems.into_iter().map(|problem| format!("{}: {}", problem.setting, problem.message)).collect()
    }

    #[test]
    fn settings_that_exclude_each_other_are_reported() {
        let bucket = [("bucket", "b"), ("access_key", "k"), ("secret_key", "s")];
        let with = |more: &[(&'static str, &'static str)]| problems(&[&bucket[..], more].concat());
        assert_eq!(problems(&[("images", "database")]), [""; 0]);
        assert_eq!(problems(&[("images", "bucket")]), ["assets.images: needs assets.bucket"]);
        assert_eq!(problems(&[("images", "files")]).len(), 1);
        assert_eq!(problems(&[("prefix", "a")]), ["assets.prefix: needs assets.bucket"]);
        assert_eq!(with(&[("images", "bucket"), ("prefix", "a/b-1.c")]), [""; 0]);
        for bad in ["/a", "a/", "a//b", "..", "a/../b", "a b", "\u{e9}"] {
            assert_eq!(with(&[("prefix", bad)]).len(), 1, "{bad}");
        }
        let named = ("endpoint", "https://s3.example.org");
        assert_eq!(with(&[named, ("path_style", "false")]), [""; 0]);
        for numeric in ["http://127.0.0.1:9000", "http://[::1]:9000"] {
            let messages = with(&[("endpoint", numeric), ("path_style", "false")]);
            assert!(messages[0].starts_with("assets.path_style: cannot be false"), "{messages:?}");
        }
    }
}
