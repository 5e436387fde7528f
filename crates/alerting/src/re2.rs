//! Regular expressions as alert senders write them: RE2 syntax and its error texts, run by the `regex` crate.
//!
//! The two syntaxes differ in corners (`\Q…\E`, `\<`, `a{`, set operations in classes, what `\d` and `\w` mean), so an
//! expression is read by RE2's rules and written again in the other syntax. Groups never capture here.

mod class;
mod translate;

use regex::{Regex, RegexBuilder};
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

/// Bound on the memory of one compiled expression, and of its lazily built automaton.
const COMPILED_BYTES: usize = 512 * 1024;

/// Compiles an expression that must match the whole text.
pub fn anchored(expression: &str) -> Result<Regex, RegexError> {
    let inner = match translate::translate(expression) {
        Ok(inner) => inner,
        // Other routers parse the expression with its anchors and show the rest of that text.
        Err(fault) => {
            let whole = format!("^(?:{expression})$");
            return Err(translate::translate(&whole).err().unwrap_or(fault).into());
        }
    };
    compile(&format!("^(?:{inner})$"), expression)
}

/// Checks an expression as it stands, without anchors; error texts show no more than the expression.
pub fn check(expression: &str) -> Result<(), RegexError> {
    translate::translate(expression)?;
    anchored(expression).map(|_| ())
}

fn compile(translated: &str, expression: &str) -> Result<Regex, RegexError> {
    RegexBuilder::new(translated).size_limit(COMPILED_BYTES).dfa_size_limit(COMPILED_BYTES).build().map_err(
        |e| match e {
            regex::Error::CompiledTooBig(_) => RegexError::TooLarge,
            // Expressions that the reader accepts and the engine refuses: nesting beyond its limit, tables it lacks.
            _ => translate::Fault::new("expression nests too deeply", expression).into(),
        },
    )
}

impl From<translate::Fault<'_>> for RegexError {
    fn from(fault: translate::Fault<'_>) -> RegexError {
        RegexError::Syntax(format!("error parsing regexp: {}: `{}`", fault.what, fault.part))
    }
}

#[cfg(test)]
mod tests;
