//! `rungs build` under a cargo, a rustc and an llvm-profdata of the test, and sweeps of what it built.

mod common;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::{fake, finish, rung, rungs};
use rungs::report;
use tempfile::TempDir;

const MATRIX: &str = r#"
name = "variants"
about = "a test"
connections = [4]
rounds = 1
warmup = "0s"
duration = "1s"
[[entrant]]
rung = "epoll"
label = "native"
build = "native"
[[entrant]]
rung = "epoll"
label = "pgo"
build = "pgo"
[[entrant]]
rung = "epoll"
label = "system"
build = "system-allocator"
"#;

/// A target directory with the `rungs` command, the rungs and the matrix; and a cargo that writes down what it is asked for, and
/// "builds" the plain program.
struct Target {
    dir: TempDir,
    path: OsString,
}

impl Target {
    fn new(llvm: u32) -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let programs = dir.path().join("debug");
        fs::create_dir(&programs).unwrap();
        fs::hard_link(rungs().get_program(), programs.join("rungs")).unwrap();
        fs::hard_link(rung("null"), programs.join("rung-null")).unwrap();
        // It is to be changed.
        fs::copy(rung("epoll"), programs.join("rung-epoll")).unwrap();
        fs::write(dir.path().join("m.toml"), MATRIX).unwrap();
        let here = dir.path().display();
        let cargo = format!(
            r#"echo "$RUSTFLAGS|$*" >> '{here}/log'
               for word; do target=$word; done
               case "$*" in *-prungs-epoll*)
                   mkdir -p "$target/debug" && cp '{here}/debug/rung-epoll' "$target/debug" ;;
               esac"#
        );
        fake(dir.path(), "cargo", &cargo);
        let rustc = format!(
            r#"case "$1" in -vV) echo "LLVM version: {llvm}.1" ;; *) echo /nowhere ;; esac"#
        );
        fake(dir.path(), "rustc", &rustc);
        let path = fake(dir.path(), "llvm-profdata-99", "echo counts > \"$3\"");
        Self { dir, path }
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(self.dir.path().join("debug/rungs"));
        let matrix = self.dir.path().join("m.toml");
        command.args(args).arg("--matrix").arg(matrix);
        finish(command.env("PATH", &self.path).env_remove("RUSTFLAGS"))
    }

    /// What cargo was asked for, without the folder.
    fn log(&self) -> String {
        let log = fs::read_to_string(self.dir.path().join("log")).unwrap();
        log.replace(self.dir.path().to_str().unwrap(), "TARGET")
    }
}

#[test]
fn a_matrix_gets_its_variants_and_a_sweep_takes_them_while_they_fit() {
    let target = Target::new(99);
    let (code, _, stderr) = target.run(&["sweep"]);
    assert_eq!(code, Some(1), "{stderr}");
    let missing = "the build variant native of rung-epoll is not built: build it with `rungs build";
    assert!(stderr.contains(missing), "{stderr}");

    let (code, _, stderr) = target.run(&["build"]);
    assert_eq!(code, Some(0), "{stderr}");
    let log = target.log();
    let lines: Vec<_> = log.lines().collect();
    let cargo = "build --locked -prungs-epoll";
    let [plain, native, training, pgo, system] = lines.as_slice() else {
        panic!("{log}");
    };
    assert_eq!(
        *plain,
        "|build --locked --workspace --bins --target-dir TARGET"
    );
    let variants = "--target-dir TARGET/variants";
    let expected = format!("-C target-cpu=native|{cargo} {variants}/native");
    assert_eq!(*native, expected);
    let folder = "TARGET/variants/pgo-training";
    let expected = format!("-C profile-generate={folder}/profiles|{cargo} --target-dir {folder}");
    assert_eq!(*training, expected);
    assert!(
        pgo.starts_with(&format!("-C profile-use={folder}/")),
        "{pgo}"
    );
    let expected = format!("|{cargo} --no-default-features {variants}/system-allocator");
    assert_eq!(*system, expected);

    let out = target.dir.path().join("run");
    let (code, _, stderr) = target.run(&[
        "sweep",
        "--entrants",
        "native",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(code, Some(0), "{stderr}");
    let run = report::read(&out).unwrap().run;
    let native = &run.entrants[1];
    assert_eq!(native.flags, ["RUSTFLAGS=-C target-cpu=native"]);
    assert!(native.command[0].ends_with("variants/native/debug/rung-epoll"));
    let report = fs::read_to_string(out.join("report.md")).unwrap();
    assert!(report.contains("RUSTFLAGS=-C target-cpu=native"));

    let plain = target.dir.path().join("debug/rung-epoll");
    let mut program = fs::read(&plain).unwrap();
    program.push(0);
    fs::write(&plain, program).unwrap();
    let (code, _, stderr) = target.run(&["sweep"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("of other sources than the plain one"),
        "{stderr}"
    );
}

#[test]
fn an_llvm_profdata_that_is_missing_is_named_with_its_package() {
    let target = Target::new(98);
    let (code, _, stderr) = target.run(&["build"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("there is no llvm-profdata of LLVM 98")
            && stderr.contains("apt-get install llvm-98"),
        "{stderr}"
    );
    let native = "variants/native/debug/rung-epoll";
    assert!(Path::new(&target.dir.path().join(native)).exists());
}
