//! A run in the formats of other tools: an exporter per file.

mod bencher;
mod hyperfine;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::analyse::analyse;
use crate::findings::Findings;
use crate::report::{self, Record};
use crate::store;

/// A format of another tool, and the file to write.
#[derive(Clone, Debug)]
pub struct Export {
    format: Format,
    file: PathBuf,
}

/// Makes the content of a file from a run.
type Format = fn(&Record, &Findings) -> Value;

/// The formats by name.
const FORMATS: &[(&str, Format)] = &[
    ("bencher", |_, findings| bencher::export(findings)),
    ("hyperfine", |record, _| hyperfine::export(record)),
];

/// What `--export FORMAT FILE`, given any number of times, asks for.
///
/// # Errors
///
/// If there is no such format.
pub fn parse(words: &[String]) -> anyhow::Result<Vec<Export>> {
    let (pairs, _) = words.as_chunks::<2>();
    let export = |[name, file]: &[String; 2]| {
        let Some((_, format)) = FORMATS.iter().find(|(known, _)| known == name) else {
            let names: Vec<_> = FORMATS.iter().map(|(name, _)| *name).collect();
            bail!(
                "--export: there is no format `{name}`: give {}",
                names.join(" or ")
            );
        };
        Ok(Export {
            format: *format,
            file: file.into(),
        })
    };
    pairs.iter().map(export).collect()
}

/// Writes the run in `dir` to the files asked for.
///
/// # Errors
///
/// When the run cannot be read, or a file cannot be written.
pub fn write(dir: &Path, exports: &[Export]) -> anyhow::Result<()> {
    if exports.is_empty() {
        return Ok(());
    }
    let record = report::read(dir)?;
    let findings = analyse(&record.run, &record.cells);
    for Export { format, file } in exports {
        let mut text = serde_json::to_string_pretty(&format(&record, &findings))?;
        text.push('\n');
        store::write_whole(file, text.as_bytes())
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// The name of a point in other tools' lists.
fn benchmark_name(label: &str, connections_asked: u32) -> String {
    format!("{label} at {connections_asked} connections")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;

    #[test]
    fn a_format_that_is_not_there_lists_those_that_are() {
        let words = ["csv", "file"].map(String::from);
        let message = parse(&words).unwrap_err().to_string();
        assert!(
            message.contains("`csv`: give bencher or hyperfine"),
            "{message}"
        );
    }

    /// The schema that Bencher publishes, in the reference of its metric format.
    #[test]
    fn bencher_gets_benchmarks_measures_and_metrics() {
        let record = made::record();
        let findings = analyse(&record.run, &record.cells);
        let value = bencher::export(&findings);
        let schema = serde_json::json!({
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "properties": {
                        "value": { "type": "number" },
                        "lower_value": { "type": "number" },
                        "upper_value": { "type": "number" }
                    },
                    "required": ["value"],
                    "additionalProperties": false
                }
            }
        });
        assert!(jsonschema::is_valid(&schema, &value), "{value:#}");
        let point = &findings.entrants[1].points[0];
        let cost = &value["epoll at 100 connections"]["cost-to-null"];
        let expected = point.cost_to_control.unwrap();
        assert_eq!(cost["value"], expected.median);
        assert_eq!(cost["upper_value"], expected.max);
    }

    #[test]
    fn hyperfine_gets_a_time_per_valid_cell() {
        let record = made::record();
        let value = hyperfine::export(&record);
        let results = value["results"].as_array().unwrap();
        assert_eq!(results.len(), 20);
        for result in results {
            let times = result["times"].as_array().unwrap();
            let mean = times.iter().map(|t| t.as_f64().unwrap()).sum::<f64>() / times.len() as f64;
            assert!((result["mean"].as_f64().unwrap() - mean).abs() < 1e-12);
            assert_eq!(result["exit_codes"].as_array().unwrap().len(), times.len());
            // Of a request, in seconds.
            assert!((1e-6..1e-4).contains(&mean), "{mean}");
            let parts = ["user", "system"].map(|part| result[part].as_f64().unwrap());
            assert!((parts[0] + parts[1] - mean).abs() < 1e-9);
        }
        let epoll = &results[4];
        assert_eq!(epoll["command"], "epoll at 100 connections");
        assert_eq!(epoll["parameters"]["connections"], "100");
        let valid = record.cells.iter().filter(|cell| cell.is_valid()).count();
        let times = results.iter().map(|r| r["times"].as_array().unwrap().len());
        assert_eq!(times.sum::<usize>(), valid);
    }
}
