//! The pages that the links of mails and notifications lead to.

/// Where people read what a message is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pages {
    /// The console of the service at this public address, which has no slash at its end.
    Console(String),
    /// Another user interface at this address, which has no slash at its end.
    Other(String),
}

impl Pages {
    /// The address before the path of every page.
    pub fn base(&self) -> &str {
        match self {
            Pages::Console(base) | Pages::Other(base) => base,
        }
    }

    /// The first page.
    pub fn home(&self) -> String {
        match self {
            Pages::Console(base) => format!("{base}/console/"),
            Pages::Other(base) => base.clone(),
        }
    }

    /// Where people change the password of their own account.
    pub fn own_password(&self) -> String {
        match self {
            Pages::Console(base) => format!("{base}/console/account#password"),
            Pages::Other(base) => format!("{base}/account?changePassword=true"),
        }
    }

    /// Where people see the second factors of their own account; none where another interface has no such page.
    pub fn own_factors(&self) -> Option<String> {
        match self {
            Pages::Console(base) => Some(format!("{base}/console/account/factors")),
            Pages::Other(_) => None,
        }
    }
}
