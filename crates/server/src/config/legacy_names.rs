//! Environment names of existing deployments (spec: authentication#environment-names). The service's own names and,
//! unless `older_names` is set, the configuration file take precedence over them.

use super::{
    Problem, Setting,
    addresses::{BasePath, Origin, quoted_address},
    settings,
    sources::SourceEntry,
    value::Value,
};

/// The base path or address of the API in older deployments.
const API_BASE_URL: &str = "API_BASE_URL";

/// A yes or no in older deployments.
const SMTP_TLS: &str = "SMTP_TLS";

fn smtp_tls(text: String) -> String {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" => "starttls".to_owned(),
        "false" | "0" | "no" => "none".to_owned(),
        _ => text,
    }
}

/// The settings of a variable of older deployments; none for other names.
pub(super) fn entries(
    name: &str,
    text: String,
    origin: String,
    problems: &mut Vec<Problem>,
) -> Vec<SourceEntry> {
    if name == API_BASE_URL {
        return api_base(&text, &origin, problems);
    }
    let text = if name == SMTP_TLS { smtp_tls(text) } else { text };
    let setting = settings().find(|setting| setting.older.contains(&name));
    setting.map(|setting| SourceEntry { path: setting.path.into(), text, origin }).into_iter().collect()
}

/// `API_BASE_URL` is a path, or an address with one. The path is added to the base paths (replacing them would cut off
/// the appliances, which have fixed paths); the address becomes the public one.
fn api_base(text: &str, origin: &str, problems: &mut Vec<Problem>) -> Vec<SourceEntry> {
    let (address, path) = match url::Url::parse(text) {
        Ok(url) => (Some(url.origin().ascii_serialization()), url.path().to_owned()),
        Err(_) => (None, text.to_owned()),
    };
    let checked = BasePath::parse(&path).and_then(|path| {
        address.as_deref().map_or(Ok(path.clone()), |address| Origin::parse(address).map(|_| path))
    });
    let base = match checked {
        Ok(base) => base,
        Err(why) => {
            problems.push(Problem::new("http.base_paths", origin, format!("{} {why}", quoted_address(text))));
            return Vec::new();
        }
    };
    let default = settings().find(|setting| setting.path == "http.base_paths").and_then(Setting::default);
    let default = default.unwrap_or_default();
    let mut paths: Vec<&str> = default.split(',').collect();
    if !paths.contains(&base.as_str()) {
        paths.push(base.as_str());
    }
    let entry = |path: &str, text| SourceEntry { path: path.into(), text, origin: origin.to_owned() };
    let mut entries = vec![entry("http.base_paths", paths.join(","))];
    entries.extend(address.map(|address| entry("http.public_url", address)));
    entries
}
