//! One large file from a server, megabyte by megabyte: what the disk gives, alone, beside another
//! reader, and from a file in pieces.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::probe::AxisKind;
use sys::syscall::file::{cut, extents, forget_pages, reserve};

use super::stopwatch::Stopwatch;
use super::{
    Doing as _, Measured, Need, Probe, ProbeError, Resource, Task, Variant, index, server,
};

pub(super) static PROBE: Probe = Probe {
    name: "download",
    question: "each 1,000,000 bytes of one download from a server, read from the disk",
    axis: "megabytes received",
    kind: AxisKind::Progress,
    variants: &[
        Variant {
            name: "alone",
            what: "a file that was written in one go",
        },
        Variant {
            name: "second-reader",
            what: "the same, while another file is read elsewhere on the disk, from a third of \
                   the way on",
        },
        Variant {
            name: "second-download",
            what: "the same, while the file is downloaded once more at 4 MB/s, from a third of the \
                   way on",
        },
        Variant {
            name: "fragmented",
            what: "a file that lies in pieces of 64 KiB with as much room between them",
        },
    ],
    population: 200,
    needs: &[Need {
        resource: Resource::Disk,
        per_1000: 3_000 * MEGABYTE as u64,
        fixed: 0,
    }],
    server: true,
    run,
};

const MEGABYTE: usize = 1_000_000;

/// The pieces of the fragmented file.
const PIECE: u64 = 64 << 10;

/// An answer that takes longer never comes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes per microsecond of a second download: 4 MB/s.
const SLOWLY: u64 = 4;

/// Extents beyond these are not counted.
const MOST_EXTENTS: usize = 100_000;

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let fragmented = task.is_variant("fragmented");
    let folder = task
        .folder
        .join(if fragmented { "fragmented" } else { "whole" });
    let path = folder.join(server::FILE);
    fs::create_dir_all(&folder).doing(|| format!("creating {}", folder.display()))?;
    if !path.exists() {
        make(&path, task.population, fragmented)?;
    }
    let facts = facts(&path)?;
    let other = task.folder.join("other");
    let beside = task.is_variant("second-reader");
    let again = task.is_variant("second-download");
    if beside && !other.exists() {
        make(&other, task.population, false)?;
    }
    let server = server::serve(task, &folder)?;
    forget(&path)?;
    let mut measured = Measured {
        facts,
        ..Measured::default()
    };
    let mut stream = TcpStream::connect(server.address)
        .and_then(|stream| {
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok(stream)
        })
        .doing(|| format!("connecting to {}", server.address))?;
    stream
        .write_all(&task.exchange.download)
        .doing(|| "asking for the file".to_owned())?;
    let mut timed = Stopwatch::new("megabyte", index(task.population));
    let mut buffer = vec![0; MEGABYTE];
    let mut reader = None;
    for number in 0..task.population {
        if number == task.population / 3 {
            if beside {
                reader = Some(Reader::start(&other)?);
            } else if again {
                let request = &task.exchange.download;
                reader = Some(Reader::download(server.address, request)?);
            }
        }
        timed
            .time(|| stream.read_exact(&mut buffer))
            .doing(|| format!("receiving megabyte {}", number + 1))?;
        if number == 0 && !buffer.starts_with(&task.exchange.begins) {
            return Err(ProbeError::Program(format!(
                "the server at {} does not give the file",
                server.address
            )));
        }
    }
    if let Some(reader) = reader {
        let read = reader.stop();
        let megabytes = read / MEGABYTE as u64;
        let (name, said) = match again {
            true => (
                "second download",
                format!("{} kB of the file", read / 1_000),
            ),
            false => ("second reader", format!("{megabytes} MB from another file")),
        };
        measured.facts.insert(name.to_owned(), said);
    }
    measured.series.push(timed.series());
    Ok(measured)
}

/// A file of so many megabytes and one to spare, so that the answer's head does not matter.
fn make(path: &Path, megabytes: u32, fragmented: bool) -> Result<(), ProbeError> {
    let length = u64::from(megabytes + 1) * MEGABYTE as u64;
    let unfinished = path.with_extension("new");
    if fragmented {
        let _whole = reserve_in_pieces(&unfinished, length)?;
    }
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&unfinished)?;
        let block = vec![0xA5; MEGABYTE];
        for _ in 0..=megabytes {
            file.write_all(&block)?;
        }
        file.sync_all()
    };
    write().doing(|| format!("writing {}", unfinished.display()))?;
    fs::rename(&unfinished, path).doing(|| format!("renaming to {}", path.display()))
}

