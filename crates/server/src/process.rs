//! Metrics of this process from the operating system, under the names of Prometheus' own libraries. Without `/proc`
//! there are none.

use bailiwick_domain::metrics::{MetricKind, Page};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;

/// Ticks of processor time in a second: fixed on Linux for the values in `/proc`.
const TICKS: f64 = 100.0;

/// How many files and connections this process may have open, after raising the limit as far as the system allows.
/// `None` = without limit.
pub fn open_files() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok() {
        return maximum;
    }
    current
}

/// The host of this process, for people: the machine's name and the process id.
pub fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = if name.trim().is_empty() { "a machine without a name" } else { name.trim() };
    format!("process {} on {name}", std::process::id())
}

/// The metric families, without those that cannot be read.
pub fn page() -> String {
    let mut page = Page::default();
    if let Some(seconds) = fs::read_to_string("/proc/self/stat").ok().as_deref().and_then(cpu_seconds) {
        page.single("process_cpu_seconds_total", MetricKind::Counter, "Processor time used.", seconds);
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    for (field, name, help, unit) in [
        ("VmRSS:", "process_resident_memory_bytes", "Memory in use.", 1024),
        ("VmSize:", "process_virtual_memory_bytes", "Address space in use.", 1024),
        ("Threads:", "process_threads", "Threads.", 1),
    ] {
        if let Some(number) = number(&status, field) {
            page.single(name, MetricKind::Gauge, help, number.saturating_mul(unit));
        }
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        page.single("process_open_fds", MetricKind::Gauge, "Open file descriptors.", files.count());
    }
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    if let Some(most) = number(&limits, "Max open files") {
        page.single("process_max_fds", MetricKind::Gauge, "File descriptors that may be open.", most);
    }
    page.finish()
}

/// User and system time; fields are counted after the name, which may contain any character.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS)
}

/// The number behind a field's name at the beginning of a line.
fn number(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_linux_writes() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 100 1 1";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(number("Name:\tx\nVmRSS:\t    1204 kB\n", "VmRSS:"), Some(1204));
        assert_eq!(number("VmRSS: many\n", "VmRSS:"), None);
    }
}
