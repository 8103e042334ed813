//! Running a program as a host of a network.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Signal, getpid, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::WanError;
use crate::directory::entrance;

/// The order in which the kernel ends processes when memory is short, of -1000 to 1000: hosts before the router and whatever else runs here.
const OOM_SCORE: &str = "500";

/// The command that selects the signal for a file's end (asm-generic/fcntl.h); libc has no name for it.
const F_SETSIG: libc::c_int = 10;

/// Becomes the program, in the namespace of a host of the network that process `pid` routes. The program is killed when the router ends,
/// and when the parent of this process does.
///
/// # Errors
/// [`WanError`] where there is no such network or host, this user may not enter it, or the program can't be run.
pub fn exec(pid: u32, host: &str, command: &[OsString]) -> Result<Infallible, WanError> {
    let entrance = entrance(pid, host)?;
    let enter = |source: io::Error| WanError::Enter { host: host.into(), source };
    let users = fs::File::open(format!("/proc/{pid}/ns/user")).map_err(enter)?;
    let mine = fs::metadata("/proc/self/ns/user").map_err(enter)?;
    if users.metadata().map_err(enter)?.ino() != mine.ino() {
        move_into_link_name_space(users.as_fd(), Some(LinkNameSpaceType::User)).map_err(|error| enter(error.into()))?;
    }
    move_into_link_name_space(entrance.namespace.as_fd(), Some(LinkNameSpaceType::Network)).map_err(|error| enter(error.into()))?;
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE); // already higher where that is refused
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| enter(error.into()))?;
    killed_at_end_of(entrance.alive.as_fd()).map_err(enter)?;
    let (program, arguments) = command.split_first().expect("the command line requires a command");
    let source = Command::new(program).args(arguments).exec();
    Err(WanError::Command { command: program.to_string_lossy().into_owned(), source })
}

/// Has the kernel kill this process, whatever program it has become, when no process can write to the pipe any more.
///
/// The owner of a file gets a signal when something can be read from it, and at its end (fcntl(2): F_SETOWN, O_ASYNC), and chooses which
/// (F_SETSIG). So no process has to stay to watch.
fn killed_at_end_of(pipe: BorrowedFd<'_>) -> io::Result<()> {
    fcntl_setfd(pipe, FdFlags::empty())?; // stays open over exec: the signal goes with the file
    for (request, value) in [(libc::F_SETOWN, getpid().as_raw_nonzero().get()), (F_SETSIG, libc::SIGKILL), (libc::F_SETFL, libc::O_ASYNC)] {
        // SAFETY: these requests take an integer and touch no memory.
        if unsafe { libc::fcntl(pipe.as_raw_fd(), request, value) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    let mut ended = [PollFd::new(&pipe, PollFlags::IN)];
    if poll(&mut ended, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0 {
        return Err(io::Error::new(io::ErrorKind::NotConnected, "the router has ended"));
    }
    Ok(())
}
