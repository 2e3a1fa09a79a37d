// Exported scripts act on the same elements as the session, even if the page has changed. If that
// is not possible, they fail.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { recordFile, temporaryFolder } from '../support/record.mjs'
import { exportSession, replay } from '../support/scripts.mjs'
import { startServer } from '../support/server.mjs'
import { sendHtml, startSite } from '../support/site.mjs'

/** Posts the action. The site has received it when the function returns. */
const DONE =
  "<script>function done(what) { const request = new XMLHttpRequest(); request.open('POST', '/done?' + encodeURIComponent(what), false); request.send() }</script>"
/** An icon that posts its action. */
const icon = (what, attributes = '') =>
  `<button ${attributes} onclick="done('${what}')"><svg width="20" height="20"></svg></button>`
const item = (name, buttons) => `<li><span>${name}</span>${buttons}</li>`
const list = (...items) => `<ul>${items.join('')}</ul>`

/** A site with one page that can be replaced, and the posted actions. */
async function startPage(t, body) {
  const page = { body, done: /** @type {string[]} */ ([]), url: '' }
  const site = await startSite(t, {
    '/page': (_request, response) =>
      sendHtml(response, `<!doctype sendHtml><title>Page</title>${DONE}${page.body}`),
    '/done': (_request, response, { search }) => {
      page.done.push(decodeURIComponent(search.slice(1)))
      response.end()
    }
  })
  page.url = site.url('/page')
  return page
}

/** Clicks the element that `pattern` finds in a snapshot, and exports the session. */
async function record(t, page, pattern) {
  const file = recordFile(t)
  const server = await startServer(t, ['--store', file])
  const sessionId = await server.createSession()
  await server.ok('navigate', { sessionId, url: page.url })
  const snapshot = await server.ok('snapshot', { sessionId })
  const [, selector] = pattern.exec(snapshot) ?? []
  assert.ok(selector, snapshot)
  const answer = await server.ok('click', { sessionId, selector })
  assert.ok(!JSON.stringify(answer).includes('testId'), JSON.stringify(answer))
  await server.end()
  const exported = await exportSession(t, file, sessionId)
  return { ...exported, target: exported.steps.at(-1)?.arguments.selector }
}

