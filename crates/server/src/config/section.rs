//! One declaration per section gives its struct, its rows in the settings table and its reader.

use super::{
    Problem,
    sources::GivenSettings,
    value::{Fills, Value, ValueType},
};
use bailiwick_settings::{Issuer, Settings};

/// One row of the settings table: drives names, types, defaults, the JSON schema and the reference.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// `alerting.remote.url`: the key in the file, and with `__` for the dots the variable.
    pub path: &'static str,
    /// Its type.
    pub kind: ValueType,
    /// Its default as text; see [`Setting::default`].
    pub(super) default: fn() -> Option<String>,
    /// Its effect.
    pub about: &'static str,
    /// Other environment names that are accepted (spec: authentication#environment-names).
    pub older: &'static [&'static str],
}

impl Setting {
    /// Its default as text; `None` = not set.
    pub fn default(&self) -> Option<String> {
        (self.default)()
    }

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

/// A part of the settings of the use cases that sections fill.
pub trait Target: Sized {
    /// The part with its defaults, which are those of the sections' rows.
    fn defaults() -> Self;
}

impl Target for Settings {
    fn defaults() -> Settings {
        Settings::defaults("", Vec::new())
    }
}

impl Target for Issuer {
    fn defaults() -> Issuer {
        Issuer { client_ids: Vec::new(), ..Issuer::new("", "") }
    }
}

/// The text of a row's default that a field of the use cases' settings holds; `None` = not set.
pub(super) fn text_of<T: Fills<F>, F>(field: &F) -> Option<String> {
    T::of_field(field).and_then(|value| value.show()).filter(|text| !text.is_empty())
}

/// The default of a row, which has at most one.
pub(super) fn first<const N: usize>(defaults: [Option<String>; N]) -> Option<String> {
    defaults.into_iter().flatten().next()
}

/// The value of one setting, or the problem with it. `None` means that a problem was noted.
pub(super) fn read<T: Value>(
    setting: &Setting,
    found: &GivenSettings,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    let given = found.get(setting.path);
    let Some(text) = given.map(|given| given.text.clone()).or_else(|| setting.default()) else {
        let value = T::absent();
        if value.is_none() {
            problems.push(Problem::new(setting.path, "nowhere", "must be set"));
        }
        return value;
    };
    match T::parse(&text) {
        Ok(value) => Some(value),
        Err(why) => {
            let origin = given.map_or("default", |given| given.origin.as_str());
            let message = if setting.kind.secret { why } else { format!("{} {why}", T::quoted(&text)) };
            problems.push(Problem::new(setting.path, origin, message));
            None
        }
    }
}

/// Declares a section of settings that fills a part of the settings of the use cases: `field: type [= "default"]
/// [=> field of the part] [, older "NAME" …];`. A row with `=>` has its default there and carries its value there.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $name:ident in $section:literal, keys $prefix:literal, fills $target:ty;
        $(
            $(#[doc = $doc:literal])+
            $field:ident: $type:ty $(= $default:literal)? $(=> $($part:ident).+)? $(, older $($older:literal)+)?;
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
                    default: || $crate::config::section::first([
                        $(Some($default.to_owned()),)?
                        $($crate::config::section::text_of::<$type, _>(
                            &<$target as $crate::config::section::Target>::defaults().$($part).+,
                        ),)?
                    ]),
                    about: concat!($($doc),+),
                    older: &[$($($older),+)?],
                }),+],
            };

            pub(super) fn read(
                found: &$crate::config::sources::GivenSettings,
                problems: &mut Vec<$crate::config::Problem>,
            ) -> Option<Self> {
                let mut rows = Self::TABLE.settings.iter();
                $( let $field = rows.next().and_then(|row| $crate::config::section::read(row, found, problems)); )+
                Some(Self { $( $field: $field?, )+ })
            }

            /// Carries the values over to the settings of the use cases.
            pub fn fill(&self, target: &mut $target) {
                let fills: &[fn(&Self, &mut $target)] = &[$($(
                    |section, target| target.$($part).+ = $crate::config::value::Fills::field(&section.$field),
                )?)+];
                fills.iter().for_each(|fill| fill(self, target));
            }

            /// Each setting with its value as text, secrets covered; `None` = not set.
            pub(super) fn shown(&self) -> Vec<Option<String>> {
                vec![$( $crate::config::Value::show(&self.$field), )+]
            }
        }
    };
}
pub(super) use section;
