//! Measures families and prints their rows: `cargo run --release -p rungs-primitives --example primitives -- latency …`.
//! With `rehearse` first, short and in any build.

use std::process::ExitCode;
use std::time::Duration;

use rungs_primitives::clock::allowed_cpus;
use rungs_primitives::plan::{Plan, Purpose};
use rungs_primitives::row::{Family, Outcome};
use rungs_primitives::trial::ChildCommand;
use rungs_primitives::{Event, child, run};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args == ["child"] {
        return match child::main() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("{failure}");
                ExitCode::FAILURE
            }
        };
    }
    match measure(&args) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failed) => {
            eprintln!("{failed} rows failed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &[String]) -> Result<usize, Box<dyn std::error::Error>> {
    let families = args
        .iter()
        .filter(|arg| *arg != "rehearse")
        .map(|arg| family(arg))
        .collect::<Result<_, _>>()?;
    let command = ChildCommand {
        program: std::env::current_exe()?,
        args: vec!["child".into()],
    };
    let mut plan = Plan::new(families, allowed_cpus()?, command);
    if args.iter().any(|arg| arg == "rehearse") {
        plan = Plan {
            repetitions: 1,
            batch: Duration::from_millis(1),
            purpose: Purpose::Rehearse,
            ..plan
        };
    }
    let failed = run(&plan, &mut |event| {
        if let Event::Row(row) = event {
            print(&row);
        }
    })?;
    Ok(failed)
}

fn family(name: &str) -> Result<Family, serde_json::Error> {
    serde_json::from_value(name.into())
}

fn print(row: &rungs_primitives::Row) {
    let parameter = row
        .message_bytes
        .or(row.workers)
        .or(row.parent_rss_mb)
        .unwrap_or(0);
    print!(
        "{:?} {:<28} {parameter:>6} {:<10} ",
        row.family,
        row.mechanism,
        format!("{:?}", row.placement)
    );
    match &row.outcome {
        Outcome::Value(value) => println!(
            "{:>12.4} {:?} min {:.4} ±{:.1}% n={} {:?} cpu={:?} lost={:?}",
            value.median,
            value.unit,
            value.min,
            100.0 * value.spread(),
            value.operations,
            value.each,
            value.reader_cpu_s,
            value.lost
        ),
        Outcome::Absent(absence) => println!("{absence}"),
        Outcome::Failed(failure) => println!("FAILED: {failure}"),
    }
}
