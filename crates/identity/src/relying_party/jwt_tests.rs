use super::*;
use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::json;

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// A P-384 key as a JWK of this id, and a token signed with it.
fn signed(id: &str, header: &Value) -> (Value, String) {
    let key = EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap();
    let point = key.public_key().as_ref();
    let jwk = json!({"kty": "EC", "crv": "P-384", "kid": id, "x": URL_SAFE_NO_PAD.encode(&point[1..49]),
        "y": URL_SAFE_NO_PAD.encode(&point[49..])});
    let message = format!("{}.{}", part(header), part(&json!({"sub": "s"})));
    let signature = key.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
    (jwk, format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref())))
}

fn judged(keys: &Value, token: &str) -> Signed {
    let keys = KeySet::read(json!({ "keys": keys }).to_string().as_bytes()).unwrap();
    let Shape::Jwt(jwt) = read(token) else { panic!("not a JWT: {token}") };
    keys.judge(&jwt)
}

#[test]
fn a_key_verifies_only_what_it_is_for() {
    let (jwk, token) = signed("a", &json!({"alg": "ES384", "kid": "a"}));
    assert_eq!(judged(&json!([jwk]), &token), Signed::Good);
    let with = |key: &str, value: Value| {
        let mut changed = jwk.clone();
        changed[key] = value;
        judged(&json!([changed]), &token)
    };
    // Passed over, so the key is not known.
    assert_eq!(with("use", json!("enc")), Signed::UnknownKey);
    assert_eq!(with("key_ops", json!(["sign"])), Signed::UnknownKey);
    assert_eq!(with("alg", json!("HS256")), Signed::UnknownKey);
    assert_eq!(with("crv", json!("P-256")), Signed::UnknownKey);
    assert_eq!(with("x", json!("AAAA")), Signed::UnknownKey);
    assert_eq!(with("kty", json!("oct")), Signed::UnknownKey);
    assert_eq!(with("kid", json!("b")), Signed::UnknownKey);
    // A known algorithm, but of another kind of key.
    assert_eq!(with("alg", json!("ES256")), Signed::Never);
    assert_eq!(with("alg", json!("ES384")), Signed::Good);
    assert_eq!(with("use", json!("sig")), Signed::Good);
    assert_eq!(with("key_ops", json!(["verify"])), Signed::Good);
}

#[test]
fn the_algorithm_of_the_token_must_fit_the_key() {
    for word in
        ["HS256", "HS384", "HS512", "none", "RS256", "PS256", "PS384", "ES256", "ES512", "EdDSA", "es384"]
    {
        let (jwk, token) = signed("a", &json!({"alg": word, "kid": "a"}));
        assert_eq!(judged(&json!([jwk]), &token), Signed::Never, "{word}");
    }
}

#[test]
fn a_token_without_a_key_id_is_tried_with_the_keys_that_fit() {
    let (jwk, token) = signed("a", &json!({"alg": "ES384"}));
    let (other, _) = signed("b", &json!({"alg": "ES384"}));
    assert_eq!(judged(&json!([other, jwk]), &token), Signed::Good);
    assert_eq!(judged(&json!([other]), &token), Signed::UnknownKey);
}

#[test]
fn what_cannot_be_used_in_a_set_does_not_spoil_the_rest() {
    let (jwk, token) = signed("a", &json!({"alg": "ES384", "kid": "a"}));
    let odd = json!([1, {}, {"kty": 1}, {"kty": "RSA"}, {"kty": "EC", "crv": "secp256k1"}, jwk]);
    assert_eq!(judged(&odd, &token), Signed::Good);
    for text in ["", "[]", "{}", "{\"keys\":1}", "null"] {
        assert!(KeySet::read(text.as_bytes()).is_none(), "{text}");
    }
}

#[test]
fn jwts_are_distinguished_from_opaque_tokens() {
    for opaque in
        ["", "x", "a.b.c", "e30.e30", "e30.W10.", "W10.e30.", "e30.e30.x.y.z", "e30=.e30.", "e30 .e30."]
    {
        assert!(matches!(read(opaque), Shape::Opaque), "{opaque}");
    }
    let of = |header: Value, claims: &str| {
        let token = format!("{}.{}.AAAA", part(&header), URL_SAFE_NO_PAD.encode(claims));
        matches!(read(&token), Shape::Unusable)
    };
    let good = json!({"alg": "ES256"});
    assert!(!of(good.clone(), "{}"));
    assert!(of(json!({}), "{}"));
    assert!(of(json!({"alg": 1}), "{}"));
    assert!(of(json!({"alg": "ES256", "crit": []}), "{}"));
    assert!(of(json!({"alg": "ES256", "typ": "id+jwt"}), "{}"));
    assert!(!of(json!({"alg": "ES256", "typ": "AT+JWT"}), "{}"));
    assert!(of(good.clone(), "{\"iss\":\"a\",\"iss\":\"b\"}"));
    assert!(of(good.clone(), "{\"exp\":\"1\"}"));
    assert!(of(good, "{\"sub\":1}"));
}

#[test]
fn a_number_with_leading_zeros_is_the_same_number() {
    assert_eq!(magnitude(vec![0, 0, 1, 0]), [1, 0]);
    assert_eq!(magnitude(vec![]), [0; 0]);
}
