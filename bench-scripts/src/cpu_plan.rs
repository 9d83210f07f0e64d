//! Which CPUs the server gets, and which the load generator.
//!
//! The two never share a core: threads of one core (SMT siblings) compete for its units, so a core is given as a whole.
//! The server gets half of the cores, the load generator the other half and the odd one.

use crate::matrix::{Entrant, Threads};
use crate::record::CpuPlan;

/// A plan for `cpus`, whose threads of one core are `siblings`; with `pinned` false, or with a single core, both sides
/// share all of them.
#[must_use]
pub fn plan(cpus: &[u32], siblings: &[Vec<u32>], pinned: bool) -> CpuPlan {
    let shared = |why: &str| CpuPlan {
        pinned: false,
        server: cpus.to_vec(),
        client: cpus.to_vec(),
        why: why.into(),
    };
    if !pinned {
        return shared("nothing is pinned, as asked: server and load generator share all CPUs");
    }
    if cpus.len() < 2 {
        return shared("there is one CPU only: server and load generator share it");
    }
    let cores = cores(cpus, siblings);
    if cores.len() < 2 {
        return CpuPlan {
            pinned: true,
            server: vec![cpus[0]],
            client: cpus[1..].to_vec(),
            why: "there is one core only: server and load generator share it, a thread each".into(),
        };
    }
    let (server, client) = cores.split_at(cores.len() / 2);
    CpuPlan {
        pinned: true,
        server: core_by_core(server),
        client: core_by_core(client),
        why: format!(
            "{} of {} cores for the server, the rest for the load generator; no core is shared",
            server.len(),
            cores.len()
        ),
    }
}

/// `cpus`, so that the first ones are on cores of their own as long as there are some.
#[must_use]
pub fn cores_first(cpus: &[u32], siblings: &[Vec<u32>]) -> Vec<u32> {
    core_by_core(&cores(cpus, siblings))
}

/// The CPUs of a server with so many threads: as many, on cores of their own as long as there are some.
#[must_use]
pub fn server_cpus(plan: &CpuPlan, threads: Threads) -> Option<Vec<u32>> {
    plan.pinned.then(|| {
        let wanted = threads.on(plan.server.len()) as usize;
        plan.server.iter().copied().take(wanted).collect()
    })
}

/// The CPUs of an entrant's server: all that there are, where it alone is not to be pinned.
#[must_use]
pub fn entrant_cpus(plan: &CpuPlan, entrant: &Entrant) -> Option<Vec<u32>> {
    if plan.pinned && !entrant.pinned {
        return Some([plan.server.as_slice(), &plan.client].concat());
    }
    server_cpus(plan, entrant.threads)
}

/// The CPUs of the load generator; none where nothing is pinned.
#[must_use]
pub fn client_cpus(plan: &CpuPlan) -> Option<&[u32]> {
    plan.pinned.then_some(plan.client.as_slice())
}

/// `cpus` grouped into cores; a CPU that no group names is a core of its own.
fn cores(cpus: &[u32], siblings: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut cores: Vec<Vec<u32>> = Vec::new();
    for &cpu in cpus {
        if cores.iter().any(|core| core.contains(&cpu)) {
            continue;
        }
        let core = siblings.iter().find(|group| group.contains(&cpu));
        let core = core.map_or_else(
            || vec![cpu],
            |group| {
                group
                    .iter()
                    .copied()
                    .filter(|cpu| cpus.contains(cpu))
                    .collect()
            },
        );
        cores.push(core);
    }
    cores
}

/// The first thread of every core, then the second of every core, and so on.
fn core_by_core(cores: &[Vec<u32>]) -> Vec<u32> {
    let most = cores.iter().map(Vec::len).max().unwrap_or(0);
    (0..most)
        .flat_map(|thread| {
            cores
                .iter()
                .filter_map(move |core| core.get(thread).copied())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cpus_are_one_each() {
        let plan = plan(&[0, 1], &[vec![0], vec![1]], true);
        assert!(plan.pinned);
        assert_eq!((plan.server, plan.client), (vec![0], vec![1]));
    }

    #[test]
    fn neighbours_in_the_order_of_cores_share_none() {
        assert_eq!(
            cores_first(&[0, 1, 2, 3], &[vec![0, 1], vec![2, 3]]),
            [0, 2, 1, 3]
        );
    }

    #[test]
    fn an_entrant_that_is_not_pinned_gets_all_cpus() {
        let plan = plan(&[0, 1], &[], true);
        let pinned = Entrant::rung("epoll");
        assert_eq!(entrant_cpus(&plan, &pinned), Some(vec![0]));
        let floating = Entrant {
            pinned: false,
            ..pinned
        };
        assert_eq!(entrant_cpus(&plan, &floating), Some(vec![0, 1]));
    }

    #[test]
    fn siblings_stay_together() {
        let siblings = [vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]];
        let plan = plan(&[0, 1, 2, 3, 4, 5, 6, 7], &siblings, true);
        assert_eq!(plan.server, [0, 1, 4, 5]);
        assert_eq!(plan.client, [2, 3, 6, 7]);
        assert_eq!(server_cpus(&plan, Threads::Count(2)), Some(vec![0, 1]));
        assert_eq!(server_cpus(&plan, Threads::All), Some(vec![0, 1, 4, 5]));
    }

    #[test]
    fn the_odd_core_is_the_clients() {
        let plan = plan(&[1, 3, 5], &[], true);
        assert_eq!((plan.server, plan.client), (vec![1], vec![3, 5]));
    }

    #[test]
    fn only_allowed_cpus_are_used() {
        let plan = plan(&[0, 2], &[vec![0, 1], vec![2, 3]], true);
        assert_eq!((plan.server, plan.client), (vec![0], vec![2]));
    }

    #[test]
    fn one_core_and_one_cpu_say_so() {
        let one_core = plan(&[0, 1], &[vec![0, 1]], true);
        assert!(one_core.pinned && one_core.why.contains("one core"));
        let one_cpu = plan(&[3], &[vec![3]], true);
        assert!(!one_cpu.pinned && one_cpu.why.contains("one CPU"));
    }

    #[test]
    fn shared_pins_nothing() {
        let plan = plan(&[0, 1], &[], false);
        assert!(!plan.pinned);
        assert_eq!(plan.server, plan.client);
        assert_eq!(server_cpus(&plan, Threads::All), None);
        assert_eq!(client_cpus(&plan), None);
    }
}
