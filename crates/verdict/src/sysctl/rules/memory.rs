//! How much memory sockets may take.

use model::{Bytes, Severity};

use super::super::table::NET_SYSCTL;
use super::super::{Kernel, Kind, Machine, Setting};
use super::{Draft, single};

pub(super) fn tcp_mem(setting: &Setting, machine: &Machine) -> Vec<Draft> {
    if setting.key != "net.ipv4.tcp_mem" {
        return Vec::new();
    }
    let Some([_, _, max]) = setting.numbers().and_then(|n| <[u64; 3]>::try_from(n).ok()) else {
        return vec![Draft::new(
            Kind::Malformed,
            Severity::Suspect,
            "It takes three numbers.",
        )];
    };
    let bytes = Bytes::new(max.saturating_mul(machine.page));
    // 16 GiB is more than TCP takes on a machine whose size we do not know.
    let limit = machine.memory.unwrap_or(Bytes::new(16 << 30));
    if bytes <= limit {
        return Vec::new();
    }
    let compared = machine.memory.map_or_else(
        || "more memory than most machines have".to_owned(),
        |memory| format!("the machine has {memory}"),
    );
    let say = format!(
        "The unit is pages of {} bytes, not bytes: this lets TCP take {bytes}; {compared}. The \
         limit that should protect the machine is gone.",
        machine.page
    );
    vec![
        Draft::new(Kind::Unit, Severity::Suspect, say)
            .fix("remove the line: the kernel sizes it from the memory at boot"),
    ]
}

pub(super) fn socket_buffers(setting: &Setting, machine: &Machine) -> Vec<Draft> {
    let (side, stock) = match setting.key.as_str() {
        // Raised by commit a337531b942b.
        "net.ipv4.tcp_rmem" if machine.kernel < Kernel::new(4, 20) => ("receive", "4096 87380"),
        "net.ipv4.tcp_rmem" => ("receive", "4096 131072"),
        "net.ipv4.tcp_wmem" => ("send", "4096 16384"),
        _ => return Vec::new(),
    };
    let Some([min, start, max]) = setting.numbers().and_then(|n| <[u64; 3]>::try_from(n).ok())
    else {
        return vec![Draft::new(
            Kind::Malformed,
            Severity::Suspect,
            "It takes three numbers.",
        )];
    };
    let fix = format!("remove the line, or keep its beginning stock: {stock} {max}");
    let mut drafts = Vec::new();
    if start > 1 << 20 {
        let all = Bytes::new(start.saturating_mul(machine.connections));
        let say = format!(
            "The second number is the {side} buffer that every socket starts with: {} each, {all} \
             for {} connections. The kernel tunes buffers upwards by itself, up to the third \
             number.",
            Bytes::new(start),
            machine.connections
        );
        drafts.push(Draft::new(Kind::Size, Severity::Suspect, say).fix(fix.clone()));
        let small = "Buffers of megabytes can do nothing for small answers: a 7-byte body with its \
                     head fits into one segment, and no buffer ever fills.";
        drafts.push(Draft::new(Kind::Irrelevant, Severity::Note, small).fix(fix.clone()));
    }
    if min > 1 << 20 {
        let say = format!(
            "The first number is what each socket keeps even under memory pressure: {}; the \
             kernel can no longer take memory back from idle connections.",
            Bytes::new(min)
        );
        drafts.push(Draft::new(Kind::Size, Severity::Suspect, say).fix(fix.clone()));
    }
    if side == "receive" && start < 32 << 10 {
        let say = "The second number is the receive buffer that every socket starts with; below \
                   32 KiB requests with large heads or bodies wait for window updates.";
        drafts.push(Draft::new(Kind::Size, Severity::Suspect, say).fix(fix));
    }
    drafts
}

pub(super) fn buffers_of_other_protocols(setting: &Setting, _: &Machine) -> Vec<Draft> {
    let other = match setting.key.as_str() {
        "net.core.rmem_default" => "tcp_rmem",
        "net.core.wmem_default" => "tcp_wmem",
        _ => return Vec::new(),
    };
    let mut drafts = vec![Draft::new(
        Kind::Irrelevant,
        Severity::Note,
        format!(
            "TCP does not read it: the second number of {other} overrides it. It sets the buffers \
             of UDP and other sockets."
        ),
    )];
    if single(setting, &setting.key).is_some_and(|value| value > 1 << 20) {
        let say = "Every UDP and other datagram socket of the machine starts with a buffer of this \
                   size.";
        drafts.push(Draft::new(Kind::Size, Severity::Suspect, say).source(NET_SYSCTL));
    }
    drafts
}
