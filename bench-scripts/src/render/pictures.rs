//! The figures as files: `.svg` and `.png`.

use super::{Drawing, Exporter, Report};

pub(super) struct Svg<'a>(pub(super) &'a Drawing);

pub(super) struct Png<'a>(pub(super) &'a Drawing);

impl Exporter for Svg<'_> {
    fn file_name(&self) -> String {
        format!("{}.svg", self.0.figure.name)
    }

    fn export(&self, _report: &Report) -> anyhow::Result<Vec<u8>> {
        Ok(self.0.svg.clone().into_bytes())
    }
}

impl Exporter for Png<'_> {
    fn file_name(&self) -> String {
        format!("{}.png", self.0.figure.name)
    }

    fn export(&self, report: &Report) -> anyhow::Result<Vec<u8>> {
        Ok(report.rasteriser.png(&self.0.svg)?)
    }
}