describe('an exported script', { timeout: 300_000 }, () => {
  test('clicks the icon with the recorded test id, even if the order has changed', async (t) => {
    const [archive, remove] = ['archive', 'remove'].map((name) =>
      icon(name, `data-testid="${name}"`)
    )
    const page = await startPage(t, `<div>${archive}${remove}</div>`)
    const { folder, target, stdout } = await record(
      t,
      page,
      /button \(.*\) \[ref=e\d+\]\n.*button \(.*\) \[ref=(e\d+)\]/
    )
    assert.equal(target, 'testid="remove"')
    assert.ok(!stdout.includes('needs'), stdout)
    page.body = `<div>${remove}${archive}</div>`
    const again = await replay(t, folder)
    assert.equal(again.status, 0, again.stderr)
    assert.deepEqual(page.done, ['remove', 'remove'])
    page.body = `<div>${archive}</div>`
    const result = await replay(t, folder)
    assert.equal(result.status, 1)
    assert.match(result.stderr, /step 3 \(click\) failed: nothing matches `testid="remove"`/)
    assert.equal(page.done.length, 2)
  })

  test('clicks the icon in the recorded row if all rows have the same test ids', async (t) => {
    const row = (name) =>
      item(
        name,
        icon(`edit ${name}`, 'data-test="edit"') + icon(`delete ${name}`, 'data-test="delete"')
      )
    const page = await startPage(t, list(row('Ann'), row('Ben')))
    const { folder, target } = await record(
      t,
      page,
      /text: Ben\n.*\n.*button \(.*\) \[ref=(e\d+)\]/
    )
    assert.equal(target, 'role=listitem >> has-text="Ben" >> data-test="delete"')
    page.body = list(row('Cid'), row('Ben'), row('Ann'))
    const again = await replay(t, folder)
    assert.equal(again.status, 0, again.stderr)
    // The text of another row contains the name.
    page.body = list(row('Benjamin'))
    const result = await replay(t, folder)
    assert.deepEqual([result.status, page.done], [1, ['delete Ben', 'delete Ben']])
  })

  test('clicks the button of the recorded row, not that of a similar row, if all have the same name', async (t) => {
    const row = (name) => item(name, icon(`delete ${name}`, 'aria-label="Delete"'))
    const page = await startPage(t, list(row('Item 1'), row('Item 2')))
    const { folder, target } = await record(
      t,
      page,
      /text: Item 1\n.*button "Delete" \[ref=(e\d+)\]/
    )
    assert.equal(target, 'role=listitem >> has-text="Item 1" >> role=button[name="Delete"]')
    page.body = list(row('Item 2'), row('Item 10'), row('Item 1'))
    assert.equal((await replay(t, folder)).status, 0)
    page.body = list(row('Item 10'))
    const result = await replay(t, folder)
    assert.deepEqual([result.status, page.done], [1, ['delete Item 1', 'delete Item 1']])
    assert.match(result.stderr, /step 3 \(click\) failed: nothing matches/)
  })

  test('does not click a named button instead of the only one without a name', async (t) => {
    const page = await startPage(t, icon('icon') + icon('named', 'aria-label="Save"'))
    const { folder, target } = await record(t, page, /button \[ref=(e\d+)\]/)
    assert.equal(target, 'role=button[name=""]')
    assert.equal((await replay(t, folder)).status, 0)
    page.body = icon('named', 'aria-label="Save"')
    assert.equal((await replay(t, folder)).status, 1)
    assert.deepEqual(page.done, ['icon', 'icon'])
  })

  test('fails at a step with an ambiguous element, and says which step to edit', async (t) => {
    const page = await startPage(
      t,
      list(
        item('Ann', icon('1') + icon('2', 'data-testid="twice"') + icon('3', 'data-testid="twice"'))
      )
    )
    const { folder, stdout, script, target } = await record(
      t,
      page,
      /button \[ref=e\d+\]\n.*button \(.*\) \[ref=(e\d+)\]/
    )
    assert.match(stdout, /run\.sh needs a selector in these steps, .* and no test id: 3\n$/)
    assert.match(
      script,
      /^# Edit step 3: the record has no unique role and name and no test id for its element\.$/m
    )
    const { status, stderr } = await replay(t, folder)
    assert.deepEqual([status, page.done], [1, ['2']])
    assert.match(stderr, new RegExp(`step 3 \\(click\\) failed: nothing matches \`${target}\``))
  })

  test('does not contain a test id with a secret', async (t) => {
    const file = recordFile(t)
    const secrets = join(temporaryFolder(t), 'secrets')
    writeFileSync(secrets, 'TOKEN=tomato soup\n')
    const page = await startPage(t, `${icon('1', 'data-testid="for tomato soup"')}${icon('2')}`)
    const server = await startServer(t, ['--store', file, '--secrets', secrets])
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: page.url })
    const [, selector] =
      /button \[ref=(e\d+)\]/.exec(await server.ok('snapshot', { sessionId })) ?? []
    await server.ok('click', { sessionId, selector })
    await server.end()
    const { script, stdout } = await exportSession(t, file, sessionId)
    assert.ok(!script.includes('tomato'), script)
    assert.match(stdout, /needs a selector in these steps.*: 3\n/)
  })

  test('repeats all user actions: forms, choices, drags, files, dialogs, frames, shadow roots, tabs, keys', async (t) => {
    /** @type {string[][]} */
    const runs = [[]]
    const site = await startSite(t, {
      '/form': `<!doctype html><title>Form</title>${DONE}<form onsubmit="return false">
        <label>First name <input id="first"></label> <label for="last">Last name</label> <input id="last">
        <label>Color <select id="color"><option>Red<option>Green</select></label>
        <label><input type="checkbox" id="news"> Newsletter</label>
        <fieldset><legend>Size</legend><label><input type="radio" name="size" value="s"> Small</label> <label><input type="radio" name="size" value="l"> Large</label></fieldset>
        <label>Notes <textarea id="notes"></textarea></label>
        <label>Photo <input type="file" id="photo"></label>
        <button onclick="done(['form', first.value, last.value, color.value, news.checked, document.querySelector('[name=size]:checked').value, notes.value, photo.files[0].name].join())">Send</button>
        <a href="/widgets">Widgets</a></form>`,
      '/widgets': `<!doctype html><title>Widgets</title>${DONE}
        <button onclick="done('confirm ' + confirm('Sure?'))">Ask</button>
        <div style="display:flex;gap:60px"><div id="card" data-testid="card" draggable="true" style="width:80px;height:60px;background:#acf"></div>
          <div id="bin" data-testid="bin" role="group" tabindex="0" style="width:120px;height:100px;background:#fca"></div></div>
        <div style="height:20px" id="host"></div>
        <iframe src="/inner" style="width:300px;height:100px"></iframe>
        <a href="/tab" target="_blank">Open a tab</a>
        <script>
          card.ondragstart = (event) => event.dataTransfer.setData('text', 'card')
          bin.ondragover = (event) => event.preventDefault()
          bin.ondrop = (event) => { event.preventDefault(); done('dropped ' + event.dataTransfer.getData('text')) }
          const root = host.attachShadow({ mode: 'open' })
          root.innerHTML = '<button data-testid="in-shadow"></button><button></button>'
          root.querySelector('button').onclick = () => done('shadow')
        </script>`,
      '/inner': `<!doctype html><title>Inner</title>${DONE}<button>Other</button> <button data-testid="in-frame" onclick="done('frame')"></button> <button></button>`,
      '/tab': `<!doctype html><title>Tab</title>${DONE}<label>Search <input onkeydown="if (event.key === 'Enter') done('search ' + this.value)"></label>`,
      '/done': (_request, response, { search }) => {
        runs.at(-1)?.push(decodeURIComponent(search.slice(1)))
        response.end()
      }
    })
    const folder = temporaryFolder(t)
    const photo = join(folder, 'photo.png')
    writeFileSync(photo, 'a photo')
    const file = recordFile(t)
    const server = await startServer(t, ['--store', file, '--output-dir', folder])
    const sessionId = await server.createSession()
    const call = (tool, args = {}) => server.ok(tool, { sessionId, ...args })
    /** The ref of a line of the snapshot. @param {RegExp} line */
    const refOf = async (line, more = {}) => {
      const snapshot = await call('snapshot', more)
      const [, ref] = new RegExp(`${line.source}.*\\[ref=((?:f\\d+)?e\\d+)\\]`).exec(snapshot) ?? []
      assert.ok(ref, `${line} in ${snapshot}`)
      return ref
    }
    await call('navigate', { url: site.url('/form') })
    await call('fill', { selector: 'label=First name', value: 'Ann' })
    await call('type', { selector: await refOf(/textbox "Last name"/), text: 'O"Hara $x' })
    await call('select', { selector: await refOf(/combobox "Color"/), value: 'Green' })
    await call('batch', {
      steps: [
        { tool: 'check', arguments: { selector: await refOf(/checkbox "Newsletter"/) } },
        { tool: 'check', arguments: { selector: 'label=Large' } },
        {
          tool: 'fill_form',
          arguments: { fields: [{ selector: await refOf(/textbox "Notes"/), value: 'two\nlines' }] }
        }
      ]
    })
    await call('upload_file', { selector: await refOf(/button "Photo/), files: [photo] })
    await call('click', { selector: await refOf(/button "Send"/) })
    await call('click', { selector: await refOf(/link "Widgets"/) })
    await call('click', { selector: await refOf(/button "Ask"/) })
    await call('handle_dialog', { accept: true })
    await call('drag_and_drop', { source: await refOf(/generic/), target: await refOf(/group/) })
    await call('click', { selector: await refOf(/button "Ask".*\n(?:.*\n)*?.*button/) })
    await call('click', { selector: await refOf(/button "Other".*\n.*button/) })
    const { newPages: [tab] = [] } = await call('click', {
      selector: await refOf(/link "Open a tab"/)
    })
    const pageId = tab?.pageId ?? 'page-2'
    await call('click', { selector: await refOf(/textbox "Search"/, { pageId }), pageId })
    for (const key of ['a', 'b', 'Enter']) await call('press', { key, pageId })
    await server.end()
    const expected = [
      'form,Ann,O"Hara $x,Green,true,l,two\nlines,photo.png',
      'confirm true',
      'dropped card',
      'shadow',
      'frame',
      'search ab'
    ]
    assert.deepEqual(runs[0], expected)

    const exported = await exportSession(t, file, sessionId)
    assert.ok(!exported.stdout.includes('needs'), exported.stdout + exported.script)
    runs.push([])
    const again = await replay(t, exported.folder, ['--output-dir', folder])
    assert.equal(again.status, 0, `${again.stderr}\n${again.stdout}\n${exported.script}`)
    assert.deepEqual(runs[1], expected, exported.script)
  })
})
