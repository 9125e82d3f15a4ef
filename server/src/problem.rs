//! Why a request is refused, as the response says it (RFC 9457).

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use accession::Identifier;
use accession::{Error, ErrorKind};

/// Why a request is refused.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The HTTP status.
    pub status: StatusCode,
    /// The kind, as the command line names it.
    pub kind: &'static str,
    /// What is wrong.
    pub detail: String,
    /// What to do next. `None` means that there is nothing to advise.
    pub hint: Option<&'static str>,
    /// After how many seconds it may succeed. `None` means that it will not.
    pub retry_after_seconds: Option<u32>,
    /// What only the operator should read. `None` means nothing more than the detail.
    pub cause: Option<String>,
}

impl Problem {
    /// Why a request is refused, by its status and its kind.
    pub fn new(status: StatusCode, kind: &'static str, detail: String) -> Self {
        Problem { status, kind, detail, hint: None, retry_after_seconds: None, cause: None }
    }

    /// The same problem with advice.
    #[must_use]
    pub fn with_hint(self, hint: &'static str) -> Self {
        Problem { hint: Some(hint), ..self }
    }

    /// The request cannot be understood.
    pub fn usage(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, "usage", detail.into())
    }

    /// There is nothing at this address.
    pub fn not_found() -> Self {
        let detail = "There is nothing at this address.".to_owned();
        Problem::new(StatusCode::NOT_FOUND, "not-found", detail)
            .with_hint("An identifier is DI: followed by 32 hexadecimal digits, as in /DI:763122197bfb3ffbf0da14adbfb1b13b.")
    }

    /// Something with this description is not known here.
    pub fn unknown(kind: &'static str, detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::NOT_FOUND, kind, detail.into())
    }

    /// The identifier was never in force in any dataset.
    pub fn identifier_unknown(identifier: Identifier) -> Self {
        let detail = format!("DI:{identifier} was never in force in any dataset here.");
        Problem::unknown(ErrorKind::IdentifierUnknown.as_str(), detail)
            .with_hint("Another archive may have issued it, or a digit may be wrong.")
    }

    /// None of the formats that the client accepts is offered.
    pub fn not_acceptable(offered: &[&str]) -> Self {
        let detail = format!("This is offered as {}.", offered.join(", "));
        Problem::new(StatusCode::NOT_ACCEPTABLE, "not-acceptable", detail)
    }

    /// The method is not one that this address takes.
    pub fn method() -> Self {
        let detail = "This address can only be read: use GET or HEAD.".to_owned();
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail)
    }

    /// The address takes only what is to be registered, if the server registers anything.
    pub fn not_taken() -> Self {
        let detail = "Subsets are saved here by POST, if the archive allows it.".to_owned();
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail)
    }

    /// The target or the body is too long.
    pub fn too_long(status: StatusCode, detail: String) -> Self {
        Problem::new(status, "too-long", detail)
    }

    /// A list is sent in chunks, without which nobody could see whether it is whole.
    pub fn http_version() -> Self {
        let detail =
            "A whole list needs HTTP/1.1. The parameter limit gives a page of it.".to_owned();
        Problem::new(StatusCode::HTTP_VERSION_NOT_SUPPORTED, "http-version", detail)
    }

    /// The server is too busy.
    pub fn busy() -> Self {
        Problem::overload("busy", "The server has too much to do.".to_owned(), 5)
    }

    /// The request needs more work than a client may ask for.
    pub fn too_costly(detail: impl Into<String>) -> Self {
        Problem::overload("too-costly", detail.into(), 60)
            .with_hint("The command line has no such limit.")
    }

    /// It may succeed later.
    pub fn overload(kind: &'static str, detail: String, retry_after_seconds: u32) -> Self {
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, kind, detail);
        Problem { retry_after_seconds: Some(retry_after_seconds), ..problem }
    }

    /// Something failed that should not fail.
    pub fn internal(cause: String) -> Self {
        let detail = "The server failed to answer. Its operator can see why in the log.".to_owned();
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        let problem = Problem::new(status, "internal", detail);
        Problem { cause: Some(cause), ..problem }
    }

    /// What mirrors read of a dataset cannot be written or read.
    pub fn unpublished(cause: String) -> Self {
        let detail = "The log of this dataset cannot be published now.".to_owned();
        let problem = Problem::overload(ErrorKind::Io.as_str(), detail, 60);
        Problem { cause: Some(cause), ..problem }
    }

    /// What it is called, in a few words.
    pub fn title(&self) -> &'static str {
        match self.status {
            StatusCode::NOT_FOUND => "Not found",
            StatusCode::METHOD_NOT_ALLOWED => "This cannot be changed here",
            StatusCode::NOT_ACCEPTABLE => "Not offered in this format",
            StatusCode::UNAUTHORIZED => "A token is needed",
            StatusCode::REQUEST_TIMEOUT => "Too slow",
            StatusCode::UNSUPPORTED_MEDIA_TYPE => "Not taken in this format",
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

/// It is written for its client where the headers of the request are known.
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
                // It begins with an identifier, if that was asked for.
                match message.split(' ').next().is_some_and(|it| it.parse::<Identifier>().is_ok()) {
                    true => format!("DI:{message}."),
                    false => sentence(&message),
                }
            }
            // It begins with the name or the time of the request.
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
            // Of one that is known, a time was asked for at which it was not in force.
            ErrorKind::IdentifierUnknown if error.unknown().is_none() => {
                Problem::unknown(name, detail)
            }
            ErrorKind::IdentifierUnknown => Problem::unknown(name, detail)
                .with_hint("Another archive may have issued it, or a digit may be wrong."),
            ErrorKind::Interrupted => Problem::too_costly("This takes longer than a request may."),
            ErrorKind::Damaged if error.is_from_store() => {
                Problem { kind: name, ..Problem::internal(error.with_causes()) }
            }
            // The path of the registry is for the operator only.
            _ if error.is_from_store() => {
                let detail = match kind {
                    ErrorKind::Busy => "The registry is busy.",
                    ErrorKind::OtherSchema => "The registry is of another version than the server.",
                    _ => "The registry cannot be read now.",
                };
                let problem = Problem::overload(name, detail.to_owned(), 30);
                Problem { cause: Some(error.with_causes()), ..problem }
            }
            // So are directories.
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

/// An error's message as a sentence.
fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), characters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use accession::{Clock, Registry};

    /// No test may change the environment of its process, so this one runs itself in a child.
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
