//! The inputs that the pure code needs from outside: the time and randomness. Tests pass their own.

use crate::Ts;

/// The only source of the current time.
pub trait Clock: Send + Sync + 'static {
    /// Now, in whole microseconds.
    fn now(&self) -> Ts;
}

/// The only source of randomness. The real one is the operating system's.
pub trait Entropy: Send + Sync + 'static {
    /// Fills the buffer with unpredictable bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// `n` random bytes.
pub fn random<const N: usize>(entropy: &dyn Entropy) -> [u8; N] {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes);
    bytes
}

/// `N` random bytes as `2 N` lower-case hex digits.
pub fn random_hex<const N: usize>(entropy: &dyn Entropy) -> String {
    hex(&random::<N>(entropy))
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|b| [DIGITS[usize::from(b >> 4)] as char, DIGITS[usize::from(b & 15)] as char])
        .collect()
}
