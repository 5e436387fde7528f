//! `corpus unpack FILE DIRECTORY` makes a file of each input, as cargo-fuzz has them; `corpus pack FILE DIRECTORY` takes
//! them back. See `scripts/fuzz.sh`.

use bailiwick_fuzz_targets::corpus;
use std::{fs, io, path::Path};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, file, directory] = arguments.as_slice() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (file, directory) = (Path::new(file), Path::new(directory));
    match what.as_str() {
        "unpack" => {
            fs::create_dir_all(directory)?;
            for (n, input) in corpus::read(file)?.iter().enumerate() {
                fs::write(directory.join(format!("kept-{n:05}")), input)?;
            }
            Ok(())
        }
        "pack" => {
            let inputs =
                fs::read_dir(directory)?.map(|entry| fs::read(entry?.path())).collect::<io::Result<_>>()?;
            corpus::write(file, inputs)
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}
