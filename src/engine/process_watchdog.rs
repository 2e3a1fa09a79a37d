//! Ends a process group when this process ends, also after `kill -9`. A shell waits for the end of
//! its stdin and then kills the group.
//!
//! - WebKit: the kernel ends the driver with this process and the browser with the driver, but a
//!   busy page process takes ten seconds to notice that.
//! - Every browser on macOS, whose kernel does not end a process with its parent.

use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use parking_lot::Mutex;

/// The first line of its stdin is the process group. There is no second line.
const SCRIPT: &str =
    r#"trap '' HUP INT QUIT TERM; read -r group || exit; read -r end; kill -s KILL -- "-$group""#;

/// Kills its process group when it is dropped.
pub struct ProcessWatchdog(Mutex<Child>);

impl ProcessWatchdog {
    pub fn new() -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Ctrl-C in the terminal must not end the watchdog.
        command.process_group(0);
        Ok(Self(Mutex::new(command.spawn()?)))
    }

    /// Sets the process group to kill, by the id of its leader.
    pub fn watch(&self, leader: u32) -> io::Result<()> {
        let mut shell = self.0.lock();
        shell.stdin.as_mut().map_or(Ok(()), |input| writeln!(input, "{leader}"))
    }
}

impl Drop for ProcessWatchdog {
    fn drop(&mut self) {
        let shell = self.0.get_mut();
        drop(shell.stdin.take());
        let _ = shell.wait();
    }
}
