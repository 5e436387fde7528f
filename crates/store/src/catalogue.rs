//! The statements whose text is fixed at compile time. A test prepares every one of them on both engines, so a typing
//! error or a missing column is found without running the use case.

/// `(name, text)`.
pub const STATEMENTS: &[(&str, &str)] = &[];
