//! What an exchange took besides the server's CPU time: waits, switches, interrupts, bytes, and
//! memory for each connection.

use model::usage::GroupUsage;
use model::{Bytes, Span, Trial};
use verdict::summary::{cpu_of, exchanges_between_readings};

use super::digest::size;

/// What an exchange took, of one trial; none where nobody could tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Resources {
    /// For how long threads of the server could have run and had no CPU, in microseconds.
    pub runqueue_wait_us: Option<f64>,
    /// CPU time of servers behind the one that is asked, in microseconds.
    pub behind_us: Option<f64>,
    /// How often threads of the server gave their CPU up, to wait.
    pub switches_voluntary: Option<f64>,
    /// How often others took it from them.
    pub switches_involuntary: Option<f64>,
    /// System calls of the server that wrote to a file or a socket.
    pub write_calls: Option<f64>,
    /// Processes and threads that began on the whole machine, from before the load to its end: with
    /// CGI one, and with a server that keeps its processes none.
    pub processes_begun: Option<f64>,
    /// Interrupts and softirqs on the server's CPUs, in microseconds. Where the generator shares
    /// them, so do its own.
    pub interrupt_us: Option<f64>,
    /// Bytes that the generator received.
    pub received: Option<f64>,
    /// Those of them that are no content: heads, and what frames and protects them.
    pub beside_content: Option<f64>,
    /// Bytes that the generator sent.
    pub sent: Option<f64>,
    /// The generator's user CPU time in microseconds.
    pub generator_user_us: Option<f64>,
    /// Its system CPU time.
    pub generator_system_us: Option<f64>,
    /// The server's memory for each connection that it had (PSS), all of it divided.
    pub memory_per_connection: Option<f64>,
    /// The server's processes at the end of the window.
    pub processes: Option<f64>,
    /// Its threads then.
    pub threads: Option<f64>,
    /// Lines of its access log.
    pub logged_lines: Option<f64>,
    /// Bytes of its access log.
    pub logged_bytes: Option<f64>,
}

impl Resources {
    /// Those of `trial`.
    pub(super) fn of(trial: &Trial) -> Self {
        let record = &trial.record;
        let server = trial.usage.server.as_ref();
        let generator = trial.usage.generator.as_ref();
        let generator = generator.and_then(|group| cpu_of(group, record)?.split_us);
        let of_server = |of: fn(&GroupUsage) -> Option<f64>| {
            let group = server?;
            Some(of(group)? / exchanges_between_readings(group, record)?)
        };
        let ended = count(record.total.ended_in_it());
        let of_all = |value: Option<f64>| value.filter(|_| ended > 0.0).map(|value| value / ended);
        let bytes = |bytes: Bytes| of_all(Some(size(bytes)));
        let total = &record.total;
        let beside = total
            .bytes_received
            .count()
            .checked_sub(total.bytes_content.count());
        let connections = count(u64::from(trial.plan.connections)).max(1.0);
        // Its log has what came before the window and after it, too.
        let facts = trial.context.server.as_ref();
        let phases = [
            &record.reference_phase,
            &record.warmup_phase,
            total,
            &record.drain_phase,
        ];
        let asked: u64 = phases.iter().map(|phase| phase.sent_in_it()).sum();
        let logged =
            |number: Option<u64>| Some(count(number?) / count(asked)).filter(|_| asked > 0);
        Self {
            runqueue_wait_us: of_server(|group| group.runqueue_wait.map(Span::as_us_f64)),
            behind_us: of_server(|group| group.behind_cpu.map(Span::as_us_f64)),
            switches_voluntary: of_server(|group| group.context_switches_voluntary.map(count)),
            switches_involuntary: of_server(|group| group.context_switches_involuntary.map(count)),
            write_calls: of_server(|group| group.write_calls.map(count)),
            processes_begun: begun(trial),
            interrupt_us: of_all(interrupts_us(trial)),
            received: bytes(total.bytes_received),
            beside_content: of_all(beside.map(count)),
            sent: bytes(total.bytes_sent),
            generator_user_us: generator.map(|(user, _)| user),
            generator_system_us: generator.map(|(_, system)| system),
            memory_per_connection: server
                .and_then(|group| group.memory_pss)
                .map(|bytes| size(bytes) / connections),
            processes: server.and_then(|group| Some(f64::from(group.processes?))),
            threads: server.and_then(|group| Some(f64::from(group.threads?))),
            logged_lines: logged(facts.and_then(|server| server.access_log_lines)),
            logged_bytes: logged(facts.and_then(|server| Some(server.access_log_bytes?.count()))),
        }
    }
}

