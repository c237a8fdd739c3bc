//! The fields that every peer knows, found by name: tables of HPACK and QPACK never change, so they
//! are sorted by the length of names when this is compiled.
//!
//! Cost: a look at each field whose name is as long, some six of them.

/// No name of a table is longer.
const LONGEST: usize = 32;

/// Where in a table of `N` fields to look.
#[derive(Debug)]
pub(crate) struct StaticTable<const N: usize> {
    fields: &'static [(&'static str, &'static str); N],
    /// Places in the table: those of the shortest names first, else in order.
    places: [usize; N],
    /// Where among them names of each length begin.
    starts: [usize; LONGEST + 2],
}

/// What a table has of a field.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Found {
    /// Both, in that place.
    Field(usize),
    /// Its name, first in that place.
    Name(usize),
    Nothing,
}

impl<const N: usize> StaticTable<N> {
    pub(crate) const fn new(fields: &'static [(&'static str, &'static str); N]) -> Self {
        let mut places = [0; N];
        let mut starts = [N; LONGEST + 2];
        let (mut length, mut count) = (0, 0);
        while length <= LONGEST {
            starts[length] = count;
            let mut place = 0;
            while place < N {
                if fields[place].0.len() == length {
                    places[count] = place;
                    count += 1;
                }
                place += 1;
            }
            length += 1;
        }
        assert!(count == N, "no name is longer");
        Self {
            fields,
            places,
            starts,
        }
    }

    /// Looks for a field whose name is in lower case.
    pub(crate) fn find(&self, name: &[u8], value: &[u8]) -> Found {
        if name.len() > LONGEST {
            return Found::Nothing;
        }
        let there = self.starts[name.len()]..self.starts[name.len() + 1];
        let mut found = Found::Nothing;
        for &place in &self.places[there] {
            let (known, its) = self.fields[place];
            if known.as_bytes() == name {
                if its.as_bytes() == value {
                    return Found::Field(place);
                }
                if found == Found::Nothing {
                    found = Found::Name(place);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static FIELDS: [(&str, &str); 5] = [
        ("name", ""),
        ("a", "1"),
        ("name", "one"),
        ("same", "one"),
        ("name", "two"),
    ];

    #[test]
    fn fields_are_found_where_a_table_has_them_first() {
        let table = StaticTable::new(&FIELDS);
        let longest = [b'x'; LONGEST];
        let too_long = [b'x'; LONGEST + 1];
        for (name, value, expected) in [
            (b"name".as_slice(), b"two".as_slice(), Found::Field(4)),
            (b"name", b"", Found::Field(0)),
            (b"name", b"three", Found::Name(0)),
            (b"same", b"two", Found::Name(3)),
            (b"a", b"1", Found::Field(1)),
            (b"b", b"1", Found::Nothing),
            (b"", b"", Found::Nothing),
            (&longest, b"", Found::Nothing),
            (&too_long, b"", Found::Nothing),
        ] {
            let text = String::from_utf8_lossy(name);
            assert_eq!(table.find(name, value), expected, "{text}");
        }
    }
}
