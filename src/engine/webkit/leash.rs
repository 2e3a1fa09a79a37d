//! A process watchdog that ends everything a browser has started when its driver ends. The kernel ends the driver
//! with this process and the browser with the driver, but a busy page process takes ten seconds to notice. So a
//! shell waits for the end of its stdin, which is closed when this process ends at the latest, and then kills the
//! process group.

use std::{
    io::{self, Write},
    process::{Child, Command, Stdio},
};

use parking_lot::Mutex;

/// Its first line is the group; there is no second.
const SCRIPT: &str =
    r#"trap '' HUP INT QUIT TERM; read -r group || exit; read -r end; kill -s KILL -- "-$group""#;

/// Dropped, it ends the group.
pub(super) struct Leash(Mutex<Child>);

impl Leash {
    pub fn new() -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A Ctrl-C in the terminal is for us.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(Self(Mutex::new(command.spawn()?)))
    }

    /// Is for the group that `leader` leads.
    pub fn hold(&self, leader: u32) -> io::Result<()> {
        let mut shell = self.0.lock();
        shell.stdin.as_mut().map_or(Ok(()), |input| writeln!(input, "{leader}"))
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        let shell = self.0.get_mut();
        drop(shell.stdin.take());
        let _ = shell.wait();
    }
}
