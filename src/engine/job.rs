//! Windows job objects.

use std::{
    io,
    os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle},
    ptr,
};

use tokio::process::Child;
use windows_sys::Win32::{
    Foundation::HANDLE,
    System::JobObjects::{
        AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
        JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
        JobObjectBasicAccountingInformation, JobObjectExtendedLimitInformation,
        QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
    },
    System::Threading::{OpenProcess, PROCESS_TERMINATE, TerminateProcess},
};

/// A process and the processes that it starts. Windows ends all of them when the job is dropped or
/// this process ends.
#[derive(Debug)]
pub struct Job(OwnedHandle);

impl Job {
    /// Creates a job for `process`. Processes that it has started before do not belong to the job,
    /// so call this immediately after the start.
    ///
    /// # Errors
    /// If the process has ended and was waited for, or the system refuses.
    pub fn of(process: &Child) -> io::Result<Self> {
        let process = process.raw_handle().ok_or(io::ErrorKind::NotFound)?;
        // SAFETY: both arguments may be null. The handle is owned from here on; it is not null.
        let job = unsafe {
            let handle = CreateJobObjectW(ptr::null(), ptr::null());
            if handle.is_null() {
                return Err(io::Error::last_os_error());
            }
            Self(OwnedHandle::from_raw_handle(handle))
        };
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // SAFETY: the pointer and the size are those of the structure that the information class
        // names.
        check(unsafe {
            SetInformationJobObject(
                job.handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of_val(&limits) as u32,
            )
        })?;
        // SAFETY: both handles are open: `process` belongs to the child that the caller holds.
        check(unsafe { AssignProcessToJobObject(job.handle(), process) })?;
        Ok(job)
    }

    /// Ends all processes of the job.
    pub fn terminate(&self) {
        // SAFETY: the handle is open.
        if let Err(error) = check(unsafe { TerminateJobObject(self.handle(), 1) }) {
            tracing::warn!(%error, "cannot end the processes of a job");
        }
    }

    /// Returns whether a process of the job is running. True if the query fails.
    pub fn is_running(&self) -> bool {
        let mut counts = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        // SAFETY: the pointer and the size are those of the structure that the information class
        // names. The last argument may be null.
        let read = check(unsafe {
            QueryInformationJobObject(
                self.handle(),
                JobObjectBasicAccountingInformation,
                (&raw mut counts).cast(),
                size_of_val(&counts) as u32,
                ptr::null_mut(),
            )
        });
        read.is_err() || counts.ActiveProcesses > 0
    }

    fn handle(&self) -> HANDLE {
        self.0.as_raw_handle()
    }
}

/// Ends the process at once.
pub fn kill(pid: u32) {
    // SAFETY: a handle that is not null is closed after its use.
    let killed = unsafe {
        let handle = OpenProcess(PROCESS_TERMINATE, 0, pid);
        if handle.is_null() {
            Err(io::Error::last_os_error())
        } else {
            let process = OwnedHandle::from_raw_handle(handle);
            check(TerminateProcess(process.as_raw_handle(), 1))
        }
    };
    if let Err(error) = killed {
        tracing::debug!(%error, pid, "cannot end a process");
    }
}

/// Converts the result of a system call, where 0 is a failure.
fn check(succeeded: i32) -> io::Result<()> {
    if succeeded == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader},
        process::Stdio,
        time::Duration,
    };

    use tokio::process::Command;

    use super::*;

    /// Starts a shell that waits for its input and starts another shell that does the same.
    fn two_shells() -> Child {
        let mut command = Command::new("cmd.exe");
        // A raw argument, because cmd.exe does not support the usual escapes of quotes.
        command.raw_arg(r#"/d /c "cmd.exe /d /q /c "echo ready & set /p line=""""#);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(false);
        command.spawn().unwrap()
    }

    /// Waits until the inner shell runs.
    fn wait_until_ready(child: &mut Child) {
        let stdout = child.stdout.take().unwrap().into_owned_handle().unwrap();
        let mut line = String::new();
        BufReader::new(std::fs::File::from(stdout)).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "ready");
    }

    #[tokio::test]
    async fn terminating_a_job_ends_the_process_and_its_child_processes() {
        let mut child = two_shells();
        let job = Job::of(&child).unwrap();
        wait_until_ready(&mut child);
        assert!(job.is_running());
        job.terminate();
        assert_eq!(child.wait().await.unwrap().code(), Some(1));
        assert!(!job.is_running());
    }

    #[tokio::test]
    async fn dropping_a_job_ends_its_processes() {
        let mut child = two_shells();
        let job = Job::of(&child).unwrap();
        wait_until_ready(&mut child);
        // Waiting would close it, which ends the shells too.
        let _input = child.stdin.take();
        drop(job);
        tokio::time::timeout(Duration::from_secs(10), child.wait()).await.unwrap().unwrap();
    }
}
