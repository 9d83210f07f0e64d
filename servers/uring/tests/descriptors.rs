//! No descriptors left. The black-box table lowers the limit of a server that runs, which io_uring does not notice; here
//! it is low from the start.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const LIMIT: usize = 24;

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server, under a limit of [`LIMIT`] descriptors, and its address.
fn start() -> (Killed, String) {
    let mut child = Command::new("prlimit")
        .arg(format!("--nofile={LIMIT}:{LIMIT}"))
        .arg(env!("CARGO_BIN_EXE_rung-uring"))
        .args(["--listen", "127.0.0.1:0", "--run-for", "1m"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("prlimit is part of util-linux");
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let child = Killed(child);
    let addr = line
        .split('"')
        .find(|part| part.starts_with("127."))
        .unwrap();
    (child, addr.to_owned())
}

fn ask(client: &mut TcpStream) {
    let request = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    client.write_all(request).unwrap();
}

/// Whether there is an answer within `patience`.
fn is_answered(client: &mut TcpStream, patience: Duration) -> bool {
    client.set_read_timeout(Some(patience)).unwrap();
    match client.read(&mut [0; 1024]) {
        Ok(n) => n > 0,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
        Err(error) => panic!("{error}"),
    }
}

/// CPU time of the process so far, from proc_pid_stat(5), in clock ticks of 10 ms.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split(' ').collect();
    fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap()
}

#[test]
fn the_others_are_served_nothing_spins_and_who_waits_comes_next() {
    let (server, addr) = start();
    let mut served = Vec::new();
    let mut waiting = loop {
        assert!(served.len() < LIMIT, "there is no limit");
        let mut client = TcpStream::connect(&addr).unwrap();
        ask(&mut client);
        if !is_answered(&mut client, Duration::from_millis(500)) {
            break client;
        }
        served.push(client);
    };
    assert!(served.len() > LIMIT / 4, "only {} are served", served.len());

    for client in &mut served {
        ask(client);
        assert!(is_answered(client, Duration::from_secs(10)));
    }
    let before = cpu_ticks(server.0.id());
    thread::sleep(Duration::from_millis(500));
    assert!(cpu_ticks(server.0.id()) - before < 12, "it spins");

    served.pop();
    assert!(is_answered(&mut waiting, Duration::from_secs(10)));
}
