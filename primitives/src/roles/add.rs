//! Workers that each add 1 to a shared counter, under a lock.

use std::sync::Barrier;
use std::sync::atomic::Ordering;
use std::thread;

use crate::child::Hall;
use crate::clock::{cpu_ns, now_ns, pin};
use crate::failure::Failure;
use crate::locks::Lock;
use crate::sys::shared::Page;
use crate::wire::Report;

/// One thread for each of `locks` adds 1 `count` times; the threads are pinned to `cpus`, round robin. A single one is the
/// calling thread.
///
/// # Errors
///
/// Those of the locks' calls, and of sched_setaffinity(2).
pub fn add<L: Lock>(
    page: &Page,
    locks: Vec<L>,
    cpus: &[usize],
    count: u64,
    hall: &Hall,
) -> Result<Report, Failure> {
    let cpu = cpu_ns();
    let add = |lock: &L| {
        (0..count)
            .try_for_each(|_| lock.add(page.counter()))
            .map_err(Failure::call("lock"))
    };
    if let [lock] = locks.as_slice() {
        hall.ready()?;
        add(lock)?;
    } else {
        let start = Barrier::new(locks.len() + 1);
        let go = thread::scope(|scope| {
            let worker = |(lock, &cpu)| {
                let (start, add) = (&start, &add);
                scope.spawn(move || {
                    let pinned = pin(cpu);
                    start.wait(); // also when it failed, or the others would wait for ever
                    pinned.and_then(|()| add(&lock))
                })
            };
            let workers: Vec<_> = locks
                .into_iter()
                .zip(cpus.iter().cycle())
                .map(worker)
                .collect();
            let go = hall.ready();
            start.wait();
            let ended = workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|_| Err(panicked())));
            ended.fold(go, Result::and)
        });
        go?;
    }
    let counter = Some(page.counter().load(Ordering::Relaxed));
    Ok(Report {
        end_ns: now_ns(),
        cpu_ns: cpu_ns() - cpu,
        counter,
        ..Report::default()
    })
}

fn panicked() -> Failure {
    Failure::Wrong("a worker panicked".to_owned())
}
