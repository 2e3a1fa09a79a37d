// Writes the files of a GitHub release: the tarballs of all packages, and an MCP bundle (`.mcpb`)
// for each platform.
//   node scripts/bundle.mjs --packages DIR --out DIR
// DIR of `--packages` is written by scripts/package.mjs.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { bundleManifest } from './manifests.mjs'
import { PLATFORMS, packageOf } from './platforms.mjs'
import { ROOT, StepError, step } from './run.mjs'
import { runScript } from './setup.mjs'

const MCPB = join(ROOT, 'node_modules/.bin/mcpb')

await runScript(async () => {
  const { values } = parseArgs({
    options: { packages: { type: 'string' }, out: { type: 'string' } }
  })
  if (!values.packages || !values.out)
    throw new StepError('`--packages DIR` and `--out DIR` are required')
  const [packages, out] = [resolve(values.packages), resolve(values.out)]
  mkdirSync(out, { recursive: true })
  const main = join(packages, 'troupe')
  const platforms = PLATFORMS.filter(({ name }) => existsSync(join(packages, name)))
  for (const folder of [main, ...platforms.map(({ name }) => join(packages, name))])
    await step(folder, 'a tarball', ['npm', 'pack', '--silent', folder, '--pack-destination', out])
  for (const platform of platforms) await bundle(platform, packages, out)
  return 0
})

/**
 * @param {import('./platforms.mjs').Platform} platform
 * @param {string} packages
 * @param {string} out
 */
async function bundle(platform, packages, out) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bundle-'))
  try {
    const main = join(folder, 'node_modules/troupe')
    cpSync(join(packages, 'troupe'), main, { recursive: true })
    cpSync(join(packages, platform.name), join(folder, 'node_modules', packageOf(platform)), {
      recursive: true
    })
    const { version } = JSON.parse(readFileSync(join(main, 'package.json'), 'utf8'))
    const manifest = JSON.stringify(bundleManifest(platform, version), null, 2)
    writeFileSync(join(folder, 'manifest.json'), manifest)
    const file = join(out, `troupe-${version}-${platform.name}.mcpb`)
    await step(file, 'an MCP bundle', [MCPB, 'pack', folder, file])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
