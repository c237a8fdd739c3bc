//! Marks of congestion in the heads of IP packets (ECN, RFC 3168).

/// What the head of a packet says of congestion: two bits, named as in RFC 3168, section 5.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Mark {
    /// Not-ECT: its sender does not know marks. Where a queue grows too long, it is dropped.
    #[default]
    NotCapable,
    /// ECT(1): it may be marked.
    Capable1,
    /// ECT(0): it may be marked.
    Capable0,
    /// CE: it was marked where a queue grew too long.
    Congested,
}

impl Mark {
    /// The two bits.
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotCapable => 0,
            Self::Capable1 => 1,
            Self::Capable0 => 2,
            Self::Congested => 3,
        }
    }

    /// What the lowest two of these bits say.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            1 => Self::Capable1,
            2 => Self::Capable0,
            3 => Self::Congested,
            _ => Self::NotCapable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bits_are_a_mark() {
        for bits in 0..4 {
            assert_eq!(Mark::from_bits(bits).bits(), bits);
            assert_eq!(Mark::from_bits(bits | 0xb8), Mark::from_bits(bits));
        }
    }
}
