//! CPU lists, as in `--pin 0,2-3`.

use std::io;
use std::str::FromStr;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// CPUs in the order given, in the notation of cpuset(7), "List format".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuList(Vec<usize>);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CpuListError {
    #[error("`{0}` is neither a CPU number nor a range of them; write for example 0,2-3")]
    Syntax(String),
    #[error("the range {0}-{1} runs backwards; write {1}-{0}")]
    Backwards(usize, usize),
    #[error("CPU {0} is too high: the highest that can be named is {max}", max = CpuSet::MAX_CPU - 1)]
    TooHigh(usize),
}

impl FromStr for CpuList {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, CpuListError> {
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let number = |digits: &str| {
                digits
                    .parse::<usize>()
                    .map_err(|_| CpuListError::Syntax(part.to_owned()))
            };
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(CpuListError::Backwards(first, last));
            }
            if last >= CpuSet::MAX_CPU {
                return Err(CpuListError::TooHigh(last));
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

impl CpuList {
    /// The first CPU of the list that this process may not run on, if there is one.
    pub(crate) fn not_allowed(&self) -> io::Result<Option<usize>> {
        let allowed = sched_getaffinity(None)?;
        Ok(self.0.iter().copied().find(|&cpu| !allowed.is_set(cpu)))
    }

    /// Pins the calling thread to the CPU of worker `index`, round robin.
    pub(crate) fn pin_to_one(&self, index: usize) -> io::Result<()> {
        pin([self.0[index % self.0.len()]])
    }

    /// Keeps the calling thread, and the threads it will start, on the CPUs of the list.
    pub(crate) fn pin_to_all(&self) -> io::Result<()> {
        pin(self.0.iter().copied())
    }
}

fn pin(cpus: impl IntoIterator<Item = usize>) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_parsed_in_order() {
        let parse = |text: &str| text.parse::<CpuList>().map(|list| list.0);
        assert_eq!(parse("0"), Ok(vec![0]));
        assert_eq!(parse("3,0-2,7"), Ok(vec![3, 0, 1, 2, 7]));
        for wrong in ["", ",", "0,", "-1", "1-", "a", "0 1", "1-2-3"] {
            assert!(
                matches!(parse(wrong), Err(CpuListError::Syntax(_))),
                "{wrong}"
            );
        }
        assert_eq!(parse("3-1"), Err(CpuListError::Backwards(3, 1)));
        assert_eq!(parse("0-4096"), Err(CpuListError::TooHigh(4096)));
    }

    #[test]
    fn a_thread_is_pinned_round_robin() {
        std::thread::spawn(|| {
            let allowed = sched_getaffinity(None).unwrap();
            let cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
            let list = CpuList(cpus.collect());
            assert_eq!(list.not_allowed().unwrap(), None);
            list.pin_to_one(list.0.len()).unwrap();
            let now = sched_getaffinity(None).unwrap();
            assert_eq!(now.count(), 1);
            assert!(now.is_set(list.0[0]));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_out_of_reach_is_named() {
        let list = CpuList(vec![CpuSet::MAX_CPU - 1]);
        assert_eq!(list.not_allowed().unwrap(), Some(CpuSet::MAX_CPU - 1));
    }
}
