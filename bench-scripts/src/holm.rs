//! Many comparisons judged together, so that twenty looks at noise do not find one difference.

/// Which of the comparisons hold, given the chance of each under the assumption of no difference, where it is known: such
/// that the chance of even one false find among them is at most `alpha`.
///
/// The step-down procedure of S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
/// Statistics 6 (1979): from the least likely on, until one is likelier than its share of the chance that is left. The
/// comparisons need not be independent.
#[must_use]
pub fn holm(chances: &[Option<f64>], alpha: f64) -> Vec<bool> {
    let mut known: Vec<(usize, f64)> = chances
        .iter()
        .enumerate()
        .filter_map(|(position, chance)| Some((position, (*chance)?)))
        .collect();
    known.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let mut holds = vec![false; chances.len()];
    for (done, (position, chance)) in known.iter().enumerate() {
        if *chance > alpha / (known.len() - done) as f64 {
            break;
        }
        holds[*position] = true;
    }
    holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stops_at_the_first_that_is_too_likely() {
        let chances = [Some(0.03), Some(0.001), None, Some(0.02), Some(0.9)];
        assert_eq!(holm(&chances, 0.05), [false, true, false, false, false]);
        let chances = [Some(0.03), Some(0.001), None, Some(0.016)];
        assert_eq!(holm(&chances, 0.05), [true, true, false, true]);
    }
}
