//! Time, pinning and CPU use, as the kernel tells them.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use crate::failure::Failure;

/// Nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
#[must_use]
pub fn now_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

/// Nanoseconds of CPU time, user and system, that this process and its threads have used.
#[must_use]
pub fn cpu_ns() -> u64 {
    read_ns(ClockId::ProcessCPUTime)
}

fn read_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// The CPUs that this process may run on, lowest first.
///
/// # Errors
///
/// Those of sched_getaffinity(2).
pub fn allowed_cpus() -> Result<Vec<usize>, Failure> {
    let set = sched_getaffinity(None).map_err(Failure::call("sched_getaffinity"))?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect())
}

/// Keeps the calling thread on one CPU.
///
/// # Errors
///
/// Those of sched_setaffinity(2).
pub fn pin(cpu: usize) -> Result<(), Failure> {
    pin_to(&[cpu])
}

/// Keeps the calling thread, and what it starts, on these CPUs.
///
/// # Errors
///
/// Those of sched_setaffinity(2).
pub fn pin_to(cpus: &[usize]) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu);
    }
    sched_setaffinity(None, &set).map_err(Failure::call("sched_setaffinity"))
}
