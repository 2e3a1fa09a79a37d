// An addon for another processor, built here with Zig and loaded in emulation. It is a debug build,
// because only its loading is tested.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { EMULATED } from '../../scripts/platforms.mjs'
import { CACHE, crossAddon } from '../../scripts/setup.mjs'
import { BIN, startServer } from '../support/server.mjs'

describe('addons for other platforms', { timeout: 1_800_000 }, () => {
  test('on Linux arm64, the server answers `initialize` and `tools/list`', async (t) => {
    const addon = await crossAddon(EMULATED[0])
    const emulated = [
      ...['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu'],
      join(CACHE, 'node-arm64/package/bin/node')
    ]
    const env = { NAPI_RS_NATIVE_LIBRARY_PATH: addon }
    const version = execFileSync(emulated[0], [...emulated.slice(1), BIN, '--version'], {
      env: { ...process.env, ...env },
      encoding: 'utf8'
    })
    assert.match(version, /^troupe \d+\.\d+\.\d+\n$/)
    const server = await startServer(t, [], { command: [...emulated, BIN], env })
    const { result } = await server.request('tools/list', {}, { timeout: 60_000 })
    assert.ok(result.tools.some(({ name }) => name === 'navigate'))
  })
})
