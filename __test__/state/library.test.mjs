// Resumed sessions in the Node library.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startManager } from '../support/managers.mjs'
import { recordFile } from '../support/record.mjs'
import { memberSite } from '../support/state.mjs'

test(
  'a session of a manager that was shut down is resumed by another manager',
  { timeout: 60_000 },
  async (t) => {
    const site = await memberSite(t)
    const store = recordFile(t)
    const first = await startManager(t, { store })
    const session = await first.createSession()
    await session.navigate({ url: site.url('/log-in') })
    await session.fill({ selector: '#name', value: 'Ann' })
    await first.shutdown()

    const second = await startManager(t, { store })
    const again = await second.resumeSession(session.sessionId)
    assert.equal(again.sessionId, session.sessionId)
    assert.equal((await again.getValue({ selector: '#name' })).value, 'Ann')
    await assert.rejects(second.resumeSession('00000000-0000-4000-8000-000000000000'), {
      code: 'SESSION_NOT_FOUND'
    })
  }
)

test('a session is created from the result of saveState', { timeout: 60_000 }, async (t) => {
  const site = await memberSite(t)
  const manager = await startManager(t)
  const session = await manager.createSession()
  await session.navigate({ url: site.url('/log-in') })
  const saved = await session.saveState()
  for (const storageState of [saved, saved.state]) {
    const again = await manager.createSession({ storageState })
    assert.equal((await again.navigate({ url: site.url('/members') })).title, 'Members')
    await again.restoreState({ state: { cookies: [], origins: [] } })
    assert.equal((await again.navigate({ url: site.url('/members') })).title, 'Log in')
    await again.restoreState({ state: saved })
    assert.equal((await again.navigate({ url: site.url('/members') })).title, 'Members')
  }
})
