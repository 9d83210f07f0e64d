//! Why a row has no value: it failed, or it is absent for a reason that can be named.

use std::io;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A row that should have a value and has none. A run that holds one exits non-zero.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// A system call said no.
    #[error("{call}: {error}")]
    System {
        /// The call's name.
        call: String,
        /// What errno said.
        error: String,
    },
    /// The program could not be started.
    #[error("cannot start {program}: {error}")]
    Exec {
        /// Its path.
        program: String,
        /// What execve(2) said.
        error: String,
    },
    /// A child ended before it reported.
    #[error("the {role} ended before it reported: {status}")]
    ChildDied {
        /// What it was to do.
        role: String,
        /// How it ended.
        status: String,
    },
    /// A child did not report in time; the watchdog ended it.
    #[error("the {role} said nothing for {seconds} s and was ended")]
    Hung {
        /// What it was to do.
        role: String,
        /// How long the watchdog waited.
        seconds: u64,
    },
    /// What arrived, or what was counted, is not what it should be.
    #[error("{0}")]
    Wrong(String),
}

impl Failure {
    /// For `map_err`: `call` failed so.
    pub fn call<E: Into<io::Error>>(call: &str) -> impl Fn(E) -> Self {
        move |error| Self::System {
            call: call.to_owned(),
            error: error.into().to_string(),
        }
    }

    /// The watchdog's word on `role`.
    #[must_use]
    pub fn hung(role: &str, after: Duration) -> Self {
        Self::Hung {
            role: role.to_owned(),
            seconds: after.as_secs(),
        }
    }
}

/// A row that cannot have a value here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Absence {
    /// A limit of the system is below what the row needs.
    #[error("limit: {0}")]
    Limit(String),
    /// Something is missing: a library, a kernel feature, a right.
    #[error("skipped: {0}")]
    Skipped(String),
    /// The row would mislead.
    #[error("refused: {0}")]
    Refused(String),
}
