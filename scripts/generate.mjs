// `npm run generate` writes what follows from the schemas of the tools and of the configuration: index.d.ts and the table in README.md. With
// `--check` it writes nothing and fails if a file is not what would be written.
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { withToolTable } from './readme.mjs'
import { ROOT } from './run.mjs'
import { typesOf } from './types.mjs'

const native = createRequire(import.meta.url)('../native.js')
const tools = JSON.parse(native.toolSchemas())
const generated = {
  'index.d.ts': () => typesOf(tools, JSON.parse(native.configSchema())),
  'README.md': (text) => withToolTable(text, tools)
}

for (const [name, generate] of Object.entries(generated)) {
  const file = join(ROOT, name)
  const old = readFileSync(file, 'utf8')
  const text = generate(old)
  if (text === old) continue
  if (process.argv.includes('--check')) {
    console.error(`${name} is not what the schemas give: run \`npm run generate\``)
    process.exitCode = 1
  } else {
    writeFileSync(file, text)
    console.log(`${name} written`)
  }
}
