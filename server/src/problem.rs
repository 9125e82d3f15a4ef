//! The reason why a request is rejected, as the body of the response (RFC 9457).

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use accession::Identifier;
use accession::{Error, ErrorKind};

/// The reason why a request is rejected.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The HTTP status.
    pub status: StatusCode,
    /// The kind, as on the command line.
    pub kind: &'static str,
    /// What is wrong.
    pub detail: String,
    /// What to do next. `None` means that there is no advice.
    pub hint: Option<&'static str>,
    /// The number of seconds after which a repetition may succeed. `None` means that it will not.
    pub retry_after_seconds: Option<u32>,
    /// The cause, for the operator only. `None` means that there is none besides the detail.
    pub cause: Option<String>,
}

impl Problem {
    /// Creates a problem with a status and a kind.
    pub fn new(status: StatusCode, kind: &'static str, detail: String) -> Self {
        Problem { status, kind, detail, hint: None, retry_after_seconds: None, cause: None }
    }

    /// Returns the problem with advice.
    #[must_use]
    pub fn with_hint(self, hint: &'static str) -> Self {
        Problem { hint: Some(hint), ..self }
    }

    /// The request cannot be understood.
    pub fn usage(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, "usage", detail.into())
    }

    /// The address does not exist.
    pub fn not_found() -> Self {
        let detail = "There is nothing at this address.".to_owned();
        Problem::new(StatusCode::NOT_FOUND, "not-found", detail)
            .with_hint("An identifier is DI: followed by 32 hexadecimal digits, as in /DI:763122197bfb3ffbf0da14adbfb1b13b.")
    }

    /// No object with this description exists here.
    pub fn unknown(kind: &'static str, detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::NOT_FOUND, kind, detail.into())
    }

    /// The identifier was never in force in any dataset.
    pub fn identifier_unknown(identifier: Identifier) -> Self {
        let detail = format!("DI:{identifier} was never in force in any dataset here.");
        Problem::unknown(ErrorKind::IdentifierUnknown.as_str(), detail)
            .with_hint("Another archive may have issued it, or a digit may be wrong.")
    }

    /// The client accepts none of the offered formats.
    pub fn not_acceptable(offered: &[&str]) -> Self {
        let detail = format!("This is offered as {}.", offered.join(", "));
        Problem::new(StatusCode::NOT_ACCEPTABLE, "not-acceptable", detail)
    }

    /// The address does not accept this method.
    pub fn method() -> Self {
        let detail = "This address can only be read: use GET or HEAD.".to_owned();
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail)
    }

    /// The address accepts only subsets to register, and only if the server allows it.
    pub fn not_taken() -> Self {
        let detail = "Subsets are saved here by POST, if the archive allows it.".to_owned();
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail)
    }

    /// The target or the body is too long.
    pub fn too_long(status: StatusCode, detail: String) -> Self {
        Problem::new(status, "too-long", detail)
    }

    /// A list is sent in chunks, because without them a client could not see whether it is complete.
    pub fn http_version() -> Self {
        let detail =
            "A whole list needs HTTP/1.1. The parameter limit gives a page of it.".to_owned();
        Problem::new(StatusCode::HTTP_VERSION_NOT_SUPPORTED, "http-version", detail)
    }

    /// The server is too busy.
    pub fn busy() -> Self {
        Problem::overload("busy", "The server has too much to do.".to_owned(), 5)
    }

    /// The request needs more work than is allowed.
    pub fn too_costly(detail: impl Into<String>) -> Self {
        Problem::overload("too-costly", detail.into(), 60)
            .with_hint("The command line has no such limit.")
    }

    /// The request may succeed later.
    pub fn overload(kind: &'static str, detail: String, retry_after_seconds: u32) -> Self {
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, kind, detail);
        Problem { retry_after_seconds: Some(retry_after_seconds), ..problem }
    }

    /// Something failed that should never fail.
    pub fn internal(cause: String) -> Self {
        let detail = "The server failed. Its operator finds the cause in the log.".to_owned();
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        let problem = Problem::new(status, "internal", detail);
        Problem { cause: Some(cause), ..problem }
    }

    /// The files of a dataset that mirrors read cannot be written or read.
    pub fn unpublished(cause: String) -> Self {
        let detail = "The log of this dataset cannot be published now.".to_owned();
        let problem = Problem::overload(ErrorKind::Io.as_str(), detail, 60);
        Problem { cause: Some(cause), ..problem }
    }

    /// The title, in a few words.
    pub fn title(&self) -> &'static str {
        match self.status {
            StatusCode::NOT_FOUND => "Not found",
            StatusCode::METHOD_NOT_ALLOWED => "This cannot be changed here",
            StatusCode::NOT_ACCEPTABLE => "Not offered in this format",
            StatusCode::UNAUTHORIZED => "A token is needed",
            StatusCode::REQUEST_TIMEOUT => "Too slow",
            StatusCode::UNSUPPORTED_MEDIA_TYPE => "Unsupported format",
            StatusCode::UNPROCESSABLE_ENTITY => "These cannot be cited",
            StatusCode::TOO_MANY_REQUESTS => "Too many today",
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::URI_TOO_LONG => "Too long",
            StatusCode::CONFLICT => "This was held with different contents",
            StatusCode::SERVICE_UNAVAILABLE => "Not available now",
            StatusCode::HTTP_VERSION_NOT_SUPPORTED => "Needs HTTP/1.1",
            StatusCode::INTERNAL_SERVER_ERROR => "Something failed",
            _ => "This address is not right",
        }
    }

    /// The problem as JSON.
    pub fn json(&self, path: &str) -> Value {
        json!({
            "type": "about:blank",
            "title": self.title(),
            "status": self.status.as_u16(),
            "kind": self.kind,
            "detail": self.detail,
            "hint": self.hint,
            "instance": path,
        })
    }
}

