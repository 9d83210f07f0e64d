//! Connections by number, in blocks that never move.

use std::mem;
use std::ops::{Index, IndexMut};

/// Values of one block.
const BLOCK: usize = 64;

/// A slab that grows by blocks. One that grows by doubling, as the slab crate's does, copies all of its values to new memory and
/// leaves the old behind: until the allocator gives that back to the kernel, a value takes twice its size.
#[derive(Debug)]
pub struct Table<T> {
    /// All but the last are full, and none is ever longer than [`BLOCK`].
    blocks: Vec<Vec<Place<T>>>,
    /// The first of a chain of free places that have been taken before; the length of the table if there is none.
    free: u32,
    /// Places that are taken.
    len: u32,
}

#[derive(Debug)]
enum Place<T> {
    Taken(T),
    Free {
        /// The next of the chain.
        next: u32,
    },
}

impl<T> Table<T> {
    /// An empty table. It allocates nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            blocks: Vec::new(),
            free: 0,
            len: 0,
        }
    }

    /// How many values there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is no value.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The index that the next value will have.
    #[must_use]
    pub const fn next_index(&self) -> u32 {
        self.free
    }

    /// Takes `value` in at [`Table::next_index`], the index that was free last.
    ///
    /// # Panics
    ///
    /// With 2³² values.
    pub fn insert(&mut self, value: T) -> u32 {
        let index = self.free;
        match self.place_mut(index) {
            Some(place) => match mem::replace(place, Place::Taken(value)) {
                Place::Free { next } => self.free = next,
                Place::Taken(_) => unreachable!("the chain is of free places"),
            },
            None => {
                self.free = index.checked_add(1).expect("descriptors are fewer");
                self.append(value);
            }
        }
        self.len += 1;
        index
    }

    fn append(&mut self, value: T) {
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(Place::Taken(value)),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(Place::Taken(value));
                self.blocks.push(block);
            }
        }
    }

    /// The value at `index`, if there is one.
    #[inline]
    #[must_use]
    pub fn get(&self, index: u32) -> Option<&T> {
        let index = index as usize;
        match self.blocks.get(index / BLOCK)?.get(index % BLOCK)? {
            Place::Taken(value) => Some(value),
            Place::Free { .. } => None,
        }
    }

    /// As [`Table::get`], to change it.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        match self.place_mut(index)? {
            Place::Taken(value) => Some(value),
            Place::Free { .. } => None,
        }
    }

    #[inline]
    fn place_mut(&mut self, index: u32) -> Option<&mut Place<T>> {
        let index = index as usize;
        self.blocks.get_mut(index / BLOCK)?.get_mut(index % BLOCK)
    }

    /// Takes the value at `index` out, if there is one.
    pub fn remove(&mut self, index: u32) -> Option<T> {
        let next = self.free;
        let place = self.place_mut(index)?;
        match mem::replace(place, Place::Free { next }) {
            Place::Taken(value) => {
                self.free = index;
                self.len -= 1;
                Some(value)
            }
            free @ Place::Free { .. } => {
                *place = free;
                None
            }
        }
    }

    /// All values, with their indices.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let places = self.blocks.iter().flatten();
        (0..).zip(places).filter_map(|(index, place)| match place {
            Place::Taken(value) => Some((index, value)),
            Place::Free { .. } => None,
        })
    }
}

impl<T> Index<u32> for Table<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        self.get(index).expect("a value that is in the table")
    }
}

impl<T> IndexMut<u32> for Table<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        self.get_mut(index).expect("a value that is in the table")
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(len: u32) -> Table<String> {
        let mut table = Table::new();
        for index in 0..len {
            assert_eq!(table.next_index(), index);
            assert_eq!(table.insert(index.to_string()), index);
        }
        table
    }

    #[test]
    fn values_are_found_by_their_index() {
        let mut table = filled(1_000);
        assert_eq!(table.len(), 1_000);
        assert_eq!(table[0], "0");
        assert_eq!(table.get(999).unwrap(), "999");
        assert_eq!(table.get(1_000), None);
        assert_eq!(table.get(u32::MAX), None);
        table[64].push('!');
        assert_eq!(table.get(64).unwrap(), "64!");
    }

    #[test]
    fn the_index_that_was_free_last_is_taken_first() {
        let mut table = filled(130);
        for index in [5, 129, 64] {
            assert_eq!(table.remove(index), Some(index.to_string()));
            assert_eq!(table.get(index), None);
            assert_eq!(table.remove(index), None, "only once");
        }
        assert_eq!(table.len(), 127);
        for index in [64, 129, 5, 130] {
            assert_eq!(table.insert("again".to_owned()), index);
        }
        assert_eq!((table.len(), table.blocks.len()), (131, 3));
    }

    #[test]
    fn values_are_listed_in_order() {
        let mut table = filled(200);
        for index in (0..200).filter(|index| index % 67 != 0) {
            table.remove(index);
        }
        let left: Vec<_> = table.iter().map(|(index, _)| index).collect();
        assert_eq!(left, [0, 67, 134]);
        assert!(!table.is_empty());
        assert!(Table::<()>::new().is_empty());
    }

    #[test]
    fn values_never_move() {
        let mut table = filled(1);
        let first: *const String = table.get(0).unwrap();
        for _ in 0..10_000 {
            table.insert(String::new());
        }
        assert!(std::ptr::eq(table.get(0).unwrap(), first));
    }

    #[test]
    fn a_value_with_a_niche_takes_no_more_than_itself() {
        assert_eq!(size_of::<Place<String>>(), size_of::<String>());
    }
}
