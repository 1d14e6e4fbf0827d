//! Listening, on this machine only.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use quell::Cancel;
use tokio::net::TcpListener;

use crate::events::Events;
use crate::export::Exports;
use crate::guard::Guard;
use crate::library::Library;
use crate::store::Store;
use crate::studio::Studio;
use crate::{Kind, Problem, Program, routes, work};

/// What to serve.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The files to begin with.
    pub files: Vec<PathBuf>,
    /// Where exports go.
    pub folder: PathBuf,
    /// Bytes that opened files and results may take together; by default 192 MiB, or three times the largest file.
    pub memory: Option<u64>,
}

/// A server that listens.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The address to open, good for one page.
    pub url: String,
    /// Where exports go, without links.
    pub folder: PathBuf,
}

/// Requests that are worked on at once.
const BLOCKING: usize = 6;
/// Requests that take longer to end than this are cut off.
const GRACE: Duration = Duration::from_millis(150);

/// Serves until `cancel` says so; `opened` is told when it listens.
pub fn serve(
    options: Options,
    program: Box<dyn Program>,
    opened: impl FnOnce(&Opened),
    cancel: &Cancel,
) -> Result<(), Problem> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        // Each keeps some memory for itself.
        .max_blocking_threads(BLOCKING)
        .enable_io()
        .enable_time()
        .build()?;
    let (studio, four, six) = runtime.block_on(begin(options, program))?;
    let told = Arc::downgrade(&studio);
    quell::device::on_notice(move |line| {
        if let Some(studio) = told.upgrade() {
            studio.events.send("note", &serde_json::json!({"text": line}));
        }
    });
    opened(&Opened { url: studio.guard.url(), folder: studio.library.folder().to_owned() });
    let (serving, until) = (studio.clone(), cancel.clone());
    let served = runtime.spawn(async move {
        let served = listen(&serving, four, six, &until).await;
        serving.end();
        serving.library.remove_uploads();
        served
    });
    // On this thread, which is the first of a program: others do not give back much of their memory.
    work::run(&studio);
    let served = runtime.block_on(served);
    runtime.shutdown_timeout(GRACE);
    served.unwrap_or_else(|e| Err(Problem::new(Kind::Failed, e.to_string())))
}

/// Everything but the answers.
async fn begin(
    options: Options,
    program: Box<dyn Program>,
) -> Result<(Arc<Studio>, TcpListener, Option<TcpListener>), Problem> {
    let four = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = four.local_addr()?.port();
    // Where there is no IPv6, or somebody else has the port there, the other address is enough.
    let six = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await.ok();
    let mut hosts = vec![format!("127.0.0.1:{port}")];
    hosts.extend(six.as_ref().map(|_| format!("[::1]:{port}")));
    let studio = Studio {
        program,
        library: Library::new(options.files, &options.folder)?,
        store: Store::new(options.memory),
        setups: Default::default(),
        plans: Default::default(),
        desk: Default::default(),
        exports: Exports::default(),
        events: Events::default(),
        guard: Guard::new(hosts)?,
    };
    Ok((studio.start()?, four, six))
}

async fn listen(
    studio: &Arc<Studio>,
    four: TcpListener,
    six: Option<TcpListener>,
    cancel: &Cancel,
) -> Result<(), Problem> {
    let app = routes::all(studio.clone());
    if let Some(six) = six {
        let app = app.clone();
        tokio::spawn(async move { axum::serve(six, app).await });
    }
    let server = tokio::spawn(async move { axum::serve(four, app).await });
    while !cancel.is_cancelled() && !server.is_finished() {
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    if cancel.is_cancelled() {
        return Ok(());
    }
    match server.await {
        Ok(ended) => Ok(ended?),
        Err(e) => Err(Problem::new(Kind::Failed, e.to_string())),
    }
}