/// Stores the problem in the response. The layer that knows the headers of the request writes the body.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let kind = error.kind();
        let name = kind.as_str();
        let detail = match kind {
            ErrorKind::IdentifierUnknown => {
                let message = error.to_string();
                // If an identifier was requested, the message begins with it.
                match message.split(' ').next().is_some_and(|it| it.parse::<Identifier>().is_ok()) {
                    true => format!("DI:{message}."),
                    false => sentence(&message),
                }
            }
            // The message begins with the name or the time of the request.
            ErrorKind::NoHistory => format!("{error}."),
            _ => sentence(&error.to_string()),
        };
        match kind {
            ErrorKind::DatasetUnknown => Problem::unknown(name, detail).with_hint(
                "The start page lists all datasets, and searches their names and titles.",
            ),
            ErrorKind::NoHistory => Problem::unknown(name, detail),
            ErrorKind::Usage | ErrorKind::Future => Problem::usage(detail),
            ErrorKind::NotStated => Problem::unknown(name, detail)
                .with_hint("A set can be proved when the archive has signed the next time, usually in the night."),
            ErrorKind::SelectsNothing if error.detail().is_some() => Problem::unknown(name, detail),
            ErrorKind::SelectsNothing => Problem::unknown(name, detail)
                .with_hint("In a pattern, * is any characters, and ? is one."),
            ErrorKind::Ambiguous => Problem::new(StatusCode::CONFLICT, name, detail)
                .with_hint("The parameter dataset names one of them."),
            // The identifier is known, but was not in force at the requested time.
            ErrorKind::IdentifierUnknown if error.unknown().is_none() => {
                Problem::unknown(name, detail)
            }
            ErrorKind::IdentifierUnknown => Problem::unknown(name, detail)
                .with_hint("Another archive may have issued it, or a digit may be wrong."),
            ErrorKind::Interrupted => Problem::too_costly("This takes longer than a request may."),
            ErrorKind::Damaged if error.is_from_store() => {
                Problem { kind: name, ..Problem::internal(error.with_causes()) }
            }
            // The path of the registry is only for the operator.
            _ if error.is_from_store() => {
                let detail = match kind {
                    ErrorKind::Busy => "The registry is busy.",
                    ErrorKind::OtherSchema => "The registry is of another version than the server.",
                    _ => "The registry cannot be read now.",
                };
                let problem = Problem::overload(name, detail.to_owned(), 30);
                Problem { cause: Some(error.with_causes()), ..problem }
            }
            // Directories are only for the operator, too.
            ErrorKind::Io => Problem::unpublished(error.with_causes()),
            ErrorKind::Temporary => {
                let detail = "The server has no room for temporary files now.".to_owned();
                let problem = Problem::overload(name, detail, 60);
                Problem { cause: Some(error.with_causes()), ..problem }
            }
            _ => Problem { kind: name, ..Problem::internal(error.to_string()) },
        }
    }
}

/// Converts an error message to a sentence.
fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), characters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use accession::{Clock, Registry};

    /// A test must not change the environment of its process, so this one runs itself in a child.
    #[test]
    fn no_room_for_temporary_files_is_an_outage_and_the_directory_is_not_shown() {
        const MISSING: &str = "/missing/for/temporary/files";
        if std::env::var("TMPDIR").as_deref() != Ok(MISSING) {
            let name = std::thread::current().name().unwrap().to_owned();
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child.args([&name, "--exact"]).env("TMPDIR", MISSING);
            assert!(child.status().unwrap().success());
            return;
        }
        let problem = Problem::from(Registry::temporary(Clock::system()).unwrap_err());
        assert_eq!((problem.status, problem.kind), (StatusCode::SERVICE_UNAVAILABLE, "temporary"));
        assert!(problem.cause.is_some_and(|cause| cause.contains(MISSING)));
        assert!(!problem.detail.contains(MISSING), "{}", problem.detail);
    }
}
