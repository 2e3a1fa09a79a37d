// Addons for other processors and for musl, built here with Zig. They are debug builds, because
// only their loading is tested.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { CROSS_STARTED } from '../../scripts/platforms.mjs'
import { crossAddon, otherNode } from '../../scripts/setup.mjs'
import { BIN, startServer } from '../support/server.mjs'

describe('addons for other platforms', { timeout: 1_800_000 }, () => {
  for (const platform of CROSS_STARTED) {
    test(`on ${platform.title}, the server answers \`initialize\` and \`tools/list\``, async (t) => {
      const env = { NAPI_RS_NATIVE_LIBRARY_PATH: await crossAddon(platform) }
      const [program, ...args] = [...(await otherNode(platform)), BIN]
      const version = execFileSync(program, [...args, '--version'], {
        env: { ...process.env, ...env },
        encoding: 'utf8'
      })
      assert.match(version, /^troupe \d+\.\d+\.\d+\n$/)
      const server = await startServer(t, [], { command: [program, ...args], env })
      const { result } = await server.request('tools/list', {}, { timeout: 60_000 })
      assert.ok(result.tools.some(({ name }) => name === 'navigate'))
    })
  }
})
