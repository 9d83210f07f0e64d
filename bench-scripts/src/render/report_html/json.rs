//! JSON inside a page.

use serde::Serialize;

/// JSON for a `<script type="application/json">`: nothing in it can end the script, whatever its strings hold.
pub(crate) fn in_script(json: &str) -> String {
    // Outside strings JSON has no `<`.
    json.replace('<', "\\u003c")
}

/// An object with ready JSON as its values.
pub(crate) fn object<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let entries: Vec<String> = entries
        .into_iter()
        .map(|(key, json)| format!("{}:{json}", string(key)))
        .collect();
    format!("{{{}}}", entries.join(","))
}

/// Anything that is serialised without fail: strings, numbers, lists of them.
pub(crate) fn string(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("strings and numbers are JSON")
}
