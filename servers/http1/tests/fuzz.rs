//! What the fuzz target `connection` checks, on the committed corpus and on scripts that are a few changes away from it.

mod common;

use std::fs;
use std::path::Path;

use common::script::check;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngSeed};

/// The scripts, by name, so that the same ones are made on every machine.
fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/connection");
    let entries = fs::read_dir(&folder).expect("the corpus is committed");
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let scripts: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(scripts.len() >= 20, "{} has few scripts", folder.display());
    scripts
}

#[derive(Clone, Debug)]
enum Change {
    Overwrite(Index, u8),
    Insert(Index, u8),
    Remove(Index, Index),
    /// What is from the one to the other is there again at the third place.
    Copy(Index, Index, Index),
    /// A part of another script comes in between.
    Splice(Index, Vec<u8>, Index),
}

impl Change {
    fn apply(&self, script: &mut Vec<u8>) {
        let places = script.len() + 1;
        let at = |index: &Index| index.index(places);
        let between = |a: &Index, b: &Index| at(a).min(at(b))..at(a).max(at(b));
        match self {
            Self::Overwrite(index, byte) => {
                if let Some(old) = script.get_mut(at(index)) {
                    *old = *byte;
                }
            }
            Self::Insert(index, byte) => script.insert(at(index), *byte),
            Self::Remove(from, to) => drop(script.drain(between(from, to))),
            Self::Copy(from, to, index) => {
                let (part, at) = (script[between(from, to)].to_vec(), at(index));
                script.splice(at..at, part);
            }
            Self::Splice(index, other, end) => {
                let (at, end) = (at(index), end.index(other.len() + 1));
                script.splice(at..at, other[..end].iter().copied());
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let place = any::<Index>;
    prop_oneof![
        (place(), any::<u8>()).prop_map(|(at, byte)| Change::Overwrite(at, byte)),
        (place(), any::<u8>()).prop_map(|(at, byte)| Change::Insert(at, byte)),
        (place(), place()).prop_map(|(from, to)| Change::Remove(from, to)),
        (place(), place(), place()).prop_map(|(from, to, at)| Change::Copy(from, to, at)),
        (place(), select(corpus()), place())
            .prop_map(|(at, other, end)| Change::Splice(at, other, end)),
    ]
}

#[test]
fn the_corpus_is_survived() {
    for script in corpus() {
        check(&script);
    }
}

proptest! {
    #![proptest_config(Config { rng_seed: RngSeed::Fixed(4), ..Config::default() })]

    #[test]
    fn what_is_near_the_corpus_is_survived(script in select(corpus()), changes in vec(change(), 1..8)) {
        let mut script = script;
        for change in &changes {
            change.apply(&mut script);
        }
        check(&script);
    }
}
