//! What every rung answers, and the bytes in which it is said. Knows no socket.
//!
//! ```text
//! (method, path) ─ route() ─▶ Route ─ answer() ─▶ Answer ─ Encoder::encode() ─▶ bytes
//! ```
//!
//! The raw rungs write the bytes of [`Encoder`]; hyper and axum encode the same [`Answer`] themselves. The order of
//! the header lines is hyper's, so that all rungs agree to the byte, the value of `date` aside.

mod encode;
mod page;

pub use encode::{Connection, Encoder, Framing, Version};
pub use page::{PAGE, PICTURE};

/// The port of the article that this project grew from.
pub const DEFAULT_PORT: u16 = 18470;

/// The longest body of `GET /bytes/{n}`, in bytes.
pub const MAX_BYTES: u32 = 16 << 20;

/// The longest body that `POST /echo` takes, in bytes; a longer one is answered with 413.
pub const MAX_ECHO: usize = 1 << 20;

/// The block that `GET /bytes/{n}` repeats; its period of 64 makes a lost, doubled or displaced piece visible.
pub static PATTERN: [u8; 64 << 10] = page::pattern();

/// The statuses that a rung can answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 200
    Ok,
    /// 400
    BadRequest,
    /// 404
    NotFound,
    /// 405
    MethodNotAllowed,
    /// 408
    RequestTimeout,
    /// 413
    PayloadTooLarge,
    /// 414
    UriTooLong,
    /// 431
    RequestHeaderFieldsTooLarge,
}

impl Status {
    /// The three-digit code.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::Ok => 200,
            Self::BadRequest => 400,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::RequestTimeout => 408,
            Self::PayloadTooLarge => 413,
            Self::UriTooLong => 414,
            Self::RequestHeaderFieldsTooLarge => 431,
        }
    }

    /// Code and reason phrase, in the words that hyper uses.
    #[must_use]
    pub const fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::RequestTimeout => "408 Request Timeout",
            Self::PayloadTooLarge => "413 Payload Too Large",
            Self::UriTooLong => "414 URI Too Long",
            Self::RequestHeaderFieldsTooLarge => "431 Request Header Fields Too Large",
        }
    }
}

/// A resource that exists, asked for with a method that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// `GET /`: the article's page, 83 bytes of HTML.
    Page,
    /// `GET /ladder.svg`: the picture that the page shows.
    Picture,
    /// `GET /json`: a small object, serialised anew for each request.
    Json,
    /// `GET /bytes/{n}`: `n` bytes of [`PATTERN`].
    Bytes(u32),
    /// `POST /echo`: the request's own body.
    Echo,
}

/// Why a request has no [`Route`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No such path: 404.
    NotFound,
    /// The path is known, the method is not: 405, with the methods of the `allow` line.
    MethodNotAllowed {
        /// The value of the `allow` line, in axum's form.
        allow: &'static str,
    },
}

/// What one request is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: Status,
    /// The value of `content-type`, where there is a body to describe.
    pub content_type: Option<&'static str>,
    /// The value of `allow`, on 405.
    pub allow: Option<&'static str>,
    /// The body.
    pub body: Body,
}

/// The body of an [`Answer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// None.
    Empty,
    /// Bytes that never change.
    Static(&'static [u8]),
    /// Bytes made for this request.
    Inline(Inline),
    /// So many bytes of [`PATTERN`], repeated.
    Pattern(u32),
    /// The body of the request itself.
    Echo,
}

/// A short body made for one request, held without an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inline {
    bytes: [u8; Self::CAPACITY],
    len: u8,
}

impl Inline {
    const CAPACITY: usize = 48;

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Serialises `value` as JSON.
    fn json(value: &impl serde::Serialize) -> Self {
        let mut bytes = [0; Self::CAPACITY];
        let mut rest = &mut bytes[..];
        serde_json::to_writer(&mut rest, value).expect("the object fits its buffer");
        let len = Self::CAPACITY - rest.len();
        Self {
            bytes,
            len: u8::try_from(len).expect("the capacity is under 256"),
        }
    }
}

