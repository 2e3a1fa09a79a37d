// `npm test` runs the lints, the Rust tests and the end-to-end tests with Chromium, in parts. It
// first sets up what they need. A part that fails does not stop the others.
//   npm test -- rust            runs one part: see `PARTS`
//   npm test -- node session    runs the end-to-end tests with this word in their path
//   npm run test:full           runs all parts, and the end-to-end tests with every browser
//   npm run test:full -- --rest runs what `npm test` leaves out, without the slowest tests. With
//                               Firefox and WebKit, runs those that depend most on their protocols
//   … --browser=webkit          runs the end-to-end tests with one browser
import { spawn } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { inspect, parseArgs } from 'node:util'
import { NOTES } from '../__test__/support/notes.mjs'
import { ROOT, StepError, bold, cyan, dim, exitCode, green, onPath, red, since } from './run.mjs'
import { ALONE, BROWSERS, FULL_ONLY, NOT_IN_CI, runsNone } from '../__test__/support/browsers.mjs'
import { CHECKED_TARGETS, CROSS_BUILT, QUICK_TARGETS, TARGET_WITHOUT_NODE } from './platforms.mjs'
import { END_TO_END, crossAddon, releaseAddon, runScript, setup, venvPrograms } from './setup.mjs'

/** Where a complete run of the end-to-end tests stores which parts of the tools it has used. */
const NOTES_FOLDER = join(ROOT, '.cache', 'notes')

const flag = /** @type {const} */ ({ type: 'boolean', default: false })
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { full: flag, rest: flag, browser: { type: 'string' } }
})
const { rest, browser: withBrowser } = values
const full = rest || values.full
const [only, ...words] = positionals
/** The feature with the in-memory engine and the test clock. Releases are built without it. */
const TESTING = ['--features', 'testing']

/** How many files run at a time. With two, two processors are idle almost half of the time. */
const CONCURRENT_FILES = 3

/** How many of the slowest files are listed. */
const SLOWEST_FILES = 10

/** How many lines of each failure are repeated at the end. */
const REASON_LINES = 12

/** Skips tests that the browser does not support. */
const ONLY_THIS_BROWSER = new URL('../__test__/support/only-this-browser.mjs', import.meta.url).href

/** Counts of all parts. A linter counts as one check. */
const total = { passed: 0, failed: 0, skipped: 0 }

/**
 * The end-to-end tests that failed, with reasons. They are repeated at the end.
 * @type {string[]}
 */
const failures = []
/** The failed parts and tests, for `.ci/run`. Empty if all passed. */
const FAILURES_FILE = join(ROOT, '.cache', 'failures.txt')

/**
 * A part of the tests. `needs` are the steps of the set-up before it. `isFull`: whether only
 * `npm run test:full` runs it. `isAlone`: whether it only runs if it is named.
 * @typedef {{ title: string, run: () => Promise<void>, needs: import('./setup.mjs').Step[],
 *   isFull?: boolean, isAlone?: boolean }} Part
 */

