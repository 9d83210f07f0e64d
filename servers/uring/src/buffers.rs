//! Receive buffers that the kernel picks from by itself: a provided-buffer ring, io_uring_register_buf_ring(3).

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// Bytes that one buffer takes: a request head nearly always fits.
const SIZE: usize = 4 << 10;

/// From the start of one buffer to that of the next. Not a power of two: the heads of all buffers would else compete for the
/// same few sets of the CPU's caches.
const STRIDE: usize = SIZE + 192;

/// The alignment that the kernel wants of the ring.
const PAGE: usize = 4 << 10;

/// The only group of buffers that there is.
pub(crate) const GROUP: u16 = 0;

/// A ring of entries shared with the kernel, and the buffers that they name, in one allocation.
///
/// The kernel takes entries from the head and writes to their buffers; whoever is told of a buffer reads it and puts its
/// entry back at the tail. So a buffer is either the kernel's or ours.
pub(crate) struct Buffers {
    memory: NonNull<u8>,
    layout: Layout,
    /// A power of two.
    count: u16,
    /// Entries put in since the start, wrapping.
    tail: u16,
}

impl Buffers {
    /// `count` buffers, a power of two up to 32,768, which the kernel may use from now on.
    ///
    /// # Errors
    ///
    /// Those of io_uring_register(2).
    pub(crate) fn register(count: u16, submitter: &Submitter<'_>) -> io::Result<Self> {
        let ring = (usize::from(count) * size_of::<BufRingEntry>()).next_multiple_of(PAGE);
        let layout = Layout::from_size_align(ring + usize::from(count) * STRIDE, PAGE)
            .expect("at most 137 MB");
        // SAFETY: the layout is not empty.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) });
        let mut buffers = Self {
            memory: memory.unwrap_or_else(|| handle_alloc_error(layout)),
            layout,
            count,
            tail: 0,
        };
        for id in 0..count {
            // Written to, so that no first request on a buffer meets a page fault, and the worker's memory is what it will be.
            // Not zeros: the compiler knows that they are there, and leaves them to the kernel.
            // SAFETY: that is the buffer's size, and nobody else knows it yet.
            unsafe { buffers.start(id).write_bytes(u8::MAX, STRIDE) };
        }
        let address = buffers.memory.as_ptr() as u64;
        // SAFETY: the memory is there as long as `self`, which outlives the io_uring: see `Proactor`.
        unsafe { submitter.register_buf_ring_with_flags(address, count, GROUP, 0)? };
        for id in 0..count {
            buffers.give_back(id);
        }
        buffers.publish();
        Ok(buffers)
    }

    /// Where the bytes of buffer `id` begin.
    fn start(&self, id: u16) -> NonNull<u8> {
        assert!(
            id < self.count,
            "the kernel names buffers that it was given"
        );
        let ring = self.layout.size() - usize::from(self.count) * STRIDE;
        // SAFETY: it is inside the allocation, as `layout` was made for `count` buffers behind the ring.
        unsafe { self.memory.add(ring + usize::from(id) * STRIDE) }
    }

    /// The first `len` bytes of buffer `id`.
    ///
    /// # Safety
    ///
    /// The kernel has filled so many, and the buffer is not given back while the slice lives.
    pub(crate) unsafe fn filled(&self, id: u16, len: usize) -> &[u8] {
        debug_assert!(len <= SIZE);
        // SAFETY: it was written to when allocated, and the caller vouches that nobody writes to it.
        unsafe { std::slice::from_raw_parts(self.start(id).as_ptr(), len) }
    }

    /// Lets the kernel fill buffer `id` again, once that is [published](Buffers::publish).
    pub(crate) fn give_back(&mut self, id: u16) {
        let start = self.start(id).as_ptr() as u64;
        let ring = self.memory.cast::<BufRingEntry>();
        let place = usize::from(self.tail & (self.count - 1));
        // SAFETY: the place is one of the `count` entries, and the kernel does not look behind the tail. The fields are set
        // one by one, since the tail itself lies in an unused field of the first entry.
        let entry = unsafe { &mut *ring.add(place).as_ptr() };
        entry.set_addr(start);
        entry.set_len(SIZE as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Tells the kernel of all that was given back.
    pub(crate) fn publish(&mut self) {
        let ring = self.memory.cast::<BufRingEntry>();
        // SAFETY: the ring begins there, is page-aligned and initialised.
        let tail = unsafe { BufRingEntry::tail(ring.as_ptr()) };
        // SAFETY: it is aligned for a u16 and lives as long as the ring; the kernel only reads it.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and the io_uring that used it is gone: see `Proactor`.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}