/// Finds what `method` on `path` asks for. `path` is the target's path as sent: no query, nothing decoded.
///
/// # Errors
///
/// A [`Refusal`], which [`Answer::from`] turns into 404 or 405.
pub fn route(method: &str, path: &str) -> Result<Route, Refusal> {
    let route = match path {
        "/" => Route::Page,
        "/ladder.svg" => Route::Picture,
        "/json" => Route::Json,
        "/echo" => Route::Echo,
        _ => bytes_route(path).ok_or(Refusal::NotFound)?,
    };
    match (route, method) {
        (Route::Echo, "POST") => Ok(route),
        (Route::Echo, _) => Err(Refusal::MethodNotAllowed { allow: "POST" }),
        (_, "GET" | "HEAD") => Ok(route),
        (_, _) => Err(Refusal::MethodNotAllowed { allow: "GET,HEAD" }),
    }
}

/// `/bytes/{n}`, with `n` in decimal digits and at most [`MAX_BYTES`].
fn bytes_route(path: &str) -> Option<Route> {
    let digits = path.strip_prefix("/bytes/")?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let n = digits.parse().ok().filter(|&n| n <= MAX_BYTES)?;
    Some(Route::Bytes(n))
}

#[derive(serde::Serialize)]
struct Message {
    message: &'static str,
}

impl Route {
    /// The answer of this route. That of [`Route::Echo`] still needs the request's body.
    #[must_use]
    pub fn answer(self) -> Answer {
        let (content_type, body) = match self {
            Self::Page => ("text/html", Body::Static(PAGE)),
            Self::Picture => ("image/svg+xml", Body::Static(PICTURE)),
            Self::Json => {
                let message = Message {
                    message: "Hello, World!",
                };
                ("application/json", Body::Inline(Inline::json(&message)))
            }
            Self::Bytes(n) => ("application/octet-stream", Body::Pattern(n)),
            Self::Echo => ("application/octet-stream", Body::Echo),
        };
        Answer {
            status: Status::Ok,
            content_type: Some(content_type),
            allow: None,
            body,
        }
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let (status, allow) = match refusal {
            Refusal::NotFound => (Status::NotFound, None),
            Refusal::MethodNotAllowed { allow } => (Status::MethodNotAllowed, Some(allow)),
        };
        Self {
            status,
            content_type: None,
            allow,
            body: Body::Empty,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_exact() {
        assert_eq!(route("GET", "/"), Ok(Route::Page));
        assert_eq!(route("HEAD", "/"), Ok(Route::Page));
        assert_eq!(route("GET", "/json"), Ok(Route::Json));
        assert_eq!(route("POST", "/echo"), Ok(Route::Echo));
        assert_eq!(route("GET", "/ladder.svg"), Ok(Route::Picture));
        for path in ["", "/json/", "//", "/ladder", "/bytes", "/bytes/", "/JSON"] {
            assert_eq!(route("GET", path), Err(Refusal::NotFound), "{path}");
        }
    }

    #[test]
    fn byte_counts_are_decimal_and_bounded() {
        assert_eq!(route("GET", "/bytes/0"), Ok(Route::Bytes(0)));
        assert_eq!(route("GET", "/bytes/16777216"), Ok(Route::Bytes(MAX_BYTES)));
        for n in ["16777217", "-1", "+1", "1e3", " 1", "99999999999999999999"] {
            let path = format!("/bytes/{n}");
            assert_eq!(route("GET", &path), Err(Refusal::NotFound), "{path}");
        }
    }

    #[test]
    fn another_method_is_told_what_is_allowed() {
        let allow = |method, path| match route(method, path) {
            Err(Refusal::MethodNotAllowed { allow }) => Some(allow),
            _ => None,
        };
        assert_eq!(allow("POST", "/"), Some("GET,HEAD"));
        assert_eq!(allow("get", "/"), Some("GET,HEAD"));
        assert_eq!(allow("GET", "/echo"), Some("POST"));
        assert_eq!(allow("BREW", "/nowhere"), None);
    }

    #[test]
    fn json_is_serialised() {
        let Body::Inline(body) = Route::Json.answer().body else {
            panic!("JSON is made for each request");
        };
        assert_eq!(body.as_slice(), br#"{"message":"Hello, World!"}"#);
    }
}
