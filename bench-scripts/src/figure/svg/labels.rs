//! Moves labels apart that would cover each other.

/// Places for labels of one height that want to be at `wanted`, ascending, at least `gap` apart and inside
/// `first..=last`, as near to where they want to be as that allows.
///
/// Pool-adjacent-violators: labels that collide form a group, which sits around the mean of what its members want.
/// Where there is no room for all, the gaps shrink.
pub(super) fn spread_apart(wanted: &[i32], gap: i32, first: i32, last: i32) -> Vec<i32> {
    let steps = wanted.len().saturating_sub(1) as f64;
    let room = f64::from(last - first);
    let gap = if steps > 0.0 {
        f64::from(gap).min(room / steps)
    } else {
        f64::from(gap)
    };
    let mut groups: Vec<Group> = Vec::new();
    for &place in wanted {
        let mut group = Group {
            sum: f64::from(place),
            members: 1,
        };
        while let Some(before) = groups.pop_if(|before| {
            before.start(gap, first, last) + before.length(gap) + gap
                > group.start(gap, first, last)
        }) {
            group = before.joined(&group, gap);
        }
        groups.push(group);
    }
    groups
        .iter()
        .flat_map(|group| {
            let start = group.start(gap, first, last);
            (0..group.members).map(move |member| (start + gap * f64::from(member)).round() as i32)
        })
        .collect()
}

/// Labels that touch.
struct Group {
    /// Sum of the places that its members' first one would have if each member had its way.
    sum: f64,
    members: u32,
}

impl Group {
    /// Distance from its first member to its last.
    fn length(&self, gap: f64) -> f64 {
        gap * f64::from(self.members - 1)
    }

    /// Place of its first member.
    fn start(&self, gap: f64, first: i32, last: i32) -> f64 {
        let latest = (f64::from(last) - self.length(gap)).max(f64::from(first));
        (self.sum / f64::from(self.members)).clamp(f64::from(first), latest)
    }

    fn joined(&self, after: &Self, gap: f64) -> Self {
        let shift = gap * f64::from(self.members) * f64::from(after.members);
        Self {
            sum: self.sum + after.sum - shift,
            members: self.members + after.members,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::spread_apart;

    #[test]
    fn labels_with_room_stay() {
        assert_eq!(spread_apart(&[10, 50, 90], 20, 0, 100), [10, 50, 90]);
        assert_eq!(spread_apart(&[], 20, 0, 100), [0; 0]);
    }

    #[test]
    fn labels_that_collide_move_apart_around_their_middle() {
        assert_eq!(spread_apart(&[50, 50, 50], 20, 0, 100), [30, 50, 70]);
        assert_eq!(spread_apart(&[48, 52, 200], 20, 0, 300), [40, 60, 200]);
    }

    #[test]
    fn labels_stay_inside() {
        assert_eq!(spread_apart(&[0, 1, 2], 20, 0, 100), [0, 20, 40]);
        assert_eq!(spread_apart(&[99, 100], 20, 0, 100), [80, 100]);
    }

    #[test]
    fn without_room_the_gaps_shrink() {
        assert_eq!(spread_apart(&[5, 5, 5], 60, 0, 100), [0, 50, 100]);
    }
}
