//! Queues of packets and of connections that wait.

use model::Severity;

use super::super::kernel::{Kernel, KernelRange};
use super::super::table::NET_SYSCTL;
use super::super::{Kind, Machine, Setting};
use super::{Draft, single};

pub(super) fn somaxconn(setting: &Setting, machine: &Machine) -> Vec<Draft> {
    let Some(value) = single(setting, "net.core.somaxconn") else {
        return Vec::new();
    };
    let mut drafts = Vec::new();
    if value > 65_535 {
        let say = format!(
            "The queue length is a 16-bit field: of {value} only the lowest 16 bits count, {}. A \
             distribution's kernel may have the check of 3.11 already: it refuses the value, and \
             the default, 128, stays.",
            value % 65_536
        );
        drafts.push(
            Draft::new(Kind::Width, Severity::Suspect, say)
                .kernels(KernelRange::before(Kernel::new(3, 11)))
                .fix("write 4096")
                .source("commit 5f671d6b4ec3; commit becb74f0acca (4.1)"),
        );
        drafts.push(
            Draft::new(
                Kind::Width,
                Severity::Suspect,
                format!(
                    "The queue length is a 16-bit field: {value} is refused and the default, 128, \
                     stays."
                ),
            )
            .kernels(KernelRange::between(Kernel::new(3, 11), Kernel::new(4, 1)))
            .fix("write 4096")
            .source("commit 5f671d6b4ec3; the field has 32 bits since commit becb74f0acca (4.1)"),
        );
    }
    if value > 10_000 {
        let say = "A queue of more than 10,000 connections that wait to be accepted only hides \
                   a server that does not accept; their clients have long given up. The limit \
                   that counts is the smaller of this and the server's own backlog.";
        drafts.push(Draft::new(Kind::Size, Severity::Note, say).fix("write 4096"));
    }
    let default = if machine.kernel < Kernel::new(5, 4) {
        128
    } else {
        4096
    };
    if value < default {
        let say = format!(
            "It lowers the kernel's default of {default}. If more than {value} connections are \
             opened at once, the accept queue overflows, and the rest are tried again after a \
             second."
        );
        drafts.push(Draft::new(Kind::Size, Severity::Suspect, say));
    } else if value < 1_000 && value != default {
        let say = "Below 1,000 the accept queue is short for a benchmark that opens its \
                   connections at once.";
        drafts.push(Draft::new(Kind::Size, Severity::Note, say).fix("write 4096"));
    }
    drafts
}

pub(super) fn syn_backlog(setting: &Setting, _: &Machine) -> Vec<Draft> {
    // Before it, this limited the queue of half-open connections of each listener.
    const UNREAD: Kernel = Kernel::new(4, 4);
    const SOURCE: &str = "commit ef547f2ac16b (4.4), tcp_conn_request in net/ipv4/tcp_input.c";
    let Some(value) = single(setting, "net.ipv4.tcp_max_syn_backlog") else {
        return Vec::new();
    };
    let mut drafts = Vec::new();
    if value > 10_000 {
        let say = "It limits half-open connections of a listener, which on a local network last \
                   microseconds; more than 10,000 of them delay the SYN cookies that protect a \
                   server in production. The accept queue, somaxconn and the server's backlog, \
                   fills first.";
        drafts.push(
            Draft::new(Kind::Size, Severity::Note, say)
                .fix("remove the line, or write 4096")
                .kernels(KernelRange::before(UNREAD))
                .source(SOURCE),
        );
    }
    if value > 65_535 {
        let say = "Often said to be a 16-bit field, as somaxconn was: it is not. But a listener \
                   gets the smallest of it, somaxconn and the server's own backlog, so that more \
                   than somaxconn changes nothing.";
        drafts.push(
            Draft::new(Kind::Misunderstood, Severity::Note, say)
                .kernels(KernelRange::before(UNREAD))
                .source("reqsk_queue_alloc in net/core/request_sock.c, before 4.4"),
        );
    }
    let say = "It is read only while SYN cookies are off: half-open connections of a listener are \
               limited by its backlog and somaxconn.";
    drafts.push(
        Draft::new(Kind::Irrelevant, Severity::Note, say)
            .kernels(KernelRange::from(UNREAD))
            .source(SOURCE),
    );
    drafts
}

pub(super) fn syncookies(setting: &Setting, _: &Machine) -> Vec<Draft> {
    match single(setting, "net.ipv4.tcp_syncookies") {
        Some(0) => vec![Draft::new(
            Kind::Dangerous,
            Severity::Suspect,
            "Without SYN cookies a full queue of half-open connections drops new ones (counter \
             TCPReqQFullDrop): their clients try again after a second, and the server is open to \
             SYN floods.",
        )],
        Some(2) => vec![Draft::new(
            Kind::Dangerous,
            Severity::Suspect,
            "2 sends SYN cookies for every connection, without TCP options: a test setting.",
        )],
        _ => Vec::new(),
    }
}

pub(super) fn netdev_max_backlog(setting: &Setting, _: &Machine) -> Vec<Draft> {
    match single(setting, "net.core.netdev_max_backlog") {
        Some(value) if value > 50_000 => vec![
            Draft::new(
                Kind::Size,
                Severity::Note,
                "It is the queue of packets per CPU for loopback and for steered or old network \
                 drivers. It drops nothing until the second column of /proc/net/softnet_stat \
                 moves; a queue longer than that needs only adds delay.",
            )
            .fix("raise it from 1000 step by step while that column moves")
            .source(NET_SYSCTL),
        ],
        _ => Vec::new(),
    }
}
