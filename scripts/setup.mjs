// Brings a fresh checkout to where the demo and the tests run: npm packages, the addon, a browser; for the tests also
// their other clients. Looks first and does only what is missing, so that running it again costs nothing noticeable.
// It runs before there are npm packages: Node built-ins only.
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT, StepFailed, canRun, exitCode, onPath, red, step } from './run.mjs'

const CACHE = join(ROOT, '.cache')
const ADDON_SOURCES = ['src', 'Cargo.toml', 'Cargo.lock', 'build.rs', '.cargo/config.toml']
/** Virtual environments of the tests: MCP clients of both majors, which exclude each other, an app to drive, a fuzzer of APIs. */
const PYTHON_ENVIRONMENTS = {
  venv: ['mcp==2.2.0', 'jupyterlab==4.6.6'],
  'venv-mcp-1': ['mcp[ws]==1.30.0', 'fastmcp==2.14.7'],
  'venv-openapi': ['schemathesis==4.32.5']
}
/** 130 pages, each with a task in words and a reward. */
const MINIWOB = 'miniwob==1.1.0'
/** Small packages of HTML documentation, none with a version in its name: pages for the test of roles and names. */
const DEBIAN_DOCS = [
  'debian-policy',
  'git-doc',
  'libxml2-doc',
  'maint-guide',
  'python-flask-doc',
  'r-doc-html',
  'sphinx-doc'
]

/** @param {{ forTests?: boolean }} [options] */
export async function setup({ forTests = false } = {}) {
  await npmPackages(ROOT, 'npm packages')
  await addon()
  if (forTests) {
    await testPrograms()
    await npmPackages(
      join(ROOT, '__test__/clients'),
      'MCP clients, the conformance suite and the Node 22 that they need'
    )
    await npmPackages(join(ROOT, '__test__/apps'), 'the apps and sites that the tests drive')
    await npmPackages(join(ROOT, 'docs'), 'the generator of the documentation site')
    for (const [name, packages] of Object.entries(PYTHON_ENVIRONMENTS))
      await pythonPackages(name, packages)
    await miniwob()
    await debianDocs()
  }
  await browser()
}

/** @param {string} folder @param {string} title */
async function npmPackages(folder, title) {
  const lock = readFileSync(join(folder, 'package-lock.json'))
  const stamp = join(folder, 'node_modules/.troupe-lock')
  if (isStamped(stamp, lock)) return
  const reason = existsSync(join(folder, 'node_modules'))
    ? 'the lockfile is another'
    : 'not installed yet'
  const command = ['npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error']
  // swagger-ui-dist brings a package that reports each installation to its maker.
  await step(title, reason, command, { cwd: folder, env: { SCARF_ANALYTICS: 'false' } })
  writeStamp(stamp, lock)
}

async function addon() {
  const { digest, changed } = addonSources()
  const stamp = join(CACHE, 'addon')
  const built = newestAddon(ROOT)
  // Built by these scripts from these very sources, or by hand (`npm run build`) after the last change.
  if (built && (isStamped(stamp, digest) || built > changed)) return
  await buildAddon(
    'native addon',
    built ? 'the sources have changed' : 'not built yet, a few minutes',
    ['build']
  )
  writeStamp(stamp, digest)
}

/**
 * The release build of the addon, for measuring. It lives apart, so that the quick build of the tests stays.
 * @returns {Promise<string>} its path
 */
export async function releaseAddon() {
  const { digest } = addonSources()
  const folder = join(CACHE, 'release')
  const stamp = join(folder, 'stamp')
  if (!isStamped(stamp, digest)) {
    const reason = 'what is measured is what is published; some minutes'
    await buildAddon('release build of the addon', reason, [
      'build:release',
      '--',
      '--output-dir',
      folder
    ])
    writeStamp(stamp, digest)
  }
  const file = readdirSync(folder).find((name) => name.endsWith('.node'))
  return join(folder, /** @type {string} */ (file))
}

/** @param {string} title @param {string} reason @param {string[]} script the npm script and its arguments */
async function buildAddon(title, reason, script) {
  if (!onPath('cargo'))
    throw new StepFailed('Rust is missing (`cargo`): install it from https://rustup.rs')
  if (!onPath('cc')) await aptInstall(['build-essential'], 'Rust links with a C compiler')
  await step(title, reason, ['npm', 'run', '--silent', ...script])
}

/** What the addon is made of: a digest of it all, and when it last changed. */
function addonSources() {
  const files = ADDON_SOURCES.flatMap(filesUnder)
  const digest = createHash('sha256')
  for (const file of files) digest.update(`${file}\0`).update(readFileSync(join(ROOT, file)))
  const changed = Math.max(...files.map((file) => statSync(join(ROOT, file)).mtimeMs))
  return { digest: digest.digest('hex'), changed }
}

/** When the addon in this folder was built, if it was. @param {string} folder */
function newestAddon(folder) {
  if (!existsSync(join(folder, 'native.js'))) return 0
  const addons = readdirSync(folder).filter(
    (file) => file.startsWith('troupe.') && file.endsWith('.node')
  )
  return Math.max(0, ...addons.map((file) => statSync(join(folder, file)).mtimeMs))
}

/** A browser that the product finds; where there is none, the product's own installer gets one. */
async function browser() {
  if (['chromium-headless-shell', 'chromium', 'google-chrome', 'chrome'].some(onPath)) return
  await step('a browser', 'none on the PATH', [
    process.execPath,
    'bin/troupe.js',
    'install',
    'chromium'
  ])
}

