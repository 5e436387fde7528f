//! The limit of requests to the token endpoints by client address (spec: conventions#rate-limits), over all processes.
//!
//! A request is counted while it reads what it needs first from the database, so that counting costs no time. It
//! changes nothing before it is admitted.

use bailiwick_domain::{Clock, Error, Result, metrics::Counter};
use bailiwick_platform::{
    Platform,
    limits::{
        AddressLimit, client_network,
        shared::{Rate, Taking, address_bytes},
    },
};
use std::{net::IpAddr, sync::Arc};

/// The limit.
#[derive(Debug)]
pub struct TokenRequests {
    /// In this process alone.
    own: AddressLimit,
    shared: Rate,
    /// Requests that this process would have let pass.
    refused: Arc<Counter>,
}

/// A request that is being counted.
#[derive(Debug)]
#[must_use]
pub struct TokenRequest(Option<(Taking, Arc<Counter>)>);

impl TokenRequests {
    /// `per_second` steady requests of an address and `burst` at once.
    pub fn new(clock: Arc<dyn Clock>, per_second: u32, burst: u32) -> TokenRequests {
        TokenRequests {
            own: AddressLimit::new(clock, per_second, burst),
            shared: Rate::new("token requests", per_second, burst),
            refused: Arc::default(),
        }
    }

    /// Begins to count a request of the address.
    ///
    /// # Errors
    /// 429 when this process alone has had too many, with the time until the next one is allowed.
    pub fn count(&self, platform: &Platform, address: IpAddr) -> Result<TokenRequest> {
        self.own.check(address)?;
        let taking = self.shared.begin(platform, &address_bytes(client_network(address)));
        Ok(TokenRequest(Some((taking, self.refused.clone()))))
    }

    /// Number of refused requests.
    pub fn refused(&self) -> u64 {
        self.own.refused() + self.refused.get()
    }
}

impl TokenRequest {
    /// A step of a request that was admitted before.
    pub const fn admitted_before() -> TokenRequest {
        TokenRequest(None)
    }

    /// Waits until the request is counted.
    ///
    /// # Errors
    /// 429 with the time until the next one is allowed.
    pub async fn admitted(self) -> Result<()> {
        let Some((taking, refused)) = self.0 else { return Ok(()) };
        taking.done().await.inspect_err(|_| refused.one())
    }

    /// The outcome of a read that changes nothing, once the request is admitted too.
    ///
    /// # Errors
    /// 429 as [`TokenRequest::admitted`]; then those of the read.
    pub async fn beside<T, E: From<Error>>(self, read: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let admitted = async { self.admitted().await.map_err(E::from) };
        let ((), read) = tokio::try_join!(admitted, async { Ok(read.await) })?;
        read
    }
}
