//! Pictures of users: where they are, and why one was not taken.

use crate::failure::Outcome;
use bailiwick_app::App;
use bailiwick_directory::avatars;
use bailiwick_domain::{Error, UserId};

/// The key of the text that says why a picture was not taken; none where the error is about something else.
pub(crate) fn reason(error: &Error) -> Option<&'static str> {
    match error {
        Error::TooLarge { .. } => Some("picture_too_large"),
        Error::BadRequest { message, .. } => Some(match message.as_ref() {
            "avatar must be png, jpeg, or webp" | "avatar file is required" => "picture_type",
            "image dimensions exceed maximum of 4096x4096" => "picture_dimensions",
            "invalid image file" | "invalid multipart form" => "picture_broken",
            _ => return None,
        }),
        _ => None,
    }
}

/// The address of a user's picture, if there is one. A new picture has another address.
pub(crate) async fn address_of(app: &App, user: UserId) -> Outcome<Option<String>> {
    let version = avatars::version(&app.directory, user).await?;
    let base = &app.settings.api_base_url;
    let short = |version: String| version.chars().take(12).collect::<String>();
    Ok(version.map(|version| format!("{base}/public/users/{user}/avatar?{}", short(version))))
}
