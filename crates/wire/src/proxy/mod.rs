//! What a connection begins with behind a proxy: who asks whom (the PROXY protocol, as HAProxy's
//! `proxy-protocol.txt` has it).
//!
//! It costs a connection at most 108 bytes, and a request nothing.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};

/// The most bytes of a header, whichever version (§2.1).
pub const LONGEST: u32 = 108;

/// What every header of version 2 begins with (§2.2).
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, for a connection that is made for somebody else.
const PROXY: u8 = 0x21;
/// TCP over IPv4 and over IPv6.
const TCP: [u8; 2] = [0x11, 0x21];

/// In which form a header is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// Version 2.
    Bytes,
    /// Version 1.
    Line,
}

/// Writes to the end of `out` that `from` asks `to`. Where only one of them is an address of IPv4,
/// it is told as one of IPv6, because a header has one family.
pub fn write(form: Form, from: SocketAddr, to: SocketAddr, out: &mut Vec<u8>) {
    let is_six = from.is_ipv6() || to.is_ipv6();
    let (source, target) = (of_family(from.ip(), is_six), of_family(to.ip(), is_six));
    match form {
        Form::Line => {
            let family = if is_six { "TCP6" } else { "TCP4" };
            let (port, target_port) = (from.port(), to.port());
            let written = write!(
                out,
                "PROXY {family} {source} {target} {port} {target_port}\r\n"
            );
            written.expect("a vector takes what it has memory for");
        }
        Form::Bytes => {
            out.extend_from_slice(SIGNATURE);
            out.extend_from_slice(&[PROXY, TCP[usize::from(is_six)]]);
            let length: u16 = if is_six { 36 } else { 12 };
            out.extend_from_slice(&length.to_be_bytes());
            for ip in [source, target] {
                match ip {
                    IpAddr::V4(four) => out.extend_from_slice(&four.octets()),
                    IpAddr::V6(six) => out.extend_from_slice(&six.octets()),
                }
            }
            out.extend_from_slice(&from.port().to_be_bytes());
            out.extend_from_slice(&to.port().to_be_bytes());
        }
    }
}

fn of_family(ip: IpAddr, is_six: bool) -> IpAddr {
    match ip {
        IpAddr::V4(four) if is_six => IpAddr::V6(four.to_ipv6_mapped()),
        ip => ip,
    }
}

#[cfg(test)]
mod tests;
