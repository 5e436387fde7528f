//! Values that must not appear in logs.

use std::fmt;

/// A value that never prints.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps the value.
    pub const fn new(value: T) -> Secret<T> {
        Secret(value)
    }

    /// The value, for the one place that needs it.
    pub const fn reveal(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}
