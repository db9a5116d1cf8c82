//! The memory that loads go to which are to miss all caches: a buffer per thread, made when it is first wanted.

use std::cell::OnceCell;
use std::ptr::null_mut;

/// Bytes that the random offset covers: beyond the last-level cache of most processors.
const WINDOW: usize = 64 << 20;
/// Bytes behind it that the displacements of one iteration's loads reach (63 times 126 pages and a line).
const TAIL: usize = 33 << 20;
const PAGE: usize = 4096;

/// What `cpp/inject.cpp` reads: the buffer, the mask of offsets, and the state of the stream of random numbers.
#[repr(C)]
pub struct Stream {
    buffer: *mut u8,
    mask: u64,
    seed: u64,
    length: usize,
}

impl Stream {
    fn new() -> Self {
        let length = WINDOW + TAIL;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping of memory that nobody has.
        let buffer = unsafe { libc::mmap(null_mut(), length, protection, flags, -1, 0) };
        if buffer == libc::MAP_FAILED {
            return Self::small();
        }
        let buffer: *mut u8 = buffer.cast();
        // SAFETY: the mapping is `length` bytes long. Pages that were never written to are one and the same page, which
        // is in the cache: each is written once.
        unsafe {
            libc::madvise(buffer.cast(), length, libc::MADV_HUGEPAGE);
            (0..length).step_by(PAGE).for_each(|offset| buffer.add(offset).write_volatile(1));
        }
        Self { buffer, mask: (WINDOW as u64 - 1) & !63, seed: buffer as u64, length }
    }

    /// Where memory is lacking: one place for all loads. They hit the cache, and the loop seems to absorb them.
    fn small() -> Self {
        static PLACE: [u8; TAIL] = [0; TAIL];
        Self { buffer: PLACE.as_ptr().cast_mut(), mask: 0, seed: 1, length: 0 }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: the mapping was made in `new` and is unmapped once; the thread ends and runs no loop any more.
            unsafe { libc::munmap(self.buffer.cast(), self.length) };
        }
    }
}

thread_local! {
    static STREAM: OnceCell<Box<Stream>> = const { OnceCell::new() };
}

/// The calling thread's stream; made now if it is not there yet.
pub fn stream() -> *mut Stream {
    let get = |cell: &OnceCell<Box<Stream>>| {
        let stream = cell.get_or_init(|| Box::new(Stream::new()));
        std::ptr::from_ref::<Stream>(stream).cast_mut()
    };
    // A thread that ends and still runs loops gets a stream that is never freed.
    STREAM.try_with(get).unwrap_or_else(|_| Box::into_raw(Box::new(Stream::small())))
}
