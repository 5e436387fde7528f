//! Regular expressions as alert senders write them: RE2 syntax and its error texts, run by the engine of the
//! `regex` crate, which says how much memory an expression takes.
//!
//! The two syntaxes differ in corners (`\Q…\E`, `\<`, `a{`, set operations in classes, what `\d` and `\w` mean), so an
//! expression is read by RE2's rules and written again in the other syntax. Groups never capture here.

mod class;
mod translate;

use regex_automata::{
    Input,
    meta::{self, BuildError},
    nfa::thompson::WhichCaptures,
};
use std::fmt;

/// Why an expression is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegexError {
    /// Wrong syntax; the text begins with `error parsing regexp: `.
    Syntax(String),
    /// Its compiled form would take too much memory.
    TooLarge,
}

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegexError::Syntax(text) => f.write_str(text),
            RegexError::TooLarge => f.write_str("error parsing regexp: expression too large"),
        }
    }
}

impl std::error::Error for RegexError {}

/// Bound on the parts of one compiled expression, and on the automaton that it builds while it is applied.
const COMPILED_BYTES: usize = 512 * 1024;

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Regex(meta::Regex);

impl Regex {
    /// Does the whole text match?
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// [`Regex::is_match`] for many texts. The memory that matching needs is given back afterwards, not kept.
    pub fn scan(&self) -> impl FnMut(&str) -> bool + use<'_> {
        let mut cache = self.0.create_cache();
        move |text| self.0.search_half_with(&mut cache, &Input::new(text).earliest(true)).is_some()
    }

    /// The memory it takes while no text is matched.
    pub fn bytes(&self) -> usize {
        self.0.memory_usage()
    }
}

/// Compiles an expression that must match the whole text.
pub fn anchored(expression: &str) -> Result<Regex, RegexError> {
    anchored_within(expression, usize::MAX)
}

/// As [`anchored`], refusing an expression whose compiled form takes more than `bytes`.
pub fn anchored_within(expression: &str, bytes: usize) -> Result<Regex, RegexError> {
    let inner = match translate::translate(expression) {
        Ok(inner) => inner,
        // Other routers parse the expression with its anchors and show the rest of that text.
        Err(fault) => {
            let whole = format!("^(?:{expression})$");
            return Err(translate::translate(&whole).err().unwrap_or(fault).into());
        }
    };
    compile(&format!("^(?:{inner})$"), expression, bytes)
}

/// Compiles an expression as it stands in a silence: error texts show no more than the expression.
pub fn checked_within(expression: &str, bytes: usize) -> Result<Regex, RegexError> {
    translate::translate(expression)?;
    anchored_within(expression, bytes)
}

fn compile(translated: &str, expression: &str, bytes: usize) -> Result<Regex, RegexError> {
    // Groups never capture.
    let config = meta::Config::new()
        .which_captures(WhichCaptures::Implicit)
        .onepass(false)
        .nfa_size_limit(Some(COMPILED_BYTES.min(bytes)))
        .hybrid_cache_capacity(COMPILED_BYTES);
    let built = meta::Builder::new().configure(config).build(translated);
    let regex = built.map(Regex).map_err(|e: BuildError| match e.size_limit() {
        Some(_) => RegexError::TooLarge,
        // Expressions that the reader accepts and the engine refuses: nesting beyond its limit, tables it lacks.
        None => translate::Fault::new("expression nests too deeply", expression).into(),
    })?;
    if regex.bytes() > bytes { Err(RegexError::TooLarge) } else { Ok(regex) }
}

impl From<translate::Fault<'_>> for RegexError {
    fn from(fault: translate::Fault<'_>) -> RegexError {
        RegexError::Syntax(format!("error parsing regexp: {}: `{}`", fault.what, fault.part))
    }
}

#[cfg(test)]
mod tests;