/** What some tests need of the system: the browsers, Xvfb for headed mode, Python for its MCP client, reverse proxies. */
async function testPrograms() {
  const packages = {
    'chromium-headless-shell': 'chromium-headless-shell',
    chromium: 'chromium',
    'firefox-esr': 'firefox-esr',
    WebKitWebDriver: 'webkit2gtk-driver',
    Xvfb: 'xvfb',
    nginx: 'nginx-light',
    caddy: 'caddy',
    python3: 'python3-venv'
  }
  const missing = Object.keys(packages).filter((program) => !onPath(program))
  if (missing.length > 0)
    await aptInstall(
      missing.map((program) => packages[program]),
      `missing: ${missing.join(', ')}`
    )
}

/** @param {string} name @param {string[]} packages */
async function pythonPackages(name, packages) {
  const folder = join(CACHE, name)
  const stamp = join(folder, '.troupe-packages')
  const wanted = packages.join(' ')
  if (isStamped(stamp, wanted)) return
  const python = venvPython(name)
  const reason = 'MCP clients, an app and a fuzzer of the tests'
  if ((await exitCode(python, ['-m', 'pip', '--version'], { stdio: 'ignore' })) !== 0) {
    rmSync(folder, { recursive: true, force: true })
    // Debian's python3 comes without the module that puts pip into a venv.
    if ((await exitCode('python3', ['-c', 'import ensurepip'], { stdio: 'ignore' })) !== 0) {
      await aptInstall(
        ['python3-venv'],
        'the Python packages of the tests live in a virtual environment'
      )
    }
    await step('Python environment', reason, ['python3', '-m', 'venv', folder])
  }
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]
  await step(`Python packages (${name})`, reason, [python, ...pip])
  writeStamp(stamp, wanted)
}

/** Installs the pages of MiniWoB++ in a folder of their own, without the packages that its Python code needs. */
async function miniwob() {
  const folder = join(CACHE, 'miniwob')
  const stamp = join(folder, '.troupe-package')
  if (isStamped(stamp, MINIWOB)) return
  rmSync(folder, { recursive: true, force: true })
  await step('MiniWoB++', 'small pages with tasks, for tests', [
    venvPython('venv'),
    ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'],
    ...['--no-deps', '--no-compile', '--target', folder, MINIWOB]
  ])
  writeStamp(stamp, MINIWOB)
}

/** The Python of a virtual environment. @param {string} name */
function venvPython(name) {
  const path = process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python'
  return join(CACHE, name, path)
}

/** Unpacked, not installed. Where they cannot be had, the test of roles and names has fewer pages, and says so. */
async function debianDocs() {
  const folder = join(CACHE, 'docs')
  const stamp = join(folder, '.troupe-docs')
  const wanted = DEBIAN_DOCS.join(' ')
  if (isStamped(stamp, wanted) || !canRun('/usr/bin/apt-get')) return
  const reason = 'pages to compare roles and names on'
  mkdirSync(folder, { recursive: true })
  try {
    // An image of a container has no package lists.
    const listed =
      (await exitCode('apt-cache', ['show', ...DEBIAN_DOCS], { stdio: 'ignore' })) === 0
    if (!listed && process.getuid?.() === 0)
      await step('package lists', reason, ['apt-get', 'update', '-qq'])
    await step('Debian documentation', reason, ['apt-get', 'download', '-qq', ...DEBIAN_DOCS], {
      cwd: folder
    })
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
      await step(file, 'unpacking it', ['dpkg-deb', '-x', file, '.'], { cwd: folder })
      rmSync(join(folder, file))
    }
    writeStamp(stamp, wanted)
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error
    console.warn(red(`! ${error.message}. The tests do without these pages.`))
  }
}

/** @param {string[]} packages @param {string} reason */
async function aptInstall(packages, reason) {
  if (process.getuid?.() !== 0 || !canRun('/usr/bin/apt-get')) {
    console.warn(
      red(`! ${reason}. Install what gives ${packages.join(', ')} (here only root on Debian can).`)
    )
    return
  }
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  await step('package lists', reason, ['apt-get', 'update', '-qq'], { env })
  await step(
    'Debian packages',
    reason,
    ['apt-get', 'install', '-y', '-qq', '--no-install-recommends', ...packages],
    {
      env
    }
  )
}

/** @param {string} path relative to the root @returns {string[]} */
function filesUnder(path) {
  const stat = statSync(join(ROOT, path), { throwIfNoEntry: false })
  if (!stat) return []
  if (!stat.isDirectory()) return [path]
  return readdirSync(join(ROOT, path))
    .sort()
    .flatMap((name) => filesUnder(`${path}/${name}`))
}

/** @param {string} stamp @param {string | Buffer} content */
function isStamped(stamp, content) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === digestOf(content)
}

/** @param {string} stamp @param {string | Buffer} content */
function writeStamp(stamp, content) {
  mkdirSync(join(stamp, '..'), { recursive: true })
  writeFileSync(stamp, digestOf(content))
}

/** @param {string | Buffer} content */
function digestOf(content) {
  return createHash('sha256').update(content).digest('hex')
}

/** Runs what a script does after the set-up; a failed step is one line and exit code 1, no stack trace.
 * @param {() => Promise<number | void>} main */
export async function runScript(main) {
  try {
    process.exitCode = (await main()) || 0
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error
    console.error(red(`✗ ${error.message}`))
    process.exitCode = 1
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await runScript(() => setup({ forTests: true }))
}