/** @type {Record<string, Part>} */
const PARTS = {
  format: { title: 'Rust formatting', run: () => check('cargo', ['fmt', '--check']), needs: [] },
  rust: { title: 'Rust tests', run: rustTests, needs: ['packages'] },
  clippy: {
    title: 'Rust lints',
    run: () =>
      check('cargo', [
        ...['clippy', '--workspace', '--all-targets', '--quiet', ...TESTING, '--', '-D', 'warnings']
      ]),
    needs: ['packages']
  },
  js: {
    title: 'JavaScript lints and types',
    run: () => check('npm', ['run', '--silent', 'lint:js']),
    // The type check of the tests reads the packages of the clients.
    needs: ['packages', 'addon', 'dashboard', 'clients']
  },
  prose: {
    title: 'Spelling, Markdown and wording',
    run: () => check('npm', ['run', '--silent', 'lint:prose']),
    needs: ['packages']
  },
  node: {
    title: 'End-to-end tests',
    run: nodeTests,
    needs:
      full || words.length > 0
        ? // The tests of a Selenium Grid are not in CI.
          END_TO_END.filter((step) => step !== 'grid' || !rest)
        : ['packages', 'addon', 'dashboard', 'programs', 'browser']
  },
  targets: {
    title: 'Rust lints for other platforms',
    run: checkTargets,
    needs: ['packages'],
    isFull: true
  },
  docs: {
    title: 'Documentation site',
    run: () => check('npm', ['run', '--silent', 'docs:build']),
    needs: ['packages', 'addon', 'site'],
    isFull: true
  },
  workflows: {
    title: 'Workflows and manifests',
    run: checkWorkflows,
    needs: ['packages', 'workflows'],
    isFull: true
  },
  package: {
    title: 'Packages from a registry',
    run: async () => {
      // The build can take longer than the timeout of a test file.
      await releaseAddon()
      await nodeTestsIn(['__test__/registry/registry.test.mjs'])
    },
    needs: ['packages', 'registry', 'programs', 'browser'],
    isFull: true
  },
  cross: {
    title: 'Addons for other processors and for musl',
    run: async () => {
      for (const platform of CROSS_BUILT) await crossAddon(platform)
      await nodeTestsIn(['__test__/registry/cross.test.mjs'])
    },
    needs: ['packages'],
    isAlone: true
  }
}

await runScript(async () => {
  if (only && !(only in PARTS))
    throw new StepError(`the parts are ${Object.keys(PARTS).join(', ')}, not \`${only}\``)
  const started = performance.now()
  const failed = []
  for (const [name, { title, run, needs, isFull, isAlone }] of Object.entries(PARTS)) {
    const isInRest = isFull || name === 'node'
    const isSelected = only ? only === name : !isAlone && (rest ? isInRest : full || !isFull)
    if (!isSelected) continue
    await setup(needs)
    console.log(`\n${cyan('▸')} ${bold(title)}`)
    const begun = performance.now()
    const before = total.failed
    await run()
    const passed = total.failed === before
    if (!passed) failed.push(title)
    console.log(`${passed ? green('✓') : red('✗')} ${title}, ${since(begun)}`)
  }
  console.log(dim(`\nall in ${since(started)}`))
  const summary =
    failed.length > 0 ? [red(`failed: ${failed.join(', ')}`), ...failures].join('\n') : ''
  if (summary) console.log(summary)
  writeFileSync(FAILURES_FILE, summary)
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : ''
  console.log(`${total.passed} passed, ${total.failed} failed${skipped}`)
  return failed.length > 0 ? 1 : 0
})

/** @param {string} program @param {string[]} args @param {Record<string, string>} [env] */
async function check(program, args, env) {
  console.log(dim(`  $ ${[program, ...args].join(' ')}`))
  const passed = (await exitCode(program, args, { stdio: 'inherit', env })) === 0
  total[passed ? 'passed' : 'failed']++
}

/**
 * Lints the Rust code for platforms that no test runs on. C code is replaced by empty libraries.
 */
async function checkTargets() {
  const targets = only ? CHECKED_TARGETS : QUICK_TARGETS
  if (!onPath('rustup')) {
    console.log(
      dim(
        '  skipped: `rustup` is missing, which installs the standard libraries of other platforms'
      )
    )
    total.skipped++
    return
  }
  // The unit tests double the time. They are linted for other platforms if this part is named.
  await lintFor(targets, [only ? '--all-targets' : '--lib'])
  if (only) await lintFor([TARGET_WITHOUT_NODE], ['--all-targets', '--no-default-features'])
}

/** @param {string[]} targets @param {string[]} options */
async function lintFor(targets, options) {
  const added = await exitCode('rustup', ['target', 'add', ...targets], { stdio: 'inherit' })
  if (added !== 0) throw new StepError(`rustup could not add the targets ${targets.join(', ')}`)
  const substitutes = join(ROOT, 'scripts/no-c-compiler')
  const programs = ['CC', 'CXX', 'AR', 'RANLIB']
  const env = Object.fromEntries(
    targets.flatMap((target) =>
      programs.map((program) => [
        `${program}_${target.replaceAll('-', '_')}`,
        join(substitutes, 'clang')
      ])
    )
  )
  // ring calls `clang` for Windows on arm64 whatever the variables are.
  env.PATH = substitutes + delimiter + process.env.PATH
  const selected = [...targets.flatMap((target) => ['--target', target]), ...options]
  const command = ['clippy', '--workspace', '--quiet', ...selected, ...TESTING]
  await check('cargo', [...command, '--', '-D', 'warnings'], env)
}

