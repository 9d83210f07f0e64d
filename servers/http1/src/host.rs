//! `Host = uri-host [ ":" port ]` (RFC 9110, section 7.2), with the names of RFC 3986, section 3.2.2.

use std::net::Ipv6Addr;

/// The unreserved characters and the sub-delimiters: what a name is made of, percent-encoding aside.
static NAME: [bool; 256] = {
    let mut name = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        name[byte as usize] = matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~')
            || matches!(byte, b'!' | b'$' | b'&'..=b',' | b';' | b'=');
        byte += 1_u8;
    }
    name
};

/// Whether `value` can be the value of a `host` line. An empty one can: it is what a client sends that has no
/// authority to name. User information cannot.
pub(crate) fn is_valid(value: &[u8]) -> bool {
    match value {
        [b'[', literal @ ..] => literal
            .iter()
            .position(|&byte| byte == b']')
            .is_some_and(|end| is_ip_literal(&literal[..end]) && is_port(&literal[end + 1..])),
        name => is_port(after_name(name)),
    }
}

/// What follows the registered name that `value` starts with. An IPv4 address is one too, as far as its characters go.
fn after_name(mut value: &[u8]) -> &[u8] {
    loop {
        let end = value.iter().position(|&byte| !NAME[usize::from(byte)]);
        value = &value[end.unwrap_or(value.len())..];
        match value {
            [b'%', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                value = rest;
            }
            _ => return value,
        }
    }
}

/// Nothing, or a colon and digits, of which there may be none.
fn is_port(port: &[u8]) -> bool {
    match port {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// What is between the brackets: an IPv6 address, or an address of a version to come.
fn is_ip_literal(literal: &[u8]) -> bool {
    if let [b'v' | b'V', future @ ..] = literal {
        let Some(dot) = future.iter().position(|&byte| byte == b'.') else {
            return false;
        };
        let (version, address) = (&future[..dot], &future[dot + 1..]);
        return !version.is_empty()
            && version.iter().all(u8::is_ascii_hexdigit)
            && !address.is_empty()
            && address
                .iter()
                .all(|&byte| byte == b':' || NAME[usize::from(byte)]);
    }
    std::str::from_utf8(literal).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::is_valid;

    #[test]
    fn hosts_with_and_without_port() {
        for host in [
            "",
            "localhost",
            "localhost:18470",
            "127.0.0.1:80",
            "a.b-c_d~e",
            "m%C3%BCnchen.example",
            "example.com:",
            "[::1]",
            "[::ffff:1.2.3.4]:8080",
            "[v1F.a:b]",
        ] {
            assert!(is_valid(host.as_bytes()), "{host:?}");
        }
    }

    #[test]
    fn what_is_no_host() {
        for host in [
            "user@example.com",
            "a b",
            "a/b",
            "a?b",
            "a#b",
            "http://a",
            "a:8o",
            "a:1:2",
            "::1",
            "[::1",
            "[::1]x",
            "[::1%25eth0]",
            "[]",
            "[v.a]",
            "[v1.]",
            "[v1]",
            "a%2",
            "a%zz",
            "a,b\"",
            "m\u{fc}nchen",
        ] {
            assert!(!is_valid(host.as_bytes()), "{host:?}");
        }
    }
}
