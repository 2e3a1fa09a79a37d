// `npm run generate` writes what follows from the rows of the tools, the options and the error codes: index.d.ts, docs/errors.md and
// the table of tools in README.md. The list of platforms gives the files in `platforms.mjs`. With
// `--check` it writes nothing and fails if a file is not what would be written.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { deviceList } from './devices.mjs'
import { errorDocument } from './errors.mjs'
import { platformFiles } from './platforms.mjs'
import { withToolTable } from './readme.mjs'
import { ROOT } from './run.mjs'
import { typesOf } from './types.mjs'

const native = createRequire(import.meta.url)('../native.js')
const tools = JSON.parse(native.toolSchemas())
const errors = JSON.parse(native.errorSchemas())
const generated = {
  'index.d.ts': () =>
    typesOf(tools, JSON.parse(native.configSchema()), errors, JSON.parse(native.eventSchemas())),
  'src/config/devices.json': () => deviceList(),
  'docs/errors.md': () => errorDocument(errors.codes),
  ...platformFiles,
  'README.md': (text) => withToolTable(platformFiles['README.md'](text), tools)
}

for (const [name, generate] of Object.entries(generated)) {
  const file = join(ROOT, name)
  const old = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const text = generate(old)
  if (text === old) continue
  if (process.argv.includes('--check')) {
    console.error(`${name} is not what its sources give: run \`npm run generate\``)
    process.exitCode = 1
  } else {
    writeFileSync(file, text)
    console.log(`${name} written`)
  }
}
