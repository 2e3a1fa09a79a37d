// What an agent has to read: the bytes of the text parts of all answers in a sequence of calls.
//
// Each side with its defaults. The peer's actions answer with the code that was run and the path of a file with the
// snapshot, so the agent looks by `browser_snapshot` after each. Troupe's answer with what the action changed in the
// snapshot, refs included, and that is the look after an action; `snapshot` is for a page that is new. Counting a second
// snapshot there would count twice what was told; the row `readSame` does so all the same, for who wants to compare
// tool by tool. Structured content is left out on both sides: it repeats the text.
import { textOf } from './stdio-client.mjs'

/** @typedef {'navigate' | 'look' | 'look at changes' | 'click' | 'type'} Step */

/**
 * @param {Step[]} steps @param {import('./servers.mjs').Server} server @param {import('./stdio-client.mjs').StdioClient} client
 * @param {string} url @param {string} [text] what is typed
 */
export async function bytesRead(steps, server, client, url, text) {
  const { tools } = server
  const calls = {
    navigate: tools.navigate(url),
    look: tools.snapshot(),
    click: tools.click(),
    type: tools.fill(text)
  }
  let bytes = 0
  for (const step of steps) {
    if (step === 'look at changes' && server.tellsChanges) continue
    bytes += Buffer.byteLength(
      textOf(await client.call(...calls[step === 'look at changes' ? 'look' : step]))
    )
  }
  return bytes
}
