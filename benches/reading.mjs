// What an agent reads: the bytes of the text parts of all results in a sequence of calls.
//
// Both servers have their default options. The peer's actions return the code that was run and the
// path of a file with the snapshot, so the agent calls `browser_snapshot` after each. Troupe's
// actions return what changed in the snapshot, so the agent needs no second snapshot. The row
// `readSame` counts one on both sides. Structured content is not counted, because it repeats the
// text.
import { textOf } from './stdio-client.mjs'

/** @typedef {'navigate' | 'snapshot' | 'snapshot after an action' | 'click' | 'type'} Step */

/**
 * @param {Step[]} steps
 * @param {import('./servers.mjs').Server} server
 * @param {import('./stdio-client.mjs').StdioClient} client
 * @param {string} url @param {string} [text] to type
 */
export async function bytesRead(steps, server, client, url, text) {
  const { tools } = server
  const calls = {
    navigate: tools.navigate(url),
    snapshot: tools.snapshot(),
    click: tools.click(),
    type: tools.fill(text)
  }
  let bytes = 0
  for (const step of steps) {
    if (step === 'snapshot after an action' && server.reportsChanges) continue
    bytes += Buffer.byteLength(
      textOf(await client.call(...calls[step === 'snapshot after an action' ? 'snapshot' : step]))
    )
  }
  return bytes
}
