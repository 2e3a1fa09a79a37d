//! Makes files, folders and named pipes accessible only to the current user.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
};

#[cfg(windows)]
pub use self::system::{await_pipe, create_pipe};

/// Removes all permissions of other users from a file or a folder. On Windows, administrators keep
/// theirs, and new files in the folder inherit its permissions. On Unix, execute permission of the
/// owner stays.
pub fn restrict(path: &Path) -> io::Result<()> {
    system::restrict(path)
}

/// Creates a file that must not exist yet, and opens it for writing.
pub fn create_file(path: &Path) -> io::Result<File> {
    create_with_mode(path, 0o600)
}

/// Like [`create_file`], for a file that its owner can execute.
pub fn create_executable(path: &Path) -> io::Result<File> {
    create_with_mode(path, 0o700)
}

fn create_with_mode(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(windows)]
    let _ = mode;
    let file = options.open(path)?;
    restrict(path)?;
    Ok(file)
}

/// Creates a file and its folder, unless the file exists. The folder and an existing file keep
/// their permissions.
pub fn ensure_file(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match create_file(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Creates a folder with the missing folders above it. Restricts an existing folder.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    restrict(path)
}

#[cfg(unix)]
mod system {
    use std::{fs, io, os::unix::fs::PermissionsExt, path::Path};

    pub fn restrict(path: &Path) -> io::Result<()> {
        let mode = fs::metadata(path)?.permissions().mode();
        if mode & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700))?;
        }
        Ok(())
    }
}

#[cfg(windows)]
mod system {
    use std::{
        io,
        os::windows::{
            ffi::OsStrExt,
            io::{AsRawHandle, FromRawHandle, OwnedHandle},
        },
        path::Path,
        ptr, slice,
        time::Duration,
    };

    use tokio::net::windows::named_pipe::{NamedPipeServer, ServerOptions};
    use windows_sys::Win32::{
        Foundation::{HANDLE, LocalFree},
        Security::{
            Authorization::{
                ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW,
                SDDL_REVISION_1,
            },
            DACL_SECURITY_INFORMATION, GetTokenInformation, PROTECTED_DACL_SECURITY_INFORMATION,
            PSECURITY_DESCRIPTOR, SECURITY_ATTRIBUTES, SetFileSecurityW, TOKEN_QUERY, TOKEN_USER,
            TokenUser,
        },
        System::{
            Pipes::WaitNamedPipeW,
            Threading::{GetCurrentProcess, OpenProcessToken},
        },
    };

    /// Memory that a system call has allocated.
    struct Allocated(*mut core::ffi::c_void);

    impl Drop for Allocated {
        fn drop(&mut self) {
            // SAFETY: the pointer is from a call that asks its caller to free it so, and is freed
            // once.
            unsafe { LocalFree(self.0) };
        }
    }

    /// Creates an instance of a named pipe that other users cannot open.
    pub fn create_pipe(options: &ServerOptions, name: &str) -> io::Result<NamedPipeServer> {
        let descriptor = of_this_user()?;
        let mut attributes = SECURITY_ATTRIBUTES {
            nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
            lpSecurityDescriptor: descriptor.0,
            bInheritHandle: 0,
        };
        let attributes = (&raw mut attributes).cast();
        // SAFETY: the attributes and their descriptor are valid until the call returns.
        unsafe { options.create_with_security_attributes_raw(name, attributes) }
    }

    /// Waits until an instance of a named pipe is free.
    pub fn await_pipe(name: &str, timeout: Duration) -> io::Result<()> {
        let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
        let timeout = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        // SAFETY: the name ends with 0.
        check(unsafe { WaitNamedPipeW(name.as_ptr(), timeout) })
    }

    pub fn restrict(path: &Path) -> io::Result<()> {
        let descriptor = of_this_user()?;
        let path: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
        let what = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
        // SAFETY: the path ends with 0, and the descriptor is valid.
        check(unsafe { SetFileSecurityW(path.as_ptr(), what, descriptor.0) })
    }

