//! A search in the choices of a filter (spec: organizations#filters).

use crate::fold::fold;

/// A search in the choices of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceSearch {
    /// Text that the name of a choice contains, ignoring case; empty = any.
    pub text: String,
    /// Most choices of a kind.
    pub most: u64,
}

impl ChoiceSearch {
    /// Whether a choice with this name is asked for.
    pub fn finds(&self, name: &str) -> bool {
        fold(name).contains(&fold(&self.text))
    }

    /// Leaves no more choices than asked for; whether there were more.
    pub fn cut<T>(&self, choices: &mut Vec<T>) -> bool {
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        let is_cut = choices.len() > most;
        choices.truncate(most);
        is_cut
    }
}
