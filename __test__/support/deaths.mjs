// Kills a server during a series of calls, and checks its record.
import assert from 'node:assert/strict'
import { kill, query } from './record.mjs'
import { startServer } from './server.mjs'
import { pause } from './wait.mjs'

/**
 * Kills a server once with SIGKILL, at a given time while calls run. Then the file must be valid,
 * contain every response that the client received, byte for byte, and list the running calls.
 * @param {{ after: (end: () => unknown) => void }} t
 * @param {string} file
 * @param {number} moment in ms after the first call
 */
export async function dieDuringCalls(t, file, moment) {
  const server = await startServer(t, ['--store', file])
  await server.ok('navigate', {
    url: 'data:text/html,<title>Page</title><button>Go</button><p>Text</p>'
  })
  /** @type {Map<string, any>} */
  const answered = new Map()
  const calls = [
    ['evaluate', { script: "'a value of some length '.repeat(20)" }],
    ['click', { selector: 'button' }],
    ['get_text', { selector: 'p' }],
    ['snapshot', {}],
    ['screenshot', {}],
    ['list_sessions', {}],
    ['click', { selector: '#nothing', timeout: 1 }]
  ]
  let over = false
  const stream = async () => {
    for (let number = 0; !over; number++) {
      const [tool, args] = calls[number % calls.length]
      const { result, meta } = await server.call(
        /** @type {string} */ (tool),
        /** @type {object} */ (args)
      )
      // Output after the end of the process is ignored.
      if (result) answered.set(meta.refId, result)
    }
  }
  const streams = Promise.allSettled([stream(), stream(), stream()])
  await pause(moment, 'the moment of the crash is random')
  over = true
  await kill(server)
  await streams

  assert.deepEqual(query(file, 'PRAGMA integrity_check'), [{ integrity_check: 'ok' }])
  const next = await startServer(t, ['--store', file])
  await next.ok('list_sessions')
  await next.end()
  const rows = query(
    file,
    'SELECT ref_id, status, result, error_message FROM requests LEFT JOIN responses USING (ref_id)'
  )
  const recorded = new Map(rows.map((row) => [row.ref_id, row]))
  const pictures = query(file, 'SELECT ref_id, number, mime_type, hex(data) AS data FROM pictures')
  for (const [ref, { content, structuredContent, isError }] of answered) {
    const row = recorded.get(ref)
    assert.ok(row?.result, `the answer ${ref} that the client has is not in the record`)
    const stored = JSON.parse(row.result)
    const parts = stored.content.map((part) => {
      if (part.type !== 'image') return part
      const picture = pictures.find(
        ({ ref_id, number }) => ref_id === ref && number === part.picture
      )
      return {
        type: 'image',
        mimeType: picture.mime_type,
        data: Buffer.from(picture.data, 'hex').toString('base64')
      }
    })
    assert.deepEqual(
      parts,
      content.map(({ annotations: _, ...part }) => unmarked(part))
    )
    assert.equal(stored.isError ?? false, isError ?? false)
    // The structured content must equal the text.
    if (structuredContent) assert.deepEqual(structuredContent, JSON.parse(content[0].text))
  }
  for (const { ref_id, status, error_message } of rows.filter((row) => !row.result)) {
    assert.ok(!answered.has(ref_id))
    assert.equal(status, 'error')
    assert.match(error_message, /the server (died|ended) during the call|cancelled/)
  }
  return { answered: answered.size, recorded: rows.length }
}

/**
 * Returns a part without the boundary marks of page text. They are new in each result, and the
 * record contains the text without them.
 * @param {any} part
 */
const unmarked = (part) =>
  part.type === 'text'
    ? { ...part, text: part.text.replace(/^<page (\w+)>\n([^]*)\n<\/page \1>$/, '$2') }
    : part