    /// Returns a security descriptor: this user, the system and administrators have full access;
    /// nothing is inherited from the folder above.
    fn of_this_user() -> io::Result<Allocated> {
        let user = current_user()?;
        let rules = format!("D:P(A;OICI;FA;;;{user})(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)");
        let rules: Vec<u16> = rules.encode_utf16().chain([0]).collect();
        let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();
        // SAFETY: the text ends with 0, and the descriptor is freed when it is dropped.
        check(unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                rules.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                ptr::null_mut(),
            )
        })?;
        Ok(Allocated(descriptor))
    }

    /// The security identifier of this process's user, such as `S-1-5-21-…`.
    pub fn current_user() -> io::Result<String> {
        let mut token: HANDLE = ptr::null_mut();
        // SAFETY: the handle of the current process needs no closing; that of the token is owned
        // from here on.
        let token = unsafe {
            check(OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token))?;
            OwnedHandle::from_raw_handle(token)
        };
        let mut size = 0;
        // SAFETY: without a buffer, the call only returns the size that it needs.
        unsafe {
            GetTokenInformation(token.as_raw_handle(), TokenUser, ptr::null_mut(), 0, &raw mut size)
        };
        // 64-bit numbers, so that the structure is aligned.
        let mut buffer = vec![0_u64; (size as usize).div_ceil(size_of::<u64>())];
        // SAFETY: the buffer has at least `size` bytes. On success it begins with a TOKEN_USER,
        // whose SID is in it too.
        unsafe {
            let into = buffer.as_mut_ptr();
            check(GetTokenInformation(
                token.as_raw_handle(),
                TokenUser,
                into.cast(),
                size,
                &raw mut size,
            ))?;
            let user = &*into.cast::<TOKEN_USER>();
            let mut text = ptr::null_mut();
            check(ConvertSidToStringSidW(user.User.Sid, &raw mut text))?;
            let _freed = Allocated(text.cast());
            let length = (0..).take_while(|&at| *text.add(at) != 0).count();
            Ok(String::from_utf16_lossy(slice::from_raw_parts(text, length)))
        }
    }

    /// Converts the result of a system call, where 0 is a failure.
    fn check(succeeded: i32) -> io::Result<()> {
        if succeeded == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What other users may do with the file or folder, as text.
    #[cfg(unix)]
    fn permissions(path: &Path) -> String {
        use std::os::unix::fs::PermissionsExt;
        format!("{:o}", std::fs::metadata(path).unwrap().permissions().mode() & 0o777)
    }

    /// The access control list of the file or folder, in the security descriptor definition
    /// language.
    #[cfg(windows)]
    fn permissions(path: &Path) -> String {
        use std::os::windows::ffi::OsStrExt;

        use windows_sys::Win32::Security::{
            Authorization::{
                ConvertSecurityDescriptorToStringSecurityDescriptorW, SDDL_REVISION_1,
            },
            DACL_SECURITY_INFORMATION, GetFileSecurityW,
        };

        let path: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
        let mut descriptor = vec![0_u64; 512];
        let (mut text, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: the buffer has the size that the call is given.
        unsafe {
            let into = descriptor.as_mut_ptr().cast();
            let read = GetFileSecurityW(
                path.as_ptr(),
                DACL_SECURITY_INFORMATION,
                into,
                4096,
                &raw mut size,
            );
            assert_ne!(read, 0, "{}", io::Error::last_os_error());
            let converted = ConvertSecurityDescriptorToStringSecurityDescriptorW(
                into,
                SDDL_REVISION_1,
                DACL_SECURITY_INFORMATION,
                &raw mut text,
                std::ptr::null_mut(),
            );
            assert_ne!(converted, 0, "{}", io::Error::last_os_error());
            let length = (0..).take_while(|&at| *text.add(at) != 0).count();
            String::from_utf16_lossy(std::slice::from_raw_parts(text, length))
        }
    }

    #[test]
    fn only_its_user_can_use_a_restricted_file_or_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (file, inner) = (folder.path().join("file"), folder.path().join("folder"));
        std::fs::write(&file, "secret").unwrap();
        std::fs::create_dir(&inner).unwrap();
        #[cfg(unix)]
        for path in [&file, &inner] {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(if path == &file {
                0o644
            } else {
                0o755
            });
            std::fs::set_permissions(path, mode).unwrap();
        }
        restrict(&file).unwrap();
        restrict(&inner).unwrap();
        #[cfg(unix)]
        assert_eq!([permissions(&file), permissions(&inner)], ["600", "700"]);
        #[cfg(windows)]
        {
            let user = system::current_user().unwrap();
            for path in [&file, &inner] {
                let found = permissions(path);
                let who: Vec<&str> = found
                    .split(['(', ')'])
                    .filter_map(|entry| entry.strip_prefix("A;")?.rsplit(';').next())
                    .collect();
                assert!(who.iter().any(|who| *who == user || *who == "LA"), "{found}");
                assert!(
                    who.iter().all(|who| *who == user || ["LA", "SY", "BA"].contains(who)),
                    "{found}"
                );
            }
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "secret");
    }
}
