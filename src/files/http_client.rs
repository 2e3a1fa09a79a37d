//! The HTTP client for S3 servers. Uses reqwest with the features of the other requests: the client
//! of `object_store` would enable HTTP/2.

use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt;
use object_store::{
    ClientConfigKey, ClientOptions, Error, Result,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
        HttpResponseBody, HttpService,
    },
};
use reqwest::{Body, Client, Request, redirect::Policy};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time of a request with its response. Larger files are transferred in several requests.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Creates clients for S3 servers and for servers of credentials.
#[derive(Debug)]
pub(super) struct S3Connector;

#[derive(Debug)]
struct S3Client(Client);

impl HttpConnector for S3Connector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        // Fails if it is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            // A signature is valid for one host.
            .redirect(Policy::none())
            .https_only(allows_http.as_deref() != Some("true"))
            .build();
        let client =
            client.map_err(|error| Error::Generic { store: "S3", source: Box::new(error) })?;
        Ok(HttpClient::new(S3Client(client)))
    }
}

#[async_trait]
impl HttpService for S3Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let url = parts.uri.to_string().parse();
        let url =
            url.map_err(|error| HttpError::new::<url::ParseError>(HttpErrorKind::Unknown, error))?;
        let mut request = Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        *request.body_mut() = Some(Body::wrap(body));
        let response = self.0.execute(request).await.map_err(http_error)?;
        let (parts, body) = hyper::Response::<Body>::from(response).into_parts();
        let body = HttpResponseBody::new(body.map_err(http_error));
        Ok(HttpResponse::from_parts(parts, body))
    }
}

fn http_error(error: reqwest::Error) -> HttpError {
    let kind = match &error {
        error if error.is_timeout() => HttpErrorKind::Timeout,
        error if error.is_connect() => HttpErrorKind::Connect,
        error if error.is_decode() => HttpErrorKind::Decode,
        _ => HttpErrorKind::Interrupted,
    };
    HttpError::new(kind, error.without_url())
}
