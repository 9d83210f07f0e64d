//! A page that processes share: a counter, a word for a futex, and room for one lock.
//!
//! The page is a memfd: no name, gone with its last user. A new one is all zeroes.

use std::cell::UnsafeCell;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// What is in the page. Counter and lock are on cache lines of their own.
#[repr(C)]
struct Content {
    counter: Line<AtomicU64>,
    lock: Line<UnsafeCell<[u64; LOCK_WORDS]>>,
}

/// Two cache lines: the pair that x86's prefetcher fetches together.
#[repr(C, align(128))]
struct Line<T>(T);

/// Words of room for a lock: more than any pthread object of glibc or musl takes.
const LOCK_WORDS: usize = 16;

/// One mapping of it.
#[derive(Debug)]
pub struct Page {
    fd: OwnedFd,
    content: NonNull<Content>,
}

// SAFETY: the counter is atomic, and the lock's room is only touched by calls that are made for use by several threads.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    /// A new one.
    ///
    /// # Errors
    ///
    /// Those of memfd_create(2), ftruncate(2) and mmap(2).
    pub fn make() -> io::Result<Self> {
        let fd = memfd_create("rungs", MemfdFlags::CLOEXEC)?;
        ftruncate(&fd, size_of::<Content>() as u64)?;
        Self::map(fd)
    }

    /// The one behind `fd`, which [`Page::make`] made.
    ///
    /// # Errors
    ///
    /// Those of mmap(2).
    pub fn map(fd: OwnedFd) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address, so nothing else is mapped there.
        let at = unsafe {
            mmap(
                std::ptr::null_mut(),
                size_of::<Content>(),
                protection,
                MapFlags::SHARED | MapFlags::POPULATE,
                &fd,
                0,
            )
        }?;
        let content = NonNull::new(at.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { fd, content })
    }

    /// Its descriptor, to be passed on.
    ///
    /// # Errors
    ///
    /// Those of dup(2).
    pub fn fd(&self) -> io::Result<OwnedFd> {
        self.fd.try_clone()
    }

    /// The counter.
    #[must_use]
    pub fn counter(&self) -> &AtomicU64 {
        // SAFETY: the mapping lives as long as self and is as long as Content.
        unsafe { &self.content.as_ref().counter.0 }
    }

    /// The lock's room, as an object of type `T`. To use it is up to the caller, and unsafe.
    pub(super) fn lock<T>(&self) -> *mut T {
        const { assert!(size_of::<T>() <= LOCK_WORDS * 8 && align_of::<T>() <= 128) };
        // SAFETY: as above.
        unsafe { self.content.as_ref().lock.0.get().cast() }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: this mapping is ours alone, and nothing borrows from it any more. It cannot fail.
        let _ = unsafe { munmap(self.content.as_ptr().cast(), size_of::<Content>()) };
    }
}
