//! System V queues and semaphores: sysvipc(7). All have the key IPC_PRIVATE, and their ids are passed on.

use std::io;
use std::marker::PhantomData;

use super::{check, retry};

/// What can be made and removed.
pub trait Object {
    /// Makes one; its id.
    ///
    /// # Errors
    ///
    /// Those of the call: ENOSPC beyond the system's limit.
    fn make() -> io::Result<i32>;

    /// Removes it. Whoever waits on it gets EIDRM.
    ///
    /// # Errors
    ///
    /// Those of the call.
    fn remove(id: i32) -> io::Result<()>;
}

/// Removes its object when it is dropped.
#[derive(Debug)]
pub struct Owned<O: Object> {
    id: i32,
    object: PhantomData<O>,
}

impl<O: Object> Owned<O> {
    /// Makes one.
    ///
    /// # Errors
    ///
    /// Those of [`Object::make`].
    pub fn make() -> io::Result<Self> {
        O::make().map(|id| Self {
            id,
            object: PhantomData,
        })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.id
    }
}

impl<O: Object> Drop for Owned<O> {
    fn drop(&mut self) {
        // It can only fail if somebody else has removed it.
        let _ = O::remove(self.id);
    }
}

/// A message queue.
#[derive(Clone, Copy, Debug)]
pub struct MessageQueue(i32);

impl Object for MessageQueue {
    fn make() -> io::Result<i32> {
        // SAFETY: it takes two numbers.
        check(unsafe { libc::msgget(libc::IPC_PRIVATE, libc::IPC_CREAT | 0o600) })
    }

    fn remove(id: i32) -> io::Result<()> {
        // SAFETY: IPC_RMID ignores the pointer.
        check(unsafe { libc::msgctl(id, libc::IPC_RMID, std::ptr::null_mut()) }).map(drop)
    }
}

/// The type of our messages: any positive number.
const TYPE: u64 = 1;

impl MessageQueue {
    /// The one with that id.
    #[must_use]
    pub fn of(id: i32) -> Self {
        Self(id)
    }

    /// Room for a message of `bytes` as the calls want it: a long for the type, then the text.
    #[must_use]
    pub fn room(bytes: usize) -> Vec<u64> {
        let mut room = vec![0; 1 + bytes.div_ceil(size_of::<u64>())];
        room[0] = TYPE;
        room
    }

    /// Sends `message` from `room`, waits while the queue is full.
    ///
    /// # Errors
    ///
    /// Those of msgsnd(2).
    pub fn send(self, room: &mut [u64], message: &[u8]) -> io::Result<()> {
        let text = bytes_of(&mut room[1..]);
        text[..message.len()].copy_from_slice(message);
        // SAFETY: room holds a long and, as the copy above has shown, at least as many bytes as the message has.
        retry(|| check(unsafe { libc::msgsnd(self.0, room.as_ptr().cast(), message.len(), 0) }))?;
        Ok(())
    }

    /// Receives the oldest message, by way of `room`.
    ///
    /// # Errors
    ///
    /// Those of msgrcv(2): E2BIG if `buffer` is too short.
    pub fn receive(self, room: &mut [u64], buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min((room.len() - 1) * size_of::<u64>());
        loop {
            // SAFETY: room holds a long and at least `most` bytes after it.
            let got = unsafe { libc::msgrcv(self.0, room.as_mut_ptr().cast(), most, 0, 0) };
            if let Ok(length) = usize::try_from(got) {
                buffer[..length].copy_from_slice(&bytes_of(&mut room[1..])[..length]);
                return Ok(length);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

fn bytes_of(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: the same memory; bytes have no alignment, and every bit pattern is a value of both types.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

/// A semaphore.
#[derive(Clone, Copy, Debug)]
pub struct Semaphore(i32);

impl Object for Semaphore {
    /// With value 1.
    fn make() -> io::Result<i32> {
        // SAFETY: it takes three numbers.
        let id = check(unsafe { libc::semget(libc::IPC_PRIVATE, 1, libc::IPC_CREAT | 0o600) })?;
        // SAFETY: SETVAL takes the value as semctl's fourth argument; a union there is passed as its int.
        check(unsafe { libc::semctl(id, 0, libc::SETVAL, 1) }).inspect_err(|_| {
            let _ = Self::remove(id);
        })?;
        Ok(id)
    }

    fn remove(id: i32) -> io::Result<()> {
        // SAFETY: IPC_RMID takes no fourth argument.
        check(unsafe { libc::semctl(id, 0, libc::IPC_RMID) }).map(drop)
    }
}

/// Whether the kernel takes an operation back when the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undo {
    /// It does: SEM_UNDO.
    Yes,
    /// It does not.
    No,
}

impl Semaphore {
    /// The one with that id.
    #[must_use]
    pub fn of(id: i32) -> Self {
        Self(id)
    }

    /// Adds `change` to its value, waits while that would be below zero.
    ///
    /// # Errors
    ///
    /// Those of semop(2): EIDRM if it is removed meanwhile.
    pub fn change(self, change: i16, undo: Undo) -> io::Result<()> {
        let flags = if undo == Undo::Yes { libc::SEM_UNDO } else { 0 };
        // Truncation is out of question: SEM_UNDO is 0x1000.
        let mut operation = libc::sembuf {
            sem_num: 0,
            sem_op: change,
            sem_flg: flags as libc::c_short,
        };
        // SAFETY: one operation, initialised.
        retry(|| check(unsafe { libc::semop(self.0, &raw mut operation, 1) }))?;
        Ok(())
    }
}
