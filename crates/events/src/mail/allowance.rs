//! How many mails people cause (spec: conventions#limits). Whoever creates users or changes addresses chooses who gets
//! a mail from the operator's server, so each organization has a number of mails in an hour, and each address too.

use crate::Events;
use bailiwick_domain::{Error, OrgId, Result, validate::Email};
use bailiwick_platform::limits::shared::{Taken, Window};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// Mails that were counted before anything was written.
#[derive(Debug)]
#[must_use]
pub struct Allowance(Vec<Taken>);

impl Allowance {
    /// Passes an outcome on; after an error there are no mails, and none counts.
    pub fn unless_failed<T>(self, service: &Events, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() {
            self.give_back(service);
        }
        outcome
    }

    fn give_back(self, service: &Events) {
        self.0.into_iter().for_each(|taken| taken.give_back(&service.platform));
    }
}

/// Counts a mail to each of these addresses, caused by a person of this organization. It is used outside of
/// transactions, as every [`Window`].
///
/// # Errors
/// 429 when the organization or an address has had its mails of the hour; none of these is counted then.
pub async fn allow(service: &Events, sender: OrgId, to: &[&str]) -> Result<Allowance> {
    let mut allowance = Allowance(Vec::new());
    if !super::is_on(service) {
        return Ok(allowance);
    }
    let limits = &service.settings.limits;
    let organization =
        Window { purpose: "mails of an organization", allowed: limits.mails_per_organization, length: HOUR };
    let recipient =
        Window { purpose: "mails to an address", allowed: limits.mails_per_recipient, length: HOUR };
    for address in to {
        let mailbox = mailbox(address);
        let windows = [
            (organization, sender.0.as_bytes().as_slice(), "too many mails of this organization in an hour"),
            (recipient, mailbox.as_bytes(), "too many mails to this address in an hour"),
        ];
        for (window, key, text) in windows {
            match window.take(&service.platform, key).await {
                Ok(taken) => allowance.0.push(taken),
                Err(refused) => {
                    allowance.give_back(service);
                    return Err(match refused {
                        Error::TooMany { retry_after } => {
                            Error::Limited { message: text.into(), retry_after }
                        }
                        other => other,
                    });
                }
            }
        }
    }
    Ok(allowance)
}

/// The mailbox of an address: what stands behind a `+` leads to the same person.
fn mailbox(address: &str) -> String {
    let key = Email::key_of(address);
    match key.rsplit_once('@') {
        Some((local, domain)) => {
            let person = local.split('+').next().filter(|person| !person.is_empty()).unwrap_or(local);
            format!("{person}@{domain}")
        }
        None => key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_person_are_one_mailbox() {
        for (address, same) in [
            ("Victim+1@Target.example", "victim@target.example"),
            ("victim+a+b@target.example", "victim@target.example"),
            ("v@münchen.example", "v@xn--mnchen-3ya.example"),
            ("+@x.example", "+@x.example"),
        ] {
            assert_eq!(mailbox(address), same);
        }
    }
}
