//! What a report leads with: a few sentences made of the findings, and the key figures.
//!
//! Nobody is said to be less or more than another unless the comparison proves it; everything else is a tie.

use super::decline_words;
use super::rates;
use super::words::Entry;
use crate::findings::{
    Bound, Compared, Comparison, Comparisons, EntrantFindings, Findings, Interval, Point, Role,
};
use crate::quantity;
use crate::record::Skipped;

/// A figure by which contestants are compared.
struct Figure {
    of: fn(&Comparisons) -> &Compared,
    /// `costs least CPU time per request`, for one entrant.
    one_leads: &'static str,
    /// The same for several.
    many_lead: &'static str,
    /// `cost`.
    noun: &'static str,
    /// Whether the least is best.
    least_leads: bool,
}

const COST: Figure = Figure {
    of: |comparisons| &comparisons.cost,
    one_leads: "costs least CPU time per request",
    many_lead: "cost least CPU time per request",
    noun: "cost",
    least_leads: true,
};

const RATE: Figure = Figure {
    of: |comparisons| &comparisons.rate,
    one_leads: "answers most requests per minute",
    many_lead: "answer most requests per minute",
    noun: "rate",
    least_leads: false,
};

/// Stretches of connection counts with leaders of their own that a sentence can hold.
const MOST_CLAUSES: usize = 3;

/// What the run says, a sentence each. Where the client set rates, cost comes first, and alone.
pub(super) fn sentences(findings: &Findings) -> Vec<String> {
    let mut sentences = Vec::new();
    if !cost_leads(findings) {
        sentences.extend(leaders(findings, &RATE));
    }
    sentences.extend(leaders(findings, &COST));
    sentences.extend(distances(findings));
    sentences.extend(pipelined(findings));
    sentences.extend(skipped(findings));
    sentences.extend(bounds(findings));
    sentences.extend(workers(findings));
    sentences.extend(decline_words::summary(findings));
    sentences.extend(rates::sentence(findings));
    sentences.push(noise_floor(findings));
    sentences.extend(precision(findings));
    sentences.extend(core_to_core(findings));
    sentences.extend(drift(findings));
    sentences.extend(outliers(findings));
    sentences
}

/// Whether cost is what to look at first: the load generator set the rate of some contestant.
pub(super) fn cost_leads(findings: &Findings) -> bool {
    points(findings).any(|bound| bound == Some(Bound::Client))
}

/// The few figures that a reader looks for first.
pub(super) fn key_figures(findings: &Findings) -> Vec<Entry> {
    let mut entries = vec![(
        "valid cells".to_owned(),
        format!(
            "{} of {}",
            quantity::whole(findings.cells.valid),
            quantity::whole(findings.cells.planned)
        ),
    )];
    let ceiling = findings
        .ceilings
        .iter()
        .filter_map(|ceiling| Some(ceiling.requests_per_minute?.median))
        .reduce(f64::max);
    if let Some(ceiling) = ceiling {
        entries.push((
            "ceiling, requests per minute".to_owned(),
            quantity::large(ceiling),
        ));
    }
    let points = || {
        findings
            .entrants
            .iter()
            .filter(|entrant| entrant.role.is_contestant())
            .flat_map(|entrant| &entrant.points)
    };
    entries.push((
        "points bound by the client".to_owned(),
        format!(
            "{} of {}",
            points()
                .filter(|point| point.bound_by == Some(Bound::Client))
                .count(),
            points().count()
        ),
    ));
    entries.push((
        "noise floor of cost".to_owned(),
        findings
            .noise_floor
            .as_ref()
            .map_or("not measured".to_owned(), |floor| {
                quantity::fine_percent(floor.cost_share)
            }),
    ));
    let control = findings.entrants.iter().find(|e| e.role == Role::Control);
    let floor = control
        .and_then(|entrant| entrant.points.first())
        .and_then(|point| Some(point.cost?.total_us.median));
    if let Some(floor) = floor {
        entries.push((
            "floor, server CPU per request".to_owned(),
            quantity::micros(floor),
        ));
    }
    entries
}

