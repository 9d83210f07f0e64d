//! Orders that should hold between rows on any sound Linux; one that does not is a warning.

use rungs_primitives::row::{Family, Placement};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::key::{Key, PLACEMENTS, Rows};
use crate::quantity;

/// How the left row should stand to the right one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    /// Within [`ABOUT`] of each other.
    About,
    /// Not above it, to within the spread that a steady row may have.
    AtMost,
    /// Below it by more than that spread.
    Below,
    /// Less than [`MUCH`] of it.
    FarBelow,
}

/// How far apart rows of one kernel path may lie.
const ABOUT: f64 = 1.15;

/// What a steady row may be off by; that of its name in tables.
const SLACK: f64 = 1.0 + super::key::STEADY;

/// What "far below" is at most.
const MUCH: f64 = 0.2;

impl Relation {
    fn holds(self, left: f64, right: f64) -> bool {
        let ratio = left / right;
        match self {
            Self::About => (1.0 / ABOUT..=ABOUT).contains(&ratio),
            Self::AtMost => ratio <= SLACK,
            Self::Below => ratio * SLACK < 1.0,
            Self::FarBelow => ratio < MUCH,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::About => "within 15% of",
            Self::AtMost => "at most 5% above",
            Self::Below => "more than 5% below",
            Self::FarBelow => "below a fifth of",
        }
    }
}

/// One order.
struct Order {
    /// What it is about.
    subject: &'static str,
    left: Key<'static>,
    relation: Relation,
    right: Key<'static>,
}

const fn order(
    subject: &'static str,
    left: Key<'static>,
    relation: Relation,
    right: Key<'static>,
) -> Order {
    Order {
        subject,
        left,
        relation,
        right,
    }
}

const fn latency(mechanism: &'static str) -> Key<'static> {
    Key::new(Family::Latency, mechanism)
}

const fn alone(mechanism: &'static str) -> Key<'static> {
    Key::new(Family::Threads, mechanism).at(1)
}

const fn spawn(program: &'static str, rss_mb: usize) -> Key<'static> {
    Key::new(Family::Spawn, program).at(rss_mb)
}

const ORDERS: &[Order] = &[
    order(
        "a byte there and back",
        latency("pipe"),
        Relation::About,
        latency("FIFO"),
    ),
    order(
        "a byte there and back",
        latency("Unix stream"),
        Relation::AtMost,
        latency("TCP"),
    ),
    order(
        "a lock that nobody else wants",
        alone("Posix mutex"),
        Relation::FarBelow,
        alone("System V semaphore"),
    ),
    order(
        "a lock that nobody else wants",
        alone("System V semaphore"),
        Relation::AtMost,
        alone("System V semaphore with UNDO"),
    ),
    order(
        "posix_spawn is flat in the parent's memory",
        spawn("posix_spawn", 1000),
        Relation::About,
        spawn("posix_spawn", 10),
    ),
    order(
        "fork rises with the parent's memory",
        spawn("fork + execv", 10),
        Relation::Below,
        spawn("fork + execv", 1000),
    ),
    order(
        "what a shell adds",
        spawn("posix_spawn", 10),
        Relation::Below,
        spawn("system", 10),
    ),
    order(
        "what a shell adds",
        spawn("posix_spawn", 1000),
        Relation::Below,
        spawn("system", 1000),
    ),
];

/// What came of checking an order.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is so.
    Holds,
    /// It is not: this machine, or the measurement, is not as it should be.
    DoesNotHold,
    /// A row has no value.
    NotChecked,
}

/// One order, checked.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Checked {
    /// What it is about.
    pub about: String,
    /// What should be, in words.
    pub order: String,
    /// Where both rows were measured.
    pub placement: Placement,
    /// Whether it is.
    pub verdict: Verdict,
    /// The two numbers, or which row has none.
    pub found: String,
}

/// Checks each order at each placement that its rows have; those of families that were not asked for are left out.
pub(super) fn check(rows: Rows, families: &[Family]) -> Vec<Checked> {
    let asked = ORDERS
        .iter()
        .filter(|order| families.contains(&order.left.family));
    asked
        .flat_map(|order| {
            let placements = if order.left.has_one_placement() {
                &PLACEMENTS[..1]
            } else {
                &PLACEMENTS[..]
            };
            placements
                .iter()
                .map(move |&placement| order.check(rows, placement))
        })
        .collect()
}

impl Order {
    fn check(&self, rows: Rows, placement: Placement) -> Checked {
        let values = (
            rows.value(self.left, placement),
            rows.value(self.right, placement),
        );
        let (verdict, found) = match values {
            (Some(left), Some(right)) => {
                let (left, right) = (left.median, right.median);
                let verdict = if self.relation.holds(left, right) {
                    Verdict::Holds
                } else {
                    Verdict::DoesNotHold
                };
                (verdict, Self::numbers(left, right))
            }
            (left, _) => {
                let missing = if left.is_none() {
                    self.left
                } else {
                    self.right
                };
                (
                    Verdict::NotChecked,
                    format!("{} has no value", name(missing)),
                )
            }
        };
        Checked {
            about: self.subject.to_owned(),
            order: format!(
                "{} {} {}",
                name(self.left),
                self.relation.words(),
                name(self.right)
            ),
            placement,
            verdict,
            found,
        }
    }

    fn numbers(left: f64, right: f64) -> String {
        // µs of one operation, or seconds for a million, which is the same number.
        let write = |value: f64| quantity::nanos(value * 1e3);
        format!("{} to {}: × {:.2}", write(left), write(right), left / right)
    }
}

fn name(key: Key) -> String {
    match (key.family, key.parameter) {
        (Family::Spawn, Some(mb)) => {
            format!("{} from {} MB", key.mechanism, quantity::whole(mb as u64))
        }
        _ => key.mechanism.to_owned(),
    }
}

/// Every row that an order asks for, for the test that looks whether it can be measured.
#[cfg(test)]
pub(super) fn keys() -> impl Iterator<Item = Key<'static>> {
    ORDERS.iter().flat_map(|order| [order.left, order.right])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_have_an_edge() {
        use Relation::{About, AtMost, Below, FarBelow};
        assert!(About.holds(1.14, 1.0) && About.holds(1.0, 1.14));
        assert!(!About.holds(1.16, 1.0) && !About.holds(1.0, 1.16));
        assert!(AtMost.holds(1.04, 1.0) && !AtMost.holds(1.06, 1.0));
        assert!(Below.holds(0.94, 1.0) && !Below.holds(0.96, 1.0));
        assert!(FarBelow.holds(0.19, 1.0) && !FarBelow.holds(0.21, 1.0));
    }
}
