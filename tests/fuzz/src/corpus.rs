//! A corpus as one file, so that thousands of inputs are one thing to keep: each input after its length (four bytes, the
//! lowest first), the whole of it gzipped.

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use std::{
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// Bytes of a corpus that is read; more is no corpus of ours.
const MOST: u64 = 64 * 1024 * 1024;

/// Where the corpus of a target is kept.
pub fn file_of(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(format!("{target}.gz"))
}

/// The inputs of a corpus.
///
/// # Errors
/// The file cannot be read or is none.
pub fn read(file: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    GzDecoder::new(std::fs::File::open(file)?).take(MOST).read_to_end(&mut all)?;
    let (mut inputs, mut rest) = (Vec::new(), all.as_slice());
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (input, after) = after.split_at_checked(length).ok_or(io::ErrorKind::UnexpectedEof)?;
        inputs.push(input.to_vec());
        rest = after;
    }
    match rest {
        [] => Ok(inputs),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Keeps inputs in the order of their bytes: the same inputs give the same file.
///
/// # Errors
/// The file cannot be written, or an input is too long.
pub fn write(file: &Path, mut inputs: Vec<Vec<u8>>) -> io::Result<()> {
    inputs.sort();
    inputs.dedup();
    let mut gzip = GzEncoder::new(std::fs::File::create(file)?, Compression::best());
    for input in inputs {
        let length = u32::try_from(input.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        gzip.write_all(&length.to_le_bytes())?;
        gzip.write_all(&input)?;
    }
    gzip.finish()?.flush()
}
