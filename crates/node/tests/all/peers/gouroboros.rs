//! Programs on gouroboros: a server, the client that is a target of the chain-sync bench, and one that queries the ledger.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::Value;

use super::forks::Forks;
use crate::bed::MAGIC;

/// The programs, built.
pub struct Programs(PathBuf);

impl Programs {
    /// Builds them; None where there is no Go.
    pub fn build() -> Option<Self> {
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gouroboros");
        fs::create_dir_all(&built).unwrap();
        let mut command = Command::new("go");
        command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../targets/gouroboros"));
        let status = match command.args(["build", "-trimpath", "-o"]).arg(&built).arg("./...").status() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            status => status.unwrap(),
        };
        assert!(status.success(), "go build ended with {status}");
        Some(Self(built))
    }

    /// Starts a server of the first fork.
    pub fn serve(&self, (address, port): (Ipv4Addr, u16), forks: &Forks) -> Server {
        let mut command = Command::new(self.0.join("peer"));
        command.args(["serve", "--magic", &MAGIC.to_string(), "--listen", &format!("{address}:{port}")]);
        for (name, blocks) in [("first", &forks.first), ("second", &forks.second)] {
            let path = forks.bed.folder.path().join(name);
            fs::write(&path, blocks.iter().map(|block| hex::encode(block) + "\n").collect::<String>()).unwrap();
            command.arg(path);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "listening\n");
        let stdin = child.stdin.take().unwrap();
        Server { child, stdin: Some(stdin) }
    }

    /// Starts a client that follows a node from the origin on.
    pub fn follow(&self, how: &[&str]) -> Client {
        let mut command = Command::new(self.0.join("gouroboros"));
        command.args(["follow", "--magic", &MAGIC.to_string(), "--start", "origin"]).args(how);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.next().unwrap().unwrap();
        assert!(ready.contains("\"ready\""), "{ready}");
        stdin.write_all(b"\n").unwrap();
        let digests = Arc::new(Mutex::new(Vec::new()));
        let its = Arc::clone(&digests);
        let thread = std::thread::spawn(move || {
            for line in lines {
                let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
                its.lock().unwrap().push(record["digest"].as_str().map_or_else(|| record.to_string(), str::to_owned));
            }
        });
        Client { child, stdin, digests, thread }
    }

    /// A node's answers, as JSON.
    pub fn ask(&self, socket: &Path, address: &[u8]) -> Value {
        let mut command = Command::new(self.0.join("peer"));
        command.args(["ask", "--magic", &MAGIC.to_string(), "--address", &hex::encode(address), "--socket"]);
        let output = command.arg(socket).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// A server of the first fork, until [`Server::turn`].
pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Server {
    /// Serves the second fork from now on.
    pub fn turn(&mut self) {
        self.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    /// Ends it; gives what it printed about connections.
    pub fn end(mut self) -> String {
        self.stdin = None;
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert!(self.child.wait().unwrap().success(), "{errors}");
        errors
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that follows a node.
pub struct Client {
    child: Child,
    stdin: ChildStdin,
    digests: Arc<Mutex<Vec<String>>>,
    thread: JoinHandle<()>,
}

impl Client {
    /// Returns the number of blocks that it has had.
    pub fn blocks(&self) -> usize {
        self.digests.lock().unwrap().len()
    }

    /// Ends it; gives the digest behind each block that it had.
    pub fn end(mut self) -> Vec<String> {
        drop(self.stdin);
        assert!(self.child.wait().unwrap().success());
        self.thread.join().unwrap();
        std::mem::take(&mut self.digests.lock().unwrap())
    }
}
