//! What the pages of the console and of the guide look like in common.

/// Tokens, what every page is made of, buttons and fields.
pub const STYLE: &str = concat!(
    include_str!("../assets/style/tokens.css"),
    include_str!("../assets/style/base.css"),
    include_str!("../assets/style/controls.css"),
);

/// Name of the cookie that keeps the theme.
pub const THEME: &str = "bailiwick-theme";

/// Themes; without one the system decides.
pub const THEMES: [&str; 2] = ["light", "dark"];
