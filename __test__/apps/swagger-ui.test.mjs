// Swagger UI from npm, with a small working API: an agent finds an operation, tries it out and
// reads the response.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serveApp } from '../../scripts/demo-app.mjs'
import { startAgent } from './app.mjs'

describe('Swagger UI', { timeout: 60_000 }, () => {
  test('an operation is opened, tried out with a number, and its answer read', async (t) => {
    const app = await serveApp()
    t.after(app.close)
    const agent = await startAgent(t, app.url)

    await agent.awaitSnapshot(/heading "Pet store/)
    await agent.click(/button ".*\/api\/pets\/\{petId\}/)
    await agent.click(/button "Try it out/)
    await agent.act('fill', { selector: await agent.ref(/textbox "petId"/), value: '7' })
    await agent.click(/button "Execute"/)
    const answered = await agent.awaitSnapshot(/Grace/)
    assert.match(answered, /\/api\/pets\/7/)
    assert.match(answered, /\b200\b/)

    await agent.act('fill', { selector: await agent.ref(/textbox "petId"/), value: '8' })
    await agent.click(/button "Execute"/)
    assert.match(await agent.awaitSnapshot(/No such pet/), /\b404\b/)
  })

  test('a number that is missing is reported by the form, and nothing is sent', async (t) => {
    const app = await serveApp()
    t.after(app.close)
    const agent = await startAgent(t, app.url)
    await agent.click(/button ".*\/api\/pets\/\{petId\}/)
    await agent.click(/button "Try it out/)
    await agent.click(/button "Execute"/)
    await agent.awaitSnapshot(/textbox "petId".*\[invalid\]|Required field is not provided/)
    assert.doesNotMatch(await agent.see(), /Response body/)
  })
})
