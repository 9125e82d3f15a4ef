//! Connections: from listening to the end of the last one.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_io_timeout::TimeoutStream;

use super::client::Peer;
use super::config::Config;
use super::layer::explain;
use super::problem::Problem;
use super::route;
use super::state::State;
use crate::error::{Error, ErrorKind, Result};

/// The buffer for the head of a request. A longer head is refused.
const HEAD_BYTES: usize = 32 * 1_024;

/// The greatest number of headers of a request.
const MAX_HEADERS: usize = 64;

/// How long to wait after an error that is not one connection's fault, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What monitoring asks for, also on a connection beyond the limit.
const MONITORED: [&str; 2] = ["/healthz", "/metrics"];

/// How long a connection that is refused may take to read why.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// A server that listens.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    stopped: Stop,
}

impl Server {
    /// Listens on an address; port 0 means any that is free.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::CannotListen`]: another program listens there, or it is not an address of this host.
    /// [`ErrorKind::Io`]: threads or signals are not available.
    pub fn bind(address: SocketAddr) -> Result<Self> {
        let unable = |source| Error::new(ErrorKind::Io, "cannot start the server").because(source);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .max_blocking_threads(32)
            .build()
            .map_err(unable)?;
        let refused = |source| {
            let message = format!("cannot listen on {address}");
            Error::new(ErrorKind::CannotListen, message).because(source)
        };
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let stopped = runtime.block_on(async { Stop::new() }).map_err(unable)?;
        Ok(Server { runtime, listener, address, stopped })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until SIGTERM or SIGINT, then lets what is being answered end, and returns.
    ///
    /// # Errors
    ///
    /// The registry cannot be opened.
    pub fn run(self, config: Config) -> Result<()> {
        let Server { runtime, listener, stopped, .. } = self;
        let state = Arc::new(State::new(config)?);
        let router = route::router(Arc::clone(&state));
        runtime.block_on(serve(&listener, &router, &state, stopped.requested()));
        // Work on a registry that a client no longer waits for ends by its own time limit.
        runtime.shutdown_timeout(Duration::from_secs(1));
        Ok(())
    }
}

/// The signals that ask the process to stop. They are caught from the start, so that none is missed.
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

/// Accepts connections until `stopped`, and then waits for those that are being answered.
async fn serve(
    listener: &TcpListener,
    router: &Router,
    state: &Arc<State>,
    stopped: impl Future<Output = ()>,
) {
    let mut admission = Admission::new(state.limits.connections);
    let graceful = GracefulShutdown::new();
    let mut stopped = std::pin::pin!(stopped);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stopped => break,
        };
        let (stream, peer) = match accepted {
            Ok((stream, peer)) => (stream, Peer(peer.ip())),
            Err(error) => {
                tracing::warn!(cause = %error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (router, state) = (router.clone(), Arc::clone(state));
        let (admitted, watcher) = (admission.admit(), graceful.watcher());
        tokio::spawn(async move {
            state.metrics.connection_opens();
            let refused = admitted.clone();
            let ended = tokio::select! {
                ended = connection(stream, peer, router, &state, admitted, watcher) => ended,
                () = async { refused.refused().await; tokio::time::sleep(REFUSAL_TIME).await } => Ok(()),
            };
            if let Err(error) = ended {
                tracing::debug!(cause = %error, "a connection ended");
            }
            state.metrics.connection_closes();
        });
    }
    tracing::info!("stopping");
    let drained = tokio::time::timeout(state.limits.drain_time, graceful.shutdown()).await;
    if drained.is_err() {
        tracing::warn!("connections that had not ended were closed");
    }
}

/// Serves one connection until its end, or until the server stops.
async fn connection(
    stream: TcpStream,
    peer: Peer,
    router: Router,
    state: &Arc<State>,
    admitted: Admitted,
    watcher: Watcher,
) -> hyper::Result<()> {
    // Small responses are sent at once. If that cannot be set, they are slower.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(state.limits.stall_time));
    let shared = Arc::clone(state);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        let state = Arc::clone(&shared);
        answer(state, router.clone(), admitted.clone(), request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(state.limits.head_time)
        .max_headers(MAX_HEADERS)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    watcher.watch(connection).await
}

/// Answers a request as soon as its connection is within the limit.
async fn answer(
    state: Arc<State>,
    router: Router,
    admitted: Admitted,
    request: Request<Body>,
) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path();
    let waited = async {
        let admission = admitted.within_limit();
        tokio::time::timeout(state.limits.request_time, admission).await.is_ok_and(|it| it.is_ok())
    };
    if !MONITORED.contains(&path) && !waited.await {
        let mut response = explain(&state, &Problem::busy(), path, false);
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        return Ok(response);
    }
    TowerToHyperService::new(router).call(request).await
}

/// How many connections beyond the limit are accepted.
const WAITING: usize = 64;

/// The connections that are open.
struct Admission {
    permits: Arc<Semaphore>,
    waiting: VecDeque<Waiting>,
}

/// A connection beyond the limit, and how it is refused.
struct Waiting {
    permit: Weak<OnceLock<OwnedSemaphorePermit>>,
    refuse: watch::Sender<bool>,
}

/// A connection that was accepted.
#[derive(Clone)]
struct Admitted {
    permits: Arc<Semaphore>,
    permit: Arc<OnceLock<OwnedSemaphorePermit>>,
    refused: watch::Receiver<bool>,
}

/// The connection waited, and others came after it.
struct Refused;

impl Admission {
    /// No connection, and a limit.
    pub fn new(limit: usize) -> Self {
        Admission { permits: Arc::new(Semaphore::new(limit)), waiting: VecDeque::new() }
    }

    /// Admits a connection that was accepted: at once, or to wait.
    pub fn admit(&mut self) -> Admitted {
        let (refuse, refused) = watch::channel(false);
        let permit = Arc::new(OnceLock::new());
        let admitted = Admitted { permits: Arc::clone(&self.permits), permit, refused };
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => drop(admitted.permit.set(permit)),
            Err(_) => self.wait(Waiting { permit: Arc::downgrade(&admitted.permit), refuse }),
        }
        admitted
    }

    fn wait(&mut self, one: Waiting) {
        // Others have ended, or are within the limit by now.
        let waits =
            |one: &Waiting| one.permit.upgrade().is_some_and(|permit| permit.get().is_none());
        self.waiting.retain(waits);
        if self.waiting.len() == WAITING
            && let Some(first) = self.waiting.pop_front()
        {
            first.refuse.send_replace(true);
        }
        self.waiting.push_back(one);
    }
}

impl Admitted {
    /// Waits until the connection is within the limit.
    ///
    /// # Errors
    ///
    /// It is refused.
    pub async fn within_limit(&self) -> Result<(), Refused> {
        if self.is_within_limit() {
            return Ok(());
        }
        tokio::select! {
            permit = Arc::clone(&self.permits).acquire_owned() => {
                // A second one, of a request on the same connection, is given back.
                permit.map(|permit| drop(self.permit.set(permit))).map_err(|_| Refused)
            }
            () = self.refused() => Err(Refused),
        }
    }

    /// Waits until the connection is refused, if ever.
    pub async fn refused(&self) {
        let mut refused = self.refused.clone();
        if refused.wait_for(|is_refused| *is_refused).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn is_within_limit(&self) -> bool {
        self.permit.get().is_some()
    }
}
