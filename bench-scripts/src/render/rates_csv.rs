//! `rates.csv`: the paced cells as a flat table, for spreadsheets and data frames. Units are in the header.

use super::cells_csv::{Column, decimal, flat_table, reasons, whole};
use super::{Exporter, Report};
use crate::paced::PacedLoad;
use crate::record::{PacedCell, Server, System};

pub(super) struct RatesCsv;

impl Exporter for RatesCsv {
    fn file_name(&self) -> String {
        "rates.csv".to_owned()
    }

    fn export(&self, report: &Report) -> anyhow::Result<Vec<u8>> {
        flat_table(COLUMNS, report.paced)
    }
}

const COLUMNS: &[Column<PacedCell>] = &[
    ("index", |c| c.planned.index.to_string()),
    ("block", |c| c.planned.block.to_string()),
    ("entrant", |c| c.planned.entrant.clone()),
    ("connections", |c| c.planned.connections.to_string()),
    ("rate_per_s", |c| c.planned.rate_per_s.to_string()),
    ("share_percent", |c| c.planned.share_percent.to_string()),
    ("share_of", |c| c.planned.of.to_string()),
    ("attempt", |c| c.attempt.to_string()),
    ("started_at", |c| c.started_at.clone()),
    ("valid", |c| c.validity.is_valid().to_string()),
    ("reasons", |c| reasons(&c.validity)),
    ("requests_due", |c| count(c, |l| l.requests.due)),
    ("requests_sent_in_window", |c| {
        count(c, |l| l.requests.sent_in_window)
    }),
    ("requests_answered", |c| count(c, |l| l.requests.answered)),
    ("requests_failed", |c| count(c, |l| l.requests.failed)),
    ("requests_not_sent", |c| count(c, |l| l.requests.not_sent)),
    ("reconnects", |c| count(c, |l| l.reconnects)),
    ("latency_mean_us", |c| figure(c, |l| l.latency.mean_us)),
    ("latency_p50_us", |c| figure(c, |l| l.latency.p50_us)),
    ("latency_p75_us", |c| figure(c, |l| l.latency.p75_us)),
    ("latency_p90_us", |c| figure(c, |l| l.latency.p90_us)),
    ("latency_p99_us", |c| figure(c, |l| l.latency.p99_us)),
    ("latency_p999_us", |c| figure(c, |l| l.latency.p999_us)),
    ("latency_max_us", |c| figure(c, |l| l.latency.max_us)),
    ("service_time_p50_us", |c| {
        figure(c, |l| l.service_time.p50_us)
    }),
    ("service_time_p99_us", |c| {
        figure(c, |l| l.service_time.p99_us)
    }),
    ("service_time_max_us", |c| {
        figure(c, |l| l.service_time.max_us)
    }),
    ("lateness_p99_us", |c| figure(c, |l| l.lateness.p99_us)),
    ("lateness_max_us", |c| figure(c, |l| l.lateness.max_us)),
    ("generator_busy_share", |c| figure(c, |l| l.generator_busy)),
    ("cost_total_us", |c| decimal(c.cost_us())),
    ("server_window_us", |c| server(c, |s| s.usage.window_us)),
    ("server_cpu_us", |c| server(c, |s| s.usage.cpu_us)),
    ("server_user_us", |c| server(c, |s| s.usage.user_us)),
    ("server_system_us", |c| server(c, |s| s.usage.system_us)),
    ("server_rss_bytes", |c| server(c, |s| s.usage.rss_bytes)),
    ("server_established", |c| {
        server(c, |s| u64::from(s.established))
    }),
    ("system_steal_percent", |c| {
        decimal(c.system.map(|s| s.steal_percent))
    }),
    ("system_throttled_us", |c| system(c, |s| s.throttled_us)),
    ("system_listen_overflows", |c| {
        system(c, |s| s.listen_overflows)
    }),
    ("system_retransmits", |c| system(c, |s| s.retransmits)),
];

fn count(cell: &PacedCell, pick: fn(&PacedLoad) -> u64) -> String {
    whole(cell.load.as_ref().map(pick))
}

fn figure(cell: &PacedCell, pick: fn(&PacedLoad) -> f64) -> String {
    decimal(cell.load.as_ref().map(pick))
}

fn server(cell: &PacedCell, pick: fn(&Server) -> u64) -> String {
    whole(cell.server.as_ref().map(pick))
}

fn system(cell: &PacedCell, pick: fn(&System) -> u64) -> String {
    whole(cell.system.as_ref().map(pick))
}
