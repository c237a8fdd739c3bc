//! The kernel settings that are read and stored: those that rules, tables or readers of a report
//! use, and no others.
//!
//! It is a list of names and not of folders, because a folder of `/proc/sys` holds secrets too:
//! `net.ipv4.tcp_fastopen_key` is a key that only root may read, and a trial is there to be shown.

/// Names of settings, sorted.
pub const SETTINGS: &[&str] = &[
    "fs.aio-max-nr",
    "fs.epoll.max_user_watches",
    "fs.file-max",
    "fs.nr_open",
    "fs.pipe-max-size",
    "fs.protected_regular",
    "kernel.dmesg_restrict",
    "kernel.io_uring_disabled",
    "kernel.nmi_watchdog",
    "kernel.numa_balancing",
    "kernel.perf_event_paranoid",
    "kernel.pid_max",
    "kernel.randomize_va_space",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_cfs_bandwidth_slice_us",
    "kernel.sched_child_runs_first",
    "kernel.sched_energy_aware",
    "kernel.sched_latency_ns",
    "kernel.sched_migration_cost_ns",
    "kernel.sched_min_granularity_ns",
    "kernel.sched_nr_migrate",
    "kernel.sched_rt_period_us",
    "kernel.sched_rt_runtime_us",
    "kernel.sched_schedstats",
    "kernel.sched_tunable_scaling",
    "kernel.sched_wakeup_granularity_ns",
    "kernel.task_delayacct",
    "kernel.threads-max",
    "kernel.timer_migration",
    "kernel.unprivileged_bpf_disabled",
    "kernel.watchdog",
    "net.core.bpf_jit_enable",
    "net.core.bpf_jit_harden",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.dev_weight",
    "net.core.flow_limit_table_len",
    "net.core.gro_normal_batch",
    "net.core.high_order_alloc_disable",
    "net.core.max_skb_frags",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.netdev_tstamp_prequeue",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.skb_defer_max",
    "net.core.somaxconn",
    "net.core.tstamp_allow_data",
    "net.core.txrehash",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_conntrack_max",
    "net.ipv4.ip_early_demux",
    "net.ipv4.ip_forward",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_no_pmtu_disc",
    "net.ipv4.ip_nonlocal_bind",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_abc",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_app_win",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_base_mss",
    "net.ipv4.tcp_challenge_ack_limit",
    "net.ipv4.tcp_child_ehash_entries",
    "net.ipv4.tcp_comp_sack_delay_ns",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_demux",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_ecn_fallback",
    "net.ipv4.tcp_ehash_entries",
    "net.ipv4.tcp_fack",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_invalid_ratelimit",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_l3mdev_accept",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_low_latency",
    "net.ipv4.tcp_max_orphans",
    "net.ipv4.tcp_max_reordering",
    "net.ipv4.tcp_max_ssthresh",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_migrate_req",
    "net.ipv4.tcp_min_rtt_wlen",
    "net.ipv4.tcp_min_snd_mss",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_orphan_retries",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_plb_enabled",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_reflect_tos",
    "net.ipv4.tcp_reordering",
    "net.ipv4.tcp_retries1",
    "net.ipv4.tcp_retries2",
    "net.ipv4.tcp_rfc1337",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_rto_max_ms",
    "net.ipv4.tcp_rto_min_us",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_shrink_window",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_stdurg",
    "net.ipv4.tcp_syn_linear_timeouts",
    "net.ipv4.tcp_syn_retries",
    "net.ipv4.tcp_synack_retries",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_thin_linear_timeouts",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tso_rtt_log",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_tw_recycle",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_tw_reuse_delay",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_workaround_signed_windows",
    "net.mptcp.enabled",
    "net.netfilter.nf_conntrack_acct",
    "net.netfilter.nf_conntrack_buckets",
    "net.netfilter.nf_conntrack_count",
    "net.netfilter.nf_conntrack_expect_max",
    "net.netfilter.nf_conntrack_helper",
    "net.netfilter.nf_conntrack_max",
    "net.netfilter.nf_conntrack_tcp_be_liberal",
    "net.netfilter.nf_conntrack_tcp_loose",
    "net.netfilter.nf_conntrack_tcp_max_retrans",
    "net.netfilter.nf_conntrack_tcp_timeout_close",
    "net.netfilter.nf_conntrack_tcp_timeout_close_wait",
    "net.netfilter.nf_conntrack_tcp_timeout_established",
    "net.netfilter.nf_conntrack_tcp_timeout_fin_wait",
    "net.netfilter.nf_conntrack_tcp_timeout_last_ack",
    "net.netfilter.nf_conntrack_tcp_timeout_syn_recv",
    "net.netfilter.nf_conntrack_tcp_timeout_syn_sent",
    "net.netfilter.nf_conntrack_tcp_timeout_time_wait",
    "net.netfilter.nf_conntrack_timestamp",
    "vm.compaction_proactiveness",
    "vm.defrag_mode",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.max_map_count",
    "vm.min_free_kbytes",
    "vm.nr_hugepages",
    "vm.nr_overcommit_hugepages",
    "vm.numa_stat",
    "vm.overcommit_kbytes",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.page-cluster",
    "vm.percpu_pagelist_high_fraction",
    "vm.stat_interval",
    "vm.swappiness",
    "vm.vfs_cache_pressure",
    "vm.watermark_boost_factor",
    "vm.watermark_scale_factor",
    "vm.zone_reclaim_mode",
];

