//! The limits that rules hold values against, each with its source: data, so that a page can list
//! them and a stored verdict can name the ones that were used.
//!
//! "Policy" marks a default of ours: a choice, not a measurement.

use model::finding::Severity;
use serde_json::{Value, json};

/// Levels above which a value is noted, suspect or invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The rule that uses it.
    pub rule: &'static str,
    /// What is measured, with its unit.
    pub name: &'static str,
    /// Noted above this.
    pub note: Option<f64>,
    /// Suspect above this.
    pub suspect: Option<f64>,
    /// Invalid above this.
    pub invalid: Option<f64>,
    /// Where the numbers come from.
    pub source: &'static str,
}

impl Limit {
    /// How bad `value` is; none if it is within all levels.
    pub fn severity(&self, value: f64) -> Option<Severity> {
        let above = |level: Option<f64>| level.is_some_and(|level| value > level);
        if above(self.invalid) {
            Some(Severity::Invalid)
        } else if above(self.suspect) {
            Some(Severity::Suspect)
        } else if above(self.note) {
            Some(Severity::Note)
        } else {
            None
        }
    }

    /// As it stands in a finding.
    pub(crate) fn as_value(&self) -> Value {
        let mut levels = serde_json::Map::new();
        for (name, level) in [
            ("note", self.note),
            ("suspect", self.suspect),
            ("invalid", self.invalid),
        ] {
            if let Some(level) = level {
                levels.insert(name.to_owned(), json!(level));
            }
        }
        Value::Object(levels)
    }
}

