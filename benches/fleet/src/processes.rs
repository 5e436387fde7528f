//! Processor time and memory of processes with everything below them, from `/proc`.

use std::{collections::HashMap, fs, path::Path};

/// Ticks of a second in `/proc`: a constant of Linux.
const TICKS: f64 = 100.0;

/// A process to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub name: String,
    pub pid: u32,
}

/// What a process and those below it use at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Since their start, with those that have ended.
    pub processor_seconds: f64,
    /// Resident; memory that several of them share counts once where the system says so.
    pub memory_kib: u64,
}

impl std::str::FromStr for Process {
    type Err = String;

    fn from_str(text: &str) -> Result<Process, String> {
        let (name, pid) = text.split_once('=').ok_or("not NAME=PID")?;
        Ok(Process { name: name.to_owned(), pid: pid.parse().map_err(|_| "not NAME=PID")? })
    }
}

/// The parent and the ticks of a process, with those of its ended children, from the text of its `stat`.
fn parse_stat(text: &str) -> Option<(u32, u64)> {
    // The name of the program may have spaces and brackets.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some((fields.get(1)?.parse().ok()?, ticks))
}

/// The number of a line such as `Pss:   123 kB`.
fn kib(text: &str, word: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(word))?;
    line.split_whitespace().next()?.parse().ok()
}

fn memory(process: &Path) -> u64 {
    let read = |file: &str, word| kib(&fs::read_to_string(process.join(file)).ok()?, word);
    read("smaps_rollup", "Pss:").or_else(|| read("status", "VmRSS:")).unwrap_or(0)
}

/// What these processes use now.
pub(crate) fn usage(processes: &[Process]) -> Vec<Usage> {
    let mut below: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut ticks: HashMap<u32, u64> = HashMap::new();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
        if let Some((parent, used)) = stat.as_deref().and_then(parse_stat) {
            below.entry(parent).or_default().push(pid);
            ticks.insert(pid, used);
        }
    }
    let of = |process: &Process| {
        let (mut usage, mut waiting) = (Usage::default(), vec![process.pid]);
        while let Some(pid) = waiting.pop() {
            usage.processor_seconds += ticks.get(&pid).map_or(0.0, |ticks| *ticks as f64 / TICKS);
            usage.memory_kib += memory(Path::new(&format!("/proc/{pid}")));
            waiting.extend(below.get(&pid).into_iter().flatten());
        }
        usage
    };
    processes.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_system_are_read() {
        let stat = "12 (a (b) c) S 7 1 1 0 -1 4 1 2 3 4 100 20 3 4 20 0 1 0 5 6 7";
        assert_eq!(parse_stat(stat), Some((7, 127)));
        assert_eq!(parse_stat("12 (a"), None);
        assert_eq!(kib("Rss:  9 kB\nPss:  77 kB\nPss_Dirty: 5 kB\n", "Pss:"), Some(77));
        assert_eq!("web=12".parse(), Ok(Process { name: "web".into(), pid: 12 }));
        assert!("web".parse::<Process>().is_err() && "web=x".parse::<Process>().is_err());
    }

    #[test]
    fn this_process_uses_memory() {
        let own = Process { name: "tests".into(), pid: std::process::id() };
        assert!(usage(&[own])[0].memory_kib > 0);
    }
}
