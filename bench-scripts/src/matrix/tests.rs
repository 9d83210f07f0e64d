//! The built-in matrices, and what the command line and the machine change in one.

use super::*;

#[test]
fn builtin_matrices_are_right_and_bear_their_names() {
    let names: Vec<_> = Matrix::builtin().map(|matrix| matrix.name).collect();
    let ladder = ["smoke", "quick", "article", "c10k"];
    let questions = ["workers", "pipelining", "ablation", "ablation-hyper"];
    assert_eq!(names, [&ladder[..], &questions, &["cost"]].concat());
    for matrix in Matrix::builtin() {
        let controls = matrix.entrants.iter().filter(|entrant| entrant.control);
        assert_eq!(controls.count(), 1, "{}", matrix.name);
        let repeats = matrix.entrants.iter().filter(|e| e.repeat_of.is_some());
        assert_eq!(repeats.count(), 1, "{}", matrix.name);
    }
}

#[test]
fn the_control_stays_and_rungs_can_be_added() {
    let overrides = Overrides {
        entrants: Some(vec!["axum".into(), "mio".into()]),
        connections: Some(vec![4]),
        duration: Some("3s".into()),
        shared: true,
        no_trace: true,
        ..Overrides::default()
    };
    let mut matrix = Matrix::find("quick").unwrap();
    matrix.entrants.retain(|entrant| entrant.label != "mio");
    let matrix = matrix.with(overrides).unwrap();
    let labels: Vec<_> = matrix.entrants.iter().map(|e| e.label.as_str()).collect();
    assert_eq!(labels, ["null", "axum", "axum (again)", "mio"]);
    assert_eq!(
        (matrix.connections.as_slice(), matrix.duration_s),
        (&[4][..], 3)
    );
    assert!(!matrix.pinned && matrix.trace.is_none());
}

#[test]
fn what_is_traced_is_among_what_is_measured() {
    let traced = |connections: &[u32]| {
        let mut matrix = Matrix::find("quick").unwrap();
        matrix.trace.as_mut().unwrap().connections = vec![100, 1000];
        let overrides = Overrides {
            connections: Some(connections.into()),
            ..Overrides::default()
        };
        let matrix = matrix.with(overrides).unwrap();
        matrix.trace.unwrap().connections
    };
    assert_eq!(traced(&[100, 352, 1000]), [100, 1000]);
    assert_eq!(traced(&[100, 352]), [100]);
    assert_eq!(traced(&[352, 560]), [352]);
}

#[test]
fn what_cannot_run_is_left_out_and_another_one_is_measured_twice() {
    let skipped = |labels: &[&str]| {
        let skipped = labels.iter().map(|label| Skipped {
            label: (*label).into(),
            reason: "why".into(),
        });
        Matrix::find("quick")
            .unwrap()
            .without(&skipped.collect::<Vec<_>>())
    };
    let labels = |matrix: Matrix| matrix.entrants.into_iter().map(|e| e.label);
    let left: Vec<_> = labels(skipped(&["epoll", "axum"]).unwrap()).collect();
    assert_eq!(left, ["null", "mio", "mio (again)", "uring", "hyper"]);
    let problem = skipped(&["null"]).unwrap_err();
    assert_eq!(problem, "null cannot run here: why");
    let problem = skipped(&["epoll", "mio", "uring", "hyper", "axum"]).unwrap_err();
    assert!(
        problem.starts_with("nothing is left to measure: epoll cannot run here: why; mio"),
        "{problem}"
    );
}

#[test]
fn the_repeated_entrant_stays_the_repeated_one() {
    let overrides = |labels: &[&str]| Overrides {
        entrants: Some(labels.iter().map(ToString::to_string).collect()),
        ..Overrides::default()
    };
    let repeated = |matrix: Matrix| -> Vec<String> {
        let entrants = matrix.entrants.into_iter();
        entrants.filter_map(|e| e.repeat_of).collect()
    };
    let mut matrix = Matrix::find("quick").unwrap();
    matrix.entrants.retain(|e| e.repeat_of.is_none());
    matrix.entrants = with_repeat(matrix.entrants, Some("hyper")).unwrap();
    let both = matrix.clone().with(overrides(&["epoll", "hyper"]));
    assert_eq!(repeated(both.unwrap()), ["hyper"]);
    let without = matrix.clone().with(overrides(&["mio", "axum"]));
    assert_eq!(repeated(without.unwrap()), ["mio"]);
    let control_alone = matrix.with(overrides(&["null"]));
    assert_eq!(repeated(control_alone.unwrap()), [""; 0]);
}

#[test]
fn wrong_overrides_name_their_flag() {
    let problem = |overrides| {
        let matrix = Matrix::find("quick").unwrap();
        matrix.with(overrides).unwrap_err().to_string()
    };
    let message = problem(Overrides {
        entrants: Some(vec!["tokio".into()]),
        ..Overrides::default()
    });
    assert!(
        message.starts_with("--entrants: `tokio` is neither"),
        "{message}"
    );
    let message = problem(Overrides {
        connections: Some(vec![8, 4]),
        ..Overrides::default()
    });
    assert!(message.starts_with("--connections: "), "{message}");
}
