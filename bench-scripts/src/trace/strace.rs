//! `strace -c`: system calls by name (strace(1)).

use std::fs;

use super::Tool;
use crate::record::trace::{Absence, SystemCall};

/// strace, which stops the server at each of its system calls.
#[derive(Debug)]
pub struct Strace;

impl Tool for Strace {
    type Counts = Vec<SystemCall>;

    const PROGRAM: &'static str = "strace";

    const INSTALL: &'static str = "`apt-get install strace`";

    fn flags() -> Vec<String> {
        ["-c", "-f", "-p"].map(String::from).into()
    }

    /// The kernel names the tracer of each thread in its status (proc_pid_status(5)).
    fn is_attached(tool: u32, pids: &[u32]) -> bool {
        let tracer = format!("TracerPid:\t{tool}");
        pids.iter().all(|pid| {
            let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
                return false;
            };
            threads.flatten().all(|thread| {
                let status = fs::read_to_string(thread.path().join("status"));
                status.is_ok_and(|status| status.lines().any(|line| line == tracer))
            })
        })
    }

    fn not_allowed(output: &str) -> Option<Absence> {
        let refusal = output
            .lines()
            .find(|line| line.contains("Operation not permitted"))?;
        Some(Absence {
            what: format!("strace is not allowed to trace the server ({refusal})"),
            remedy: NOT_ALLOWED.into(),
        })
    }

    /// The summary: a rule, a row per call, a rule, the sum. The column of errors is empty where there were none. Other
    /// lines, about threads that come and go, may stand anywhere before it.
    fn parse(output: &str) -> Result<Vec<SystemCall>, String> {
        let is_rule = |line: &&str| line.starts_with("------");
        let mut lines = output.lines();
        let rule = lines.by_ref().find(is_rule);
        let rows: Vec<_> = lines.by_ref().take_while(|line| !is_rule(line)).collect();
        if rule.is_none() || lines.next().is_none() {
            return Err("printed no summary".into());
        }
        let row = |line: &str| {
            let fields: Vec<_> = line.split_whitespace().collect();
            let (calls, errors, name) = match fields[..] {
                [_, _, _, calls, name] => (calls, "0", name),
                [_, _, _, calls, errors, name] => (calls, errors, name),
                _ => return None,
            };
            Some(SystemCall {
                name: name.to_owned(),
                calls: calls.parse().ok()?,
                errors: errors.parse().ok()?,
            })
        };
        let understood = |line: &str| {
            row(line).ok_or_else(|| format!("printed a row that is not understood: {line}"))
        };
        rows.into_iter().map(understood).collect()
    }
}

/// What to do where strace may not attach.
pub(crate) const NOT_ALLOWED: &str = "allow it with `sysctl -w kernel.yama.ptrace_scope=0` or run as root; in a container, add `--cap-add SYS_PTRACE`";
