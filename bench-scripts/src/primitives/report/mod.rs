//! Everything that follows from a primitives run: tables, orders, pictures, the ladder.
//!
//! [`findings`] concludes; [`tables`], [`pictures`] and [`ladder_picture`] show it; [`markdown`], [`html`] and [`csv`] are the files. The
//! content of each is a function of the record alone.

mod csv;
pub mod findings;
mod html;
mod key;
pub mod ladder;
mod ladder_picture;
mod lead;
mod markdown;
pub mod orders;
mod pictures;
pub mod reference;
mod tables;
mod terminal;
mod words;

use anyhow::Context;

use super::record::Record;
use crate::figure::png::Rasteriser;
use crate::figure::{Figure, svg};
use findings::Findings;
use key::Rows;

pub use terminal::{name, outcome, terminal_table};

/// What [`render`] made.
#[derive(Debug)]
pub struct Rendered {
    /// What the run says.
    pub findings: Findings,
    /// Names and contents of the files, in the order in which a reader wants them.
    pub files: Vec<(String, Vec<u8>)>,
    /// What a reader must know before the numbers: orders that do not hold, rows that failed, fonts that are missing.
    pub warnings: Vec<String>,
}

/// A figure, and how it is drawn.
struct Drawing {
    figure: Figure,
    svg: String,
}

/// What all files draw from.
struct Report<'a> {
    record: &'a Record,
    findings: &'a Findings,
    drawings: &'a [Drawing],
}

/// Makes every file that follows from `record`.
///
/// # Errors
///
/// When a file cannot be encoded.
pub fn render(record: &Record) -> anyhow::Result<Rendered> {
    let findings = findings::of(record);
    let drawings: Vec<Drawing> = figures(record, &findings)
        .into_iter()
        .map(|figure| Drawing {
            svg: svg::draw(&figure),
            figure,
        })
        .collect();
    let report = Report {
        record,
        findings: &findings,
        drawings: &drawings,
    };
    let json =
        serde_json::to_string_pretty(&findings).context("cannot write findings.json")? + "\n";
    let mut files = vec![
        ("report.html".to_owned(), html::page(&report)?.into_bytes()),
        (
            "report.md".to_owned(),
            markdown::text(&report)?.into_bytes(),
        ),
        ("findings.json".to_owned(), json.into_bytes()),
        ("rows.csv".to_owned(), csv::rows(record)?),
    ];
    let rasteriser = Rasteriser::new();
    for Drawing { figure, svg } in &drawings {
        let png = rasteriser.png(svg)?;
        files.push((format!("{}.svg", figure.name), svg.clone().into_bytes()));
        files.push((format!("{}.png", figure.name), png));
    }
    let mut warnings = words::warnings(record, &findings);
    warnings.extend(rasteriser.warning().map(str::to_owned));
    Ok(Rendered {
        findings,
        files,
        warnings,
    })
}

/// The ladder first.
fn figures(record: &Record, findings: &Findings) -> Vec<Figure> {
    let ladder = ladder_picture::figure(&findings.ladder, record.servers.as_ref());
    ladder
        .into_iter()
        .chain(pictures::all(Rows(&record.rows)))
        .collect()
}

#[cfg(test)]
mod tests {
    use rungs_primitives::row::Family;
    use rungs_primitives::{channels, handoffs, locks, programs};

    use super::key::Key;
    use super::{ladder, orders, reference};

    #[test]
    fn what_the_report_asks_for_can_be_measured() {
        let asked = ladder::keys()
            .chain(orders::keys())
            .chain(reference::keys());
        let unknown: Vec<Key> = asked.filter(|key| !is_measured(*key)).collect();
        assert_eq!(unknown, []);
    }

    fn is_measured(key: Key) -> bool {
        match key.family {
            Family::Latency | Family::Bandwidth | Family::Messages => {
                channels::named(key.mechanism).is_some()
            }
            Family::Threads | Family::Processes => locks::named(key.mechanism).is_some(),
            Family::Spawn => programs::named(key.mechanism).is_some(),
            Family::Wakeups => handoffs::named(key.mechanism).is_some(),
        }
    }

    #[test]
    fn the_documents_values_are_where_they_belong() {
        let of = |system, family, mechanism, parameter| {
            reference::value(
                system,
                Key {
                    family,
                    mechanism,
                    parameter,
                },
            )
        };
        use reference::System::{DigitalUnix, Linux54, Solaris};
        // The columns that the text's blank cells shift.
        assert_eq!(of(DigitalUnix, Family::Latency, "doors", None), None);
        assert_eq!(
            of(DigitalUnix, Family::Latency, "Unix stream", None),
            Some(289.0)
        );
        assert_eq!(
            of(Solaris, Family::Bandwidth, "Unix stream", Some(65_536)),
            Some(11.3)
        );
        assert_eq!(of(Solaris, Family::Bandwidth, "TCP", Some(32_768)), None);
        assert_eq!(
            of(DigitalUnix, Family::Bandwidth, "TCP", Some(65_536)),
            Some(4.6)
        );
        assert_eq!(
            of(Solaris, Family::Threads, "fcntl record lock", Some(2)),
            None
        );
        assert_eq!(
            of(DigitalUnix, Family::Processes, "Posix mutex", Some(1)),
            None
        );
        assert_eq!(
            of(DigitalUnix, Family::Processes, "fcntl record lock", Some(5)),
            Some(3419.2)
        );
        assert_eq!(
            of(Linux54, Family::Messages, "Unix datagram", None),
            Some(5.197)
        );
    }
}
