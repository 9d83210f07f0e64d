//! `cells.csv`: the cells as a flat table, for spreadsheets and data frames. Units are in the header.

use super::{Exporter, Report};
use crate::record::{
    Cell, Cost, Latency, Load, LoadErrors, Server, Spent, System, Usage, Validity, WorkerCounts,
};

pub(super) struct CellsCsv;

impl Exporter for CellsCsv {
    fn file_name(&self) -> String {
        "cells.csv".to_owned()
    }

    fn export(&self, report: &Report) -> anyhow::Result<Vec<u8>> {
        flat_table(COLUMNS, report.cells)
    }
}

/// A column: its name with the unit, and what it holds of a record; empty where the record does not have it.
pub(super) type Column<T> = (&'static str, fn(&T) -> String);

/// A row for each record, below the names of the columns.
pub(super) fn flat_table<T>(columns: &[Column<T>], records: &[T]) -> anyhow::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.iter().map(|(name, _)| *name))?;
    for record in records {
        writer.write_record(columns.iter().map(|(_, write)| write(record)))?;
    }
    Ok(writer.into_inner()?)
}

const COLUMNS: &[Column<Cell>] = &[
    ("index", |c| c.planned.index.to_string()),
    ("block", |c| c.planned.block.to_string()),
    ("entrant", |c| c.planned.entrant.clone()),
    ("connections_asked", |c| {
        c.planned.connections_asked.to_string()
    }),
    ("connections", |c| c.planned.connections.to_string()),
    ("attempt", |c| c.attempt.to_string()),
    ("started_at", |c| c.started_at.clone()),
    ("valid", |c| c.is_valid().to_string()),
    ("reasons", |c| reasons(&c.validity)),
    ("requests_per_minute", |c| decimal(c.requests_per_minute())),
    ("cost_user_us", |c| {
        decimal(c.cost().map(|cost| cost.user_us))
    }),
    ("cost_system_us", |c| {
        decimal(c.cost().map(|cost| cost.system_us))
    }),
    ("cost_total_us", |c| decimal(c.cost().map(Cost::total_us))),
    ("load_duration_us", |c| load(c, |l| l.duration_us)),
    ("load_requests", |c| load(c, |l| l.requests)),
    ("load_bytes", |c| load(c, |l| l.bytes)),
    ("errors_connect", |c| errors(c, |e| e.connect)),
    ("errors_read", |c| errors(c, |e| e.read)),
    ("errors_write", |c| errors(c, |e| e.write)),
    ("errors_timeout", |c| errors(c, |e| e.timeout)),
    ("errors_status", |c| errors(c, |e| e.status)),
    ("latency_p50_us", |c| latency(c, |l| l.p50_us)),
    ("latency_p75_us", |c| latency(c, |l| l.p75_us)),
    ("latency_p90_us", |c| latency(c, |l| l.p90_us)),
    ("latency_p99_us", |c| latency(c, |l| l.p99_us)),
    ("latency_p999_us", |c| latency(c, |l| l.p999_us)),
    ("latency_max_us", |c| latency(c, |l| l.max_us)),
    ("server_window_us", |c| server(c, |s| s.usage.window_us)),
    ("server_cpu_us", |c| server(c, |s| s.usage.cpu_us)),
    ("server_user_us", |c| server(c, |s| s.usage.user_us)),
    ("server_system_us", |c| server(c, |s| s.usage.system_us)),
    ("server_run_delay_us", |c| {
        server(c, |s| s.usage.run_delay_us)
    }),
    ("server_voluntary_switches", |c| {
        server(c, |s| s.usage.voluntary_switches)
    }),
    ("server_involuntary_switches", |c| {
        server(c, |s| s.usage.involuntary_switches)
    }),
    ("server_migrations", |c| {
        whole(c.server.as_ref().and_then(|s| s.usage.migrations))
    }),
    ("server_rss_bytes", |c| server(c, |s| s.usage.rss_bytes)),
    ("server_rss_before_bytes", |c| {
        server(c, |s| s.rss_before_bytes)
    }),
    ("server_threads", |c| {
        server(c, |s| u64::from(s.usage.threads))
    }),
    ("server_established", |c| {
        server(c, |s| u64::from(s.established))
    }),
    ("server_requests", |c| workers(c, |w| Some(w.requests))),
    ("server_bytes", |c| workers(c, |w| Some(w.bytes))),
    ("server_wakeups", |c| workers(c, |w| w.wakeups)),
    ("server_events", |c| workers(c, |w| w.events)),
    ("server_requests_in_life", |c| {
        whole(c.server.as_ref().and_then(|s| s.requests_in_life))
    }),
    ("client_window_us", |c| client(c, |u| u.window_us)),
    ("client_cpu_us", |c| client(c, |u| u.cpu_us)),
    ("client_user_us", |c| client(c, |u| u.user_us)),
    ("client_system_us", |c| client(c, |u| u.system_us)),
    ("client_run_delay_us", |c| client(c, |u| u.run_delay_us)),
    ("system_steal_percent", |c| {
        decimal(c.system.map(|s| s.steal_percent))
    }),
    ("system_throttled_us", |c| system(c, |s| s.throttled_us)),
    ("system_listen_overflows", |c| {
        system(c, |s| s.listen_overflows)
    }),
    ("system_retransmits", |c| system(c, |s| s.retransmits)),
    ("system_other_cpu_us", |c| system(c, |s| s.other_cpu_us)),
    ("spent_start_us", |c| spent(c, |s| s.start_us)),
    ("spent_warmup_us", |c| spent(c, |s| s.warmup_us)),
    ("spent_load_us", |c| spent(c, |s| s.load_us)),
    ("spent_stop_us", |c| spent(c, |s| s.stop_us)),
];

pub(super) fn reasons(validity: &Validity) -> String {
    let reasons = validity.reasons().iter();
    reasons
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

pub(super) fn whole(value: Option<u64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

pub(super) fn decimal(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.3}"))
}

fn load(cell: &Cell, pick: fn(&Load) -> u64) -> String {
    whole(cell.load.as_ref().map(pick))
}

fn errors(cell: &Cell, pick: fn(&LoadErrors) -> u64) -> String {
    whole(cell.load.as_ref().map(|load| pick(&load.errors)))
}

fn latency(cell: &Cell, pick: fn(&Latency) -> f64) -> String {
    decimal(cell.load.as_ref().map(|load| pick(&load.latency)))
}

fn server(cell: &Cell, pick: fn(&Server) -> u64) -> String {
    whole(cell.server.as_ref().map(pick))
}

/// The sum over workers; empty where one of them does not tell.
fn workers(cell: &Cell, pick: fn(&WorkerCounts) -> Option<u64>) -> String {
    let workers = cell.server.as_ref().and_then(|s| s.workers.as_ref());
    whole(workers.and_then(|workers| workers.iter().map(pick).sum()))
}

fn client(cell: &Cell, pick: fn(&Usage) -> u64) -> String {
    whole(cell.client.as_ref().map(pick))
}

fn system(cell: &Cell, pick: fn(&System) -> u64) -> String {
    whole(cell.system.as_ref().map(pick))
}

fn spent(cell: &Cell, pick: fn(&Spent) -> u64) -> String {
    pick(&cell.spent).to_string()
}
