//! tokio: a task that wakes another, and its channel in one runtime and across two.

use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::{Handoff, Threads};
use crate::clock::{cpu_ns, now_ns, pin};
use crate::failure::Failure;
use crate::roles::round_trip::{Times, last_byte};
use crate::row::{Each, Waits};
use crate::wire::Report;

/// Two tasks of one thread that wake each other, with no word: the cheapest hand-off of a runtime.
pub(super) const WAKE_UP: Handoff = Handoff {
    name: "task wake-up, same thread",
    waits: Waits::Blocks,
    threads: Threads::One,
    note: Some("tokio Notify, current-thread runtime"),
    run: |_, count, each, hall| {
        let runtime = current_thread()?;
        hall.ready()?;
        Ok(in_one_runtime(&runtime, count, each, || {
            let (there, back) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            (
                Bells {
                    tx: Arc::clone(&there),
                    rx: Arc::clone(&back),
                },
                Bells {
                    tx: back,
                    rx: there,
                },
            )
        })?)
    },
};

/// tokio's bounded channel between two tasks of one thread.
pub(super) const ONE_RUNTIME: Handoff = Handoff {
    name: "tokio channel, one runtime",
    waits: Waits::Blocks,
    threads: Threads::One,
    note: Some("mpsc of 1, current-thread runtime"),
    run: |_, count, each, hall| {
        let runtime = current_thread()?;
        hall.ready()?;
        Ok(in_one_runtime(&runtime, count, each, channels)?)
    },
};

/// The same channel between two runtimes, each on a thread of its own.
pub(super) const TWO_RUNTIMES: Handoff = Handoff {
    name: "tokio channel, two runtimes",
    waits: Waits::Blocks,
    threads: Threads::Two,
    note: Some("mpsc of 1, two current-thread runtimes"),
    run: |cpus, count, each, hall| {
        let (near, far) = channels();
        let cpu = cpus.last().copied().unwrap_or(0);
        let runtime = current_thread()?;
        let answerer = thread::spawn(move || {
            pin(cpu)?;
            current_thread()?.block_on(answer(far, count))
        });
        hall.ready()?;
        let start = cpu_ns();
        let each = runtime.block_on(call(near, count, each))?;
        let report = Report {
            end_ns: now_ns(),
            cpu_ns: cpu_ns() - start,
            each,
            ..Report::default()
        };
        answerer
            .join()
            .map_err(|_| Failure::Wrong("the answering thread panicked".to_owned()))??;
        Ok(report)
    },
};

fn current_thread() -> Result<Runtime, Failure> {
    // With the I/O driver, as a server has it: a runtime without one parks on a condition variable, not in epoll_wait.
    Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(Failure::call("tokio"))
}

/// A side of a hand-off between tasks.
trait Side: Send + 'static {
    fn give(&mut self, byte: u8) -> impl Future<Output = Result<(), Failure>> + Send;
    /// Waits for `expected`.
    fn take(&mut self, expected: u8) -> impl Future<Output = Result<(), Failure>> + Send;
}

async fn call(mut side: impl Side, count: u64, each: bool) -> Result<Option<Each>, Failure> {
    let mut times = Times::new();
    for index in 0..count {
        let start = if each { now_ns() } else { 0 };
        side.give(last_byte(index)).await?;
        side.take(last_byte(index)).await?;
        if each {
            times.took(now_ns() - start);
        }
    }
    Ok(each.then(|| times.percentiles()))
}

async fn answer(mut side: impl Side, count: u64) -> Result<(), Failure> {
    for index in 0..count {
        side.take(last_byte(index)).await?;
        side.give(last_byte(index)).await?;
    }
    Ok(())
}

fn in_one_runtime<S: Side>(
    runtime: &Runtime,
    count: u64,
    each: bool,
    sides: impl FnOnce() -> (S, S),
) -> Result<Report, Failure> {
    let (near, far) = sides();
    let start = cpu_ns();
    let each = runtime.block_on(async {
        // Both are spawned: the future of block_on itself is woken in another way.
        let answerer = tokio::spawn(answer(far, count));
        let each = tokio::spawn(call(near, count, each)).await;
        let answered = answerer.await;
        answered
            .and(each)
            .map_err(|error| Failure::Wrong(error.to_string()))?
    })?;
    Ok(Report {
        end_ns: now_ns(),
        cpu_ns: cpu_ns() - start,
        each,
        ..Report::default()
    })
}

struct Bells {
    tx: Arc<Notify>,
    rx: Arc<Notify>,
}

impl Side for Bells {
    async fn give(&mut self, _: u8) -> Result<(), Failure> {
        self.tx.notify_one();
        Ok(())
    }

    async fn take(&mut self, _: u8) -> Result<(), Failure> {
        self.rx.notified().await;
        Ok(())
    }
}

struct Words {
    tx: Sender<u8>,
    rx: Receiver<u8>,
}

fn channels() -> (Words, Words) {
    let ((there, at_far), (back, at_near)) = (mpsc::channel(1), mpsc::channel(1));
    (
        Words {
            tx: there,
            rx: at_near,
        },
        Words {
            tx: back,
            rx: at_far,
        },
    )
}

impl Side for Words {
    async fn give(&mut self, byte: u8) -> Result<(), Failure> {
        self.tx
            .send(byte)
            .await
            .map_err(|_| Failure::Wrong("the other task is gone".to_owned()))
    }

    async fn take(&mut self, expected: u8) -> Result<(), Failure> {
        match self.rx.recv().await {
            Some(byte) if byte == expected => Ok(()),
            got => Err(Failure::Wrong(format!(
                "{got:?} came where {expected} was expected"
            ))),
        }
    }
}
