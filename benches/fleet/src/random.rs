//! Numbers that look random and depend on nothing but what they are for.

/// SplitMix64's finalizer: a bijection of 64 bits.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// 64 bits for these words: the same for the same words, whatever was drawn before.
pub(crate) fn draw(words: &[u64]) -> u64 {
    words.iter().fold(0x9e37_79b9_7f4a_7c15, |bits, word| mix(bits.wrapping_add(*word).wrapping_mul(5)))
}

/// From 0 to `n - 1`; 0 when `n` is 0.
pub(crate) fn below(n: u64, words: &[u64]) -> u64 {
    u64::try_from((u128::from(draw(words)) * u128::from(n)) >> 64).unwrap_or(0)
}

/// One of the values; there is at least one.
pub(crate) fn pick<T: Copy>(values: &[T], words: &[u64]) -> T {
    values[usize::try_from(below(values.len() as u64, words)).unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_repeat_differ_and_keep_their_bounds() {
        assert_eq!(draw(&[1, 2]), draw(&[1, 2]));
        assert_ne!(draw(&[1, 2]), draw(&[2, 1]));
        let counts = (0..6_000).fold([0; 6], |mut counts, n| {
            counts[below(6, &[9, n]) as usize] += 1;
            counts
        });
        assert!(counts.iter().all(|n| (850..1_150).contains(n)), "{counts:?}");
        assert_eq!(below(0, &[1]), 0);
    }
}
