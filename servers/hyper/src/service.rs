//! What hyper calls for each request.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{ALLOW, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::service::Service;
use hyper::{Request, Response, StatusCode};
use rungs_response::{Answer, MAX_ECHO, PAGE, Route, Status, route};
use rungs_serve::runtime::Tally;

use crate::body::Body;

/// Answers requests. Cloned for each connection.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    tally: Tally,
}

impl Answers {
    pub(crate) fn new(tally: Tally) -> Self {
        Self { tally }
    }
}

impl Service<Request<Incoming>> for Answers {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Answering {
        self.tally.slot().requests.add(1);
        match route(request.method().as_str(), request.uri().path()) {
            Ok(Route::Page) => Answering::ready(page()),
            Ok(Route::Echo) => Answering::Reading(Box::pin(echo(request.into_body()))),
            Ok(route) => Answering::ready(respond(&route.answer(), Bytes::new())),
            Err(refusal) => Answering::ready(respond(&refusal.into(), Bytes::new())),
        }
        // Here an unwanted body is dropped, before the answer is sent: so hyper says whether it will close.
    }
}

/// The answer to one request: mostly there at once.
pub(crate) enum Answering {
    Ready(Option<Response<Body>>),
    Reading(Pin<Box<dyn Future<Output = Response<Body>> + Send>>),
}

impl Answering {
    fn ready(response: Response<Body>) -> Self {
        Self::Ready(Some(response))
    }
}

impl Future for Answering {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Ready(response) => {
                let response = response.take().expect("not polled after it was ready");
                Poll::Ready(Ok(response))
            }
            Self::Reading(future) => future.as_mut().poll(cx).map(Ok),
        }
    }
}

/// The response for the page. Its head is always the same, and to copy a map costs less than to hash into a new one.
fn page() -> Response<Body> {
    static HEADERS: LazyLock<HeaderMap> = LazyLock::new(|| {
        let page = respond(&Route::Page.answer(), Bytes::new());
        page.into_parts().0.headers
    });
    let mut response = Response::new(Body::from_static(PAGE));
    *response.headers_mut() = HEADERS.clone();
    response
}

/// The response for `answer`, in the order of header lines that all rungs have.
fn respond(answer: &Answer, echo: Bytes) -> Response<Body> {
    let body = Body::of(&answer.body, echo);
    let length = body.size_hint().exact().expect("every length is known");
    let mut response = Response::new(body);
    *response.status_mut() = status(answer.status);
    let headers = response.headers_mut();
    if let Some(allow) = answer.allow {
        headers.insert(ALLOW, HeaderValue::from_static(allow));
    }
    if let Some(content_type) = answer.content_type {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    headers.insert(CONTENT_LENGTH, length.into());
    response
}

/// Reads the body and gives it back, if it is whole and not too long.
async fn echo(body: Incoming) -> Response<Body> {
    if body.size_hint().lower() > MAX_ECHO as u64 {
        return error(Status::PayloadTooLarge);
    }
    match Limited::new(body, MAX_ECHO).collect().await {
        Ok(body) => respond(&Route::Echo.answer(), body.to_bytes()),
        Err(e) if e.is::<LengthLimitError>() => error(Status::PayloadTooLarge),
        Err(_malformed_or_cut_off) => error(Status::BadRequest),
    }
}

/// The response to a request that could not be served, as hyper itself words it; the connection closes after it.
fn error(kind: Status) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status(kind);
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers.insert(CONTENT_LENGTH, 0.into());
    response
}

fn status(status: Status) -> StatusCode {
    StatusCode::from_u16(status.code()).expect("every status of ours is one of HTTP")
}
