//! Where two contestants change places between connection counts.

use crate::findings::{Compared, Comparisons, Crossing, Crossings};

/// The crossings of a run. Only proven orders count: what is a tie at some counts may cross anywhere among them.
pub(super) fn of(comparisons: &[Comparisons]) -> Crossings {
    Crossings {
        cost: of_figure(comparisons, |at| &at.cost),
        rate: of_figure(comparisons, |at| &at.rate),
    }
}

fn of_figure(comparisons: &[Comparisons], figure: fn(&Comparisons) -> &Compared) -> Vec<Crossing> {
    /// The order that was proven last.
    struct Known<'a> {
        pair: (&'a str, &'a str),
        less: &'a str,
        at: u32,
    }
    let mut orders: Vec<Known> = Vec::new();
    let mut crossings = Vec::new();
    for at in comparisons {
        for comparison in &figure(at).pairs {
            let Some(less) = comparison.less.as_deref() else {
                continue;
            };
            let now = Known {
                pair: (&comparison.a, &comparison.b),
                less,
                at: at.connections_asked,
            };
            match orders.iter_mut().find(|known| known.pair == now.pair) {
                Some(known) => {
                    if known.less != now.less {
                        crossings.push(Crossing {
                            less_before: known.less.to_owned(),
                            less_after: now.less.to_owned(),
                            last_before: known.at,
                            first_after: now.at,
                        });
                    }
                    *known = now;
                }
                None => orders.push(now),
            }
        }
    }
    crossings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Comparison;

    fn at(connections_asked: u32, less: Option<&str>) -> Comparisons {
        let compared = |less: Option<&str>| Compared {
            ties: Vec::new(),
            pairs: vec![Comparison {
                a: "a".into(),
                b: "b".into(),
                ratio: 1.0,
                interval: None,
                blocks: 5,
                less: less.map(str::to_owned),
            }],
        };
        Comparisons {
            connections_asked,
            cost: compared(less),
            rate: compared(None),
        }
    }

    #[test]
    fn a_crossing_lies_between_two_proven_orders() {
        let comparisons = [
            at(100, Some("a")),
            at(200, Some("a")),
            at(300, None),
            at(400, Some("b")),
            at(500, None),
        ];
        let crossings = of(&comparisons);
        assert_eq!(
            crossings.cost,
            [Crossing {
                less_before: "a".into(),
                less_after: "b".into(),
                last_before: 200,
                first_after: 400
            }]
        );
        assert_eq!(crossings.rate, []);
    }

    #[test]
    fn a_tie_is_no_crossing() {
        assert_eq!(of(&[at(100, Some("a")), at(200, None)]).cost, []);
        assert_eq!(of(&[at(100, None), at(200, Some("b"))]).cost, []);
    }
}
