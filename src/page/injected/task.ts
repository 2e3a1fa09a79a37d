/** Tasks of the page's event loop. */

/** Waits for a task of its own, queued behind those that wait; a frame would cost 16 ms. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}
