// `npm run generate` writes the files that are generated from tables: the rows of the tools,
// options and error codes in Rust, the table of browsers in the tests, and lib/platforms.json. With
// `--check`, it writes nothing, and fails if a file is not up to date.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { replaceBetween } from './between.mjs'
import { deviceList } from './devices.mjs'
import { browserDocument } from './docs/browsers.mjs'
import { clientDocument } from './docs/clients.mjs'
import { configurationDocument, schemaFile } from './docs/configuration.mjs'
import { errorDocument } from './docs/errors.mjs'
import { withExamples } from './docs/readme.mjs'
import { fenced, toolDocument } from './docs/tools.mjs'
import { manifestFiles } from './manifests.mjs'
import { platformFiles } from './platforms.mjs'
import { ROOT } from './run.mjs'
import { typesOf } from './types.mjs'

const native = createRequire(import.meta.url)('../lib/addon.js')
const tools = JSON.parse(native.toolSchemas())
const errors = JSON.parse(native.errorSchemas())
const configuration = JSON.parse(native.configSchema())
const examples = JSON.parse(readFileSync(join(ROOT, 'docs/examples.json'), 'utf8'))
const generated = {
  'index.d.ts': () => typesOf(tools, configuration, errors, JSON.parse(native.eventSchemas())),
  'schema.json': () => schemaFile(configuration),
  'src/config/devices.json': () => deviceList(),
  'docs/browsers.md': () => browserDocument(tools),
  'docs/clients.md': () => clientDocument(),
  'docs/configuration.md': () => configurationDocument(JSON.parse(native.optionRows())),
  'docs/errors.md': () => errorDocument(errors.codes),
  'docs/scaling.md': (text) => withBalancer(text),
  'docs/tools.md': () => toolDocument(tools, examples),
  ...manifestFiles,
  ...platformFiles,
  'README.md': (text) => withExamples(platformFiles['README.md'](text), examples)
}

/** Inserts the configuration of HAProxy that Compose and the tests use. @param {string} text */
function withBalancer(text) {
  const configuration = readFileSync(join(ROOT, 'deploy/haproxy.cfg'), 'utf8')
  return replaceBetween(
    text,
    '<!-- haproxy -->',
    '<!-- /haproxy -->',
    fenced('haproxy', configuration)
  )
}

for (const [name, generate] of Object.entries(generated)) {
  const file = join(ROOT, name)
  const old = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const text = generate(old)
  if (text === old) continue
  if (process.argv.includes('--check')) {
    console.error(`${name} is not up to date: run \`npm run generate\``)
    process.exitCode = 1
  } else {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    console.log(`${name} written`)
  }
}
