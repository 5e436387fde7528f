//! What a list can be filtered by. Each list declares it once, as data: its query, its export, the interface document
//! and the console read the same table.

/// A key in the query of a list, and what its values set in the filter `F`.
#[derive(Debug)]
pub struct Parameter<F: 'static> {
    /// Its name on the wire.
    pub key: &'static str,
    /// Which of the values count, and what they set.
    pub set: Set<F>,
    /// The words that have a meaning; none where any text is allowed.
    pub words: fn() -> Vec<&'static str>,
}

/// Sets something in a filter.
#[derive(Debug)]
pub enum Set<F: 'static> {
    /// The first value; a blank one is no filter.
    Text(fn(&mut F, String)),
    /// Every value of a repeated key, of which there is at least one. Malformed ones match nothing.
    Each(fn(&mut F, Vec<String>)),
    /// Exactly the value `true`.
    Flag(fn(&mut F)),
}

impl<F> Parameter<F> {
    pub const fn text(key: &'static str, set: fn(&mut F, String)) -> Parameter<F> {
        Parameter { key, set: Set::Text(set), words: Vec::new }
    }

    /// A repeated key whose values may be any text.
    pub const fn each(key: &'static str, set: fn(&mut F, Vec<String>)) -> Parameter<F> {
        Parameter { key, set: Set::Each(set), words: Vec::new }
    }

    /// A switch.
    pub const fn flag(key: &'static str, set: fn(&mut F)) -> Parameter<F> {
        Parameter { key, set: Set::Flag(set), words: Vec::new }
    }

    /// A repeated key whose values are words with a meaning.
    pub const fn words(
        key: &'static str,
        words: fn() -> Vec<&'static str>,
        set: fn(&mut F, Vec<String>),
    ) -> Parameter<F> {
        Parameter { key, set: Set::Each(set), words }
    }

    /// Whether the key may be repeated.
    pub const fn is_repeated(&self) -> bool {
        matches!(self.set, Set::Each(_))
    }
}
