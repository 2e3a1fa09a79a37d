// Prints the section of CHANGELOG.md about the version in package.json, for its GitHub release.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, StepError } from './run.mjs'
import { runScript } from './setup.mjs'

await runScript(async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const sections = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').split(/^## /m)
  const section = sections.find(
    (text) => text.startsWith(`${version} `) || text.startsWith(`${version}\n`)
  )
  if (!section) throw new StepError(`CHANGELOG.md has no section \`## ${version}\``)
  console.log(section.replace(/^.*\n+/, '').trim())
})
