//! What it does to one program to be run or built otherwise.

use super::{Group, Head, NOTHING, Table};
use crate::findings::{Estimate, Findings, VariantFindings};
use crate::quantity;

/// None where no program is entered in two ways.
pub(super) fn table(findings: &Findings) -> Option<Table> {
    let first = findings.variants.first()?;
    let head = |head: String, text: bool| Head {
        head: head.into(),
        text,
    };
    let mut columns = vec![head("variant".into(), true)];
    columns.extend(first.points.iter().map(|point| {
        let connections = quantity::whole(point.connections_asked.into());
        head(format!("cost ÷ plain at {connections}"), false)
    }));
    columns.push(head("at all counts".into(), false));
    columns.push(head("proven".into(), true));
    let groups = findings.variants.chunk_by(|a, b| a.plain == b.plain);
    Some(Table {
        title: "Variants of one program",
        caption: "Cost over that of the plain entrant of the same program in the same round: geometric means with 95% intervals; the last over all \
                  rounds and connection counts together. Proven: in a whole run the chance of one false proof or more is 5%. What is there \
                  again is the plain entrant a second time, and shows what no change looks like."
            .into(),
        grouped_by: head("plain".into(), true),
        columns,
        groups: groups
            .map(|variants| Group {
                heading: variants[0].plain.clone(),
                name: variants[0].plain.clone(),
                rows: variants.iter().map(row).collect(),
            })
            .collect(),
    })
}

fn row(variant: &VariantFindings) -> Vec<String> {
    let points = variant.points.iter().map(|point| ratio(point.cost_ratio));
    let mut row = vec![variant.label.clone()];
    row.extend(points);
    row.push(ratio(variant.overall));
    let cheaper = variant.overall.is_some_and(|overall| overall.value < 1.0);
    row.push(match (variant.differs, cheaper) {
        (false, _) => "no".into(),
        (true, true) => "costs less".into(),
        (true, false) => "costs more".into(),
    });
    row
}

/// `1.023 (1.010 to 1.037)`: thousandths, since a variant is about per cents.
fn ratio(estimate: Option<Estimate>) -> String {
    let Some(Estimate { value, interval }) = estimate else {
        return NOTHING.into();
    };
    match interval {
        Some(interval) => format!("{value:.3} ({:.3} to {:.3})", interval.low, interval.high),
        None => format!("{value:.3}"),
    }
}