/// What bounds each point of each contestant.
fn points(findings: &Findings) -> impl Iterator<Item = Option<Bound>> {
    let contestants = findings.entrants.iter().filter(|e| e.role.is_contestant());
    contestants.flat_map(|entrant| entrant.points.iter().map(|point| point.bound_by))
}

/// Who leads at which connection counts.
fn leaders(findings: &Findings, figure: &Figure) -> Option<String> {
    let told: Vec<&Comparisons> = findings
        .comparisons
        .iter()
        .filter(|comparisons| (figure.of)(comparisons).is_told())
        .collect();
    let mut clauses: Vec<(Leaders, Vec<u32>)> = Vec::new();
    for comparisons in &told {
        let leaders = leaders_of((figure.of)(comparisons), figure);
        let count = comparisons.connections_asked;
        match clauses.iter_mut().find(|(known, _)| *known == leaders) {
            Some((_, counts)) => counts.push(count),
            None => clauses.push((leaders, vec![count])),
        }
    }
    if clauses.len() > MOST_CLAUSES {
        return in_short(&told, figure);
    }
    let clauses: Vec<String> = clauses
        .iter()
        .map(|(leaders, counts)| {
            let at = at_counts(counts, counts.len() == findings.comparisons.len());
            match leaders {
                Leaders::Nobody => format!("{at} no difference in {} is proven", figure.noun),
                Leaders::Labels(labels) if labels.len() == 1 => {
                    format!("{at} {} {}", labels[0], figure.one_leads)
                }
                Leaders::Labels(labels) => {
                    format!("{at} {} {}, a tie", list(labels), figure.many_lead)
                }
            }
        })
        .collect();
    (!clauses.is_empty()).then(|| sentence(&clauses.join("; ")))
}

/// The same where almost every count has leaders of its own: who leads at all of them, and who does not.
fn in_short(told: &[&Comparisons], figure: &Figure) -> Option<String> {
    let compared = || told.iter().map(|comparisons| (figure.of)(comparisons));
    let mut all: Vec<&String> = Vec::new();
    for label in compared()
        .flat_map(|c| &c.pairs)
        .flat_map(|pair| [&pair.a, &pair.b])
    {
        if !all.contains(&label) {
            all.push(label);
        }
    }
    let leads = |label: &String, compared: &Compared| match leaders_of(compared, figure) {
        Leaders::Nobody => true,
        Leaders::Labels(labels) => labels.contains(label),
    };
    let is_first = |label: &&&String| compared().all(|c| leads(label, c));
    let names =
        |labels: Vec<&&String>| labels.into_iter().map(|l| (*l).clone()).collect::<Vec<_>>();
    let first = names(all.iter().filter(is_first).collect());
    let others = names(all.iter().filter(|label| !is_first(label)).collect());
    (!others.is_empty()).then(|| match first.as_slice() {
        [] => format!(
            "Who leads in {} changes with the connection count: the table tells who ties where.",
            figure.noun
        ),
        first => format!(
            "In {} {} at no connection count proven to be behind another; {} at some.",
            figure.noun,
            are(first),
            are(&others)
        ),
    })
}

/// `a is`, `a and b are`.
fn are(labels: &[String]) -> String {
    let verb = if labels.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", list(labels))
}

/// Who is not proven to be behind anybody.
#[derive(PartialEq)]
enum Leaders {
    /// Nobody is proven to be behind.
    Nobody,
    Labels(Vec<String>),
}

