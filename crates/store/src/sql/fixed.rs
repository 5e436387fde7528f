//! How a module lists its statements that never change.

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
