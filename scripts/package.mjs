// Writes the packages that `npm publish` uploads: `troupe`, and one with the addon for each
// platform.
//   node scripts/package.mjs --addons DIR --out DIR [--platforms linux-x64-gnu,…] [--version 1.2.3]
// DIR of `--addons` contains `troupe.PLATFORM.node` and `troupe-client.PLATFORM` files. Without
// `--platforms`, a missing one is an error. `troupe` depends on the packages that are written.
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { PLATFORMS, builtFiles, packageOf } from './platforms.mjs'
import { ROOT, StepError } from './run.mjs'
import { runScript } from './setup.mjs'

/** Keys of package.json that only development needs. */
const DEVELOPMENT = ['scripts', 'devDependencies', 'overrides', 'allowScripts', 'napi', 'files']

await runScript(async () => {
  const { values } = parseArgs({
    options: {
      addons: { type: 'string' },
      out: { type: 'string' },
      platforms: { type: 'string' },
      version: { type: 'string' }
    }
  })
  const { addons, out } = values
  if (!addons || !out) throw new StepError('`--addons DIR` and `--out DIR` are required')
  const names = values.platforms?.split(',') ?? PLATFORMS.map(({ name }) => name)
  const platforms = names.map((name) => {
    const platform = PLATFORMS.find((one) => one.name === name)
    if (platform) return platform
    const known = PLATFORMS.map((one) => one.name).join(', ')
    throw new StepError(`there is no platform \`${name}\`: the platforms are ${known}`)
  })
  const missing = platforms.flatMap(builtFiles).filter((file) => !existsSync(join(addons, file)))
  if (missing.length > 0) throw new StepError(`\`${addons}\` lacks ${missing.join(', ')}`)
  const version = values.version ?? manifestOf(ROOT).version
  for (const platform of platforms) writePlatform(platform, addons, out, version)
  writeMain(platforms, out, version)
  console.log(`${platforms.length + 1} packages of version ${version} are in ${out}`)
  return 0
})

/**
 * @param {import('./platforms.mjs').Platform} platform
 * @param {string} addons @param {string} out @param {string} version
 */
function writePlatform(platform, addons, out, version) {
  const folder = join(out, platform.name)
  cpSync(join(ROOT, 'npm', platform.name), folder, { recursive: true })
  const [addon, client] = builtFiles(platform)
  copyFileSync(join(addons, addon), join(folder, addon))
  if (client) {
    const program = join(folder, 'troupe-client')
    copyFileSync(join(addons, client), program)
    // Artifacts of workflows lose the permissions of files.
    chmodSync(program, 0o755)
  }
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  copyFileSync(join(ROOT, 'npm/THIRD-PARTY-NOTICES.md'), join(folder, 'THIRD-PARTY-NOTICES.md'))
  writeManifest(folder, { ...manifestOf(folder), version })
}

/**
 * @param {import('./platforms.mjs').Platform[]} platforms
 * @param {string} out
 * @param {string} version
 */
function writeMain(platforms, out, version) {
  const folder = join(out, 'troupe')
  mkdirSync(folder, { recursive: true })
  const manifest = manifestOf(ROOT)
  for (const file of [...manifest.files, 'README.md', 'LICENSE'])
    cpSync(join(ROOT, file), join(folder, file), { recursive: true })
  const published = Object.fromEntries(
    Object.entries(manifest).filter(([key]) => !DEVELOPMENT.includes(key))
  )
  const optionalDependencies = Object.fromEntries(
    platforms.map((platform) => [packageOf(platform), version])
  )
  const scripts = { postinstall: 'node lib/link-client.js' }
  writeManifest(folder, { ...published, scripts, version, optionalDependencies })
}

/** @param {string} folder */
function manifestOf(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

/** @param {string} folder @param {object} manifest */
function writeManifest(folder, manifest) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}
