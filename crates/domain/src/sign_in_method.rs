//! How a person has proved who they are at a sign-in.

use std::fmt;

/// One proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignInMethod {
    Password,
    /// A passkey, whose authenticator has verified the person.
    Passkey,
    /// A code of an authenticator application (RFC 6238).
    Totp,
    /// A recovery code.
    RecoveryCode,
}

impl SignInMethod {
    const ALL: [SignInMethod; 4] =
        [SignInMethod::Password, SignInMethod::Passkey, SignInMethod::Totp, SignInMethod::RecoveryCode];

    /// The word in the database, in the audit record and in lists of sessions.
    pub const fn as_str(self) -> &'static str {
        match self {
            SignInMethod::Password => "password",
            SignInMethod::Passkey => "passkey",
            SignInMethod::Totp => "totp",
            SignInMethod::RecoveryCode => "recovery_code",
        }
    }
}

/// The proofs of one sign-in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignInMethods(u8);

impl SignInMethods {
    /// One proof.
    pub const fn of(method: SignInMethod) -> SignInMethods {
        SignInMethods(1 << method as u8)
    }

    /// With a further proof.
    #[must_use]
    pub const fn with(self, method: SignInMethod) -> SignInMethods {
        SignInMethods(self.0 | (1 << method as u8))
    }

    /// Whether the proof is among them.
    pub const fn has(self, method: SignInMethod) -> bool {
        self.0 & (1 << method as u8) != 0
    }

    /// Whether a password alone would not have been enough.
    pub const fn has_second_factor(self) -> bool {
        self.has(SignInMethod::Passkey)
            || self.has(SignInMethod::Totp)
            || self.has(SignInMethod::RecoveryCode)
    }

    /// The proofs, the password first.
    pub fn iter(self) -> impl Iterator<Item = SignInMethod> {
        SignInMethod::ALL.into_iter().filter(move |method| self.has(*method))
    }

    /// From the text that [`fmt::Display`] writes; unknown words of a later version are left out.
    pub fn parse(text: &str) -> SignInMethods {
        let method_named = |word: &str| SignInMethod::ALL.into_iter().find(|method| method.as_str() == word);
        text.split(' ').filter_map(method_named).fold(SignInMethods::default(), SignInMethods::with)
    }

    /// The values of the claim `amr` (RFC 8176): a passkey is a key that the person has unlocked, so it is two factors
    /// by itself.
    pub fn amr(self) -> Vec<&'static str> {
        let has_code = self.has(SignInMethod::Totp) || self.has(SignInMethod::RecoveryCode);
        let has_passkey = self.has(SignInMethod::Passkey);
        let is_multiple = has_passkey || (self.has(SignInMethod::Password) && has_code);
        [
            (self.has(SignInMethod::Password), "pwd"),
            (has_code, "otp"),
            (has_passkey, "pop"),
            (has_passkey, "user"),
            (is_multiple, "mfa"),
        ]
        .into_iter()
        .filter_map(|(is_used, value)| is_used.then_some(value))
        .collect()
    }
}

/// The words of the proofs, separated by spaces.
impl fmt::Display for SignInMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, method) in self.iter().enumerate() {
            let separator = if at == 0 { "" } else { " " };
            write!(f, "{separator}{}", method.as_str())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_comes_back_and_names_what_clients_know() {
        let password = SignInMethods::of(SignInMethod::Password);
        let both = password.with(SignInMethod::Totp);
        assert_eq!(both.to_string(), "password totp");
        assert_eq!(SignInMethods::parse("totp password something_later"), both);
        assert_eq!(SignInMethods::parse(""), SignInMethods::default());
        assert_eq!(password.amr(), ["pwd"]);
        assert_eq!(both.amr(), ["pwd", "otp", "mfa"]);
        assert_eq!(SignInMethods::of(SignInMethod::Passkey).amr(), ["pop", "user", "mfa"]);
        assert!(!password.has_second_factor() && both.has_second_factor());
    }
}
