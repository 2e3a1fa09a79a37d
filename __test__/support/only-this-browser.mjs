// Loaded before a test file (`--import`) if the browser is not Chromium. Skips the tests that the
// table in `browsers.mjs` lists for this browser.
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROW } from './browser.mjs'
import { BROWSERS, unsupported } from './browsers.mjs'

// Processes that these tests start must not inherit this.
delete process.env.NODE_OPTIONS

const runner = createRequire(import.meta.url)('node:test')
const { timeoutFactor = 1 } = BROWSERS[ROW] ?? {}
const file = relative(
  fileURLToPath(new URL('..', import.meta.url)),
  process.argv[1] ?? ''
).replaceAll('\\', '/')

for (const kind of ['test', 'describe']) {
  const original = runner[kind]
  runner[kind] = Object.assign((name, ...rest) => {
    const reason = unsupported(ROW, file, name)
    const [options, body] = typeof rest[0] === 'object' ? rest : [{}, rest[0]]
    const timeout = options.timeout && options.timeout * timeoutFactor
    return original(
      name,
      { ...options, ...(timeout && { timeout }), ...(reason && { skip: reason }) },
      body
    )
  }, original)
}
syncBuiltinESMExports()
