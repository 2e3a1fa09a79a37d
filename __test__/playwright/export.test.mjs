// Scripts of `troupe sessions export` repeat the calls of the Playwright set.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordFile } from '../support/record.mjs'
import { exportSession, replay } from '../support/scripts.mjs'
import { startServer } from '../support/server.mjs'
import { sendHtml, startSite } from '../support/site.mjs'
import { refIn } from '../support/snapshots.mjs'

/** Reports each event to the site. */
const SCRIPT = `<script>
  function done(what) {
    const request = new XMLHttpRequest()
    request.open('POST', '/done?' + encodeURIComponent(what), false)
    request.send()
  }
</script>`

const PAGE = `${SCRIPT}<form onsubmit="event.preventDefault(); done('sent ' +
  [user.value, pass.value, plan.value, news.checked].join('|'))">
  <label>User <input id="user"></label>
  <label>Password <input id="pass" type="password"></label>
  <label>Plan <select id="plan"><option>Free</option><option>Paid</option></select></label>
  <label><input id="news" type="checkbox"> News</label>
  <button>Send</button>
</form>
<ul>
  <li>Ann <button onclick="done('delete Ann')">Delete</button></li>
  <li>Bob <button onclick="done('delete Bob')">Delete</button></li>
</ul>
<p draggable="true">Card</p>
<p id="lane" ondragover="event.preventDefault()" ondrop="event.preventDefault(); done('drop')">Lane</p>
<iframe title="Inner" src="/inner"></iframe>`
const INNER = `${SCRIPT}<button onclick="done('inner')">Play</button>`

test('an exported script repeats the calls of the Playwright set', async (t) => {
  /** @type {string[]} */
  let done = []
  const site = await startSite(t, {
    '/page': (_request, response) => sendHtml(response, PAGE),
    '/inner': (_request, response) => sendHtml(response, INNER),
    '/done': (_request, response, { search }) => {
      done.push(decodeURIComponent(search.slice(1)))
      response.end()
    }
  })
  const file = recordFile(t)
  const server = await startServer(t, [
    '--store',
    file,
    '--tools',
    'playwright',
    '--codegen',
    'none'
  ])
  const call = async (name, parameters = {}) => {
    const result = await server.call(name, parameters)
    assert.ok(!result.isError, result.text)
    return result
  }
  const { sessionId } = (await call('browser_navigate', { url: site.url('/page') })).meta
  const { text } = await call('browser_snapshot')
  await call('browser_fill_form', {
    fields: [
      { name: 'User', type: 'textbox', target: refIn(text, /textbox "User"/), value: 'ann' },
      { name: 'Plan', type: 'combobox', target: refIn(text, /combobox "Plan"/), value: 'Paid' },
      { name: 'News', type: 'checkbox', target: refIn(text, /checkbox "News"/), value: 'true' }
    ]
  })
  const password = refIn(text, /textbox "Password"/)
  await call('browser_type', { target: password, text: 'hunter2', submit: true })
  const second = text.slice(text.indexOf('Bob'))
  await call('browser_click', { target: refIn(second, /button "Delete"/) })
  await call('browser_click', { target: 'li >> nth=0 >> button' })
  await call('browser_drag', { startTarget: refIn(text, /Card/), endTarget: refIn(text, /Lane/) })
  await call('browser_click', { target: refIn(text, /button "Play"/) })
  await server.call('browser_click', { target: '#absent' })
  await call('browser_close')
  await server.end()
  const expected = ['sent ann|hunter2|Paid|true', 'delete Bob', 'delete Ann', 'drop', 'inner']
  assert.deepEqual(done, expected)

  const { folder, stdout, script } = await exportSession(t, file, sessionId)
  assert.match(stdout, /needs values that are not recorded: set PASSWORD_1$/m)
  assert.ok(!script.includes('hunter2'), script)
  done = []
  const again = await replay(t, folder, [], { PASSWORD_1: 'hunter2' })
  assert.equal(again.status, 0, again.stderr)
  assert.deepEqual(done, expected)
})

test('an exported script stops at the first call of the Playwright set that fails', async (t) => {
  let body = '<button>Save</button>'
  const site = await startSite(t, { '/page': (_request, response) => sendHtml(response, body) })
  const file = recordFile(t)
  const server = await startServer(t, ['--store', file, '--tools', 'playwright'])
  const { meta } = await server.call('browser_navigate', { url: site.url('/page') })
  const { text } = await server.call('browser_snapshot')
  await server.call('browser_click', { target: refIn(text, /button "Save"/) })
  await server.end()
  const { folder } = await exportSession(t, file, meta.sessionId)
  body = '<button>Other</button>'
  const { status, stderr } = await replay(t, folder)
  assert.equal(status, 1)
  assert.match(
    stderr,
    /step 3 \(browser_click\) failed: .*getByRole\('button', \{ name: 'Save' \}\)/
  )
})
