//! A connection to a server over its stdin and stdout, with one message for each line.

use std::sync::Arc;

use tokio::{
    io::{AsyncWriteExt, BufReader},
    process::{ChildStdin, ChildStdout},
    sync::mpsc,
};

use super::{
    client::{Client, Outgoing},
    lines::next_line,
    process::Pipes,
};

/// Answers with pictures of whole pages are long; a longer line is an error.
const LONGEST: usize = 64 << 20;

/// Carries messages both ways until either end is gone. Both tasks are owned by the client: they end with `gone`.
pub(super) fn connect(client: &Arc<Client>, queue: mpsc::Receiver<Outgoing>, pipes: Pipes) {
    let Pipes { input, output } = pipes;
    let writing = client.clone();
    tokio::spawn(async move {
        let gone = writing.gone().clone();
        tokio::select! {
            () = write(&writing, queue, input) => {}
            () = gone.cancelled() => {}
        }
    });
    let reading = client.clone();
    tokio::spawn(async move {
        let gone = reading.gone().clone();
        tokio::select! {
            () = read(&reading, output) => reading.gone().cancel(),
            () = gone.cancelled() => {}
        }
    });
}

/// Ends by closing the pipe, which tells the server that no more input will come.
async fn write(client: &Client, mut queue: mpsc::Receiver<Outgoing>, mut input: ChildStdin) {
    loop {
        let message = tokio::select! {
            biased;
            message = queue.recv() => message,
            () = client.shut().cancelled() => return,
        };
        let Some(Outgoing { mut text, .. }) = message else { return };
        text.push('\n');
        let written = async {
            input.write_all(text.as_bytes()).await?;
            input.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "the upstream server does not read any more");
            return client.gone().cancel();
        }
    }
}

async fn read(client: &Client, output: ChildStdout) {
    let mut output = BufReader::with_capacity(64 << 10, output);
    loop {
        match next_line(&mut output, LONGEST).await {
            Ok(Some(line)) if line.cut => {
                tracing::warn!("the upstream server wrote a line of more than {LONGEST} bytes");
                return;
            }
            Ok(Some(line)) => client.receive(&line.text),
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "the upstream server cannot be read");
                return;
            }
        }
    }
}
