//! The figure of the decline: what a request's time is spent on, at its two ends.

use super::palette::{self, Style};
use super::pictures::{notes, styled};
use super::scale::Scale;
use super::{Axis, Bar, BarPart, BarValue, Bars, Figure, Panel, Plot, Tick};
use crate::findings::{Added, AddedPart, Decline, EntrantFindings, Findings, Role};
use crate::quantity::{self, Quantity};
use crate::record::Run;

/// None where no entrant has a decline.
pub(super) fn figure(run: &Run, findings: &Findings) -> Option<Figure> {
    let styled = styled(findings);
    let of_entrant = |(entrant, style): &(&EntrantFindings, Style)| {
        let decline = entrant.decline.as_ref()?;
        let shown = entrant.role != Role::Again;
        shown.then(|| rows(&entrant.label, *style, decline))
    };
    let rows: Vec<Bar> = styled.iter().filter_map(of_entrant).flatten().collect();
    let (_, first) = findings.declines().next()?;
    Some(Figure {
        name: "decline",
        title: "The decline taken apart".to_owned(),
        subtitle: format!(
            "{} of {} s, means over rounds, as measured · GET {} · time of all CPUs that the two sides can use, by what it was spent on",
            quantity::rounds(run.matrix.rounds),
            run.matrix.duration_s,
            run.matrix.path
        ),
        panels: vec![Panel {
            heading: String::new(),
            plot: Plot::Bars(Bars {
                axis: axis(&rows),
                parts: first.parts.iter().map(part).collect(),
                rows,
            }),
        }],
        notes: notes(findings),
    })
}

fn part(added: &AddedPart) -> BarPart {
    BarPart {
        name: added.part.name(),
        fill: palette::part(added.part),
    }
}

/// Bars are drawn upwards: the end first, so that the beginning stands above it.
fn rows(label: &str, style: Style, decline: &Decline) -> [Bar; 2] {
    let bar = |connections: u32, us: fn(&Added) -> f64, remark: Option<String>| Bar {
        label: format!("{label} · {}", quantity::whole(u64::from(connections))),
        style,
        value: Some(BarValue {
            // A part that is nothing may have been measured as a little less.
            parts: decline.parts.iter().map(|p| us(&p.time).max(0.0)).collect(),
            low: us(&decline.total),
            high: us(&decline.total),
            text: quantity::micros(us(&decline.total)),
            remark,
        }),
        invalid: Vec::new(),
    };
    let rate = decline.rate_change;
    let doubt = if rate.is_below_zero() || rate.is_above_zero() {
        ""
    } else {
        ", not proven"
    };
    let change = format!("rate {}{doubt}", quantity::change(rate.value));
    [
        bar(
            decline.to_connections_asked,
            |time| time.to_us,
            Some(change),
        ),
        bar(decline.from_connections_asked, |time| time.from_us, None),
    ]
}

fn axis(rows: &[Bar]) -> Axis {
    let totals = rows.iter().filter_map(|row| row.value.as_ref());
    let scale = Scale::from_zero(totals.map(BarValue::total).fold(0.0, f64::max));
    let ticks = scale.round_ticks().into_iter();
    Axis {
        title: "CPU time per request, used or not".to_owned(),
        quantity: Quantity::Micros,
        scale,
        ticks: ticks
            .map(|value| Tick {
                value,
                label: quantity::without_idle_zeros(&quantity::micros(value)),
            })
            .collect(),
    }
}
