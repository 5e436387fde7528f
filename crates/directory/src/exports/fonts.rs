//! The fonts that are installed on the machine, for names that the built-in fonts of reports cannot write. They are
//! looked for once, when a report first needs one.

use bailiwick_export::{MachineFonts, coverage};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// Where Linux keeps fonts.
const FOLDERS: [&str; 2] = ["/usr/share/fonts", "/usr/local/share/fonts"];
/// Folders below those, the most files, and their largest size in bytes.
const DEPTH: usize = 5;
const FILES: usize = 1000;
const BYTES: u64 = 64 * 1024 * 1024;

/// Words in names of files whose fonts are taken only if no other has a character.
const SPECIAL: [&str; 8] = ["bold", "italic", "oblique", "black", "thin", "condensed", "mono", "math"];

/// The installed fonts, the plainest first.
static FONTS: LazyLock<Vec<Installation>> = LazyLock::new(|| {
    let mut files = Vec::new();
    for folder in FOLDERS {
        collect(Path::new(folder), DEPTH, &mut files);
    }
    files.sort_by_cached_key(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        (SPECIAL.iter().any(|word| name.contains(word)), file.clone())
    });
    let fonts: Vec<Installation> = files.iter().flat_map(|file| installations(file)).collect();
    tracing::debug!(files = files.len(), fonts = fonts.len(), "fonts of the machine");
    fonts
});

struct Installation {
    file: PathBuf,
    index: u32,
    /// First and last code points, in order.
    ranges: Vec<(u32, u32)>,
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for path in entries {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_dir() && depth > 0 {
            collect(&path, depth - 1, files);
        } else if ["ttf", "otf", "ttc", "otc"].contains(&&*extension) && files.len() < FILES {
            files.push(path);
        }
    }
}

fn installations(file: &Path) -> Vec<Installation> {
    let all = bytes(file).and_then(|bytes| coverage(&bytes).ok()).unwrap_or_default();
    let numbered = (0..).zip(all);
    numbered.map(|(index, ranges)| Installation { file: file.to_owned(), index, ranges }).collect()
}

fn bytes(file: &Path) -> Option<Vec<u8>> {
    fs::metadata(file).ok().filter(|metadata| metadata.is_file() && metadata.len() <= BYTES)?;
    fs::read(file).ok()
}

/// The fonts of this machine.
#[derive(Debug)]
pub(super) struct Installed;

impl MachineFonts for Installed {
    fn find(&self, c: char) -> Option<usize> {
        let point = u32::from(c);
        FONTS.iter().position(|font| {
            let after = font.ranges.partition_point(|(first, _)| *first <= point);
            after.checked_sub(1).is_some_and(|at| font.ranges[at].1 >= point)
        })
    }

    fn read(&self, font: usize) -> Option<(Vec<u8>, u32)> {
        let font = FONTS.get(font)?;
        Some((bytes(&font.file)?, font.index))
    }
}
