//! The locks of a Rust program's threads: std's and parking_lot's mutex.
//!
//! Each is one static: a trial has a process of its own.

use std::io;
use std::sync::{Arc, PoisonError};

use super::{Lock, LockKind, Objects, Scope};
use crate::row::Waits;
use crate::sys::shared::Page;
use crate::wire::Given;

/// `std::sync::Mutex`.
pub(super) struct Std;
/// `parking_lot::Mutex`.
pub(super) struct ParkingLot;

static STD: std::sync::Mutex<()> = std::sync::Mutex::new(());
static PARKING_LOT: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

macro_rules! in_process {
    ($kind:ident, $name:literal, $guard:expr) => {
        impl LockKind for $kind {
            type Lock = Self;

            fn name(&self) -> &'static str {
                $name
            }

            fn scope(&self) -> Scope {
                Scope::Threads
            }

            fn waits(&self) -> Waits {
                Waits::SpinsThenBlocks
            }

            fn make(&self, _: &Arc<Page>) -> io::Result<Objects> {
                Ok(Objects::none())
            }

            fn open(&self, _: &Arc<Page>, _: &Given) -> io::Result<Self> {
                Ok($kind)
            }
        }

        impl Lock for $kind {
            fn hold(&self, critical: impl FnOnce()) -> io::Result<()> {
                let _guard = $guard;
                critical();
                Ok(())
            }
        }
    };
}

in_process!(
    Std,
    "std Mutex",
    STD.lock().unwrap_or_else(PoisonError::into_inner)
);
in_process!(ParkingLot, "parking_lot Mutex", PARKING_LOT.lock());
