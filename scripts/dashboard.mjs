// Checks the types of the dashboard's page, and that `lib/dashboard` is up to date with its
// sources. `npm --prefix dashboard run build` writes `lib/dashboard`.
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT, StepError, exitCode } from './run.mjs'
import { runScript } from './setup.mjs'

const BUILT = join(ROOT, 'lib/dashboard')

await runScript(async () => {
  if (!existsSync(join(ROOT, 'dashboard/node_modules'))) {
    console.warn('skipped the dashboard: dashboard/node_modules is missing; run `npm run setup`')
    return 0
  }
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  await run([tsc, '-p', 'dashboard'], 'the types of the dashboard')
  const folder = mkdtempSync(join(tmpdir(), 'troupe-dashboard-'))
  try {
    const vite = join(ROOT, 'dashboard/node_modules/vite/bin/vite.js')
    const build = [vite, 'build', 'dashboard', '--logLevel=warn', `--outDir=${folder}`]
    await run(build, 'the build of the dashboard')
    const names = new Set([...readdirSync(folder), ...readdirSync(BUILT)])
    const different = [...names].filter((name) => read(folder, name) !== read(BUILT, name))
    if (different.length === 0) return 0
    throw new StepError(
      `lib/dashboard differs from its sources (${different.join(', ')}): run \`npm --prefix dashboard run build\``
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

/** @param {string[]} args of Node @param {string} what */
async function run(args, what) {
  const code = await exitCode(process.execPath, args, { stdio: 'inherit' })
  if (code !== 0) throw new StepError(`${what} failed (exited with ${code})`)
}

/** @param {string} folder @param {string} name */
function read(folder, name) {
  const file = join(folder, name)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}
