//! How a module lists its statements that never change, and how these name columns that are listed once.

/// A module's fixed statements as `(name, text)`: the constants named, each under its path below the crate. What is not
/// a constant of its own gets a name by `NAME = text`.
macro_rules! statements {
    (@text $name:ident) => { $name };
    (@text $name:ident = $text:expr) => { $text };
    ($($name:ident $(= $text:expr)?),+ $(,)?) => {
        &[$((
            concat!(module_path!(), "::", stringify!($name)).split_at("bailiwick_store::".len()).1,
            $crate::sql::statements!(@text $name $(= $text)?),
        )),+]
    };
}
pub(crate) use statements;

/// The names of listed columns for an INSERT; others follow.
macro_rules! names {
    ($($kind:ident $name:literal = |$row:ident| $value:expr;)+) => { concat!($($name, ", "),+) };
}
pub(crate) use names;

/// A placeholder for each of them.
macro_rules! placeholders {
    (@one $name:literal) => { "?, " };
    ($($kind:ident $name:literal = |$row:ident| $value:expr;)+) => {
        concat!($($crate::sql::placeholders!(@one $name)),+)
    };
}
pub(crate) use placeholders;

/// Their assignments for an UPDATE; others follow.
macro_rules! assignments {
    ($($kind:ident $name:literal = |$row:ident| $value:expr;)+) => { concat!($($name, " = ?, "),+) };
}
pub(crate) use assignments;

/// A function that gives their values in the order of the list.
macro_rules! values {
    ($($kind:ident $name:literal = |$row:ident| $value:expr;)+) => {
        |row| [$({ let $row = row; $crate::sql::Arg::from($value) }),+]
    };
}
pub(crate) use values;
