//! The tools as they should be, as they should not be, and what they really print.

use super::perf::Perf;
use super::strace::Strace;
use super::*;
use crate::record::trace::{EventCount, SystemCall, Traced};

/// A tool that is a shell: each test says what it does.
macro_rules! scripted {
    ($name:ident, $attaches:literal, $script:literal) => {
        #[derive(Debug)]
        struct $name;

        impl Tool for $name {
            type Counts = String;
            const PROGRAM: &'static str = "sh";
            const INSTALL: &'static str = "nowhere to be had";

            fn flags() -> Vec<String> {
                ["-c", $script].map(String::from).into()
            }

            fn is_attached(_: u32, _: &[u32]) -> bool {
                // A shell sets its traps first.
                thread::sleep(Duration::from_millis(300));
                $attaches
            }

            fn not_allowed(output: &str) -> Option<Absence> {
                output.contains("forbidden").then(|| Absence {
                    what: "it is forbidden".into(),
                    remedy: "allow it".into(),
                })
            }

            fn parse(output: &str) -> Result<String, String> {
                match output.strip_prefix("counted ") {
                    Some(rest) => Ok(rest.trim().into()),
                    None => Err("printed rubbish".into()),
                }
            }
        }
    };
}

fn attach<T: Tool>() -> Result<Attached<T>, Absence> {
    let by = Instant::now() + Duration::from_secs(1);
    Attached::to(&[1, 2], by, &Interrupt::default()).unwrap()
}

fn problem<T: Tool + std::fmt::Debug>() -> Absence
where
    T::Counts: std::fmt::Debug,
{
    attach::<T>().and_then(Attached::detach).unwrap_err()
}

#[test]
fn a_tool_is_interrupted_and_its_words_are_read() {
    // `$0` is the argument behind the flags: the list of processes.
    scripted!(
        Good,
        true,
        r#"trap 'echo "counted $0"; trap - INT; kill -INT $$' INT; while :; do sleep 0.01; done"#
    );
    assert_eq!(attach::<Good>().unwrap().detach().unwrap(), "1,2");
}

#[test]
fn a_tool_that_hangs_is_killed_and_said() {
    scripted!(Deaf, true, "trap '' INT; while :; do sleep 0.01; done");
    let absence = problem::<Deaf>();
    assert_eq!(
        absence.what,
        "sh was still running 2 s after SIGINT and was killed"
    );
    scripted!(Slow, false, "sleep 60");
    assert_eq!(problem::<Slow>().what, "sh did not attach in time");
}

#[test]
fn a_tool_that_fails_is_quoted_unless_it_is_only_forbidden() {
    scripted!(Failing, false, "echo 'no such luck' >&2; exit 4");
    let absence = problem::<Failing>();
    assert_eq!(absence.what, "sh exited with status 4: no such luck");
    assert!(absence.remedy.starts_with("try `sh -c "), "{absence:?}");
    scripted!(Crashing, true, "kill -SEGV $$");
    assert!(problem::<Crashing>().what.contains("SIGSEGV"));
    scripted!(Forbidden, false, "echo forbidden >&2; exit 1");
    assert_eq!(problem::<Forbidden>().remedy, "allow it");
    scripted!(Rubbish, true, "exit 0");
    assert_eq!(problem::<Rubbish>().what, "sh printed rubbish");
}

#[test]
fn a_tool_that_is_not_there_says_how_to_get_it() {
    struct Missing;
    impl Tool for Missing {
        type Counts = ();
        const PROGRAM: &'static str = "no-such-tool-of-rungs";
        const INSTALL: &'static str = "`apt-get install it`";

        fn flags() -> Vec<String> {
            Vec::new()
        }

        fn is_attached(_: u32, _: &[u32]) -> bool {
            true
        }

        fn not_allowed(_: &str) -> Option<Absence> {
            None
        }

        fn parse(_: &str) -> Result<(), String> {
            Ok(())
        }
    }
    let absence = Attached::<Missing>::start(&[1]).err().unwrap();
    assert_eq!(absence.what, "no-such-tool-of-rungs is not installed");
    assert_eq!(absence.remedy, "`apt-get install it`");
}

fn call(name: &str, calls: u64, errors: u64) -> SystemCall {
    SystemCall {
        name: name.into(),
        calls,
        errors,
    }
}

/// As strace 6.1 printed it of a rung with two threads.
const STRACE: &str = "\
strace: Process 27571 attached with 4 threads
strace: pid 27575: entering, ptrace_syscall_info.op == 2
strace: Process 27571 detached
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 63.32    0.207720          11     17717           writev
 35.40    0.116129           6     17717        12 recvfrom
  1.28    0.004194          11       377           epoll_wait
------ ----------- ----------- --------- --------- ----------------
100.00    0.328043           9     35811        12 total
";

#[test]
fn straces_summary_is_read() {
    let expected = [
        call("writev", 17717, 0),
        call("recvfrom", 17717, 12),
        call("epoll_wait", 377, 0),
    ];
    assert_eq!(Strace::parse(STRACE).unwrap(), expected);
}

