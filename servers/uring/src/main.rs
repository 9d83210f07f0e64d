//! `rung-uring`: a server on a [`Proactor`], one for each thread.

mod server;
mod session;

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use rungs_serve::{Rung, Worker};
use rungs_uring::Proactor;
use rustix::io::Errno;

use crate::server::Server;

fn main() -> ExitCode {
    rungs_serve::main::<Uring>()
}

struct Uring;

#[derive(Clone, clap::Args)]
struct Options {
    /// Operations that one system call can hand to the kernel; rounded up to a power of two
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 12))]
    ring_entries: u32,

    /// Buffers of 4 KiB that the kernel receives into; rounded up to a power of two
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u16).range(1..=1 << 15))]
    receive_buffers: u16,
}

impl Rung for Uring {
    const NAME: &'static str = "rung-uring";
    const ABOUT: &'static str = "HTTP/1.1 on an io_uring proactor, one for each thread";
    type Options = Options;

    fn run(options: &Options, worker: Worker) -> io::Result<()> {
        let proactor = Proactor::new(options.ring_entries, options.receive_buffers)
            .map_err(|error| explain(&error))?;
        Server::new(worker, proactor)?.run()
    }
}

/// Why there is no io_uring, and how there can be one.
fn explain(error: &io::Error) -> io::Error {
    let (kind, advice) = match Errno::from_io_error(error) {
        Some(Errno::PERM | Errno::NOSYS) => (
            ErrorKind::Unsupported,
            "it is forbidden here. In a container: run it with --security-opt seccomp=unconfined, or with a profile that allows \
             io_uring_setup, io_uring_enter and io_uring_register. On the host: sysctl -w kernel.io_uring_disabled=0",
        ),
        Some(Errno::INVAL) => (
            ErrorKind::Unsupported,
            "this kernel is too old for it. Use Linux 6.1 or newer, which has IORING_SETUP_DEFER_TASKRUN",
        ),
        Some(Errno::NOMEM) => (
            ErrorKind::OutOfMemory,
            "its memory may not be locked. Raise ulimit -l, or give fewer --ring-entries and --receive-buffers",
        ),
        _ => (error.kind(), "see io_uring_setup(2)"),
    };
    io::Error::new(kind, format!("no io_uring ({error}): {advice}"))
}
