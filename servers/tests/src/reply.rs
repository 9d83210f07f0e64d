//! The bytes of an expected answer. They come from `rungs-response`, so that the table cannot disagree with the rungs.

use rungs_response::{
    Answer, Connection, Encoder, Framing, PATTERN, Refusal, Route, Status, Version,
};

/// The moment that stands for every right `date`: see [`crate::wire::Wire::receive`].
pub(crate) const EPOCH: &str = "Thu, 01 Jan 1970 00:00:00 GMT";

/// One answer that a client must get.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    form: Form,
    version: Version,
    connection: Connection,
    head_only: bool,
}

#[derive(Clone, Debug)]
enum Form {
    Answer(Answer, Vec<u8>),
    Error(Status),
    Continue,
    Pattern(usize),
}

impl Reply {
    fn new(form: Form) -> Self {
        Self {
            form,
            version: Version::Http11,
            connection: Connection::Unsaid,
            head_only: false,
        }
    }

    /// The answer to HEAD: no body.
    pub(crate) fn head(self) -> Self {
        Self {
            head_only: true,
            ..self
        }
    }

    /// The status line says HTTP/1.0.
    pub(crate) fn http10(self) -> Self {
        Self {
            version: Version::Http10,
            ..self
        }
    }

    /// `connection: close` is said.
    pub(crate) fn closing(self) -> Self {
        Self {
            connection: Connection::Close,
            ..self
        }
    }

    /// `connection: keep-alive` is said.
    pub(crate) fn keeping(self) -> Self {
        Self {
            connection: Connection::KeepAlive,
            ..self
        }
    }

    /// Appends the answer's bytes, dated [`EPOCH`].
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let encoder = Encoder::new(0);
        match &self.form {
            Form::Answer(answer, echo) => {
                let framing = Framing {
                    version: self.version,
                    connection: self.connection,
                    head_only: self.head_only,
                    echo,
                };
                let pattern = encoder.answer(answer, framing, out) as usize;
                out.extend(PATTERN.iter().cycle().take(pattern));
            }
            Form::Error(status) => encoder.error(*status, self.version, out),
            Form::Continue => Encoder::proceed(out),
            Form::Pattern(length) => out.extend(PATTERN.iter().cycle().take(*length)),
        }
    }
}

/// What `GET /` answers.
pub(crate) fn page() -> Reply {
    ok(Route::Page)
}

/// What this route answers.
pub(crate) fn ok(route: Route) -> Reply {
    Reply::new(Form::Answer(route.answer(), Vec::new()))
}

/// What `POST /echo` answers to this body.
pub(crate) fn echo(body: impl Into<Vec<u8>>) -> Reply {
    Reply::new(Form::Answer(Route::Echo.answer(), body.into()))
}

/// The body alone of what `GET /bytes/{length}` answers.
pub(crate) fn pattern(length: usize) -> Reply {
    Reply::new(Form::Pattern(length))
}

/// 404.
pub(crate) fn not_found() -> Reply {
    Reply::new(Form::Answer(Refusal::NotFound.into(), Vec::new()))
}

/// 405 with these methods in `allow`.
pub(crate) fn not_allowed(allow: &'static str) -> Reply {
    let refusal = Refusal::MethodNotAllowed { allow };
    Reply::new(Form::Answer(refusal.into(), Vec::new()))
}

/// The answer to a request that cannot be served; it says `connection: close`.
pub(crate) fn error(status: Status) -> Reply {
    Reply::new(Form::Error(status))
}

/// 400.
pub(crate) fn bad_request() -> Reply {
    error(Status::BadRequest)
}

/// The interim answer to `Expect: 100-continue`.
pub(crate) fn proceed() -> Reply {
    Reply::new(Form::Continue)
}
