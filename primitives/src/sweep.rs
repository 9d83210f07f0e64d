//! Removes what a keeper left that was itself killed with -9. Queues and semaphores of System V have no name that could
//! tell whose they were: those stay, and `ipcs` shows them.

use std::fs;
use std::path::Path;

/// Where names of [`crate::sys::unique_name`] are: sem_overview(7) for the first.
const SEMAPHORES: &str = "/dev/shm";

/// Removes the semaphores and directories whose process has ended.
pub fn sweep() {
    sweep_in(Path::new(SEMAPHORES));
    sweep_in(&std::env::temp_dir());
}

fn sweep_in(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_stale = name.to_str().and_then(maker).is_some_and(has_ended);
        if is_stale {
            let path = entry.path();
            // Somebody else's stays; another run may be quicker.
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
    }
}

/// The process in a name that [`crate::sys::unique_name`] made: `rungs-PID-` and 16 hexadecimal digits.
fn maker(name: &str) -> Option<u32> {
    let name = name.strip_prefix("sem.").unwrap_or(name);
    let (pid, nonce) = name.strip_prefix("rungs-")?.split_once('-')?;
    let nonce = nonce.get(..16)?;
    let is_ours = nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
    pid.parse().ok().filter(|_| is_ours)
}

fn has_ended(pid: u32) -> bool {
    !Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_process_made_goes() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut ended = std::process::Command::new("true")
            .spawn()
            .expect("true runs");
        ended.wait().expect("it is ours");
        let (dead, alive) = (ended.id(), std::process::id());
        let stale = [
            format!("sem.rungs-{dead}-0123456789abcdef"),
            format!("rungs-{dead}-0123456789abcdefXyZ"),
        ];
        let others = [
            format!("sem.rungs-{alive}-0123456789abcdef"),
            format!("rungs-{dead}-notes"),
            format!("rungs-nginx-{dead}"),
        ];
        for name in &others {
            fs::write(directory.path().join(name), "").expect("a file");
        }
        fs::write(directory.path().join(&stale[0]), "").expect("a file");
        fs::create_dir(directory.path().join(&stale[1])).expect("a directory");
        sweep_in(directory.path());
        let left = |names: &[String]| {
            let there = |name: &&String| directory.path().join(name).exists();
            names.iter().filter(there).count()
        };
        assert_eq!((left(&stale), left(&others)), (0, 3));
    }
}
