//! One declaration per section gives its struct, its rows in the settings table and its reader.

use super::{
    Problem,
    sources::Found,
    value::{Kind, Value},
};

/// One row of the settings table: drives names, types, defaults, the JSON schema and the reference.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// `alerting.remote.url`: the key in the file, and with `__` for the dots the variable.
    pub path: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Default as text; `None` = not set.
    pub default: Option<&'static str>,
    /// Its effect.
    pub about: &'static str,
    /// Other environment names that are accepted (spec: authentication#environment-names).
    pub older: &'static [&'static str],
}

impl Setting {
    /// The environment variable: `BAILIWICK_ALERTING__REMOTE__URL`.
    pub fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}", self.path.replace('.', "__").to_ascii_uppercase())
    }
}

/// The prefix of all variables of the service; an unknown name with it is a mistake.
pub const VARIABLE_PREFIX: &str = "BAILIWICK_";

/// A section as the reference shows it.
#[derive(Clone, Copy, Debug)]
pub struct SectionTable {
    /// Key of the TOML table, empty for the top level.
    pub name: &'static str,
    /// The subject of the section.
    pub about: &'static str,
    /// Its settings.
    pub settings: &'static [Setting],
}

/// The first of none or one default.
pub(super) const fn first(defaults: &'static [&'static str]) -> Option<&'static str> {
    match defaults {
        [] => None,
        [default, ..] => Some(default),
    }
}

/// The value of one setting, or the problem with it. `None` means that a problem was noted.
pub(super) fn read<T: Value>(setting: &Setting, found: &Found, problems: &mut Vec<Problem>) -> Option<T> {
    let given = found.get(setting.path);
    let Some(text) = given.map(|given| given.text.as_str()).or(setting.default) else {
        let value = T::absent();
        if value.is_none() {
            problems.push(Problem::new(setting.path, "nowhere", "must be set"));
        }
        return value;
    };
    match T::parse(text) {
        Ok(value) => Some(value),
        Err(why) => {
            let origin = given.map_or("default", |given| given.origin.as_str());
            let message = if setting.kind.secret { why } else { format!("`{text}` {why}") };
            problems.push(Problem::new(setting.path, origin, message));
            None
        }
    }
}

/// Declares a section: `field: type [= "default"] [, older "NAME" …];`.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $name:ident in $section:literal, keys $prefix:literal;
        $(
            $(#[doc = $doc:literal])+
            $field:ident: $type:ty $(= $default:literal)? $(, older $($older:literal)+)?;
        )+
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )+
        }

        impl $name {
            /// The section's rows of the settings table.
            pub const TABLE: $crate::config::SectionTable = $crate::config::SectionTable {
                name: $section,
                about: concat!($($about),+),
                settings: &[$($crate::config::Setting {
                    path: concat!($prefix, stringify!($field)),
                    kind: <$type as $crate::config::Value>::KIND,
                    default: $crate::config::section::first(&[$($default)?]),
                    about: concat!($($doc),+),
                    older: &[$($($older),+)?],
                }),+],
            };

            pub(super) fn read(
                found: &$crate::config::sources::Found,
                problems: &mut Vec<$crate::config::Problem>,
            ) -> Option<Self> {
                let mut rows = Self::TABLE.settings.iter();
                $( let $field = rows.next().and_then(|row| $crate::config::section::read(row, found, problems)); )+
                Some(Self { $( $field: $field?, )+ })
            }

            /// Each setting with its value as text, secrets covered; `None` = not set.
            pub(super) fn shown(&self) -> Vec<Option<String>> {
                vec![$( $crate::config::Value::show(&self.$field), )+]
            }
        }
    };
}
pub(super) use section;
