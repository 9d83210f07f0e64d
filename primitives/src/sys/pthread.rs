//! Locks of pthreads(7) and unnamed semaphores in a shared page, all PTHREAD_PROCESS_SHARED.

use std::io;
use std::sync::Arc;

use super::shared::Page;
use super::{check, check_number, retry};

/// A mutex: pthread_mutex_lock(3).
#[derive(Clone, Debug)]
pub struct Mutex(Arc<Page>);

/// What becomes of a mutex whose holder dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Robust {
    /// The next one gets it, and is told: PTHREAD_MUTEX_ROBUST.
    Yes,
    /// Nobody gets it any more.
    No,
}

/// How a mutex was got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got {
    /// From nobody, or from one who gave it back.
    Clean,
    /// From a dead one: EOWNERDEAD. What it guards may be half done; it has been made usable again.
    OwnerDead,
}

impl Mutex {
    /// Makes one in `page`.
    ///
    /// # Errors
    ///
    /// Those of pthread_mutex_init(3).
    pub fn make(page: &Arc<Page>, robust: Robust) -> io::Result<Self> {
        // SAFETY: attributes are initialised before they are used and destroyed after; the page has room for a mutex, and
        // nobody else uses it yet.
        unsafe {
            let mut attributes = std::mem::zeroed();
            check_number(libc::pthread_mutexattr_init(&raw mut attributes))?;
            check_number(libc::pthread_mutexattr_setpshared(
                &raw mut attributes,
                libc::PTHREAD_PROCESS_SHARED,
            ))?;
            if robust == Robust::Yes {
                check_number(libc::pthread_mutexattr_setrobust(
                    &raw mut attributes,
                    libc::PTHREAD_MUTEX_ROBUST,
                ))?;
            }
            check_number(libc::pthread_mutex_init(page.lock(), &raw const attributes))?;
            check_number(libc::pthread_mutexattr_destroy(&raw mut attributes))?;
        }
        Ok(Self::of(page))
    }

    /// The one that is in `page`.
    #[must_use]
    pub fn of(page: &Arc<Page>) -> Self {
        Self(Arc::clone(page))
    }

    /// Waits for it and takes it.
    ///
    /// # Errors
    ///
    /// Those of pthread_mutex_lock(3).
    pub fn lock(&self) -> io::Result<Got> {
        // SAFETY: a mutex was made in the page, which is mapped as long as self lives.
        match unsafe { libc::pthread_mutex_lock(self.0.lock()) } {
            libc::EOWNERDEAD => {
                // SAFETY: as above.
                check_number(unsafe { libc::pthread_mutex_consistent(self.0.lock()) })
                    .map(|()| Got::OwnerDead)
            }
            returned => check_number(returned).map(|()| Got::Clean),
        }
    }

    /// Gives it back.
    ///
    /// # Errors
    ///
    /// Those of pthread_mutex_unlock(3).
    pub fn unlock(&self) -> io::Result<()> {
        // SAFETY: as above.
        check_number(unsafe { libc::pthread_mutex_unlock(self.0.lock()) })
    }
}

/// A read-write lock, of which only the write side is used: pthread_rwlock_wrlock(3).
#[derive(Clone, Debug)]
pub struct RwLock(Arc<Page>);

impl RwLock {
    /// Makes one in `page`.
    ///
    /// # Errors
    ///
    /// Those of pthread_rwlock_init(3).
    pub fn make(page: &Arc<Page>) -> io::Result<Self> {
        // SAFETY: as for the mutex.
        unsafe {
            let mut attributes = std::mem::zeroed();
            check_number(libc::pthread_rwlockattr_init(&raw mut attributes))?;
            check_number(libc::pthread_rwlockattr_setpshared(
                &raw mut attributes,
                libc::PTHREAD_PROCESS_SHARED,
            ))?;
            check_number(libc::pthread_rwlock_init(
                page.lock(),
                &raw const attributes,
            ))?;
            check_number(libc::pthread_rwlockattr_destroy(&raw mut attributes))?;
        }
        Ok(Self::of(page))
    }

    /// The one that is in `page`.
    #[must_use]
    pub fn of(page: &Arc<Page>) -> Self {
        Self(Arc::clone(page))
    }

    /// Waits for it and takes it to write.
    ///
    /// # Errors
    ///
    /// Those of pthread_rwlock_wrlock(3).
    pub fn write_lock(&self) -> io::Result<()> {
        // SAFETY: a lock was made in the page, which is mapped as long as self lives.
        check_number(unsafe { libc::pthread_rwlock_wrlock(self.0.lock()) })
    }

    /// Gives it back.
    ///
    /// # Errors
    ///
    /// Those of pthread_rwlock_unlock(3).
    pub fn unlock(&self) -> io::Result<()> {
        // SAFETY: as above.
        check_number(unsafe { libc::pthread_rwlock_unlock(self.0.lock()) })
    }
}

/// A semaphore without a name: sem_overview(7).
#[derive(Clone, Debug)]
pub struct Semaphore(Arc<Page>);

impl Semaphore {
    /// Makes one with value 1 in `page`.
    ///
    /// # Errors
    ///
    /// Those of sem_init(3).
    pub fn make(page: &Arc<Page>) -> io::Result<Self> {
        // SAFETY: the page has room for a semaphore, and nobody else uses it yet. 1: shared by processes.
        check(unsafe { libc::sem_init(page.lock(), 1, 1) })?;
        Ok(Self::of(page))
    }

    /// The one that is in `page`.
    #[must_use]
    pub fn of(page: &Arc<Page>) -> Self {
        Self(Arc::clone(page))
    }

    /// Takes 1 from its value, waits while that is 0.
    ///
    /// # Errors
    ///
    /// Those of sem_wait(3).
    pub fn wait(&self) -> io::Result<()> {
        // SAFETY: a semaphore was made in the page, which is mapped as long as self lives.
        retry(|| check(unsafe { libc::sem_wait(self.0.lock()) })).map(drop)
    }

    /// Adds 1.
    ///
    /// # Errors
    ///
    /// Those of sem_post(3).
    pub fn post(&self) -> io::Result<()> {
        // SAFETY: as above.
        check(unsafe { libc::sem_post(self.0.lock()) }).map(drop)
    }
}
