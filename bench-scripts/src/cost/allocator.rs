//! Where a running server's allocator begins: the entry points of jemalloc, which our rungs hold in themselves.

use std::fs;

use object::{Object, ObjectSymbol};

use crate::record::trace::Absence;

/// The calls that give memory, or more of it (jemalloc(3)). All that gives it back is left out.
const ENTRY_POINTS: &[&str] = &[
    "malloc",
    "calloc",
    "realloc",
    "aligned_alloc",
    "posix_memalign",
    "mallocx",
    "rallocx",
];

/// What the rungs' build of jemalloc puts before its names.
const PREFIX: &str = "_rjem_";

/// The type of the entry address in the auxiliary vector (getauxval(3)).
const AT_ENTRY: u64 = 9;

/// The addresses at which a process enters its allocator.
#[derive(Debug)]
pub struct Allocator(Vec<u64>);

impl Allocator {
    /// That of a running process.
    ///
    /// # Errors
    ///
    /// Why its allocations cannot be seen.
    pub fn of(pid: u32) -> Result<Self, Absence> {
        let unseen = |what: String| Absence {
            what,
            remedy: "build the rung with its feature `jemalloc`, and do not strip it".into(),
        };
        let read = |name: &str| {
            let path = format!("/proc/{pid}/{name}");
            fs::read(&path).map_err(|error| unseen(format!("cannot read {path}: {error}")))
        };
        let (program, auxv) = (read("exe")?, read("auxv")?);
        let program = object::File::parse(program.as_slice())
            .map_err(|error| unseen(format!("its program is no ELF file ({error})")))?;
        let entry =
            entry_address(&auxv).ok_or_else(|| unseen("its entry address is unknown".into()))?;
        // The kernel puts a program where it likes, as a whole.
        let moved = entry.wrapping_sub(program.entry());
        let is_entry_point = |name: &str| {
            name.strip_prefix(PREFIX)
                .is_some_and(|name| ENTRY_POINTS.contains(&name))
        };
        let symbols = program
            .symbols()
            .filter(|symbol| symbol.name().is_ok_and(is_entry_point));
        let addresses: Vec<_> = symbols
            .map(|symbol| symbol.address().wrapping_add(moved))
            .collect();
        if addresses.is_empty() {
            return Err(unseen(
                "its allocator is not jemalloc, or its symbols are stripped".into(),
            ));
        }
        Ok(Self(addresses))
    }

    /// Whether a call of it begins here.
    #[must_use]
    pub fn begins_at(&self, address: u64) -> bool {
        self.0.contains(&address)
    }
}

/// Where the program was entered, from pairs of words.
fn entry_address(auxv: &[u8]) -> Option<u64> {
    let (words, _) = auxv.as_chunks::<8>();
    let (pairs, _) = words.as_chunks::<2>();
    let mut pairs = pairs.iter().map(|pair| pair.map(u64::from_ne_bytes));
    pairs.find_map(|[kind, value]| (kind == AT_ENTRY).then_some(value))
}
