//! The rules, one per file, and the one table of them.

mod access_log_mismatch;
mod access_log_short;
mod accounting;
mod addresses_merged;
mod agents_apart;
mod background;
mod batch_time;
mod bimodal_rounds;
mod body;
mod capacity_not_reached;
mod censored;
mod client_dead_time;
mod client_share;
mod clock;
mod connection_capacity;
mod connections_missing;
mod conntrack_active;
mod content_coding;
mod debug_build;
mod early_data;
mod environment_changed;
mod error_log_growth;
mod errors;
mod gen_runqueue_wait;
mod gen_thread_saturated;
mod h2_goaway;
mod h2_streams;
mod irq_hot_cpu;
mod keepalive;
mod link_saturated;
mod listen_overflow;
mod little;
mod loopback;
mod memory_partial;
mod near_generator_ceiling;
mod nofile;
mod non_stationary;
mod offloads;
mod order_effect;
mod out_of_memory;
mod path_mtu;
mod port_exhaustion;
mod protocol_fallback;
mod rate_not_achieved;
mod receive_queues;
mod request_parity;
mod resumption;
mod retransmits;
mod saturated_flat;
mod schedule_late;
mod server_died;
mod shared_cpus;
mod short_run;
mod softnet_drop;
mod status;
mod steal;
mod swap;
mod syn_cookies;
mod tls_library;
mod tls_params;
mod too_few_rounds;
mod too_few_samples;
mod two_sided_limit;
mod udp_drops;
mod uneven_load;
mod unexplained_limit;
mod users_waited;
mod virtualised;
mod wrong_server;

use crate::check::Check;

pub(crate) use near_generator_ceiling::headroom;
pub use retransmits::WAITED;

/// Every rule, in the order of the catalogue.
pub(crate) static ALL: &[&Check] = &[
    &gen_thread_saturated::CHECK,
    &near_generator_ceiling::CHECK,
    &schedule_late::CHECK,
    &rate_not_achieved::CHECK,
    &client_dead_time::CHECK,
    &shared_cpus::CHECK,
    &gen_runqueue_wait::CHECK,
    &uneven_load::CHECK,
    &clock::CHECK,
    &client_share::CHECK,
    &accounting::CHECK,
    &debug_build::CHECK,
    &batch_time::CHECK,
    &agents_apart::CHECK,
    &connections_missing::CHECK,
    &users_waited::CHECK,
    &port_exhaustion::CHECK,
    &listen_overflow::CHECK,
    &syn_cookies::CHECK,
    &retransmits::CHECK,
    &softnet_drop::CHECK,
    &udp_drops::CHECK,
    &conntrack_active::CHECK,
    &link_saturated::CHECK,
    &loopback::CHECK,
    &offloads::CHECK,
    &irq_hot_cpu::CHECK,
    &path_mtu::CHECK,
    &receive_queues::CHECK,
    &steal::CHECK,
    &virtualised::CHECK,
    &background::CHECK,
    &swap::CHECK,
    &out_of_memory::CHECK,
    &memory_partial::CHECK,
    &wrong_server::CHECK,
    &server_died::CHECK,
    &nofile::CHECK,
    &connection_capacity::CHECK,
    &unexplained_limit::CHECK,
    &access_log_mismatch::CHECK,
    &error_log_growth::CHECK,
    &two_sided_limit::CHECK,
    &addresses_merged::CHECK,
    &access_log_short::CHECK,
    &errors::CHECK,
    &status::CHECK,
    &body::CHECK,
    &content_coding::CHECK,
    &keepalive::CHECK,
    &protocol_fallback::CHECK,
    &h2_streams::CHECK,
    &h2_goaway::CHECK,
    &tls_params::CHECK,
    &resumption::CHECK,
    &early_data::CHECK,
    &tls_library::CHECK,
    &request_parity::CHECK,
    &too_few_samples::CHECK,
    &too_few_rounds::CHECK,
    &non_stationary::CHECK,
    &bimodal_rounds::CHECK,
    &order_effect::CHECK,
    &saturated_flat::CHECK,
    &little::CHECK,
    &capacity_not_reached::CHECK,
    &short_run::CHECK,
    &censored::CHECK,
    &environment_changed::CHECK,
];

#[cfg(test)]
mod tests;