fn leaders_of(compared: &Compared, figure: &Figure) -> Leaders {
    let is_behind = |label: &str| {
        compared.pairs.iter().any(|pair| {
            let other = if pair.a == label { &pair.b } else { &pair.a };
            let behind = if figure.least_leads {
                other.as_str()
            } else {
                label
            };
            (pair.a == label || pair.b == label) && pair.less.as_deref() == Some(behind)
        })
    };
    if compared.pairs.iter().all(|pair| pair.less.is_none()) {
        return Leaders::Nobody;
    }
    // In the matrix's order: inside a tie there is none of its own.
    let mut labels: Vec<String> = Vec::new();
    for label in compared.pairs.iter().flat_map(|pair| [&pair.a, &pair.b]) {
        if !labels.contains(label) && !is_behind(label) {
            labels.push(label.clone());
        }
    }
    Leaders::Labels(labels)
}

/// How much more the others cost than a leader, at the lowest and the highest connection count.
fn distances(findings: &Findings) -> Option<String> {
    let (first, last) = (findings.comparisons.first()?, findings.comparisons.last()?);
    let mut clauses: Vec<String> = distances_at(first).into_iter().collect();
    if last.connections_asked != first.connections_asked {
        clauses.extend(distances_at(last));
    }
    (!clauses.is_empty()).then(|| sentence(&clauses.join("; ")))
}

fn distances_at(comparisons: &Comparisons) -> Option<String> {
    let Leaders::Labels(leaders) = leaders_of(&comparisons.cost, &COST) else {
        return None;
    };
    let leader = leaders.first()?;
    let pairs = comparisons.cost.pairs.iter();
    let others: Vec<String> = pairs
        .filter(|pair| pair.less.as_ref() == Some(leader))
        .filter_map(|pair| times(pair, leader))
        .collect();
    (!others.is_empty()).then(|| {
        let at = at_counts(&[comparisons.connections_asked], false);
        format!(
            "{at} a request costs {} times what it costs {leader}",
            list(&others)
        )
    })
}

/// `hyper 1.28 (1.22 to 1.33)`: how many times the leader's cost, with the 95% interval.
fn times(pair: &Comparison, leader: &str) -> Option<String> {
    let Interval { low, high } = pair.interval?;
    let (label, ratio, low, high) = if pair.a == leader {
        (&pair.b, pair.ratio, low, high)
    } else {
        (&pair.a, 1.0 / pair.ratio, 1.0 / high, 1.0 / low)
    };
    Some(format!("{label} {ratio:.2} ({low:.2} to {high:.2})"))
}

/// That requests were pipelined.
fn pipelined(findings: &Findings) -> Option<String> {
    let depth = findings.pipelined?;
    Some(format!(
        "Pipelined {depth} deep: each connection sends {depth} requests at once, and the next {depth} when all are answered. No browser does \
         this. Rates and costs are of requests, not of batches."
    ))
}

/// Which entrants could not run.
fn skipped(findings: &Findings) -> impl Iterator<Item = String> {
    let sentence = |Skipped { label, reason }: &Skipped| {
        format!("{label}: skipped: {}.", reason.trim_end_matches('.'))
    };
    findings.skipped.iter().map(sentence)
}

/// Who set the rates.
fn bounds(findings: &Findings) -> Option<String> {
    let all = points(findings).flatten().count();
    let count = |wanted: Bound| points(findings).filter(|b| *b == Some(wanted)).count();
    let at = |wanted: Bound| match count(wanted) {
        some if some == all => format!("all {all} points"),
        some => format!("{some} of {all} points"),
    };
    let told = [
        (Bound::Server, "the server"),
        (Bound::Client, "the client"),
        (Bound::Quota, "the CPU quota"),
        (Bound::Neither, "neither side"),
    ];
    let mut clauses: Vec<String> = told
        .into_iter()
        .filter(|(bound, _)| count(*bound) > 0)
        .map(|(bound, who)| format!("{who} set the rate at {}", at(bound)))
        .collect();
    if count(Bound::Noise) > 0 {
        clauses.push(format!("noise hides who set it at {}", at(Bound::Noise)));
    }
    let advice = if count(Bound::Client) > 0 {
        ". Where the client did, the rate is the load generator's: compare cost there"
    } else {
        ""
    };
    (!clauses.is_empty()).then(|| sentence(&format!("{}{advice}", clauses.join("; "))))
}

