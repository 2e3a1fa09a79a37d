/** One turn of the page's event loop. */
import type { Done } from "./api";

/** A message is a task of its own, queued behind those that wait; a frame would cost 16 ms. */
export function turn(): Promise<Done> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      // A second task: timers of 0 ms that the action set have run by then.
      setTimeout(() => resolve({ done: true }), 0);
    };
    port2.postMessage(0);
  });
}
