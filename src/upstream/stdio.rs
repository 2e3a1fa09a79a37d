//! The connection to a server over its stdin and stdout, with one message in each line.

use std::sync::Arc;

use tokio::{
    io::{AsyncWriteExt, BufReader},
    process::{ChildStdin, ChildStdout},
    sync::mpsc,
};

use super::{
    client::{Client, OutgoingMessage},
    lines::next_line,
    process::Pipes,
};

/// Maximum length of a line in bytes. Results with screenshots are large.
const MAX_MESSAGE_SIZE: usize = 64 << 20;

/// Transfers messages in both directions until the connection ends. Both tasks end with `gone` of
/// the client.
pub(super) fn connect(client: &Arc<Client>, queue: mpsc::Receiver<OutgoingMessage>, pipes: Pipes) {
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

/// Writes messages. At its end the pipe is closed, which ends the input of the server.
async fn write(client: &Client, mut queue: mpsc::Receiver<OutgoingMessage>, mut input: ChildStdin) {
    loop {
        let message = tokio::select! {
            biased;
            message = queue.recv() => message,
            () = client.shut().cancelled() => return,
        };
        let Some(OutgoingMessage { mut text, .. }) = message else { return };
        text.push('\n');
        let written = async {
            input.write_all(text.as_bytes()).await?;
            input.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "could not write to the upstream server");
            return client.gone().cancel();
        }
    }
}

async fn read(client: &Client, output: ChildStdout) {
    let mut output = BufReader::with_capacity(64 << 10, output);
    loop {
        match next_line(&mut output, MAX_MESSAGE_SIZE).await {
            Ok(Some(line)) if line.cut => {
                tracing::warn!(
                    "the upstream server wrote a line of more than {MAX_MESSAGE_SIZE} bytes"
                );
                return;
            }
            Ok(Some(line)) => client.receive(&line.text),
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "could not read from the upstream server");
                return;
            }
        }
    }
}