/** Checks GitHub's workflows, and the manifests of registries against their schemas. */
async function checkWorkflows() {
  const workflows = readdirSync(join(ROOT, '.github/workflows')).map(
    (name) => `.github/workflows/${name}`
  )
  const env = { PATH: venvPrograms('venv-workflows') }
  await check('zizmor', ['--offline', '--quiet', '.github'], env)
  const schema = (name) => ['--builtin-schema', `vendor.${name}`]
  await check('check-jsonschema', [...schema('github-workflows'), ...workflows], env)
  await check('check-jsonschema', [...schema('dependabot'), '.github/dependabot.yml'], env)
}

async function rustTests() {
  if (!onPath('cargo-nextest')) {
    await counted(
      'cargo',
      ['test', '--workspace', '--quiet', ...TESTING],
      /(\d+) passed; (\d+) failed; (\d+) ignored/g
    )
    return
  }
  const summary = /tests run: (\d+) passed(?: \([^)]*\))?(?:, (\d+) failed)?(?:, (\d+) skipped)?/g
  const options = ['--no-fail-fast', '--no-tests=pass', '--color=never']
  await counted('cargo', ['nextest', 'run', '--workspace', ...TESTING, ...options], summary)
}

/**
 * Runs a program and reads the counts from its summary. Without a summary, it counts as one check.
 * @param {string} program
 * @param {string[]} args
 * @param {RegExp} summary its groups are passed, failed, skipped
 */
async function counted(program, args, summary) {
  console.log(dim(`  $ ${[program, ...args].join(' ')}`))
  const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const [from, to] of /** @type {const} */ ([
    [child.stdout, process.stdout],
    [child.stderr, process.stderr]
  ])) {
    from.on('data', (data) => {
      output += data
      to.write(data)
    })
  }
  const code = await new Promise((resolve) => {
    child.on('error', () => resolve(1))
    child.on('close', resolve)
  })
  const failedBefore = total.failed
  for (const [, passed, failed = 0, skipped = 0] of output.matchAll(summary)) {
    total.passed += Number(passed)
    total.failed += Number(failed)
    total.skipped += Number(skipped)
  }
  // For example, the program did not compile.
  if (code !== 0 && total.failed === failedBefore) total.failed++
}

async function nodeTests() {
  const all = testFiles('__test__')
  const selected = all.filter((file) => words.every((word) => file.includes(word)))
  if (selected.length === 0)
    throw new StepError(`no test file has \`${words.join(' ')}\` in its path`)
  if (withBrowser && !(withBrowser in BROWSERS)) {
    throw new StepError(
      `the browsers are ${Object.keys(BROWSERS).join(', ')}, not \`${withBrowser}\``
    )
  }
  for (const [browser, { onlyFiles, restFiles }] of Object.entries(BROWSERS)) {
    if (withBrowser && browser !== withBrowser) continue
    const main = browser === 'chromium'
    /** Whether `npm test` runs the file with this browser. @param {string} name */
    const isInDefaultRun = (name) => {
      const omitted = [...FULL_ONLY, ...NOT_IN_CI]
      return main && (words.length > 0 || !omitted.some((path) => name.startsWith(path)))
    }
    const files = selected.filter((file) => {
      const name = file.replace('__test__/', '')
      if (onlyFiles && !onlyFiles.includes(name)) return false
      if (!rest) return full || isInDefaultRun(name)
      const isInRest = restFiles?.some((path) => name.startsWith(path)) ?? true
      return (
        isInRest && !NOT_IN_CI.includes(name) && !isInDefaultRun(name) && !runsNone(browser, name)
      )
    })
    if (files.length === 0) continue
    console.log(`${cyan('▸')} ${bold(`with ${browser}`)}: ${files.length} files`)
    process.env.TEST_BROWSER = browser
    if (!main) process.env.NODE_OPTIONS = `--import ${ONLY_THIS_BROWSER}`
    await (main && words.length === 0 && !rest ? runWithCoverage(files) : nodeTestsIn(files))
    delete process.env.NODE_OPTIONS
  }
  delete process.env.TEST_BROWSER
}

