//! Puts the documents of the repository into the program: their texts packed together, the pictures as they are. A page
//! that is added to `docs/` takes part by itself.

use flate2::{Compression, write::ZlibEncoder};
use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

/// The page of `docs/` that only people who change the program need.
const LEFT_OUT: &str = "docs/dependencies.md";

/// The document outside of `docs/`.
const CHANGELOG: &str = "CHANGELOG.md";

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?).join("../..");
    let root = root.canonicalize()?;
    println!("cargo::rerun-if-changed=build.rs");
    for watched in ["docs", CHANGELOG] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    let mut files = Vec::new();
    walk(&root.join("docs"), &mut files)?;
    files.retain(|file| !file.ends_with(LEFT_OUT));
    files.push(root.join(CHANGELOG));
    files.sort();
    let (mut texts, mut list, mut pictures) = (String::new(), String::new(), String::new());
    for file in &files {
        let name = file.strip_prefix(&root)?.to_str().ok_or("the name of a document is no text")?;
        if has_ending(file, "md") {
            let text = fs::read_to_string(file)?;
            writeln!(list, "    ({name:?}, {}),", text.len())?;
            texts.push_str(&text);
        } else if has_ending(file, "png") || has_ending(file, "svg") {
            writeln!(pictures, "    ({name:?}, include_bytes!({file:?})),")?;
        }
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(texts.as_bytes())?;
    fs::write(out.join("documents.zlib"), packed.finish()?)?;
    let code = format!(
        "/// Names of the documents and the bytes of their texts.\n\
         const NAMES: &[(&str, usize)] = &[\n{list}];\n\
         /// Names and bytes of the pictures.\n\
         const PICTURES: &[(&str, &[u8])] = &[\n{pictures}];\n"
    );
    fs::write(out.join("documents.rs"), code)?;
    Ok(())
}

fn has_ending(file: &Path, wanted: &str) -> bool {
    file.extension().is_some_and(|ending| ending == wanted)
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { walk(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
