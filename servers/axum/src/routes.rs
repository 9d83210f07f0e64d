//! The `Router` and its handlers.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::DefaultBodyLimit;
use axum::extract::rejection::BytesRejection;
use axum::http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use rungs_response::{Body as Content, MAX_ECHO, Route, route};
use rungs_serve::runtime::Pattern;

/// Every route. The `Router` itself answers 405 with `allow`.
pub(crate) fn router() -> Router {
    Router::new()
        .route("/", get(page))
        .route("/ladder.svg", get(picture))
        .route("/json", get(json))
        .route("/bytes/{n}", get(bytes))
        .route("/echo", post(echo))
        .fallback(not_found)
        .layer(DefaultBodyLimit::max(MAX_ECHO))
}

async fn page() -> Response {
    respond(Route::Page, Bytes::new())
}

async fn picture() -> Response {
    respond(Route::Picture, Bytes::new())
}

async fn json() -> Response {
    respond(Route::Json, Bytes::new())
}

/// axum's `Path` would decode `%31` and take `+1` for a number, which the other rungs do not.
async fn bytes(uri: Uri) -> Response {
    match route("GET", uri.path()) {
        Ok(route) => respond(route, Bytes::new()),
        Err(_) => not_found().await,
    }
}

async fn echo(body: Result<Bytes, BytesRejection>) -> Response {
    match body {
        Ok(body) => respond(Route::Echo, body),
        Err(rejection) => refuse(rejection.status()),
    }
}

/// The `Router` adds `content-length` to the answers of its routes only, so HEAD of an unknown path would lack it.
async fn not_found() -> Response {
    (StatusCode::NOT_FOUND, [(CONTENT_LENGTH, "0")]).into_response()
}

/// The answer of a route. axum adds `content-length`.
fn respond(route: Route, echo: Bytes) -> Response {
    let answer = route.answer();
    let body = match answer.body {
        Content::Empty => Body::empty(),
        Content::Static(bytes) => Body::from(bytes),
        Content::Inline(bytes) => Body::from(bytes.as_slice().to_vec()),
        Content::Pattern(length) => Body::new(Pattern::new(length)),
        Content::Echo => Body::from(echo),
    };
    let mut response = Response::new(body);
    if let Some(content_type) = answer.content_type {
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    response
}

/// In place of the words that axum would explain itself with: what hyper says to a request that it cannot read.
fn refuse(status: StatusCode) -> Response {
    (status, [(CONNECTION, "close"), (CONTENT_LENGTH, "0")]).into_response()
}
