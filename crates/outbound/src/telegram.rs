//! Notifications to chats by the bot API of Telegram (spec: alert-delivery#mail-and-telegram).

use crate::{delivery::Failure, http_post::Poster};
use bailiwick_alertmanager::webhook_target::{AllowedHosts, Target};
use bailiwick_domain::{OrgId, json::write_str};

/// Where the bot API is.
pub const API: &str = "https://api.telegram.org";

/// Sends messages to chats.
#[derive(Clone)]
pub struct Telegram {
    poster: Poster,
    api: String,
}

impl std::fmt::Debug for Telegram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Telegram").field("api", &self.api).finish_non_exhaustive()
    }
}

impl Telegram {
    /// `api`: [`API`] but in tests.
    pub fn new(api: &str) -> Telegram {
        Telegram { poster: Poster::new(), api: api.trim_end_matches('/').to_owned() }
    }

    /// One try to send a message with Telegram's HTML.
    ///
    /// # Errors
    /// See [`Failure`]. The token is in none of its texts.
    pub async fn send(
        &self,
        tenant: OrgId,
        bot_token: &str,
        chat_id: i64,
        html: &str,
    ) -> Result<(), Failure> {
        let host = url::Url::parse(&self.api).ok().and_then(|u| u.host_str().map(str::to_owned));
        // Of the operator's choice, not of a tenant's.
        let own = AllowedHosts::new(host, Vec::new());
        let target = Target::parse(&format!("{}/bot{bot_token}/sendMessage", self.api), &own)
            .map_err(|code| Failure::permanent("the bot cannot be addressed", code))?;
        let mut body = format!("{{\"chat_id\":{chat_id},\"parse_mode\":\"HTML\",\"text\":");
        write_str(&mut body, html);
        body.push('}');
        self.poster.post(tenant, &target, &own, body.into()).await
    }
}