/// How unevenly requests lay on workers, at the lowest and the highest connection count; nothing where every server has one worker.
fn workers(findings: &Findings) -> Option<String> {
    let busiest = |count: u32| -> Option<String> {
        let of_entrant = |entrant: &EntrantFindings| {
            let at = |point: &&Point| point.connections_asked == count;
            let workers = entrant.points.iter().find(at)?.workers?;
            let most = workers.requests.most_to_mean.median;
            Some(format!("{} {most:.2}", entrant.label))
        };
        let contestants = findings.entrants.iter().filter(|e| e.role.is_contestant());
        let told: Vec<String> = contestants.filter_map(of_entrant).collect();
        (!told.is_empty()).then(|| format!("{} {}", at_counts(&[count], false), list(&told)))
    };
    let counts = findings.connection_counts();
    let (first, last) = (*counts.first()?, *counts.last()?);
    let mut clauses: Vec<String> = busiest(first).into_iter().collect();
    if last != first {
        clauses.extend(busiest(last));
    }
    (!clauses.is_empty()).then(|| {
        format!(
            "The busiest worker answers, over the mean of its server's workers: {}.",
            clauses.join("; ")
        )
    })
}

fn noise_floor(findings: &Findings) -> String {
    match &findings.noise_floor {
        Some(floor) => format!(
            "The noise floor is {} in cost and {} in rate: {}, entered twice, differs from itself by no more than that (95%). \
             Smaller differences are ties.",
            quantity::fine_percent(floor.cost_share),
            quantity::fine_percent(floor.rate_share),
            floor.entrant
        ),
        None => "The noise floor was not measured: that takes an entrant with valid cells under two names in two rounds or counts."
            .to_owned(),
    }
}

/// Whether costs are as precise as they were asked to be.
fn precision(findings: &Findings) -> Option<String> {
    let precision = findings.precision.as_ref()?;
    let asked = quantity::fine_percent(precision.asked_share);
    let widest = precision
        .widest
        .as_ref()
        .map_or_else(String::new, |widest| {
            format!(
                ": the least certain, {} at {} connections, to ±{}",
                widest.entrant,
                quantity::whole(widest.connections_asked.into()),
                quantity::fine_percent(widest.share)
            )
        });
    Some(if precision.reached {
        format!("Costs ÷ null are known to ±{asked}, as was asked for{widest}.")
    } else {
        format!(
            "Costs ÷ null were to be known to ±{asked}, and are not{widest}. Go on with a larger --budget, or on a quieter machine."
        )
    })
}

/// What the distance of the two sides' CPUs did; nothing where it did not change.
fn core_to_core(findings: &Findings) -> Option<String> {
    let distance = findings.core_to_core?;
    let growth = distance.cost_growth?;
    let nanoseconds = |ns: f64| quantity::whole(ns.round() as u64);
    Some(format!(
        "The CPUs of server and load generator were not always equally far apart: a cache line took {} to {} ns there and back. At the \
         largest distance a request costs {} more than at the least, whatever the server: costs are corrected for that.",
        nanoseconds(distance.least_ns),
        nanoseconds(distance.most_ns),
        quantity::fine_percent(growth)
    ))
}

fn drift(findings: &Findings) -> Option<String> {
    let drift = findings.drift.as_ref()?;
    let speeds = || drift.blocks.iter().map(|block| block.cost_to_median);
    let (low, high) = (speeds().reduce(f64::min)?, speeds().reduce(f64::max)?);
    Some(format!(
        "From the quickest round to the slowest, what {} costs grew by {}: the machine's drift, which ratios inside a round cancel.",
        drift.control,
        quantity::fine_percent(high / low - 1.0)
    ))
}

