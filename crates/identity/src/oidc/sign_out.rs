//! Sign-out (spec: authentication#session-chains, openid-provider#endpoints step 10).

use super::{
    OAuthError,
    authorize::{Browser, Parameters, is_cookie},
    clients, keys,
    redirect::with_query,
};
use crate::{Identity, auth::revoke_login_chains};
use bailiwick_domain::Result;
use bailiwick_platform::keys::token_digest;
use bailiwick_store::{identities, oidc::logins};
use url::form_urlencoded;

/// Ends the browser's login, its provider tokens and every chain exchanged from them. Without a login nothing happens.
pub async fn sign_out(service: &Identity, browser: &Browser) -> Result<()> {
    let now = service.platform.now();
    let Some(cookie) = browser.login.as_deref().filter(|cookie| is_cookie(cookie)) else { return Ok(()) };
    let Some(login) = logins::by_token(&service.platform.db, &token_digest(cookie), now).await? else {
        return Ok(());
    };
    let mut tx = service.platform.db.begin().await?;
    // Locks in the order user, login, chain, like the exchange.
    identities::get_steady(&mut tx, login.user_id).await?;
    logins::end(&mut tx, login.id, now).await?;
    revoke_login_chains(&mut tx, now, login.id).await?;
    tx.commit().await?;
    Ok(())
}

/// Where the browser continues: the requested address if it is registered for the client, else nowhere.
pub async fn destination(service: &Identity, parameters: &Parameters) -> Result<Option<String>> {
    let read = |name| parameters.one(name);
    let Ok((client_id, uri, state, hint)) = all(read) else { return Ok(None) };
    let hinted = match hint {
        Some(hint) => keys::audience_of_id_token(service, hint).await?,
        None => None,
    };
    let id = match (client_id, hinted.as_deref()) {
        (Some(id), Some(hinted)) if id != hinted => None,
        (id, hinted) => id.or(hinted),
    };
    let client = id.and_then(|id| clients::find(&service.settings, id));
    let uri = uri.filter(|uri| client.is_some_and(|client| client.may_return_to(uri)));
    Ok(uri.map(|uri| match state {
        None => uri.to_owned(),
        Some(state) => {
            let query = form_urlencoded::Serializer::new(String::new()).append_pair("state", state).finish();
            with_query(uri, &query)
        }
    }))
}

type Asked<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>, Option<&'a str>);

fn all<'a>(
    read: impl Fn(&'static str) -> Result<Option<&'a str>, OAuthError>,
) -> Result<Asked<'a>, OAuthError> {
    Ok((read("client_id")?, read("post_logout_redirect_uri")?, read("state")?, read("id_token_hint")?))
}