/**
 * Runs all files, then reports which parts of the tools no test has used.
 * @param {string[]} files
 */
async function runWithCoverage(files) {
  // Imported here because it loads the addon, which the set-up builds.
  const coverage = await import('../__test__/support/coverage.mjs')
  process.env[NOTES] = coverage.emptyNotesFolder(NOTES_FOLDER)
  await nodeTestsIn(files)
  delete process.env[NOTES]
  const missing = coverage.uncoveredParts(NOTES_FOLDER)
  total[missing.length > 0 ? 'failed' : 'passed']++
  if (missing.length > 0)
    console.log(red(`no end-to-end test has used or received:\n  ${missing.join('\n  ')}`))
}

/**
 * Runs several files at a time, except those that measure time or start many browsers.
 * @param {string[]} files
 */
async function nodeTestsIn(files) {
  const alone = files.filter((file) => ALONE.includes(file.replace('__test__/', '')))
  /** The duration of each file in milliseconds. @type {Map<string, number>} */
  const durations = new Map()
  await runFiles(
    files.filter((file) => !alone.includes(file)),
    CONCURRENT_FILES,
    durations
  )
  await runFiles(alone, 1, durations)
  const longest = [...durations].sort(([, one], [, other]) => other - one).slice(0, SLOWEST_FILES)
  const lines = longest.map(([file, ms]) => `${file} ${(ms / 1000).toFixed(1)} s`)
  console.log(dim(`the slowest: ${lines.join(', ')}`))
}

/**
 * Runs test files, and adds their durations to `durations`.
 * @param {string[]} files @param {number} concurrency @param {Map<string, number>} durations
 */
async function runFiles(files, concurrency, durations) {
  if (files.length === 0) return
  const events = run({
    files: files.map((file) => join(ROOT, file)),
    concurrency,
    timeout: 600_000,
    // After a hook that fails, Node skips the others. A server that still runs would then keep its
    // file from ending until the timeout.
    forceExit: true
  })
  events.on('test:complete', ({ name, file, nesting, details }) => {
    if (nesting === 0 && name === file) durations.set(relative(ROOT, file), details.duration_ms)
  })
  events.on('test:fail', ({ name, file, details }) => {
    const error = /** @type {any} */ (details.error)
    if (error.failureType === 'subtestsFailed') return
    const reason = String(inspect(error.cause ?? error))
      .split('\n')
      .slice(0, REASON_LINES)
      .join('\n    ')
    failures.push(
      `${red('✗')} ${relative(ROOT, file ?? '')} with ${process.env.TEST_BROWSER ?? 'chromium'}: ${name}\n    ${reason}`
    )
  })
  const key = {
    pass: 'passed',
    fail: 'failed',
    cancelled: 'failed',
    skipped: 'skipped',
    todo: 'skipped'
  }
  events.on('test:diagnostic', ({ message, nesting }) => {
    const [, name, count] = /^(\w+) (\d+)$/.exec(message) ?? []
    if (nesting === 0 && name in key) total[key[name]] += Number(count)
  })
  await new Promise((resolve) => {
    const report = events.compose(/** @type {any} */ (spec))
    report.pipe(process.stdout, { end: false })
    report.on('end', resolve)
  })
}

/**
 * Returns the test files in a folder, without the soak tests (`npm run test:soak`) and those of the
 * part `package`.
 * @param {string} folder
 * @returns {string[]}
 */
function testFiles(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !['node_modules', 'registry', 'soak'].includes(name))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`
      return entry.isDirectory() ? testFiles(path) : path.endsWith('.test.mjs') ? [path] : []
    })
    .sort()
}
