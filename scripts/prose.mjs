// Checks the wording of all sources and documents against scripts/prose/phrases.json. A rule has a
// pattern to avoid and a replacement. Also checks the length of comment lines, which no formatter
// limits. `npm run lint:prose` runs this script, cspell and markdownlint.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './run.mjs'

/** @type {{ avoid: string, use: string }[]} */
const RULES = JSON.parse(readFileSync(join(ROOT, 'scripts/prose/phrases.json'), 'utf8'))
const CHECKED = /\.(rs|tsx?|mjs|js|md|ya?ml|py|html|css|json|toml|sh|svg)$|(^|\/)Dockerfile$/
/** Files with texts that others wrote, or that were recorded or built from checked sources. */
const UNCHECKED = [
  /^lib\/dashboard\//,
  /^scripts\/prose\/phrases\.json$/,
  /(^|\/)package-lock\.json$/,
  /^src\/tools\/playwright\/tools\.json$/,
  /^__test__\/playwright\/answers\.json$/
]
/** Generated from texts of rows, which can be longer than a line. */
const GENERATED_TYPES = /(^|\/)index\.(template\.)?d\.ts$/
const COMMENT = /^\s*(\/\/|\/?\*)/
const HASH_COMMENT = /^\s*# /
const HAS_HASH_COMMENTS = /\.(ya?ml|toml|py|sh)$|Dockerfile$/
const LINE_LENGTH = 100
const patterns = RULES.map(({ avoid, use }) => ({ pattern: new RegExp(avoid, 'i'), use }))

const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter((file) => CHECKED.test(file) && !UNCHECKED.some((pattern) => pattern.test(file)))
  .filter(
    (file) => process.argv.length < 3 || process.argv.slice(2).some((path) => file.startsWith(path))
  )

let found = 0
for (const file of files) {
  const lines = readFileSync(join(ROOT, file), 'utf8').split('\n')
  const comment = HAS_HASH_COMMENTS.test(file) ? HASH_COMMENT : COMMENT
  for (const [index, line] of lines.entries()) {
    const isLongComment =
      line.length > LINE_LENGTH && comment.test(line) && !/eslint-disable|https?:/.test(line)
    if (isLongComment && !file.endsWith('.md') && !GENERATED_TYPES.test(file)) {
      found++
      console.error(`${file}:${index + 1}: a comment line has more than ${LINE_LENGTH} characters`)
    }
    for (const { pattern, use } of patterns) {
      const match = pattern.exec(line)
      if (!match) continue
      found++
      console.error(`${file}:${index + 1}: "${match[0]}": write ${use}`)
    }
  }
}
if (found > 0) {
  console.error(`${found} lines to change`)
  process.exitCode = 1
}
