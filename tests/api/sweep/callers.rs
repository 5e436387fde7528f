//! Every route against callers without a credential, or with one that is no longer valid (spec:
//! authorization#credentials, authorization#guarantees rules 16, 17, 38).

use super::*;
use serde_json::{Value, json};
use std::time::Duration;

/// The answer every bearer route gives this header.
async fn refused(t: &Test, header: &str, message: &str, data: &Value) {
    for route in table().iter().filter(|r| takes_bearer(r)) {
        let reply = call(t, route, UNKNOWN).header("authorization", header).send().await;
        let expected = json!({"code": 401, "message": message, "data": data});
        assert_eq!((reply.status.as_u16(), reply.json()), (401, expected), "{route:?} with {header:.20}");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{route:?}");
    }
}

// Proves spec: authorization#guarantees 38.
api_test!(malformed_and_misplaced_credentials_open_no_route, |t| async move {
    let tree = t.tree().await;
    let user = t.user(tree.reseller, &["admin"]).await;
    let (head, signature) = user.token.rsplit_once('.').unwrap();
    let forged = format!("Bearer {head}.{}", signature.chars().rev().collect::<String>());
    let refresh = format!("Bearer {}", user.refresh_token);
    for (header, message) in [
        ("", "invalid authorization header format"),
        ("Token x", "invalid authorization header format"),
        ("Basic U1lTOm15XzA=", "invalid authorization header format"),
        ("Bearer", "token not provided"),
        ("Bearer x", "invalid token"),
        ("Bearer eyJhbGciOiJub25lIn0.e30.", "invalid token"),
        (&forged, "invalid token"),
        (&refresh, "invalid token"),
        ("Bearer myk_00.11", "invalid api key"),
    ] {
        refused(&t, header, message, &Value::Null).await;
    }
});

// Proves spec: authorization#guarantees 16 17.
api_test!(no_route_serves_a_caller_whose_right_has_ended, |t| async move {
    let tree = t.tree().await;
    let expired = t.user(tree.reseller, &["admin"]).await;
    t.advance(Duration::from_secs(31 * 60));
    let owner = t.owner().await;
    let signed_out = t.user(tree.other_distributor, &["admin"]).await;
    t.post("/api/auth/logout").bearer(&signed_out.token).send().await.expect(200);
    let suspended = t.user(tree.other_distributor, &["admin"]).await;
    let back = t.user(tree.other_distributor, &["admin"]).await;
    let deleted = t.user(tree.other_distributor, &["admin"]).await;
    let destroyed = t.user(tree.other_distributor, &["admin"]).await;
    let of_suspended = t.user(tree.customer, &["admin"]).await;
    let of_deleted = t.user(tree.other_customer, &["admin"]).await;
    let act = async |method: &str, path: String| {
        t.call(method.parse().unwrap(), &path).bearer(&owner.token).send().await.expect(200);
    };
    act("PATCH", format!("/api/users/{}/suspend", suspended.id)).await;
    act("PATCH", format!("/api/users/{}/suspend", back.id)).await;
    act("PATCH", format!("/api/users/{}/reactivate", back.id)).await;
    act("DELETE", format!("/api/users/{}", deleted.id)).await;
    act("DELETE", format!("/api/users/{}/destroy", destroyed.id)).await;
    act("PATCH", format!("/api/resellers/{}/suspend", tree.reseller)).await;
    act("DELETE", format!("/api/resellers/{}", tree.other_reseller)).await;
    let reason = |text: &str| json!({"reason": text});
    let revoked = "token has been revoked";
    for (persona, message, data) in [
        (&expired, "invalid token", Value::Null),
        (&signed_out, revoked, reason("user logout")),
        (&suspended, "user account has been suspended", reason("user suspended by administrator")),
        (&back, revoked, reason("user suspended")),
        (&deleted, revoked, reason("user deleted")),
        (&destroyed, "invalid token", Value::Null),
        (&of_suspended, "user account has been suspended", reason("organization suspended")),
        (&of_deleted, revoked, reason("user deleted")),
    ] {
        refused(&t, &format!("Bearer {}", persona.token), message, &data).await;
        if persona.id != expired.id {
            let again = json!({"refresh_token": persona.refresh_token});
            t.post("/api/auth/refresh").json(again).send().await.expect(401);
        }
    }
});
