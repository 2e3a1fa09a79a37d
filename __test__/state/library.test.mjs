// Sessions that come back, in the Node library.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startManager } from '../support/managers.mjs'
import { memberSite, recordFor } from '../support/state.mjs'

test('a session that a manager has left is resumed by the next one', { timeout: 60_000 }, async (t) => {
  const site = await memberSite(t)
  const store = recordFor(t)
  const first = await startManager(t, { store })
  const session = await first.createSession()
  await session.navigate({ url: site.url('/log-in') })
  await session.fill({ selector: '#name', value: 'Ann' })
  await first.shutdown()

  const second = await startManager(t, { store })
  const again = await second.resumeSession(session.sessionId)
  assert.equal(again.sessionId, session.sessionId)
  assert.equal((await again.getValue({ selector: '#name' })).value, 'Ann')
  await assert.rejects(second.resumeSession('00000000-0000-4000-8000-000000000000'), { code: 'SESSION_NOT_FOUND' })
})
