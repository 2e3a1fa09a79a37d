// `npm run bench:tokens` counts the tokens that a model reads and writes when it uses Troupe or
// another program: the tools or the skill, and the calls and results of jobs that a scripted agent
// does. Prints the figures and writes docs/tokens.md. Ports, times, folders and random ids are
// counted with fixed values, so that each run has the same figures.
//   --only troupe,devtools   counts only these programs, and writes nothing
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { tokenDocument } from '../scripts/docs/tokens.mjs'
import { ROOT, StepError, dim, red, since } from '../scripts/run.mjs'
import { SERVER, runScript, setup } from '../scripts/setup.mjs'
import { findBrowser } from './servers.mjs'
import { JOBS } from './tokens/jobs.mjs'
import { measure } from './tokens/measure.mjs'
import { COMMAND_LINES, PROGRAMS, versionIn } from './tokens/programs.mjs'

const ENCODING = 'o200k_base'

await runScript(async () => {
  const { values } = parseArgs({ options: { only: { type: 'string' } } })
  const only = values.only?.split(',')
  const unknown = only?.filter((name) => PROGRAMS.every((program) => program.name !== name)) ?? []
  if (unknown.length > 0)
    throw new StepError(
      `--only does not know ${unknown.join(', ')}: use ${PROGRAMS.map(({ name }) => name).join(', ')}`
    )
  await setup([...SERVER, 'tokens'])
  const browser = findBrowser()
  if (!browser) throw new StepError('no browser found: set TROUPE_BENCH_BROWSER to its path')
  const tokenizer = join(COMMAND_LINES, 'gpt-tokenizer')
  const { countTokens } = await import(
    pathToFileURL(join(tokenizer, `esm/encoding/${ENCODING}.js`)).href
  )

  /** @type {import('../scripts/docs/tokens.mjs').Row[]} */
  const rows = []
  for (const program of PROGRAMS.filter(({ name }) => only?.includes(name) ?? true)) {
    const started = performance.now()
    const row = { title: program.title, version: versionIn(program.package) }
    try {
      rows.push({ ...row, measured: await measure(program, countTokens, browser) })
      console.log(`${row.title} ${row.version} ${dim(since(started))}`)
    } catch (error) {
      rows.push({ ...row, reason: error.message.split('\n').slice(0, 2).join(' ') })
      console.error(red(`${row.title} ${row.version}: ${error.message}`))
    }
  }
  const document = tokenDocument(rows, JOBS, `${versionIn(tokenizer)} (\`${ENCODING}\`)`)
  console.log(`\n${document}`)
  if (only) return
  writeFileSync(join(ROOT, 'docs/tokens.md'), document)
  console.log(dim('docs/tokens.md written'))
})
