//! Measures the rows of a run: each is kept as it comes, and each family ends with its table.

use std::sync::atomic::Ordering;

use rungs_primitives::plan::Plan;
use rungs_primitives::row::{Family, Outcome, Row};
use rungs_primitives::{Event, run};

use super::record::Run;
use super::{report, row_time};
use crate::output;
use crate::progress::Progress;
use crate::store::Folder;

/// Measures what `plan` has, until the end or until it is stopped. How many rows failed.
///
/// # Errors
///
/// When the plan cannot be run, or a row cannot be written.
pub(super) fn measure(plan: &Plan, described: &Run, folder: &mut Folder) -> anyhow::Result<usize> {
    let mut recorder = Recorder {
        plan,
        folder,
        progress: Progress::new(described.rows, row_time(plan)),
        family: Vec::new(),
        group: 0,
        result: Ok(()),
    };
    let failed = run(plan, &mut |event| recorder.hear(event))?;
    recorder.end_of_family();
    recorder.progress.finish();
    recorder.result?;
    Ok(failed)
}

struct Recorder<'a> {
    plan: &'a Plan,
    folder: &'a mut Folder,
    progress: Progress,
    /// The rows of the family that is under way.
    family: Vec<Row>,
    /// Rows of the group that is under way, until the first of them is there: then all are.
    group: u32,
    /// What went wrong first.
    result: anyhow::Result<()>,
}

impl Recorder<'_> {
    fn hear(&mut self, event: Event<'_>) {
        match event {
            Event::Planned(_) => {}
            Event::Group { family, mechanisms } => {
                if self.family_under_way() != Some(family) {
                    self.end_of_family();
                }
                let group = format!("{}: {}", family.name(), mechanisms.join(", "));
                self.progress.announce(group, "");
                self.group = u32::try_from(mechanisms.len()).unwrap_or(u32::MAX);
            }
            Event::Row(row) => {
                if self.group > 0 {
                    self.progress.together(self.group);
                    self.group = 0;
                }
                let is_well = !matches!(row.outcome, Outcome::Failed(_));
                self.progress
                    .count(report::name(&row), &report::outcome(&row), is_well);
                if self.result.is_ok() {
                    let kept = self.folder.append(&row);
                    self.heed(kept.map_err(Into::into));
                }
                self.family.push(row);
            }
        }
    }

    fn family_under_way(&self) -> Option<Family> {
        self.family.first().map(|row| row.family)
    }

    /// Prints the table of the family that was under way, if any was.
    fn end_of_family(&mut self) {
        if let Some(family) = self.family_under_way() {
            let table = report::terminal_table(family, &self.family);
            let printed = self.progress.aside(|| output::line(table));
            self.heed(printed.map_err(Into::into));
            self.family.clear();
        }
    }

    /// Ends the run where something went wrong: what cannot be kept need not be measured.
    fn heed(&mut self, result: anyhow::Result<()>) {
        if result.is_err() {
            self.plan.stop.store(true, Ordering::Relaxed);
        }
        if self.result.is_ok() {
            self.result = result;
        }
    }
}
