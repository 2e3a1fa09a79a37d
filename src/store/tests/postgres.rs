//! A PostgreSQL server for the tests. They run it on Linux only.

#[cfg(not(target_os = "linux"))]
pub use self::elsewhere::Postgres;
#[cfg(target_os = "linux")]
pub use self::linux::Postgres;

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    /// No test creates it.
    pub enum Postgres {}

    impl Postgres {
        pub fn url(&self) -> String {
            match *self {}
        }

        pub async fn sql(&self, _: &str) -> Vec<Vec<String>> {
            match *self {}
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        io::{BufRead, BufReader},
        path::{Path, PathBuf},
        process::{Child, Command, Stdio},
    };

    use nix::{
        sys::signal::{Signal, kill},
        unistd::{Pid, geteuid},
    };
    use parking_lot::Mutex;
    use tokio_postgres::{NoTls, SimpleQueryMessage};

    /// A PostgreSQL server on a socket in a folder.
    pub struct Postgres {
        folder: PathBuf,
        process: Mutex<Option<Child>>,
    }

    impl Postgres {
        pub fn create(folder: &Path) -> Self {
            if geteuid().is_root() {
                // PostgreSQL does not run as root.
                let user = nix::unistd::User::from_name("postgres").unwrap();
                let user = user.expect("there is no user `postgres`: run `npm run setup`");
                std::os::unix::fs::chown(folder, Some(user.uid.into()), Some(user.gid.into()))
                    .unwrap();
            }
            let postgres = Self { folder: folder.to_owned(), process: Mutex::default() };
            let mut initdb = postgres.command("initdb");
            initdb.args([
                "--auth=trust",
                "--username=postgres",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
            ]);
            let created = initdb.args(["--no-sync", "--no-instructions"]).output().unwrap();
            assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
            postgres.start();
            postgres
        }

        /// The command that runs a program of PostgreSQL as another user than root. The program
        /// ends with this process.
        fn command(&self, program: &str) -> Command {
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "QUIT"]);
            if geteuid().is_root() {
                command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
            }
            command.arg("--").arg(program_path(program)).arg("-D").arg(self.folder.join("data"));
            command.current_dir(&self.folder);
            command
        }

        /// Starts the server. Returns when it accepts connections.
        pub fn start(&self) {
            let mut command = self.command("postgres");
            command.args([
                "-c",
                "listen_addresses=",
                "-c",
                "fsync=off",
                "-c",
                "max_connections=60",
            ]);
            command.arg("-k").arg(&self.folder).stderr(Stdio::piped());
            let mut process = command.spawn().expect("setpriv cannot be started");
            let mut log = BufReader::new(process.stderr.take().unwrap()).lines();
            let mut said = Vec::new();
            loop {
                let line = log.next().unwrap_or_else(|| panic!("no start: {said:?}")).unwrap();
                if line.contains("ready to accept connections") {
                    break;
                }
                said.push(line);
            }
            // Reads the log until the server ends, so that it can write on.
            std::thread::spawn(move || log.for_each(drop));
            *self.process.lock() = Some(process);
        }

        /// Stops the server, which closes its connections. Returns when it has ended.
        pub fn stop(&self, signal: Signal) {
            if let Some(mut process) = self.process.lock().take() {
                let _ = kill(Pid::from_raw(process.id().cast_signed()), signal);
                let _ = process.wait();
            }
        }

        pub fn url(&self) -> String {
            let host = self.folder.display().to_string().replace('/', "%2F");
            format!("postgres://postgres@{host}/postgres")
        }

        pub async fn sql(&self, sql: &str) -> Vec<Vec<String>> {
            let (client, connection) = tokio_postgres::connect(&self.url(), NoTls).await.unwrap();
            let connection = tokio::spawn(connection);
            let answers = client.simple_query(sql).await.unwrap();
            connection.abort();
            let rows = answers.into_iter().filter_map(|answer| match answer {
                SimpleQueryMessage::Row(row) => {
                    let columns = 0..row.len();
                    Some(columns.map(|at| row.get(at).unwrap_or_default().to_owned()).collect())
                }
                _ => None,
            });
            rows.collect()
        }
    }

    impl Drop for Postgres {
        fn drop(&mut self) {
            self.stop(Signal::SIGQUIT);
        }
    }

    /// Returns the path of a program of PostgreSQL. Debian does not install them on the PATH.
    fn program_path(name: &str) -> PathBuf {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut found = versions.map(|version| version.path().join("bin").join(name));
        found
            .find(|path| path.exists())
            .or_else(|| which::which(name).ok())
            .unwrap_or_else(|| panic!("{name} of PostgreSQL is not installed: run `npm run setup`"))
    }
}
