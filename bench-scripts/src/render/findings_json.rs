//! `findings.json`.

use super::{Exporter, Report};

pub(super) struct FindingsJson;

impl Exporter for FindingsJson {
    fn file_name(&self) -> String {
        "findings.json".to_owned()
    }

    fn export(&self, report: &Report) -> anyhow::Result<Vec<u8>> {
        let mut json = serde_json::to_vec_pretty(report.findings)?;
        json.push(b'\n');
        Ok(json)
    }
}
