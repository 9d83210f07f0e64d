//! The deadline of a head, at next to no cost for the request that meets it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};

/// The timer of one connection: a single alarm that is moved on late.
///
/// hyper asks for a deadline before each head, and drops it as soon as the head is there. To enter each into tokio's wheel and
/// take it out again costs more than all else that is done for it. Each is later than the one before, so the alarm of the first
/// serves them all: when it goes off, it is set to the deadline that holds by then.
#[derive(Debug, Default)]
pub(crate) struct LazyTimer(Arc<Mutex<Option<Alarm>>>);

type Alarm = Pin<Box<tokio::time::Sleep>>;

impl Timer for LazyTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, at: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Deadline {
            at,
            alarm: Arc::clone(&self.0),
        })
    }
}

struct Deadline {
    at: Instant,
    alarm: Arc<Mutex<Option<Alarm>>>,
}

impl Sleep for Deadline {}

impl Future for Deadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let at = self.at.into();
        let mut alarm = self.alarm.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(alarm) = alarm.as_mut() else {
            let alarm = alarm.insert(Box::pin(tokio::time::sleep_until(at)));
            return alarm.as_mut().poll(cx);
        };
        // It still has the waker of this connection's task.
        if !alarm.is_elapsed() && alarm.deadline() <= at {
            return Poll::Pending;
        }
        if alarm.deadline() != at {
            alarm.as_mut().reset(at);
        }
        alarm.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[test]
    fn an_alarm_that_goes_off_too_early_is_moved_on_and_one_too_late_is_moved_up() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let timer = LazyTimer::default();
            let after = |ms| Instant::now() + Duration::from_millis(ms);
            for [given_up, kept] in [[10, 30], [3_600_000, 10]] {
                // The head came in time.
                let mut early = timer.sleep_until(after(given_up));
                let polled = poll_fn(|cx| Poll::Ready(early.as_mut().poll(cx))).await;
                assert_eq!(polled, Poll::Pending);
                drop(early);
                let deadline = after(kept);
                timer.sleep_until(deadline).await;
                assert!(Instant::now() >= deadline);
            }
        });
    }
}