macro_rules! limits {
    ($($(#[$doc:meta])* $ident:ident: $rule:literal, $name:literal, $note:expr, $suspect:expr,
        $invalid:expr, $source:literal;)*) => {
        $($(#[$doc])* pub const $ident: Limit = Limit {
            rule: $rule, name: $name, note: $note, suspect: $suspect, invalid: $invalid,
            source: $source,
        };)*

        /// All of them, in the order of the catalogue.
        pub const ALL: &[Limit] = &[$($ident),*];
    };
}

limits! {
    /// A worker's time outside waits and empty polls.
    BUSY_SHARE: "GEN-01", "busy_share", None, Some(0.80), Some(0.95),
        "Policy; at 80 % use a queue already doubles the time in it";
    /// 1 / headroom.
    CEILING_SHARE: "GEN-02", "share_of_ceiling", None, Some(0.7), Some(0.9), "Policy";
    /// Late time below which nobody cares.
    LATE_FLOOR_US: "GEN-03", "late_time_us", None, Some(100.0), None,
        "Policy; timer slack alone is 50 µs";
    /// Late time in terms of the response time that it is part of.
    LATE_OF_RESPONSE: "GEN-03", "late_time_of_response_time", None, Some(0.05), Some(0.5),
        "Policy; at half, a number is more the generator's than the server's";
    /// The part of the intended load that was not sent.
    UNSENT_SHARE: "GEN-04", "unsent_share", None, Some(0.01), Some(0.05),
        "Policy; Lancet accepts 10 %";
    /// The part of all connections' time that the generator let pass.
    DEAD_TIME: "GEN-05", "dead_share", None, Some(0.05), Some(0.20),
        "Policy; wrk lost 20 % this way (wrk issue 116)";
    /// How busy shared CPUs were.
    SHARED_BUSY: "GEN-06", "shared_cpu_busy_share", None, None, Some(0.85), "Policy";
    /// A generator thread's time in the run queue.
    RUNQUEUE_WAIT: "GEN-07", "runqueue_wait_share", None, Some(0.01), Some(0.05), "Policy";
    /// The part of it in which others had its CPU.
    KEPT: "GEN-07", "kept_by_others_share", None, Some(0.02), Some(0.10),
        "Policy; the same shares that CPU-08 allows";
    /// The same, beyond which a trial is void.
    VOID_KEPT: "GEN-07", "void_kept_by_others_share", None, None, Some(0.05),
        "Policy; half of what makes the claim invalid, because a repetition costs less than a \
         doubt";
    /// Answers per connection, the luckiest thread against the unluckiest.
    UNEVEN_WORKERS: "GEN-09", "most_over_least", None, Some(1.2), None, "Policy";
    /// What one reading of the clock costs.
    CLOCK_COST_NS: "GEN-11", "clock_cost_ns", None, Some(100.0), None,
        "Policy; a vDSO reading takes about 25 ns";
    /// A batch of events in terms of the median service time.
    BATCH_OF_MEDIAN: "GEN-16", "batch_time_p99_of_service_time_p50", None, Some(0.05), None,
        "Policy; the same share that GEN-03 allows";
    /// How far the windows of two agents may be apart, or a meter from them, in terms of the window
    /// or of its shortest stage.
    APART_OF_STAGE: "GEN-17", "apart_of_shortest_stage", None, Some(0.01), Some(0.10),
        "Policy; for that long not all agents made their load, and servers are told apart by 2 %";
    /// How far an agent's clock is away, in the same terms.
    OFFSET_OF_STAGE: "GEN-17", "offset_of_shortest_stage", Some(0.01), None, None,
        "Policy; it was corrected, and the same share is allowed for what was not";
    /// How far two agents may be apart in terms of the gap between arrivals.
    APART_OF_GAP: "GEN-17", "apart_of_gap", Some(0.5), None, None,
        "Policy; beyond it two arrivals may be nearer to each other than to their places";
    /// Source ports in use or in TIME_WAIT.
    PORTS_USED: "TCP-01", "ports_used_share", None, Some(0.5), None,
        "Policy; connect searches one parity first and slows down beyond";
    /// Dropped connection requests per connect.
    DROPPED_CONNECTS: "TCP-03", "dropped_per_connect", None, None, Some(1e-3), "Policy";
    /// Packets that a full queue before the network stack dropped, in terms of all.
    SOFTNET_DROPPED: "TCP-17", "dropped_share", None, Some(0.0), Some(1e-4), "Policy";
    /// How often a second a CPU had more packets than one turn of the kernel takes.
    SOFTNET_SQUEEZED: "TCP-17", "squeezed_per_s", Some(100.0), None, None, "Policy";
    /// Datagrams that were dropped, or found no room to be sent.
    DATAGRAMS_LOST: "TCP-18", "datagrams_lost", None, None, Some(0.0),
        "Policy; the kernel does not say whose they were, and one is enough to wait for a timer";
    /// Segments sent again per data segment.
    RETRANSMITTED: "TCP-05", "retransmitted_share", Some(1e-4), Some(1e-3), Some(1e-2), "Policy";
    /// Entries that the firewall's table gained per connection of the plan.
    TRACKED: "CT-01", "tracked_per_connection", None, Some(0.499), None,
        "Policy; others' connections come and go meanwhile";
    /// The part of a link's speed that was used in the busier direction.
    LINK_USED: "LNK-01", "link_used_share", None, Some(0.85), Some(0.94),
        "Policy; frames have 24 bytes more on the wire than the kernel counts";
    /// Bytes of an answer, where segments are not cut or joined for the machine.
    LARGE_ANSWER: "LNK-06", "answer_bytes", None, Some(16_384.0), None,
        "Policy; such an answer has a dozen packets, and a smaller one few that could be joined";
    /// What one CPU spent in interrupts and softirqs.
    HOT_CPU: "LNK-07", "interrupt_share", None, Some(0.85), Some(0.95), "Policy";
    /// How busy the other CPUs were: where they have no time to spare, none could have helped.
    OTHERS_BUSY: "LNK-07", "others_busy_share", Some(0.85), None, None,
        "Policy; what SRV-05 takes for a busy server";
    /// CPUs of a side for each CPU that takes its packets.
    CPUS_PER_QUEUE: "LNK-12", "cpus_per_receiving_cpu", Some(4.0), None, None,
        "Policy; to receive the request is a part of the work for a small answer, not all of it";
    /// Time stolen from a CPU that takes part.
    STEAL: "CPU-01", "steal_share", Some(0.005), Some(0.01), Some(0.05), "Policy";
    /// The same, beyond which a trial is void.
    VOID_STEAL: "CPU-01", "void_steal_share", None, None, Some(0.05),
        "Policy; what makes the claim invalid";
    /// Time that a busy thread was kept from its CPU by what no scheduler accounts for.
    HICCUPS: "CPU-02", "lost_share", None, Some(0.01), None, "Policy";
    /// The longest such time.
    HICCUP_LONGEST: "CPU-02", "longest_ms", None, Some(10.0), None,
        "Policy; one of these is the 99.9 % quantile of a thousand answers";
    /// What others used of the CPUs that take part.
    BACKGROUND: "CPU-08", "background_share", None, Some(0.02), Some(0.10), "Policy";
    /// The same, beyond which a trial is void.
    VOID_FOREIGN: "CPU-08", "void_background_share", None, None, Some(0.05),
        "Policy; half of what makes the claim invalid, because a repetition costs less than a \
         doubt";
    /// What the kernel's own threads and the rig used of these CPUs.
    SERVING: "CPU-08", "serving_share", Some(0.05), None, None, "Policy";
    /// A server busier than this is its own limit.
    IDLE_SERVER: "SRV-05", "server_busy_share", Some(0.85), None, None, "Policy";
    /// A generator busier than this may be the limit.
    IDLE_GENERATOR: "SRV-05", "generator_busy_share", Some(0.70), None, None, "Policy";
    /// Failed exchanges in terms of all that ended.
    FAILED_SHARE: "HTTP-01", "failed_share", Some(0.0), Some(0.001), Some(0.01), "Policy";
    /// The part of the window in which no connection was accepted.
    OUTAGE_SHARE: "HTTP-01", "outage_share", Some(0.0), Some(0.001), Some(0.10), "Policy";
    /// Closes by the server per exchange. At one in two, connections are not kept at all.
    CLOSED_SHARE: "HTTP-09", "closed_share", Some(1e-4), Some(0.999e-3), Some(0.5),
        "Policy; a new connection costs as much as about ten requests";
    /// The same where another server of the comparison closes differently.
    CLOSED_UNLIKE: "HTTP-09", "closed_share_unlike", Some(1e-4), Some(0.999e-3), Some(0.005),
        "Policy; at 1 in 200 new connections add about 5 %, and servers are told apart by 2 %; the \
         usual limits of servers, 100 and 1,000 requests, are well on either side of it";
    /// How far the bytes of certificates are apart from a rival's.
    CHAIN_BYTES_UNLIKE: "HTTP-13", "chain_bytes_unlike", None, None, Some(16.0),
        "a certificate that is made again with the same content may be some bytes longer or \
         shorter: its serial number and a signature by ECDSA have no fixed length (X.690)";
    /// How far the share of resumed handshakes is from all or none, or from a rival's.
    RESUMED_SHARE: "HTTP-14", "resumed_share_off", None, None, Some(0.01),
        "Policy; after a warm-up, the first handshakes of connections are not among them, nor, of \
         a drawn mix, so many misses as they are drawn to have";
    /// The trend over the window.
    DRIFT: "STA-03", "drift", None, Some(0.02), Some(0.10), "Policy";
    /// What the client added to the 99th percentile, where the kernel's times tell.
    CLIENT_SHARE: "GEN-12", "client_share", None, Some(0.10), Some(0.50), "Policy";
    /// The share of connections that were not open in the window.
    CONNECTIONS_MISSING: "GEN-18", "missing", Some(0.01), Some(0.1), None, "Policy";
    /// Users who found all places taken in terms of all who came.
    USERS_WAITED: "GEN-19", "users_waited_share", Some(0.0), Some(0.01), None,
        "Policy; beyond one in a hundred, the 99th percentile of first answers is a wait for a \
         place; response times count that wait, so no share of them makes a claim invalid";
    /// The gap between two camps of rounds in terms of their median.
    GAP_OF_MEDIAN: "STA-05", "gap_of_median", None, Some(0.05), None, "Policy";
    /// The gap between two camps of rounds in terms of the wider camp.
    GAP_OF_CAMP: "STA-05", "gap_of_camp", None, Some(2.0), None,
        "ADR 0015: 4 % of points with 6 normal rounds are beyond, 0.1 % of those with 10";
    /// How far the rounds of a server rise or fall from the first to the last.
    ORDER_DRIFT: "STA-06", "drift", None, Some(0.02), None, "Policy; what STA-03 allows a window";
    /// How sure it is that this is no chance: one minus the error probability of Kendall's test.
    ORDER_BY_CHANCE: "STA-06", "sureness", None, Some(0.99), None,
        "Policy; objects to 0.3 % of servers with 6 rounds of nothing but noise, never above 1 %";
    /// More answers with more connections: below this, the rate is flat.
    FLAT: "STA-09", "rate_growth", Some(0.05), None, None, "Policy";
    /// Growth of response times in terms of growth of connections.
    WAITS_GROW: "STA-09", "response_growth_per_connection_growth", Some(0.9), None, None,
        "Policy; 1.8 for twice the connections";
    /// Exchanges in flight against rate times service time.
    LITTLE: "STA-10", "deviation", None, Some(0.02), Some(0.10), "Policy; the law is exact";
    /// Half the width of the interval over rounds, in terms of their median: noted where it is not
    /// sharp.
    HALF_WIDTH: "STA-12", "half_width", Some(0.03), None, None, "Policy; precision is not a doubt";
    /// How busy both sides' busiest threads must be for the estimate of a server's own limit.
    BOTH_BUSY: "SRV-11", "busy_share_of_both", Some(0.85), None, None,
        "Policy; below it, batches and locks bend the line through the origin";
    /// How busy the server's busiest thread must be for the rate to be its own limit.
    SERVER_FULL: "SRV-11", "server_busy_share", Some(0.95), None, None,
        "Measured: of servers throttled to 50, 70 and 90 % of their limit, none that was busier \
         gave less than 88 % of it";
    /// How far the true limit may be above the estimate where the server is that busy.
    LIMIT_ERROR: "SRV-11", "error_of_estimate", Some(0.10), None, None,
        "Measured: the limits of these were 7 to 9 % above their estimates";
    /// How far it may be above the estimate where the server has more left.
    LIMIT_ERROR_BELOW: "SRV-11", "error_of_estimate_below", Some(0.35), None, None,
        "Measured: the limits were 3 % below to 33 % above the estimates";
    /// Source addresses that the server's access log lacks, of those that connections came from.
    ADDRESSES_UNSEEN: "SRV-12", "addresses_unseen_share", None, Some(0.10), None,
        "Policy; a connection that ends before its first answer leaves no line";
    /// Answers of which the server's access log has no line, beyond those that it may still hold.
    LINES_UNSEEN: "SRV-13", "lines_unseen_share", None, Some(0.01), None,
        "Policy; what is written late is left out before";
    /// How sure it is that void trials fell on servers unequally.
    VOID_UNEQUAL: "CPU-08", "void_share_sureness", None, Some(0.95), None,
        "Policy; Fisher's exact test, each server against all others, after Bonferroni";
}

/// A comparison of fewer rounds is invalid (STA-02).
pub const ROUNDS_MIN: u64 = 3;
/// A comparison of fewer rounds is suspect: no interval of 95 % exists (STA-02, STA-12).
pub const ROUNDS_SUSPECT: u64 = 6;
/// A single run with a shorter window says that it is one, in seconds (STA-12).
pub const WINDOW_MIN_S: f64 = 10.0;
