use super::*;
use serde_json::json;

async fn token(logto: &Logto) -> String {
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", APP.0),
        ("client_secret", APP.1),
        ("resource", &format!("{}/api", logto.upstream.url())),
        ("scope", "all"),
    ];
    let url = format!("{}/oidc/token", logto.upstream.url());
    let answer = reqwest::Client::new().post(url).form(&form).send().await.unwrap();
    let body: serde_json::Value = answer.json().await.unwrap();
    body["access_token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_is_not_in_the_list_is_noticed() {
    let logto = Logto::start().await.unwrap();
    let token = token(&logto).await;
    let client = reqwest::Client::new();
    let api = format!("{}/api", logto.upstream.url());
    let good = json!({"name": "A", "customData": {}});
    let made = client.post(format!("{api}/organizations")).bearer_auth(&token).json(&good).send().await;
    assert_eq!(made.unwrap().status(), 201);
    let listed = client.get(format!("{api}/roles?page=1&page_size=100")).bearer_auth(&token).send().await;
    assert_eq!(listed.unwrap().status(), 200);
    assert!(logto.take_problems().is_empty());
    for request in [
        client.get(format!("{api}/roles")).bearer_auth(&token),
        client.get(format!("{api}/roles?page=1&page_size=50")).bearer_auth(&token),
        client.get(format!("{api}/users?search=x")).bearer_auth(&token),
        client.get(format!("{api}/users?page=1&page_size=100")).bearer_auth(&token),
        client.put(format!("{api}/users/x")).bearer_auth(&token).json(&good),
        client.get(format!("{api}/users/x/logs")).bearer_auth(&token),
        client.post(format!("{api}/organizations")).bearer_auth(&token).json(&json!({"name": "A"})),
        client
            .post(format!("{api}/organizations"))
            .bearer_auth(&token)
            .json(&json!({"name": "A", "customData": {}, "x": 1})),
        client
            .post(format!("{api}/organizations"))
            .bearer_auth(&token)
            .json(&json!({"name": "A", "customData": []})),
        client.post(format!("{api}/organizations")).bearer_auth(&token).body(good.to_string()),
        client.get(format!("{api}/users/x")),
        client.get(format!("{api}/users/x")).bearer_auth("made up"),
        client.get(format!("{}/oidc/session", logto.upstream.url())),
    ] {
        assert_eq!(request.send().await.unwrap().status(), 404);
        assert_eq!(logto.take_problems().len(), 1);
    }
    logto.with(Tenant::expire_tokens);
    let late = client.get(format!("{api}/users/x")).bearer_auth(&token).send().await.unwrap();
    assert_eq!(late.status(), 401);
    assert!(logto.take_problems().is_empty());
}

#[tokio::test]
async fn it_can_fail() {
    let logto = Logto::start().await.unwrap();
    let token = token(&logto).await;
    let url = format!("{}/api/organizations", logto.upstream.url());
    let send = || {
        let body = json!({"name": "A", "customData": {}});
        reqwest::Client::new().post(&url).bearer_auth(&token).json(&body).send()
    };
    logto.always(Answer::status(500));
    assert_eq!(send().await.unwrap().status(), 500);
    assert!(logto.with(|tenant| tenant.organizations.is_empty()));
    logto.fail_by(|_| Some(Fault::DoneBut(Answer::dropped())));
    assert!(send().await.is_err());
    assert_eq!(logto.with(|tenant| tenant.organizations.len()), 1);
    logto.recover();
    assert_eq!(send().await.unwrap().status(), 201);
}
