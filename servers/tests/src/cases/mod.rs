//! The table.

mod bodies;
mod bodies_bad;
mod connections;
mod faults;
mod heads;
mod processes;
mod routes;

use crate::{Case, Difference};

/// The whole table.
#[must_use]
pub fn cases() -> Vec<Case> {
    let groups = [
        routes::cases(),
        connections::cases(),
        heads::cases(),
        bodies::cases(),
        bodies_bad::cases(),
        faults::cases(),
        processes::cases(),
    ];
    groups.into_iter().flatten().collect()
}

/// Every declared difference, in the order of the table.
#[must_use]
pub fn differences() -> Vec<Difference> {
    cases().iter().flat_map(Case::differences).collect()
}

/// A GET of HTTP/1.1 that keeps the connection.
fn get(target: &str) -> String {
    request("GET", target, "")
}

/// A request of HTTP/1.1 with these further header lines.
fn request(method: &str, target: &str, lines: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nhost: a\r\n{lines}\r\n")
}

/// A POST to /echo with a `content-length`.
fn post(body: &str) -> String {
    let head = post_head(body.len());
    format!("{head}{body}")
}

/// The head of a POST to /echo that announces so many bytes.
fn post_head(length: usize) -> String {
    request("POST", "/echo", &format!("content-length: {length}\r\n"))
}

/// A chunked POST to /echo; `body` is what goes over the wire.
fn chunked(body: &str) -> String {
    let head = request("POST", "/echo", "transfer-encoding: chunked\r\n");
    format!("{head}{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = cases().iter().map(|case| case.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn the_short_form_needs_no_server_of_its_own() {
        let cases = cases();
        let quick: Vec<_> = cases.iter().filter(|case| case.quick).collect();
        assert!(quick.len() >= 12, "{}", quick.len());
        for case in quick {
            assert!(
                !case.needs_process() && case.flags.is_empty(),
                "{}",
                case.name
            );
        }
    }
}