/// Makes a file of `length` bytes whose pieces lie apart: reserves twice the room in one go and
/// cuts every second piece out, from the end on because that moves least. Reserving two files in
/// turn does not do: most of the time ext4 finds each of them a place of its own. Where the file
/// system cannot, the file is written in one go, and its extents say so.
pub(super) fn reserve_in_pieces(path: &Path, length: u64) -> Result<bool, ProbeError> {
    let pieces = length.div_ceil(PIECE);
    let reserve_and_cut = || -> std::io::Result<()> {
        let file = File::create(path)?;
        reserve(&file, 0, (2 * pieces - 1) * PIECE)?;
        for gap in (0..pieces - 1).rev() {
            cut(&file, (2 * gap + 1) * PIECE, PIECE)?;
        }
        file.set_len(length)
    };
    match reserve_and_cut() {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {
            fs::remove_file(path).doing(|| format!("removing {}", path.display()))?;
            Ok(false)
        }
        Err(error) => Err(error).doing(|| format!("reserving {}", path.display())),
    }
}

/// The pages of a file out of memory.
fn forget(path: &Path) -> Result<(), ProbeError> {
    let file = File::open(path).doing(|| format!("opening {}", path.display()))?;
    forget_pages(&file).doing(|| format!("forgetting the pages of {}", path.display()))
}

/// In how many pieces the file lies on the disk.
fn facts(path: &Path) -> Result<BTreeMap<String, String>, ProbeError> {
    let file = File::open(path).doing(|| format!("opening {}", path.display()))?;
    let pieces = match extents(&file, MOST_EXTENTS) {
        Ok(found) => {
            // Neighbouring extents that lie behind each other are one piece to the disk.
            let jumps = found
                .windows(2)
                .filter(|pair| pair[0].physical + pair[0].length != pair[1].physical)
                .count();
            format!("{} in {} runs", found.len(), jumps + 1)
        }
        Err(error) => format!("unknown: {error}"),
    };
    Ok(BTreeMap::from([("extents".to_owned(), pieces)]))
}

/// Another reader, of another file or of the same server.
struct Reader {
    stop: Arc<AtomicBool>,
    read: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Reader {
    /// Of a file, as fast as it comes.
    fn start(path: &PathBuf) -> Result<Self, ProbeError> {
        forget(path)?;
        let file = File::open(path).doing(|| format!("opening {}", path.display()))?;
        Ok(Self::of(file, 1 << 20, |_| ()))
    }

    /// Of the same server, as slowly as the study's second download.
    fn download(address: SocketAddr, request: &[u8]) -> Result<Self, ProbeError> {
        let ask = || -> std::io::Result<TcpStream> {
            let mut stream = TcpStream::connect(address)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(request)?;
            Ok(stream)
        };
        let stream = ask().doing(|| format!("asking {address} for the file once more"))?;
        let begun = Instant::now();
        Ok(Self::of(stream, 1 << 16, move |read| {
            let due = Duration::from_micros(read / SLOWLY);
            std::thread::sleep(due.saturating_sub(begun.elapsed()));
        }))
    }

    /// Reads from `source`, so many bytes at once; `pause` is told how many there were in all.
    fn of(
        mut source: impl Read + Send + 'static,
        at_once: usize,
        pause: impl Fn(u64) + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let read = Arc::new(AtomicU64::new(0));
        let (told, count) = (Arc::clone(&stop), Arc::clone(&read));
        let thread = std::thread::spawn(move || {
            let mut buffer = vec![0; at_once];
            while !told.load(Ordering::Relaxed) {
                let bytes = match source.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(bytes) => u64::try_from(bytes).unwrap_or(0),
                };
                pause(count.fetch_add(bytes, Ordering::Relaxed) + bytes);
            }
        });
        Self { stop, read, thread }
    }

    /// Ends it and says how much it read.
    fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let _ended = self.thread.join();
        self.read.load(Ordering::Relaxed)
    }
}
