// Builds the addon, and the native client of the command line next to it.
//   node scripts/build.mjs [--release] [--features F] [--target T] [-x] [--output-dir DIR]
// The options are those of `napi build`. `-x` links with Zig.
import { spawnSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { PLATFORMS, THIS_PLATFORM, clientOf } from './platforms.mjs'
import { ROOT, StepError } from './run.mjs'
import { runScript } from './setup.mjs'

await runScript(async () => {
  const args = process.argv.slice(2)
  const { values } = parseArgs({
    args,
    options: {
      release: { type: 'boolean' },
      features: { type: 'string' },
      target: { type: 'string' },
      'cross-compile': { type: 'boolean', short: 'x' },
      'output-dir': { type: 'string', default: ROOT }
    }
  })
  const napi = join(ROOT, 'node_modules/.bin/napi')
  run(napi, ['build', '--platform', ...args, '--no-js', '--dts', 'native.d.ts'])
  // The target can end with a version of glibc: `x86_64-unknown-linux-gnu.2.28`.
  const platform = values.target
    ? PLATFORMS.find(({ target }) => values.target?.split('.')[0] === target)
    : THIS_PLATFORM
  const client = platform && clientOf(platform)
  if (!client) return 0
  const { release, features, target } = values
  const built = run(
    'cargo',
    [
      values['cross-compile'] ? 'zigbuild' : 'build',
      ...['--package', 'troupe-client', '--bin', 'troupe-client'],
      '--message-format=json-render-diagnostics',
      ...(release ? ['--release'] : []),
      ...(features ? ['--features', features] : []),
      ...(target ? ['--target', target] : [])
    ],
    ['inherit', 'pipe', 'inherit']
  )
  const messages = built
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  const { executable } = messages.find(({ executable }) => executable) ?? {}
  if (!executable) throw new StepError('cargo has built no `troupe-client`')
  copyFileSync(executable, join(values['output-dir'], client))
  return 0
})

/**
 * @param {string} program @param {string[]} args
 * @param {import('node:child_process').StdioOptions} [stdio]
 */
function run(program, args, stdio = 'inherit') {
  const { status, stdout } = spawnSync(program, args, { cwd: ROOT, stdio, encoding: 'utf8' })
  if (status !== 0) throw new StepError(`\`${program} ${args[0]}\` failed`)
  return stdout
}
