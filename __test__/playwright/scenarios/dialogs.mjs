// Dialogs, file choosers, downloads and tabs.
import {
  click,
  documentOf,
  evaluate,
  handleDialog,
  press,
  scenario,
  snapshot,
  visit
} from '../scenario.mjs'

/** @param {string} action @param {object} [more] @returns {import('../scenario.mjs').Call} */
const tabs = (action, more = {}) => ['browser_tabs', { action, ...more }]
/** @param {string[]} paths @returns {import('../scenario.mjs').Call} */
const upload = (...paths) => ['browser_file_upload', { paths }]

/** @type {import('../scenario.mjs').Scenario[]} */
export const DIALOGS = [
  scenario(
    'alert',
    `<button onclick="alert('Attention &quot;now&quot;'); out.textContent = 'alerted'">Alert</button><p id="out"></p>`,
    [
      handleDialog(true),
      click('ref:button "Alert"'),
      snapshot(),
      click('ref:button "Alert"'),
      evaluate('() => 1'),
      ['browser_tabs', { action: 'list' }],
      ['browser_take_screenshot'],
      handleDialog(true),
      snapshot()
    ]
  ),
  scenario(
    'confirm',
    `<button onclick="out.textContent = confirm('Sure?')">Confirm</button><p id="out"></p>`,
    [
      click('ref:button "Confirm"'),
      handleDialog(false),
      snapshot(),
      click('ref:button "Confirm"'),
      handleDialog(true),
      snapshot()
    ]
  ),
  scenario(
    'prompt',
    `<button onclick="out.textContent = String(prompt('Name?', 'nobody'))">Prompt</button><p id="out"></p>`,
    [
      click('ref:button "Prompt"'),
      handleDialog(true, 'Ada'),
      snapshot(),
      click('ref:button "Prompt"'),
      handleDialog(false),
      snapshot(),
      click('ref:button "Prompt"'),
      handleDialog(true),
      snapshot()
    ]
  ),
  scenario(
    'dialog-sequence',
    `<button onclick="alert('one'); alert('two'); out.textContent = 'done'">Twice</button><p id="out"></p>`,
    [click('ref:button "Twice"'), handleDialog(true), handleDialog(true), snapshot()]
  ),
  scenario('dialog-from-evaluate', `<p id="out">Nothing yet</p>`, [
    evaluate("() => confirm('From code')"),
    handleDialog(true),
    evaluate("() => { setTimeout(() => alert('later'), 0) }"),
    handleDialog(true),
    press('a'),
    snapshot()
  ]),
  scenario('dialog-on-load', `<p>Behind</p><script>alert('Loading')</script>`, [
    snapshot(),
    handleDialog(true),
    snapshot()
  ]),
  scenario(
    'before-unload',
    `<input aria-label="Field"><script>addEventListener('beforeunload', (event) => event.preventDefault())</script>`,
    [click('ref:textbox "Field"'), press('x'), visit('/alert'), handleDialog(false), snapshot()]
  ),
  scenario(
    'html-dialog',
    `<button onclick="box.showModal()">Open</button><dialog id="box" aria-label="Box"><p>Question</p>
    <form method="dialog"><button>Close</button></form></dialog>
    <button popovertarget="tip">Tip</button><div id="tip" popover>Tip text</div>`,
    [
      click('ref:button "Open"'),
      snapshot(),
      click('ref:button "Tip"'),
      press('Escape'),
      click('ref:button "Tip"'),
      snapshot()
    ]
  ),
  scenario(
    'file-chooser',
    `<label>Files <input type="file" id="f" multiple></label><p id="out"></p><script>
    f.onchange = () => { out.textContent = [...f.files].map((file) => file.name + ' ' + file.size).join(', ') }
    f.oncancel = () => { out.textContent = 'canceled' }</script>`,
    [
      upload('{directory}/upload.txt'),
      click('ref:button "Files"'),
      snapshot(),
      click('ref:button "Files"'),
      upload('{directory}/upload.txt', '{directory}/second.txt'),
      snapshot(),
      click('ref:button "Files"'),
      ['browser_file_upload'],
      snapshot()
    ]
  ),
  scenario(
    'file-chooser-errors',
    `<input type="file" aria-label="One"><button onclick="document.querySelector('input').click()">Choose</button><p id="out"></p>`,
    [
      click('ref:button "Choose"'),
      upload('/etc/hostname'),
      upload('missing.txt'),
      upload('upload.txt', 'second.txt'),
      upload('upload.txt'),
      evaluate("() => document.querySelector('input').files[0]?.name")
    ]
  ),
  scenario(
    'downloads',
    `<a href="/download/report.txt">Report</a> <a href="/download/odd">Odd</a>
    <a href="data:text/plain,inline" download="inline.txt">Inline</a>
    <button onclick="const a = document.createElement('a'); a.href = URL.createObjectURL(new Blob(['blob'])); a.download = 'made.bin'; a.click()">Blob</button>`,
    [
      click('ref:link "Report"'),
      ['browser_wait_for', { time: 0.3 }],
      click('ref:link "Odd"'),
      ['browser_wait_for', { time: 0.3 }],
      click('ref:button "Blob"'),
      ['browser_wait_for', { time: 0.3 }],
      click('ref:link "Inline"'),
      ['browser_wait_for', { time: 0.3 }]
    ]
  ),
  scenario('download-by-navigation', '<p>Start</p>', [
    // Another file than that of `downloads`: Troupe does not replace files.
    visit('/download/notes.txt'),
    snapshot(),
    visit('/download-by-navigation')
  ]),
  scenario(
    'popup',
    `<a href="/popup-target" target="_blank">Open</a>`,
    [
      click('ref:link "Open"'),
      tabs('list'),
      tabs('select', { index: 1 }),
      snapshot(),
      click('ref:button "Close me"'),
      snapshot(),
      tabs('list')
    ],
    {
      '/popup-target': documentOf(
        'Target',
        '<h1>Target</h1><button onclick="close()">Close me</button>'
      )
    }
  ),
  scenario(
    'window-open',
    `<button onclick="window.other = open('/alert', 'x', 'width=300,height=200')">Open</button>
    <button onclick="window.other.close()">Shut</button>`,
    [click('ref:button "Open"'), snapshot(), click('ref:button "Shut"'), snapshot()]
  ),
  scenario('tabs', '<p>First</p>', [
    tabs('list'),
    tabs('new'),
    tabs('new', { url: '{origin}/confirm' }),
    snapshot(),
    tabs('select', { index: 0 }),
    snapshot(),
    tabs('close', { index: 1 }),
    tabs('close'),
    tabs('select'),
    tabs('select', { index: 7 }),
    tabs('close', { index: 7 }),
    tabs('close'),
    tabs('list')
  ]),
  scenario('without-page', '<p>Page</p>', [
    tabs('close'),
    ['browser_wait_for', { time: 0.01 }],
    tabs('list'),
    snapshot()
  ])
]