#[test]
fn a_summary_that_is_not_one_is_refused() {
    let nothing = "strace: Process 20532 attached\nstrace: Process 20532 detached\n";
    assert_eq!(Strace::parse(nothing).unwrap_err(), "printed no summary");
    let (cut, _) = STRACE.split_once("100.00").unwrap();
    assert_eq!(Strace::parse(cut).unwrap_err(), "printed no summary");
    let problem = Strace::parse(&STRACE.replace("377", "many")).unwrap_err();
    assert!(
        problem.contains("not understood") && problem.contains("many"),
        "{problem}"
    );
}

#[test]
fn a_forbidden_attachment_says_what_to_do() {
    let refusal = "strace: attach: ptrace(PTRACE_SEIZE, 1): Operation not permitted\n";
    let absence = Strace::not_allowed(refusal).unwrap();
    assert!(absence.what.contains("PTRACE_SEIZE"), "{absence:?}");
    assert!(absence.remedy.contains("ptrace_scope=0"), "{absence:?}");
    let gone = "strace: attach: ptrace(PTRACE_SEIZE, 999999): No such process\n";
    assert_eq!(Strace::not_allowed(gone), None);
    // As perf 6.1 says it, cut.
    let refusal = "Error:\nAccess to performance monitoring and observability operations is limited.\n\
        Consider adjusting /proc/sys/kernel/perf_event_paranoid setting to open\n";
    let absence = Perf::not_allowed(refusal).unwrap();
    assert!(
        absence.remedy.contains("perf_event_paranoid=1"),
        "{absence:?}"
    );
    assert_eq!(
        Perf::not_allowed("Problems finding threads of monitor\n"),
        None
    );
}

/// Value, unit, share of the time, and whether it is of user space only; else why there is none.
type Told = Result<(f64, String, f64, bool), String>;

/// Name and figure of each event.
fn events(output: &str) -> Vec<(String, Told)> {
    let told = |count| match count {
        Traced::Counted(EventCount {
            value,
            unit,
            running_percent,
            user_only,
        }) => Ok((value, unit, running_percent, user_only)),
        Traced::Absent(Absence { what, .. }) => Err(what),
    };
    let events = Perf::parse(output).unwrap().into_iter();
    events
        .map(|event| (event.name, told(event.count)))
        .collect()
}

#[test]
fn perfs_counters_are_read_and_what_is_absent_is_named() {
    // As perf 6.1 printed it on a virtual machine without hardware counters.
    let output = "587.07;msec;task-clock;587067101;100.00;0.739;CPUs utilized\n\
        5829;;context-switches;587067101;100.00;9.929;K/sec\n\
        0;;page-faults;587067101;100.00;0.000;/sec\n\
        <not supported>;;cycles;0;100.00;;\n\
        <not counted>;;branches;0;100.00;;\n";
    let counted = |value, unit: &str| Ok((value, unit.to_owned(), 100.0, false));
    let expected = [
        ("task-clock", counted(587.07, "msec")),
        ("context-switches", counted(5829.0, "")),
        ("page-faults", counted(0.0, "")),
        ("cycles", Err("not supported here".to_owned())),
        ("branches", Err("not counted".to_owned())),
    ];
    assert_eq!(
        events(output),
        expected.map(|(name, told)| (name.to_owned(), told))
    );
}

#[test]
fn a_shared_register_and_a_comma_in_numbers_are_understood() {
    let output = "587,07;msec;task-clock;587067101;100,00;0,739;CPUs utilized\n\
        4242424242;;instructions;366916938;62,50;1,21;insn per cycle\n";
    let told: Vec<_> = events(output)
        .into_iter()
        .map(|(_, told)| told.unwrap())
        .collect();
    assert_eq!(told[0].0, 587.07);
    assert_eq!((told[1].0, told[1].2), (4_242_424_242.0, 62.5));
}

#[test]
fn of_user_space_alone_there_is_no_false_zero() {
    // As perf 6.1 printed it for a user whom perf_event_paranoid keeps out of the kernel.
    let output = "0.70;msec;task-clock:u;695729;100.00;0.007;CPUs utilized\n\
        0;;context-switches:u;695729;100.00;0.000;/sec\n";
    let events = events(output);
    assert_eq!(events[0].1, Ok((0.7, "msec".into(), 100.0, true)));
    assert_eq!(events[1].0, "context-switches");
    assert!(
        events[1]
            .1
            .as_ref()
            .unwrap_err()
            .contains("user space only"),
        "{events:?}"
    );
}

#[test]
fn what_is_no_counter_is_refused() {
    assert_eq!(Perf::parse("").unwrap_err(), "printed no counter");
    let problem = Perf::parse("some;;cycles;0;100.00;;\n").unwrap_err();
    assert!(problem.contains("not understood"), "{problem}");
}