/// The generator's CPU time per exchange that ended, in microseconds.
pub(super) fn generator_us(trial: &Trial) -> Option<f64> {
    let generator = trial.usage.generator.as_ref()?;
    Some(cpu_of(generator, &trial.record)?.total_us)
}

/// What began on the machine, for each exchange of all phases.
fn begun(trial: &Trial) -> Option<f64> {
    let begun = trial.usage.system.as_ref()?.others.as_ref()?.begun?;
    let record = &trial.record;
    let phases = [&record.warmup_phase, &record.total, &record.drain_phase];
    let ended: u64 = phases.iter().map(|phase| phase.ended_in_it()).sum();
    (ended > 0).then(|| count(begun) / count(ended))
}

/// How long the server's CPUs were in interrupts during the window, in microseconds.
fn interrupts_us(trial: &Trial) -> Option<f64> {
    let cpus = &trial.context.server.as_ref()?.cpus;
    let all = trial.usage.system.as_ref()?.cpus.iter();
    let own = all.filter(|one| cpus.contains(&one.cpu));
    let shares: Vec<f64> = own.map(|one| one.interrupt).collect();
    let whole: f64 = shares.iter().sum();
    (!shares.is_empty()).then(|| whole * trial.record.window.as_us_f64())
}

#[expect(clippy::cast_precision_loss, reason = "a count below 2^53")]
const fn count(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::usage::{CpuUsage, Others, SystemUsage};

    use super::*;

    #[test]
    fn what_an_exchange_took_is_divided_by_what_was_seen_of_them() {
        let mut trial = fixture::open();
        let ended = count(trial.record.total.ended_in_it());
        let server = trial.context.server.get_or_insert_default();
        server.cpus = vec![1];
        server.access_log_lines = Some(trial.record.total.sent_in_it() * 2);
        server.access_log_bytes = Some(Bytes::new(trial.record.total.sent_in_it() * 200));
        let cpus = server.cpus.clone();
        let group = trial.usage.server.as_mut().unwrap();
        // Half of the work lies between the readings.
        group.covered = Some(trial.record.window / 2);
        group.runqueue_wait = Some(Span::from_ms(3));
        group.context_switches_voluntary = Some(1_000);
        group.context_switches_involuntary = None;
        group.write_calls = Some(2_500);
        group.behind_cpu = Some(Span::from_ms(5));
        group.memory_pss = Some(Bytes::new(64_000));
        group.processes = Some(3);
        group.threads = Some(75);
        trial.plan.connections = 64;
        let busy = |cpu, interrupt| CpuUsage {
            cpu,
            interrupt,
            ..CpuUsage::default()
        };
        trial.usage.system = Some(SystemUsage {
            cpus: vec![busy(cpus[0], 0.1), busy(63, 0.9)],
            others: Some(Others {
                begun: Some(3 * trial.record.total.ended_in_it()),
                ..Others::default()
            }),
            ..SystemUsage::default()
        });
        let total = &mut trial.record.total;
        total.bytes_received = Bytes::new(total.bytes_content.count() + 5_000);
        // What began belongs to what was asked before the window and after it, too.
        let other = total.ended_in_it() / 2;
        trial.record.warmup_phase.passed = None;
        trial.record.warmup_phase.sent = other;
        trial.record.drain_phase.passed = None;
        trial.record.drain_phase.sent = other;
        let seen = Resources::of(&trial);
        let near = |seen: Option<f64>, expected: f64| {
            let seen = seen.expect("it is known");
            assert!((seen / expected - 1.0).abs() < 1e-9, "{seen} {expected}");
        };
        near(seen.runqueue_wait_us, 3_000.0 / (ended / 2.0));
        near(seen.switches_voluntary, 1_000.0 / (ended / 2.0));
        near(seen.behind_us, 5_000.0 / (ended / 2.0));
        assert_eq!(seen.switches_involuntary, None);
        near(seen.write_calls, 2_500.0 / (ended / 2.0));
        near(
            seen.processes_begun,
            3.0 * ended / (ended + 2.0 * count(other)),
        );
        let window = trial.record.window.as_us_f64();
        near(seen.interrupt_us, 0.1 * window / ended);
        near(seen.beside_content, 5_000.0 / ended);
        near(seen.memory_per_connection, 1_000.0);
        near(seen.processes, 3.0);
        near(seen.threads, 75.0);
        // As many were asked for before the window and after it as in it.
        let record = &trial.record;
        let in_window = count(record.total.sent_in_it());
        let asked = in_window + 2.0 * count(other) + count(record.reference_phase.sent_in_it());
        near(seen.logged_lines, 2.0 * in_window / asked);
        near(seen.logged_bytes, 200.0 * in_window / asked);
    }
}
