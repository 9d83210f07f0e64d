//! The request target (RFC 9112, section 3.2), as far as it is routed.

use std::borrow::Cow;

use http::Uri;

/// The path of `target`, or `None` if it is not one.
///
/// The origin form of ordinary characters is cut in place. Everything else (the absolute form, the authority form, `*`,
/// rare characters) is left to the `http` crate, so that what is valid is what hyper takes for valid.
pub(crate) fn path(target: &str) -> Option<Cow<'_, str>> {
    if target.starts_with('/') && target.bytes().all(is_ordinary) {
        let end = target.bytes().position(|byte| byte == b'?');
        return Some(Cow::Borrowed(&target[..end.unwrap_or(target.len())]));
    }
    let uri: Uri = target.parse().ok()?;
    Some(Cow::Owned(uri.path().to_owned()))
}

/// Whether `byte` may be anywhere in a path and in a query, whoever judges.
fn is_ordinary(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'$'..=b'/' | b':' | b';' | b'=' | b'?' | b'@' | b'_' | b'~'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_ends_at_the_query() {
        assert_eq!(path("/").as_deref(), Some("/"));
        assert_eq!(path("/json?a=b?c").as_deref(), Some("/json"));
        assert_eq!(path("/?").as_deref(), Some("/"));
        assert_eq!(path("/a%20b").as_deref(), Some("/a%20b"));
        assert_eq!(path("//a").as_deref(), Some("//a"));
    }

    #[test]
    fn other_forms() {
        assert_eq!(path("http://example.com").as_deref(), Some("/"));
        assert_eq!(path("http://example.com/json?q").as_deref(), Some("/json"));
        assert_eq!(path("http://[::1]:80/json").as_deref(), Some("/json"));
        assert_eq!(path("*").as_deref(), Some("*"));
        assert_eq!(path("example.com:443").as_deref(), Some(""));
        assert_eq!(path("/json#fragment").as_deref(), Some("/json"));
        assert_eq!(path("/\u{fc}").as_deref(), Some("/\u{fc}"));
    }

    #[test]
    fn no_target() {
        for target in ["", "/a<b", "json/", "http://", "http:///json", "?a"] {
            assert_eq!(path(target), None, "{target:?}");
        }
    }

    /// The short cut decides nothing by itself.
    #[test]
    fn the_short_cut_agrees_with_the_http_crate() {
        for byte in 0x21..0x7f_u8 {
            for target in [
                format!("/{}", char::from(byte)),
                format!("/a?{}", char::from(byte)),
            ] {
                let uri = target.parse::<Uri>().ok();
                let expected = uri.as_ref().map(Uri::path);
                assert_eq!(path(&target).as_deref(), expected, "{target}");
            }
        }
    }
}