/// Whether a setting of that name is read and stored.
pub fn is_setting(name: &str) -> bool {
    SETTINGS.binary_search(&name).is_ok()
}

/// Parameters of the kernel's command line whose values can move a number, sorted. The names of all
/// others are kept and their values are not: they name disks, hosts and passwords.
const PARAMETERS: &[&str] = &[
    "amd_pstate",
    "audit",
    "clocksource",
    "cpufreq.default_governor",
    "cpuidle.governor",
    "default_hugepagesz",
    "hugepages",
    "hugepagesz",
    "idle",
    "intel_idle.max_cstate",
    "intel_iommu",
    "intel_pstate",
    "iommu",
    "irqaffinity",
    "isolcpus",
    "kpti",
    "l1tf",
    "lockdown",
    "lpj",
    "maxcpus",
    "mce",
    "mds",
    "mem",
    "mitigations",
    "nmi_watchdog",
    "nohz",
    "nohz_full",
    "nr_cpus",
    "numa",
    "numa_balancing",
    "page_poison",
    "panic",
    "pci",
    "pcie_aspm",
    "preempt",
    "processor.max_cstate",
    "pti",
    "rcu_nocbs",
    "retbleed",
    "selinux",
    "skew_tick",
    "slab_nomerge",
    "spec_rstack_overflow",
    "spec_store_bypass_disable",
    "spectre_v2",
    "srbds",
    "swapaccount",
    "systemd.unified_cgroup_hierarchy",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
    "tsx",
    "tsx_async_abort",
];

/// A kernel's command line without values that say nothing about speed, and without what the kernel
/// hands to the first program: the words behind `--`.
pub fn without_foreign_values(command_line: &str) -> String {
    let mut words = command_line.split_whitespace();
    let mut kept = Vec::new();
    for word in words.by_ref().take_while(|word| *word != "--") {
        kept.push(match word.split_once('=') {
            Some((name, value)) if PARAMETERS.binary_search(&name).is_err() && value != HIDDEN => {
                format!("{name}={HIDDEN}")
            }
            _ => word.to_owned(),
        });
    }
    if words.next().is_some() {
        kept.push(format!("-- {HIDDEN}"));
    }
    kept.join(" ")
}

const HIDDEN: &str = "...";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_hold_no_secret() {
        for list in [SETTINGS, PARAMETERS] {
            assert!(list.is_sorted_by(|a, b| a < b), "a search needs order");
        }
        for name in [
            "net.ipv4.tcp_fastopen_key",
            "net.core.netdev_rss_key",
            "kernel.hostname",
            "kernel.domainname",
            "kernel.random.boot_id",
            "kernel.core_pattern",
            "net.ipv6.conf.all.stable_secret",
        ] {
            assert!(!is_setting(name), "{name}");
        }
    }

    #[test]
    fn values_of_foreign_parameters_are_left_out() {
        let line = "root=UUID=1-2 ro quiet isolcpus=2,3 mitigations=off ks=http://u:p@host/x";
        let kept = without_foreign_values(line);
        assert_eq!(
            kept,
            "root=... ro quiet isolcpus=2,3 mitigations=off ks=..."
        );
        assert_eq!(without_foreign_values(&kept), kept);
    }

    #[test]
    fn what_the_kernel_hands_to_the_first_program_is_left_out() {
        let line = "quiet mitigations=off -- --listen 10.1.2.3:2024 --token abc key=1";
        let kept = without_foreign_values(line);
        assert_eq!(kept, "quiet mitigations=off -- ...");
        assert_eq!(without_foreign_values(&kept), kept);
        assert_eq!(without_foreign_values("quiet --"), "quiet");
    }
}
