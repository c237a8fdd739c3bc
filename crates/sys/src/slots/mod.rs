//! A slab of fixed size whose keys carry a generation: a stale key finds nobody.
//!
//! Everything is allocated at the start; inserting and removing cost a few instructions. A key's
//! index is smaller than the capacity, so that callers keep arrays beside it.

/// Finds one value in its [`Slots`] and no other, however often the place is reused.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// Its place: below the capacity of the slots it came from.
    #[inline]
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// How often that place had been used before.
    pub const fn generation(self) -> u32 {
        self.generation
    }
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// A bounded set of values with keys that are never mistaken for one another.
#[derive(Debug)]
pub struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    /// Room for `capacity` values.
    pub fn new(capacity: u32) -> Self {
        let vacant = || Slot {
            generation: 0,
            value: None,
        };
        Self {
            slots: (0..capacity).map(|_| vacant()).collect(),
            free: (0..capacity).rev().collect(),
        }
    }

    /// How many values fit.
    pub const fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// How many values are in.
    pub const fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether none is in.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether no further value fits.
    pub const fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Puts `value` in, or gives it back if all places are taken.
    pub fn insert(&mut self, value: T) -> Result<Key, T> {
        let Some(index) = self.free.pop() else {
            return Err(value);
        };
        let slot = &mut self.slots[index as usize];
        debug_assert!(slot.value.is_none(), "a free place holds nothing");
        slot.value = Some(value);
        Ok(Key {
            index,
            generation: slot.generation,
        })
    }

    /// Puts `value` in, making room if all places are taken: for what is not in a hot loop.
    pub fn insert_growing(&mut self, value: T) -> Key {
        if self.free.is_empty() {
            let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 values");
            self.slots.push(Slot {
                generation: 0,
                value: None,
            });
            self.free.push(index);
        }
        match self.insert(value) {
            Ok(key) => key,
            Err(_) => unreachable!("there is a free place"),
        }
    }

    /// Takes the value of `key` out; its key finds nobody from now on.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slots.get_mut(key.index())?;
        if slot.generation != key.generation {
            return None;
        }
        let value = slot.value.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(key.index);
        Some(value)
    }

    /// The value of `key`, if it is still there.
    #[inline]
    pub fn get(&self, key: Key) -> Option<&T> {
        let slot = self.slots.get(key.index())?;
        slot.value
            .as_ref()
            .filter(|_| slot.generation == key.generation)
    }

    /// The value of `key`, to change it.
    #[inline]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let slot = self.slots.get_mut(key.index())?;
        if slot.generation == key.generation {
            slot.value.as_mut()
        } else {
            None
        }
    }

    /// The key of whoever is at `index` now.
    #[inline]
    pub fn key_at(&self, index: usize) -> Option<Key> {
        let slot = self.slots.get(index)?;
        slot.value.as_ref()?;
        Some(Key {
            index: u32::try_from(index).ok()?,
            generation: slot.generation,
        })
    }

    /// Whoever is at `index` now.
    #[inline]
    pub fn at_mut(&mut self, index: usize) -> Option<&mut T> {
        self.slots.get_mut(index)?.value.as_mut()
    }

    /// All values with their keys, in order of place.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &T)> + '_ {
        (0..).zip(&self.slots).filter_map(|(index, slot)| {
            let generation = slot.generation;
            slot.value
                .as_ref()
                .map(|value| (Key { index, generation }, value))
        })
    }
}

#[cfg(test)]
mod tests;
