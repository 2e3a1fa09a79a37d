//! A watchdog that ends upstream servers after `kill -9` of this process. A shell waits for the end
//! of its stdin, and then ends the remaining process groups. Closing the pipes is not enough,
//! because a child can ignore that. On Windows the job of each server does the same.

#[cfg(unix)]
pub(super) use unix::GroupWatchdog;

#[cfg(windows)]
pub(super) use windows_only::GroupWatchdog;

#[cfg(unix)]
mod unix {
    use parking_lot::{Mutex, MutexGuard};

    use std::{
        collections::BTreeSet,
        io::{self, Write},
        os::unix::process::CommandExt,
        process::{Child, Command, Stdio},
        sync::Arc,
    };

    /// Reads which process groups start (`+ 12`) and end (`- 12`). At the end of the input, it
    /// sends SIGTERM to the remaining groups, and SIGKILL a second later.
    const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
all=
while read -r sign group; do
  rest=
  for one in $all; do [ "$one" = "$group" ] || rest="$rest $one"; done
  all=$rest
  [ "$sign" = + ] && all="$all $group"
done
for group in $all; do kill -s TERM -- "-$group"; done
tries=0
while [ $tries -lt 5 ]; do
  left=
  for group in $all; do kill -s 0 -- "-$group" && left=1; done
  [ -z "$left" ] && exit 0
  sleep 0.2
  tries=$((tries + 1))
done
for group in $all; do kill -s KILL -- "-$group"; done
"#;

    /// The watchdog. Its shell starts with the first process group.
    #[derive(Debug, Clone, Default)]
    pub struct GroupWatchdog(Arc<Mutex<WatchdogState>>);

    #[derive(Debug, Default)]
    struct WatchdogState {
        shell: Option<Child>,
        groups: BTreeSet<u32>,
    }

    impl GroupWatchdog {
        fn lock(&self) -> MutexGuard<'_, WatchdogState> {
            self.0.lock()
        }

        /// Adds a process group that must end with this process.
        pub fn watch(&self, group: u32) {
            let mut watch = self.lock();
            watch.groups.insert(group);
            watch.send('+', group);
        }

        /// Removes a process group, which has ended.
        pub fn forget(&self, group: u32) {
            let mut watch = self.lock();
            if watch.groups.remove(&group) {
                watch.send('-', group);
            }
        }

        /// Ends the shell.
        pub fn close(&self) {
            let Some(mut shell) = self.lock().shell.take() else { return };
            drop(shell.stdin.take());
            let _ = shell.wait();
        }
    }

    impl WatchdogState {
        fn send(&mut self, sign: char, group: u32) {
            let write = |shell: &mut Child| match &mut shell.stdin {
                Some(input) => writeln!(input, "{sign} {group}").and_then(|()| input.flush()),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            };
            if self.shell.as_mut().is_some_and(|shell| write(shell).is_ok()) {
                return;
            }
            if let Some(mut old_shell) = self.shell.take() {
                let _ = old_shell.kill();
                let _ = old_shell.wait();
            }
            // A new shell gets all groups again.
            match start(&self.groups) {
                Ok(shell) => self.shell = Some(shell),
                Err(error) => {
                    tracing::warn!(%error, "the watchdog of upstream servers could not be started");
                }
            }
        }
    }

    fn start(groups: &BTreeSet<u32>) -> io::Result<Child> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        if let Some(input) = &mut shell.stdin {
            groups.iter().try_for_each(|group| writeln!(input, "+ {group}"))?;
        }
        Ok(shell)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Starts a process group that ignores SIGTERM.
        fn start_stubborn_group() -> Child {
            let script = "trap '' TERM HUP; echo ready; while :; do sleep 1; done";
            let mut child = Command::new("/bin/sh")
                .args(["-c", script])
                .stdout(Stdio::piped())
                .process_group(0)
                .spawn()
                .unwrap();
            let mut ready = [0; 6];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
            child
        }

        #[test]
        fn remaining_groups_are_killed_even_if_they_ignore_signals_and_others_are_not() {
            let watchdog = GroupWatchdog::default();
            let (mut remaining, mut ended) = (start_stubborn_group(), start_stubborn_group());
            watchdog.watch(remaining.id());
            watchdog.watch(ended.id());
            // A shell that dies is replaced.
            watchdog.lock().shell.as_mut().unwrap().kill().unwrap();
            watchdog.lock().shell.as_mut().unwrap().wait().unwrap();
            watchdog.forget(ended.id());
            watchdog.close();
            assert_eq!(
                std::os::unix::process::ExitStatusExt::signal(&remaining.wait().unwrap()),
                Some(9)
            );
            assert!(ended.try_wait().unwrap().is_none());
            // Includes its child processes.
            let group = nix::unistd::Pid::from_raw(ended.id().cast_signed());
            nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL).unwrap();
            ended.wait().unwrap();
        }
    }
}

#[cfg(windows)]
mod windows_only {
    /// Does nothing: Windows ends the processes of a [`Job`](crate::engine::job::Job) with this
    /// process.
    #[derive(Debug, Clone, Default)]
    pub struct GroupWatchdog(());

    impl GroupWatchdog {
        pub fn watch(&self, _group: u32) {}
        pub fn forget(&self, _group: u32) {}
        pub fn close(&self) {}
    }
}
