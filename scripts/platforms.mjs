// The files that are generated from `lib/platforms.json`: the npm packages with the addon, the
// targets in package.json, the tables in README.md and docs/platforms.md, and the build jobs of CI.
// `npm run generate` writes them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { between } from './between.mjs'
import { ROOT } from './run.mjs'

/**
 * A platform. Without a CI runner, it has no package yet.
 * @typedef {{ name: string, title: string, target: string, os: string, cpu: string, libc?: string,
 *   runner?: string, evidence: keyof typeof EVIDENCE }} Platform
 */

/** @type {Platform[]} */
export const PLATFORMS = JSON.parse(readFileSync(join(ROOT, 'lib/platforms.json'), 'utf8'))
export const PUBLISHED = PLATFORMS.filter(({ runner }) => runner)

/** How Troupe was checked on a platform. */
const EVIDENCE = {
  tests: 'all tests run on it',
  types: 'type-checked with Clippy, not run'
}

/**
 * Targets whose Rust code `npm test` lints: one for each operating system that no test runs on.
 * `npm run test:full` lints all targets.
 */
export const QUICK_TARGETS = ['aarch64-apple-darwin', 'x86_64-pc-windows-msvc']
export const CHECKED_TARGETS = PLATFORMS.filter(({ evidence }) => evidence === 'types').map(
  ({ target }) => target
)

/** @type {Record<string, (old: string) => string>} path of a generated file → its text */
export const platformFiles = {
  'package.json': withTargets,
  'docs/platforms.md': (text) => withTable(text),
  'README.md': (text) => withTable(text),
  '.github/workflows/ci.yml': (text) =>
    between(text, '# platforms', '# end of platforms', jobs(), '          '),
  ...Object.fromEntries(
    PUBLISHED.flatMap((platform) => [
      [`npm/${platform.name}/package.json`, () => manifestOf(platform)],
      [`npm/${platform.name}/README.md`, () => readmeOf(platform)]
    ])
  )
}

/** @param {string} text package.json */
function withTargets(text) {
  const manifest = JSON.parse(text)
  manifest.napi.targets = PUBLISHED.map(({ target }) => target)
  return json(manifest)
}

/** @param {Platform} platform */
function manifestOf({ name, os, cpu, libc }) {
  const { version, description, keywords, license, engines, repository } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8')
  )
  const addon = `troupe.${name}.node`
  const where = { os: [os], cpu: [cpu], ...(libc && { libc: [libc] }) }
  return json({
    name: `troupe-${name}`,
    version,
    description,
    keywords,
    license,
    repository,
    main: addon,
    files: [addon],
    engines,
    ...where
  })
}

/** @param {Platform} platform */
const readmeOf = ({ name, title }) => `# troupe-${name}

The native addon of [\`troupe\`](https://www.npmjs.com/package/troupe) for ${title}. \`npm install troupe\` installs it.
`

/** @param {string} text */
const withTable = (text) => between(text, '<!-- platforms -->', '<!-- /platforms -->', table())

function table() {
  const rows = PLATFORMS.map(
    ({ name, title, evidence, runner }) =>
      `| ${title} | ${runner ? `\`troupe-${name}\`` : 'none yet'} | ${EVIDENCE[evidence]} |`
  )
  return ['| platform | package with the addon | checked |', '|---|---|---|', ...rows].join('\n')
}

function jobs() {
  return PUBLISHED.map(
    ({ name, target, runner }) =>
      `          - { platform: ${name}, target: ${target}, runner: ${runner} }`
  ).join('\n')
}

/** @param {unknown} value */
const json = (value) => `${JSON.stringify(value, null, 2)}\n`
