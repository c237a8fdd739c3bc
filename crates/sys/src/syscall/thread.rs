//! Threads as the system makes them, without what a language's library adds.

use std::io::{self, PipeReader, PipeWriter, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, RawFd};

/// Threads that said a byte when they began and wait until this is dropped.
#[derive(Debug)]
pub struct Threads {
    started: Vec<libc::pthread_t>,
    stack_bytes: usize,
    shared: Box<Shared>,
    note: PipeReader,
    // Dropped to let all threads go: they wait for the end of this pipe.
    hold: Option<PipeWriter>,
    _note_end: PipeWriter,
    _hold_end: PipeReader,
}

/// What each thread reads: two descriptors, which outlive it.
#[derive(Debug)]
struct Shared {
    note: RawFd,
    hold: RawFd,
}

impl Threads {
    /// None yet; room for `count`, each with a stack of `stack_bytes`.
    pub fn new(count: usize, stack_bytes: usize) -> io::Result<Self> {
        let (note, note_end) = io::pipe()?;
        let (hold_end, hold) = io::pipe()?;
        Ok(Self {
            started: Vec::with_capacity(count),
            stack_bytes: stack_bytes.max(libc::PTHREAD_STACK_MIN),
            shared: Box::new(Shared {
                note: note_end.as_raw_fd(),
                hold: hold_end.as_raw_fd(),
            }),
            note,
            hold: Some(hold),
            _note_end: note_end,
            _hold_end: hold_end,
        })
    }

    /// How many run.
    pub const fn count(&self) -> usize {
        self.started.len()
    }

    /// Starts one more and waits until it has said its byte.
    #[inline]
    pub fn start(&mut self) -> io::Result<()> {
        let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
        // SAFETY: the call initialises the attributes.
        failed(unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: they are initialised; the size is at least the least permitted.
        let set =
            unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), self.stack_bytes) };
        failed(set)?;
        let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
        let shared: *const Shared = &raw const *self.shared;
        // SAFETY: `run` takes a pointer to `Shared`, which lives in a box that is dropped only
        // after all threads were joined.
        let made = unsafe {
            libc::pthread_create(
                thread.as_mut_ptr(),
                attributes.as_ptr(),
                run,
                shared.cast_mut().cast(),
            )
        };
        // SAFETY: the attributes were initialised and are not used again.
        let _destroyed = unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
        failed(made)?;
        // SAFETY: the call succeeded, so the thread was written.
        self.started.push(unsafe { thread.assume_init() });
        self.note.read_exact(&mut [0])
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        drop(self.hold.take());
        for thread in self.started.drain(..) {
            // SAFETY: each was created by us, joinable, and is joined once.
            let _joined = unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
        }
    }
}

fn failed(error: libc::c_int) -> io::Result<()> {
    if error == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(error))
    }
}

/// What a thread does: says a byte, then waits for the end of the other pipe.
extern "C" fn run(shared: *mut libc::c_void) -> *mut libc::c_void {
    let shared: *const Shared = shared.cast();
    // SAFETY: the box outlives the thread, and nobody writes to it.
    let shared = unsafe { &*shared };
    // SAFETY: one byte is read from a constant.
    let _said = unsafe { libc::write(shared.note, b"!".as_ptr().cast(), 1) };
    let mut byte = 0_u8;
    // SAFETY: at most one byte is written into `byte`.
    let _over = unsafe { libc::read(shared.hold, (&raw mut byte).cast(), 1) };
    std::ptr::null_mut()
}
