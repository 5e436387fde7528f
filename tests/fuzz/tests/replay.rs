//! The inputs that the search has kept go through their targets again, as they were and with a few bytes changed.

#![allow(clippy::unwrap_used)]

use bailiwick_fuzz_targets::{TARGETS, corpus};

/// Changed inputs for each target, at most.
const CHANGED: usize = 4000;

/// Numbers that look random and are the same in every run (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    /// A piece taken out, doubled or put in from another input, or a byte that is another.
    fn change(&mut self, input: &[u8], other: &[u8]) -> Vec<u8> {
        let from = self.below(input.len() + 1);
        let to = from + self.below((input.len() - from).min(32) + 1);
        let mut changed = input.to_vec();
        match self.below(4) {
            0 => drop(changed.drain(from..to)),
            1 => drop(changed.splice(from..from, input[from..to].to_vec())),
            2 => {
                let start = self.below(other.len() + 1);
                let end = start + self.below((other.len() - start).min(32) + 1);
                drop(changed.splice(from..to, other[start..end].to_vec()));
            }
            _ => {
                if let Some(byte) = changed.get_mut(from) {
                    *byte ^= 1 << self.below(8);
                }
            }
        }
        changed
    }
}

fn replay(name: &str) {
    let (_, target) = TARGETS.into_iter().find(|(other, _)| *other == name).unwrap();
    let inputs = corpus::read(&corpus::file_of(name)).unwrap();
    assert!(!inputs.is_empty());
    inputs.iter().for_each(|input| target(input));
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for _ in 0..CHANGED {
        let (input, other) = (numbers.below(inputs.len()), numbers.below(inputs.len()));
        target(&numbers.change(&inputs[input], &inputs[other]));
    }
}

macro_rules! replay {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn every_target_is_here_and_in_the_search() {
            let named = [$(stringify!($name)),*];
            assert_eq!(TARGETS.map(|(name, _)| name), named);
            let search = include_str!("../../../fuzz/Cargo.toml");
            for name in named {
                assert!(search.contains(&format!("name = \"{name}\"")), "{name}");
            }
        }
    };
}

replay!(configuration inventory_diff matchers proxy_request tokens);

#[test]
fn a_corpus_is_read_as_it_was_written() {
    let directory = std::env::temp_dir().join(format!("bailiwick-corpus-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("some.gz");
    let inputs = vec![Vec::new(), b"\0".to_vec(), vec![7; 1000]];
    corpus::write(&file, inputs.iter().rev().chain(&inputs).cloned().collect()).unwrap();
    assert_eq!(corpus::read(&file).unwrap(), inputs);
    std::fs::write(&file, b"nothing gzipped").unwrap();
    assert!(corpus::read(&file).is_err());
    std::fs::remove_dir_all(directory).unwrap();
}
