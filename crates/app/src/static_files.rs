//! The files of the web user interface, read once into memory: a request cannot reach any other file, whatever its
//! path.

use aws_lc_rs::digest;
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use std::{
    collections::HashMap,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

/// Bytes of all files together at most.
const MOST_BYTES: u64 = 128 * 1024 * 1024;
/// Files at most.
const MOST_FILES: usize = 20_000;
/// Levels of directories at most, so that links in a circle end.
const MOST_LEVELS: usize = 16;
/// A shorter text is not worth compressing.
const WORTH: usize = 1024;

/// One file in each form it can be sent in.
#[derive(Clone, Debug)]
pub struct File {
    /// As it is.
    pub plain: Bytes,
    /// With gzip: the file beside it with `.gz`, or made here where compression is possible.
    pub gzip: Option<Bytes>,
    /// With brotli: the file beside it with `.br`.
    pub brotli: Option<Bytes>,
    pub media_type: &'static str,
    /// `ETag`, with its quotation marks.
    pub etag: String,
    /// Its name changes with its contents.
    pub is_immutable: bool,
}

/// Files by their path: `/index.html`.
pub type Files = HashMap<String, File>;

/// The files of a directory.
#[derive(Debug)]
pub struct StaticFiles {
    directory: PathBuf,
    files: RwLock<Arc<Files>>,
}

impl StaticFiles {
    /// Reads the directory.
    ///
    /// # Errors
    /// A text for the operator: it cannot be read, is too large, or has no `index.html`.
    pub fn open(directory: &Path) -> Result<StaticFiles, String> {
        let files = read(directory).map_err(|why| format!("{}: {why}", directory.display()))?;
        Ok(StaticFiles { directory: directory.to_owned(), files: RwLock::new(Arc::new(files)) })
    }

    /// Reads the directory again.
    ///
    /// # Errors
    /// As [`StaticFiles::open`]; the previous files stay in use.
    pub fn reload(&self) -> Result<(), String> {
        let files = read(&self.directory).map_err(|why| format!("{}: {why}", self.directory.display()))?;
        *self.files.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(files);
        Ok(())
    }

    /// The present files.
    pub fn files(&self) -> Arc<Files> {
        self.files.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn read(directory: &Path) -> Result<Files, String> {
    let root = directory.canonicalize().map_err(|e| e.to_string())?;
    let mut found = HashMap::new();
    collect(&root, &root, "", 0, &mut Budget::default(), &mut found)?;
    let mut files = Files::new();
    for (path, bytes) in &found {
        // Compressed forms are found beside their originals.
        let is_form = path
            .rsplit_once('.')
            .is_some_and(|(of, end)| matches!(end, "gz" | "br") && found.contains_key(of));
        if !is_form {
            let beside = |end: &str| found.get(&format!("{path}.{end}")).cloned();
            files.insert(path.clone(), file(path, bytes.clone(), beside("gz"), beside("br")));
        }
    }
    if !files.contains_key("/index.html") {
        return Err("there is no index.html".to_owned());
    }
    Ok(files)
}

fn file(path: &str, plain: Bytes, gzip: Option<Bytes>, brotli: Option<Bytes>) -> File {
    let (media_type, is_text) = media_type(path);
    let gzip = gzip.or_else(|| if is_text && plain.len() >= WORTH { compressed(&plain).ok() } else { None });
    let sum = digest::digest(&digest::SHA256, &plain);
    let etag = sum.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    // A bundler's hashed names are all below this directory (spec: clients#serving-the-browser).
    let is_immutable = path.starts_with("/assets/");
    File { plain, gzip, brotli, media_type, etag: format!("\"{etag}\""), is_immutable }
}

fn compressed(plain: &[u8]) -> io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain)?;
    Ok(encoder.finish()?.into())
}

#[derive(Default)]
struct Budget {
    bytes: u64,
    files: usize,
}

/// Regular files below a directory, also through links that stay below the root. Names with a leading dot are skipped.
fn collect(
    root: &Path,
    directory: &Path,
    prefix: &str,
    level: usize,
    budget: &mut Budget,
    found: &mut HashMap<String, Bytes>,
) -> Result<(), String> {
    if level > MOST_LEVELS {
        return Err(format!("more than {MOST_LEVELS} levels of directories"));
    }
    for entry in fs::read_dir(directory).map_err(|e| e.to_string())? {
        let name = entry.map_err(|e| e.to_string())?.file_name();
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        let path = format!("{prefix}/{name}");
        // Where it really is: a link may lead anywhere, or nowhere.
        let Ok(real) = directory.join(name).canonicalize() else { continue };
        if !real.starts_with(root) {
            tracing::warn!(path, "a link out of http.static_dir is not followed");
            continue;
        }
        let data = fs::metadata(&real).map_err(|e| format!("{path}: {e}"))?;
        if data.is_dir() {
            collect(root, &real, &path, level + 1, budget, found)?;
        } else if data.is_file() {
            budget.bytes = budget.bytes.saturating_add(data.len());
            budget.files += 1;
            if budget.bytes > MOST_BYTES || budget.files > MOST_FILES {
                return Err(format!("more than {MOST_BYTES} bytes or {MOST_FILES} files"));
            }
            found.insert(path.clone(), fs::read(&real).map_err(|e| format!("{path}: {e}"))?.into());
        }
    }
    Ok(())
}

/// By the end of the name; whether it can be compressed.
fn media_type(path: &str) -> (&'static str, bool) {
    let end = path.rsplit_once('.').map_or("", |(_, end)| end).to_ascii_lowercase();
    match end.as_str() {
        "html" | "htm" => ("text/html; charset=utf-8", true),
        "js" | "mjs" => ("text/javascript; charset=utf-8", true),
        "css" => ("text/css; charset=utf-8", true),
        "json" | "map" => ("application/json", true),
        "webmanifest" => ("application/manifest+json", true),
        "svg" => ("image/svg+xml", true),
        "txt" => ("text/plain; charset=utf-8", true),
        "xml" => ("application/xml", true),
        "wasm" => ("application/wasm", true),
        "ico" => ("image/x-icon", true),
        "png" => ("image/png", false),
        "jpg" | "jpeg" => ("image/jpeg", false),
        "gif" => ("image/gif", false),
        "webp" => ("image/webp", false),
        "avif" => ("image/avif", false),
        "woff" => ("font/woff", false),
        "woff2" => ("font/woff2", false),
        "ttf" => ("font/ttf", true),
        "otf" => ("font/otf", true),
        "pdf" => ("application/pdf", false),
        _ => ("application/octet-stream", false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_stay_inside_and_forms_stand_beside() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (root, outside) = (dir.path(), outside.path());
        assert!(StaticFiles::open(root).unwrap_err().contains("index.html"));
        fs::create_dir(root.join("assets")).unwrap();
        fs::write(root.join("index.html"), "x".repeat(2000)).unwrap();
        fs::write(root.join("assets/a.js"), "1").unwrap();
        fs::write(root.join("assets/a.js.br"), "2").unwrap();
        fs::write(root.join(".env"), "SECRET").unwrap();
        fs::write(outside.join("secret"), "SECRET").unwrap();
        symlink(outside.join("secret"), root.join("file")).unwrap();
        symlink(outside, root.join("directory")).unwrap();
        symlink(root.join("nowhere"), root.join("dangling")).unwrap();
        symlink("assets/a.js", root.join("alias.js")).unwrap();
        let static_files = StaticFiles::open(root).unwrap();
        let files = static_files.files();
        let mut paths: Vec<&str> = files.keys().map(String::as_str).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["/alias.js", "/assets/a.js", "/index.html"]);
        let script = &files["/assets/a.js"];
        assert_eq!((script.brotli.as_deref(), script.gzip.is_none()), (Some(&b"2"[..]), true));
        assert!(script.is_immutable && !files["/index.html"].is_immutable);
        assert!(files["/index.html"].gzip.as_ref().is_some_and(|gzip| gzip.len() < 200));
        symlink(root, root.join("assets/circle")).unwrap();
        assert!(static_files.reload().unwrap_err().contains("levels"));
        assert_eq!(static_files.files().len(), 3, "what was there stays");
    }
}
