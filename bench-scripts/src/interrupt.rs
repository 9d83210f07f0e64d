//! Ctrl-C, asked for politely: the first one is a flag that every wait looks at, the second one ends `rungs` at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Exit status of a process that Ctrl-C ended, as shells count it.
pub const EXIT_STATUS: u8 = 130;

/// Raised by SIGINT, SIGTERM or SIGHUP.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

/// The work was given up because the user asked for it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

impl Interrupt {
    /// Catches the three signals. Children are in process groups of their own, so a terminal's Ctrl-C reaches only us;
    /// at the second signal this process ends at once, and the kernel ends its children (see [`crate::process`]).
    ///
    /// # Errors
    ///
    /// Those of sigaction(2).
    pub fn catch() -> io::Result<Self> {
        let interrupt = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The order matters: the first registered runs first, and sees the flag that the second one has yet to set.
            let flag = Arc::clone(&interrupt.0);
            signal_hook::flag::register_conditional_shutdown(signal, EXIT_STATUS.into(), flag)?;
            signal_hook::flag::register(signal, Arc::clone(&interrupt.0))?;
        }
        Ok(interrupt)
    }

    /// Raises the flag, as a signal would.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// What is set once a signal came.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// True once a signal came.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails once a signal came.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.is_raised() {
            Err(Interrupted)
        } else {
            Ok(())
        }
    }

    /// Sleeps until `instant`, or until a signal comes.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    pub fn sleep_until(&self, instant: Instant) -> Result<(), Interrupted> {
        const STEP: Duration = Duration::from_millis(20);
        loop {
            self.check()?;
            let left = instant.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(STEP));
        }
    }
}
