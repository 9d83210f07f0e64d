//! The committed JSON Schemas are those of the types, and real files fit them.
//!
//! After a change of the types: `UPDATE_SCHEMAS=1 cargo test -p rungs --test schemas`, and commit the result.

use std::fs;
use std::path::{Path, PathBuf};

use rungs::analyse::analyse_record;
use rungs::compare::{Comparison, compare};
use rungs::findings::Findings;
use rungs::paced::PacedLoad;
use rungs::primitives::record as primitives;
use rungs::primitives::report::findings::Findings as PrimitivesFindings;
use rungs::record::cost::UserSpace;
use rungs::record::trace::Trace;
use rungs::record::{Cell, PacedCell, Run};
use rungs::report;
use rungs_primitives::programs::claims::Claim;
use schemars::{JsonSchema, schema_for};
use serde_json::Value;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Compares the committed schema of a type with the type, or writes it.
fn check_committed<T: JsonSchema>(name: &str) {
    let path = path("schemas").join(name);
    let generated = serde_json::to_string_pretty(&schema_for!(T)).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated,
        "{} is not that of the types: run `UPDATE_SCHEMAS=1 cargo test -p rungs --test schemas` and commit it",
        path.display()
    );
}

#[test]
fn committed_schemas_are_those_of_the_types() {
    check_committed::<Run>("run.schema.json");
    check_committed::<Cell>("cell.schema.json");
    check_committed::<PacedCell>("rates.schema.json");
    check_committed::<Trace>("traces.schema.json");
    check_committed::<UserSpace>("cost.schema.json");
    check_committed::<Findings>("findings.schema.json");
    check_committed::<Comparison>("compare.schema.json");
    check_committed::<PacedLoad>("load.schema.json");
    check_committed::<primitives::Run>("primitives-run.schema.json");
    check_committed::<rungs_primitives::Row>("primitives-row.schema.json");
    check_committed::<Vec<Claim>>("primitives-claims.schema.json");
    check_committed::<primitives::Servers>("primitives-servers.schema.json");
    check_committed::<PrimitivesFindings>("primitives-findings.schema.json");
}

fn errors<T: JsonSchema>(instance: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema_for!(T).as_value()).unwrap();
    validator
        .iter_errors(instance)
        .map(|error| error.to_string())
        .collect()
}

#[test]
fn the_made_run_fits_the_schemas() {
    let made = path("tests/data/made");
    let run: Value =
        serde_json::from_str(&fs::read_to_string(made.join(report::RUN_FILE)).unwrap()).unwrap();
    assert_eq!(errors::<Run>(&run), [""; 0]);
    let cells = fs::read_to_string(made.join(report::CELLS_FILE)).unwrap();
    for line in cells.lines() {
        let cell: Value = serde_json::from_str(line).unwrap();
        assert_eq!(errors::<Cell>(&cell), [""; 0], "{line}");
    }
    let rates = fs::read_to_string(made.join(report::RATES_FILE)).unwrap();
    for line in rates.lines() {
        let cell: Value = serde_json::from_str(line).unwrap();
        assert_eq!(errors::<PacedCell>(&cell), [""; 0], "{line}");
    }
    let traces = fs::read_to_string(made.join(report::TRACES_FILE)).unwrap();
    for line in traces.lines() {
        let trace: Value = serde_json::from_str(line).unwrap();
        assert_eq!(errors::<Trace>(&trace), [""; 0], "{line}");
    }
    let record = report::read(&made).unwrap();
    let findings = serde_json::to_value(analyse_record(&record)).unwrap();
    assert_eq!(errors::<Findings>(&findings), [""; 0]);
    let comparison = compare((&made, &record), (&made, &record)).unwrap();
    let comparison = serde_json::to_value(comparison).unwrap();
    assert_eq!(errors::<Comparison>(&comparison), [""; 0]);
}

#[test]
fn the_schemas_refuse_what_does_not_fit() {
    let made = path("tests/data/made");
    let cells = fs::read_to_string(made.join(report::CELLS_FILE)).unwrap();
    let mut cell: Value = serde_json::from_str(cells.lines().next().unwrap()).unwrap();
    cell["planned"]["block"] = Value::from("first");
    cell["unknown"] = Value::from(1);
    assert_eq!(
        errors::<Cell>(&cell).len(),
        2,
        "{:?}",
        errors::<Cell>(&cell)
    );
}
