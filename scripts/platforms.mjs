// The files that are generated from `lib/platforms.json`: the npm packages with the addon, the
// tables in README.md and docs/platforms.md, and the jobs of the build workflow.
// `npm run generate` writes them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { replaceBetween } from './between.mjs'
import { ROOT } from './run.mjs'

/**
 * A platform. `abi` is the version of glibc that its addon needs.
 * @typedef {{ name: string, title: string, target: string, abi?: string, os: string, cpu: string,
 *   libc?: string, runner: string, evidence: keyof typeof EVIDENCE }} Platform
 */

/** The C library of this machine, if it is Linux. */
const LIBC = /** @type {any} */ (process.report.getReport()).header.glibcVersionRuntime
  ? 'glibc'
  : 'musl'

/** @type {Platform[]} */
export const PLATFORMS = JSON.parse(readFileSync(join(ROOT, 'lib/platforms.json'), 'utf8'))

/** The platform of this machine, or `undefined`. */
export const THIS_PLATFORM = PLATFORMS.find(
  ({ os, cpu, libc }) =>
    os === process.platform && cpu === process.arch && libc === (os === 'linux' ? LIBC : undefined)
)

/**
 * Returns the options of `napi build` for a platform. On Linux, Zig links for its version of glibc,
 * or for musl.
 * @param {Platform} platform
 */
export function buildOptions({ target, abi, os }) {
  return ['--target', abi ? `${target}.${abi}` : target, ...(os === 'linux' ? ['-x'] : [])]
}

/** Returns the name of the package with the addon for a platform. @param {Platform} platform */
export const packageOf = ({ name }) => `@troupe-mcp/${name}`

/**
 * Returns the file name of the native client where it is built. Windows has none.
 * @param {Platform} platform
 */
export const clientOf = ({ name, os }) => (os === 'win32' ? undefined : `troupe-client.${name}`)

/**
 * Returns the files that a build writes: the addon, and the native client.
 * @param {Platform} platform
 */
export const builtFiles = (platform) => {
  const client = clientOf(platform)
  return [`troupe.${platform.name}.node`, ...(client ? [client] : [])]
}

/** How Troupe was checked on a platform. */
const EVIDENCE = {
  tests: 'all tests run on it',
  emulated: 'starts and lists its tools in emulation (`npm run test:cross`)',
  starts: 'starts and lists its tools, with musl and Node for musl (`npm run test:cross`)',
  built: 'built with Zig (`npm run test:cross`), not run',
  types: 'type-checked with Clippy, not run'
}

/** Linux platforms whose addon is built on Linux x64, and those among them where it is started. */
export const CROSS_BUILT = PLATFORMS.filter(({ evidence }) =>
  ['emulated', 'starts', 'built'].includes(evidence)
)
export const CROSS_STARTED = CROSS_BUILT.filter(({ evidence }) => evidence !== 'built')

/** Targets whose Rust code is linted: those on which no test runs. */
export const CHECKED_TARGETS = PLATFORMS.filter(({ evidence }) => evidence !== 'tests').map(
  ({ target }) => target
)
/** One of these targets for each operating system. `npm test -- targets` lints all of them. */
export const QUICK_TARGETS = ['aarch64-apple-darwin', 'x86_64-pc-windows-msvc']
/** Windows with the GNU tools, for which napi needs files of Node that are not published. */
export const TARGET_WITHOUT_NODE = 'x86_64-pc-windows-gnu'

/** @type {Record<string, (old: string) => string>} path of a generated file → its text */
export const platformFiles = {
  'docs/platforms.md': (text) => withTable(text),
  'README.md': (text) => withTable(text),
  '.github/workflows/build.yml': (text) =>
    replaceBetween(text, '# platforms', '# end of platforms', jobs(), '          '),
  ...Object.fromEntries(
    PLATFORMS.flatMap((platform) => [
      [`npm/${platform.name}/package.json`, () => manifestOf(platform)],
      [`npm/${platform.name}/README.md`, () => readmeOf(platform)]
    ])
  )
}

/** @param {Platform} platform */
function manifestOf(platform) {
  const { name, os, cpu, libc } = platform
  const { version, description, keywords, license, engines, repository, bugs, homepage } =
    JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const addon = `troupe.${name}.node`
  const where = { os: [os], cpu: [cpu], ...(libc && { libc: [libc] }) }
  return json({
    name: packageOf(platform),
    version,
    description,
    keywords,
    license,
    repository,
    bugs,
    homepage,
    main: addon,
    files: [addon, ...(clientOf(platform) ? ['troupe-client'] : []), 'THIRD-PARTY-NOTICES.md'],
    engines,
    ...where
  })
}

/** @param {Platform} platform */
const readmeOf = (platform) => `# ${packageOf(platform)}

The native addon ${clientOf(platform) ? 'and the native client ' : ''}of [\`troupe\`](https://www.npmjs.com/package/troupe) for ${platform.title}. \`npm install troupe\` installs it.
`

/** @param {string} text */
const withTable = (text) =>
  replaceBetween(text, '<!-- platforms -->', '<!-- /platforms -->', table())

function table() {
  const rows = PLATFORMS.map(
    (platform) =>
      `| ${platform.title} | \`${packageOf(platform)}\` | ${EVIDENCE[platform.evidence]} |`
  )
  return ['| platform | package with the addon | checked |', '|---|---|---|', ...rows].join('\n')
}

function jobs() {
  return PLATFORMS.map((platform) => {
    const { name, target, runner } = platform
    const options = buildOptions(platform).join(' ')
    return `          - { platform: ${name}, target: ${target}, options: ${options}, runner: ${runner} }`
  }).join('\n')
}

/** @param {unknown} value */
const json = (value) => `${JSON.stringify(value, null, 2)}\n`
