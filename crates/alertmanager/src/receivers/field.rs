//! The fields of a recipient, from which forms and the schemas of the interface are made.

use super::check::MAX_NAME_CHARS;
use crate::webhook_target::MAX_URL_CHARS;

/// A field of a kind of recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its key.
    pub key: &'static str,
    /// What it holds.
    pub input: Input,
    /// Whether its value is shown only to those who may change it.
    pub is_secret: bool,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A line of at most so many characters. Required.
    Line(usize),
    /// A whole number other than 0. Required.
    Number,
    /// The severities of the alerts that are notified; empty = all.
    Severities,
    /// The language of the messages.
    Language,
    /// One of these words; the first unless another is named.
    Choice(&'static [&'static str]),
}

impl Field {
    pub(super) const NAME: Field = Field::of("name", Input::Line(MAX_NAME_CHARS));
    pub(super) const URL: Field = Field::secret("url", MAX_URL_CHARS);
    pub(super) const LANGUAGE: Field = Field::of("language", Input::Language);
    pub(super) const SEVERITIES: Field = Field::of("severities", Input::Severities);

    pub(super) const fn of(key: &'static str, input: Input) -> Field {
        Field { key, input, is_secret: false }
    }

    /// A line of at most so many characters that is stored sealed.
    pub(super) const fn secret(key: &'static str, longest: usize) -> Field {
        Field { key, input: Input::Line(longest), is_secret: true }
    }
}
