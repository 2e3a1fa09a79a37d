//! The memory of the machine and of this process.

use std::{
    collections::{HashMap, HashSet},
    fs,
};

use sysinfo::{MemoryRefreshKind, System};

/// Returns the bytes that are available without swapping, of the machine or of the control group.
/// `None` if unknown.
pub fn available() -> Option<u64> {
    let machine = machine().map(|machine| machine.available_memory()).filter(|bytes| *bytes > 0);
    machine.into_iter().chain(of_group()).min()
}

/// Returns the maximum bytes of memory that this process may use: those of the machine, or the
/// limit of the control group. `None` if unknown.
pub(super) fn total() -> Option<u64> {
    let machine = machine()?;
    let total = Some(machine.total_memory()).filter(|bytes| *bytes > 0);
    total.into_iter().chain(machine.cgroup_limits().map(|group| group.total_memory)).min()
}

/// Returns the current memory of the machine. Values are 0 if the system does not report them.
fn machine() -> Option<System> {
    let mut system = System::new().ok()?;
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    Some(system)
}

/// The resident memory of this process and of its descendants, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResidentMemory {
    pub server: u64,
    /// The sum over all descendants. Shared pages are counted for each of them.
    pub descendants: u64,
}

impl ResidentMemory {
    /// Reads `/proc`, which is slow with many processes. Returns `None` on systems without `/proc`.
    pub fn read() -> Option<Self> {
        let own = std::process::id();
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut resident = HashMap::new();
        for entry in fs::read_dir("/proc").ok()?.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok())
            else {
                continue;
            };
            // The process may have ended.
            let Ok(status) = fs::read_to_string(entry.path().join("status")) else { continue };
            let parent = field(&status, "PPid:").and_then(|parent| u32::try_from(parent).ok());
            children.entry(parent.unwrap_or_default()).or_default().push(pid);
            resident.insert(pid, field(&status, "VmRSS:").unwrap_or_default() * 1024);
        }
        let (mut memory, mut seen, mut below) = (Self::default(), HashSet::from([own]), vec![own]);
        while let Some(pid) = below.pop() {
            let bytes = resident.get(&pid).copied().unwrap_or_default();
            if pid == own {
                memory.server = bytes
            } else {
                memory.descendants += bytes
            }
            let of_process = children.get(&pid).into_iter().flatten().copied();
            below.extend(of_process.filter(|child| seen.insert(*child)));
        }
        Some(memory)
    }
}

/// Returns the bytes that are left of the limit of the control group (v2), for example in a
/// container.
fn of_group() -> Option<u64> {
    let read = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok();
    let limit: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    // The kernel evicts cached files when memory is needed.
    let kept = field(&read("memory.stat")?, "inactive_file").unwrap_or_default();
    Some(limit.saturating_sub(used.saturating_sub(kept)))
}

/// Returns the number after `name` at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([' ', '\t']))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_by_its_whole_name() {
        let text = "MemTotal:       24683000 kB\nMemAvailable:   22921000 kB\n";
        assert_eq!(field(text, "MemAvailable:"), Some(22_921_000));
        assert_eq!(field("active_file 5\ninactive_file 7\n", "inactive_file"), Some(7));
        assert_eq!(field(text, "MemFree:"), None);
    }

    #[test]
    fn total_and_available_memory_are_known() {
        assert!(available().is_some_and(|bytes| bytes > 0));
        assert!(total() >= available());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn resident_memory_is_known_on_linux() {
        assert!(ResidentMemory::read().is_some_and(|memory| memory.server > 1 << 20));
    }
}
