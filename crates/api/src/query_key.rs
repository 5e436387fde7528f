//! The keys that an operation reads from the query.

/// A key in the query of an operation, for the interface document.
#[derive(Clone, Debug)]
pub(crate) struct QueryKey {
    pub name: &'static str,
    /// Words with a meaning; none where any text is allowed.
    pub words: Vec<&'static str>,
    pub is_repeated: bool,
    pub is_required: bool,
    /// Clients send it, but it has no effect.
    pub is_ignored: bool,
    /// What counts when the key is left out, of numbers.
    pub default: Option<u64>,
}

impl QueryKey {
    pub(crate) fn new(name: &'static str) -> QueryKey {
        QueryKey {
            name,
            words: Vec::new(),
            is_repeated: false,
            is_required: false,
            is_ignored: false,
            default: None,
        }
    }

    pub(crate) fn repeated(self) -> QueryKey {
        QueryKey { is_repeated: true, ..self }
    }

    pub(crate) fn required(self) -> QueryKey {
        QueryKey { is_required: true, ..self }
    }

    pub(crate) fn ignored(self) -> QueryKey {
        QueryKey { is_ignored: true, ..self }
    }

    pub(crate) fn by_default(self, number: u64) -> QueryKey {
        QueryKey { default: Some(number), ..self }
    }

    pub(crate) fn one_of(self, words: Vec<&'static str>) -> QueryKey {
        QueryKey { words, ..self }
    }
}
