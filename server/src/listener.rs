//! Connections, from listening to the end of the last connection.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tower::ServiceExt;

use super::config::Config;
use super::layers;
use super::problem::Problem;
use super::state::{App, ServerState};
use accession::Result;

/// The number of connections that are accepted beyond the limit. A request on one of them waits until another
/// connection ends. A probe does not, because it must not wait behind slow readers.
const WAITING: usize = 64;

/// The size of the buffer for the head of a request, in bytes. A longer head is rejected.
const HEAD_BYTES: usize = 32 * 1_024;

/// The greatest number of headers of a request.
const MAX_HEADERS: usize = 64;

/// The pause after an error that no single connection caused, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The reason why a server cannot be started.
#[derive(Debug)]
pub enum BindError {
    /// Another program listens on the address, or the address is not one of this host.
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Threads or signals are not available.
    Start(io::Error),
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::Listen { address, .. } => write!(f, "cannot listen on {address}"),
            BindError::Start(_) => f.write_str("cannot start the server"),
        }
    }
}

impl Error for BindError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            BindError::Listen { source, .. } | BindError::Start(source) => Some(source),
        }
    }
}

/// A server that listens.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    stopped: Stop,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens on an address. Port 0 means any free port.
    ///
    /// # Errors
    ///
    /// Another program listens on the address, the address is not one of this host, or threads or signals are
    /// not available.
    pub fn bind(address: SocketAddr) -> Result<Self, BindError> {
        // One thread serves all connections, so a cheap request is not handed from core to core. Other threads
        // do the long work.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(32)
            .build()
            .map_err(BindError::Start)?;
        let refused = |source| BindError::Listen { address, source };
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let stopped = runtime.block_on(async { Stop::new() }).map_err(BindError::Start)?;
        Ok(Server { runtime, listener, address, stopped })
    }

    /// The address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Responds to requests until SIGTERM or SIGINT. Then lets running requests end, and returns.
    ///
    /// # Errors
    ///
    /// The registry cannot be opened.
    pub fn run(self, config: Config) -> Result<()> {
        let Server { runtime, listener, stopped, .. } = self;
        let state = Arc::new(ServerState::new(config)?);
        let service = layers::service(&state);
        runtime.block_on(serve(&listener, &state, &service, stopped.requested()));
        // Work on a registry for which no client waits any more ends by its own time limit.
        runtime.shutdown_timeout(Duration::from_secs(1));
        Ok(())
    }
}

/// The service that responds to requests, without a listener.
#[doc(hidden)]
#[derive(Debug)]
pub struct Service(Router);

impl Service {
    /// Opens the registry, and creates its service.
    ///
    /// # Errors
    ///
    /// The registry cannot be opened.
    pub fn open(config: Config) -> Result<Self> {
        Ok(Service(layers::service(&Arc::new(ServerState::new(config)?))))
    }

    /// Responds to a request.
    pub async fn respond(&self, request: Request<Body>) -> Response<Body> {
        self.0.clone().oneshot(request).await.unwrap_or_else(|never| match never {})
    }
}

/// The signals that ask the process to stop. They are caught from the start, so that none is lost.
struct Stop {
    terminated: Signal,
    interrupted: Signal,
}

impl Stop {
    fn new() -> io::Result<Self> {
        let terminated = signal(SignalKind::terminate())?;
        Ok(Stop { terminated, interrupted: signal(SignalKind::interrupt())? })
    }

    /// Completes when the process is asked to stop.
    async fn requested(mut self) {
        tokio::select! {
            _ = self.terminated.recv() => {}
            _ = self.interrupted.recv() => {}
        }
    }
}

/// Accepts connections until `stopped`, and then waits for the open ones.
async fn serve(
    listener: &TcpListener,
    state: &App,
    service: &Router,
    stopped: impl Future<Output = ()>,
) {
    let limit = Arc::new(Semaphore::new(state.limits.connections));
    let sockets = Arc::new(Semaphore::new(state.limits.connections + WAITING));
    let graceful = GracefulShutdown::new();
    let mut stopped = std::pin::pin!(stopped);
    loop {
        let accepted = tokio::select! {
            accepted = accept(listener, &sockets) => accepted,
            () = &mut stopped => break,
        };
        let (stream, socket) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(cause = %error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let admission = Admission::at(&limit);
        let (state, service, watcher) = (Arc::clone(state), service.clone(), graceful.watcher());
        tokio::spawn(async move {
            state.metrics.connection_opens();
            if let Err(error) = connection(stream, &state, &service, &admission, watcher).await {
                tracing::debug!(cause = %error, "a connection ended");
            }
            state.metrics.connection_closes();
            drop(socket);
        });
    }
    tracing::info!("stopping");
    let drained = tokio::time::timeout(state.limits.drain_time, graceful.shutdown()).await;
    if drained.is_err() {
        tracing::warn!("connections that had not ended were closed");
    }
}

/// Accepts the next connection when the number of sockets allows one more. Meanwhile the operating system
/// queues connections with the data that they have sent.
async fn accept(
    listener: &TcpListener,
    sockets: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(sockets).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

/// The permit of a connection within the limit. A connection without one waits with its first request.
struct Admission {
    limit: Arc<Semaphore>,
    permit: OnceCell<OwnedSemaphorePermit>,
}

impl Admission {
    fn at(limit: &Arc<Semaphore>) -> Self {
        let permit = Arc::clone(limit).try_acquire_owned().ok();
        Admission { limit: Arc::clone(limit), permit: OnceCell::new_with(permit) }
    }

    /// Waits until the limit allows the connection, unless the request is a probe.
    async fn of(&self, path: &str, time: Duration) -> std::result::Result<(), Problem> {
        if ["/healthz", "/metrics"].contains(&path) {
            return Ok(());
        }
        let permit = self.permit.get_or_try_init(|| Arc::clone(&self.limit).acquire_owned());
        match tokio::time::timeout(time, permit).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(Problem::busy()),
        }
    }
}

/// Serves one connection until its end, or until the server stops.
async fn connection(
    stream: TcpStream,
    state: &App,
    service: &Router,
    admission: &Admission,
    watcher: Watcher,
) -> hyper::Result<()> {
    // Small responses are sent at once. If this option cannot be set, they are slower.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(state.limits.stall_time));
    let service = service_fn(|request: Request<Incoming>| async {
        match admission.of(request.uri().path(), state.limits.request_time).await {
            Ok(()) => service.clone().oneshot(request).await,
            Err(problem) => Ok(problem.into_response()),
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(state.limits.head_time)
        .max_headers(MAX_HEADERS)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    watcher.watch(connection).await
}
