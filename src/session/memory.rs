//! How much memory is left for one more session, as the system tells.

use std::fs;

/// Bytes that can be had without swapping: of the machine, or of the group that we may use; `None` where nobody tells.
pub(super) fn available() -> Option<u64> {
    let machine = field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:").map(|kib| kib * 1024);
    machine.into_iter().chain(of_group()).min()
}

/// What is left of the limit of our control group (v2), as a container sees it.
fn of_group() -> Option<u64> {
    let read = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok();
    let limit: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    // Files that are only kept in memory go when it is wanted.
    let kept = field(&read("memory.stat")?, "inactive_file").unwrap_or_default();
    Some(limit.saturating_sub(used.saturating_sub(kept)))
}

/// The number after `name` at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([' ', '\t']))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_by_its_whole_name() {
        let told = "MemTotal:       24683000 kB\nMemAvailable:   22921000 kB\n";
        assert_eq!(field(told, "MemAvailable:"), Some(22_921_000));
        assert_eq!(field("active_file 5\ninactive_file 7\n", "inactive_file"), Some(7));
        assert_eq!(field(told, "MemFree:"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn linux_tells_what_is_left() {
        assert!(available().is_some_and(|bytes| bytes > 0));
    }
}
