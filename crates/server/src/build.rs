//! The commit and time of the build, as the build script determined them.

use bailiwick_domain::Ts;
use bailiwick_settings::Build;
use std::sync::LazyLock;

/// Of this program.
pub fn build() -> Build {
    static TIME: LazyLock<String> = LazyLock::new(|| readable(env!("BUILT_AT")));
    Build { version: env!("CARGO_PKG_VERSION"), commit: env!("BUILT_FROM_COMMIT"), time: &TIME }
}

/// `@1767225600` is a time in seconds since 1970; any other text stays as it is.
fn readable(text: &str) -> String {
    let seconds = text.strip_prefix('@').and_then(|seconds| seconds.parse().ok());
    seconds.map_or_else(|| text.to_owned(), |seconds| Ts::from_secs(seconds).rfc3339(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_written_as_people_write_times() {
        assert_eq!(readable("@1767225600"), "2026-01-01T00:00:00Z");
        assert_eq!(readable("2026-01-01T00:00:00Z"), "2026-01-01T00:00:00Z");
        assert_eq!(readable("unknown"), "unknown");
    }
}
