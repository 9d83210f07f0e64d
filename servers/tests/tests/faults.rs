//! Faults that take many clients, against every rung: too many for a row of the table, which is played in each mode.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use rungs_conformance::{RUNGS, Server, program, total};
use rungs_response::Encoder;
use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process, setrlimit};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

/// Far more than is needed, also on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The grace is longer than this process waits, so the server cannot end by it.
const LONG_GRACE: &[&str] = &["--grace", "60s"];

fn page_length() -> usize {
    let mut page = Vec::new();
    Encoder::new(0).page(&mut page);
    page.len()
}

fn connect(addr: SocketAddr) -> std::io::Result<TcpStream> {
    let client = TcpStream::connect(addr)?;
    client.set_read_timeout(Some(PATIENCE))?;
    Ok(client)
}

/// Takes the descriptors that so many connections need, of which the server inherits the hard limit.
fn need_descriptors(connections: u64) {
    let mut limit = getrlimit(Resource::Nofile);
    let needed = connections + 200;
    assert!(
        limit.maximum.is_none_or(|maximum| maximum >= needed),
        "the hard limit of descriptors is {:?}: raise it with ulimit -Hn {needed}",
        limit.maximum
    );
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

#[test]
fn sigterm_with_10_000_idle_connections() {
    const CONNECTIONS: usize = 10_000;
    need_descriptors(CONNECTIONS as u64);
    for (rung, _) in RUNGS {
        let mut server = Server::start(program(rung), LONG_GRACE).unwrap();
        let mut page = vec![0; page_length()];
        let mut clients: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                let mut client = connect(server.addr()).unwrap();
                client.write_all(REQUEST).unwrap();
                client.read_exact(&mut page).unwrap();
                client
            })
            .collect();
        let counters = server.counters().unwrap();
        assert_eq!(total(&counters, "open"), CONNECTIONS as i64, "{rung}");
        let counters = server.stop(PATIENCE).unwrap();
        assert_eq!(total(&counters, "open"), 0, "{rung}");
        for client in &mut clients {
            assert!(ends_without_a_word(client), "{rung}");
        }
    }
}

fn ends_without_a_word(client: &mut TcpStream) -> bool {
    match client.read(&mut [0]) {
        Ok(n) => n == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// `TcpListener::bind` of std, mio and tokio would turn most of them away: their backlogs are fixed, and shorter.
#[test]
fn a_server_that_is_busy_lets_3_000_clients_wait() {
    const CLIENTS: usize = 3_000;
    need_descriptors(CLIENTS as u64);
    for (rung, _) in RUNGS {
        let server = Server::start(program(rung), LONG_GRACE).unwrap();
        let pid = Pid::from_raw(server.pid() as i32).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                // The kernel sends a SYN that found no place again after a second.
                let at_once = Duration::from_millis(900);
                let mut client = TcpStream::connect_timeout(&server.addr(), at_once).unwrap();
                client.set_read_timeout(Some(PATIENCE)).unwrap();
                client.write_all(REQUEST).unwrap();
                client
            })
            .collect();
        kill_process(pid, Signal::CONT).unwrap();
        let mut page = vec![0; page_length()];
        for mut client in clients {
            client.read_exact(&mut page).unwrap();
        }
    }
}

/// The workers of a server do not stop at the same moment, and the kernel still hashes clients to the listener of one that
/// has not. Whoever connects then is served whole or not at all, and nobody is left to wait.
#[test]
fn workers_stop_one_by_one_while_clients_connect() {
    let flags = [&["--threads", "3"], LONG_GRACE].concat();
    for (rung, _) in RUNGS {
        let server = Server::start(program(rung), &flags).unwrap();
        let addr = server.addr();
        let served: usize = thread::scope(|scope| {
            let clients = [(); 4].map(|()| scope.spawn(move || connect_until_refused(addr)));
            thread::sleep(Duration::from_millis(100));
            server.stop(PATIENCE).unwrap();
            clients.map(|client| client.join().unwrap()).iter().sum()
        });
        assert!(served > 0, "{rung}");
    }
}

/// Gives how many clients were served before one was not.
fn connect_until_refused(addr: SocketAddr) -> usize {
    let mut served = 0;
    while let Ok(mut client) = connect(addr) {
        let mut answer = vec![0; page_length()];
        let asked = client.write_all(REQUEST);
        let got = asked.and_then(|()| client.read(&mut answer));
        match got {
            Ok(n) if n == answer.len() => served += 1,
            Ok(0) => {}
            Ok(part) => panic!("{part} bytes of an answer"),
            Err(error) => assert!(
                matches!(
                    error.kind(),
                    ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
                ),
                "{error}"
            ),
        }
    }
    served
}