fn outliers(findings: &Findings) -> Option<String> {
    let valid = findings.cells.valid;
    match findings.outliers.len() {
        0 => None,
        1 => Some(format!(
            "One of {valid} valid cells is an outlier: kept, and named below."
        )),
        many => Some(format!(
            "{many} of {valid} valid cells are outliers: kept, and named below."
        )),
    }
}

/// `at 100, 172 and 316 connections`.
fn at_counts(counts: &[u32], all: bool) -> String {
    if all && counts.len() > 1 {
        return "at every connection count".to_owned();
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|c| quantity::whole(u64::from(*c)))
        .collect();
    format!("at {} connections", list(&counts))
}

/// `a, b and c`.
pub(super) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// With a capital and a full stop.
pub(super) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().collect());
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;

    fn pair(a: &str, b: &str, less: Option<&str>) -> Comparison {
        Comparison {
            a: a.into(),
            b: b.into(),
            ratio: 1.25,
            interval: Some(Interval {
                low: 1.0,
                high: 2.0,
            }),
            blocks: 5,
            less: less.map(str::to_owned),
        }
    }

    fn labels(leaders: Leaders) -> Vec<String> {
        match leaders {
            Leaders::Nobody => Vec::new(),
            Leaders::Labels(labels) => labels,
        }
    }

    /// c is proven to cost more, and to answer more; b ties with both.
    #[test]
    fn whoever_is_not_proven_to_be_behind_leads() {
        let compared = Compared {
            ties: Vec::new(),
            pairs: vec![
                pair("a", "b", None),
                pair("a", "c", Some("a")),
                pair("b", "c", None),
            ],
        };
        assert_eq!(labels(leaders_of(&compared, &COST)), ["a", "b"]);
        assert_eq!(labels(leaders_of(&compared, &RATE)), ["b", "c"]);
        let all_tie = Compared {
            ties: Vec::new(),
            pairs: vec![pair("a", "b", None)],
        };
        assert!(leaders_of(&all_tie, &COST) == Leaders::Nobody);
    }

    #[test]
    fn where_every_count_has_leaders_of_its_own_the_sentence_stays_short() {
        let mut findings = made::findings();
        let behind = [None, Some("b"), Some("c"), Some("d")];
        findings.comparisons = (100..)
            .zip(behind)
            .map(|(count, behind)| {
                let all = ["b", "c", "d"]
                    .map(|other| pair("a", other, (behind == Some(other)).then_some("a")));
                let compared = Compared {
                    ties: Vec::new(),
                    pairs: all.to_vec(),
                };
                Comparisons {
                    connections_asked: count,
                    cost: compared.clone(),
                    rate: compared,
                }
            })
            .collect();
        assert_eq!(
            leaders(&findings, &COST).unwrap(),
            "In cost a is at no connection count proven to be behind another; b, c and d are at some."
        );
    }

    #[test]
    fn a_ratio_is_told_from_the_leaders_side() {
        let told = |leader| times(&pair("a", "b", Some(leader)), leader).unwrap();
        assert_eq!(told("a"), "b 1.25 (1.00 to 2.00)");
        assert_eq!(told("b"), "a 0.80 (0.50 to 1.00)");
    }

    #[test]
    fn the_rate_leads_only_where_no_client_set_it() {
        let mut findings = made::findings();
        assert!(sentences(&findings)[0].contains("CPU time per request"));
        for entrant in &mut findings.entrants {
            for point in &mut entrant.points {
                point.bound_by = Some(Bound::Server);
            }
        }
        let sentences = sentences(&findings);
        assert!(
            sentences[0].contains("requests per minute"),
            "{}",
            sentences[0]
        );
        assert!(
            sentences[1].contains("CPU time per request"),
            "{}",
            sentences[1]
        );
    }

    #[test]
    fn lists_read_as_english() {
        let counts = at_counts(&[100, 172, 1000], false);
        assert_eq!(counts, "at 100, 172 and 1,000 connections");
        assert_eq!(at_counts(&[100, 172], true), "at every connection count");
        assert_eq!(sentence("one; two"), "One; two.");
    }
}
