// Clicks, keys, drags and the mouse.
import {
  awaitText,
  click,
  evaluate,
  hover,
  locator,
  press,
  scenario,
  snapshot,
  type
} from '../scenario.mjs'

/**
 * @param {string} startTarget
 * @param {string} endTarget
 * @returns {import('../scenario.mjs').Call}
 */
const drag = (startTarget, endTarget) => ['browser_drag', { startTarget, endTarget }]
const LOG = `<ol id="log"></ol><script>
const note = (text) => log.insertAdjacentHTML('beforeend', '<li>' + text + '</li>')</script>`

/** @type {import('../scenario.mjs').Scenario[]} */
export const INTERACTION = [
  scenario(
    'clicks',
    `<button id="b">Press me</button>${LOG}<script>
    for (const kind of ['mousedown', 'click', 'dblclick', 'auxclick', 'contextmenu'])
      b.addEventListener(kind, (event) => note([kind, event.button, event.detail, event.shiftKey && 'shift', event.altKey && 'alt', event.ctrlKey && 'ctrl'].filter((part) => part !== false).join(' ')))</script>`,
    [
      click('ref:button "Press me"', { element: 'the button' }),
      click('ref:button', { doubleClick: true }),
      click('ref:button', { button: 'right' }),
      click('ref:button', { button: 'middle' }),
      click('ref:button', { modifiers: ['Shift'] }),
      click('ref:button', { modifiers: ['Alt', 'Control'], button: 'left' }),
      click('ref:button', { modifiers: ['ControlOrMeta'], doubleClick: true }),
      snapshot()
    ]
  ),
  scenario(
    'hover-menu',
    `<style>nav ul { display: none } nav:hover ul { display: block }</style>
    <nav aria-label="Main"><a href="#top">Products</a><ul><li><a href="#one">One</a></li></ul></nav>
    <p onmouseenter="this.textContent='entered'" style="margin-top:200px">Out</p>`,
    [
      hover('ref:link "Products"'),
      snapshot(),
      click('ref:link "One"'),
      hover('text=Out'),
      snapshot(),
      ['browser_hover', { target: 'e999', element: 'nothing' }]
    ]
  ),
  scenario(
    'covered',
    `<div style="position:relative;width:200px;height:60px"><button>Below</button>
    <div id="cover" class="veil dark" style="position:absolute;inset:0;background:#ccc">Cover</div></div>
    <button style="display:none" id="hidden">Hidden</button><button style="visibility:hidden" id="unseen">Unseen</button>
    <button id="outside" style="position:absolute;left:-500px">Outside</button>`,
    [
      click('ref:button "Below"'),
      click('#hidden'),
      click('#unseen'),
      click('#outside'),
      hover('ref:button "Below"')
    ]
  ),
  scenario(
    'equal-names',
    `<ul><li>First <button>Delete</button></li><li>Second <button>Delete</button></li><li>Third <button>Delete</button></li></ul>
    <a href="#1">More</a> <a href="#2">More</a><p id="out"></p>
    <script>onclick = (event) => out.textContent = event.target.parentElement.textContent</script>`,
    [
      click('li:nth-child(2) > button'),
      locator('ref:button "Delete"'),
      locator('li:nth-child(3) > button >> nth=0'),
      click('button'),
      click('text=Delete'),
      click('getByRole("link", { name: "More" }).nth(1)'),
      click('getByRole("button").last()'),
      snapshot()
    ]
  ),
  scenario(
    'selectors',
    `<section><h2>Cart</h2><div class="item" data-testid="row-1">Book <button class="buy">Buy</button></div>
    <div class="item" data-testid="row-2">Pen <button class="buy" title="Pen">Buy</button></div></section>
    <label>Mail <input placeholder="name@host"></label><img alt="Logo" src="/pixel.png">`,
    [
      ...[
        '.item >> nth=1',
        'xpath=//h2',
        '//section/div[1]/button',
        'text=Cart',
        'text="Cart"',
        'role=button[name="Pen"]',
        'role=heading',
        'css=.buy',
        "getByTestId('row-2')",
        'getByText("Cart", { exact: true })',
        "getByLabel('Mail')",
        'getByPlaceholder(/name/)',
        "getByAltText('Logo')",
        "getByTitle('Pen')",
        "getByRole('button', { name: 'Buy', exact: true }).first()",
        "locator('.item').filter({ hasText: 'Pen' }).getByRole('button')",
        'section:has(h2) .item:nth-child(2)',
        'button:has-text("buy")',
        ':text("Cart")',
        'button:visible',
        '#none',
        'div[',
        "getByRole('button', { name: /buy/i })"
      ].map(locator)
    ]
  ),
  scenario(
    'scrolling',
    `<div style="height:2500px">Top</div><button onclick="out.textContent='y ' + (scrollY > 0)">Bottom</button><p id="out"></p>
    <div style="height:80px;width:200px;overflow:auto"><div style="height:600px"></div><a href="#x">Inner</a></div>`,
    [
      click('ref:button "Bottom"'),
      snapshot(),
      click('ref:link "Inner"'),
      ['browser_mouse_wheel', { deltaX: 0, deltaY: -5000 }],
      ['browser_wait_for', { time: 0.3 }],
      evaluate('() => scrollY'),
      snapshot({ boxes: true, target: 'ref:button "Bottom"' })
    ]
  ),
  scenario(
    'dynamic',
    `<button onclick="out.insertAdjacentHTML('beforeend', '<p>Added</p><button>Next</button>')">Add</button>
    <button onclick="out.replaceChildren()">Clear</button>
    <button onclick="setTimeout(() => { out.textContent = 'Arrived' }, 700)">Later</button><div id="out"></div>`,
    [
      click('ref:button "Add"'),
      click('ref:button "Next"'),
      click('ref:button "Clear"'),
      snapshot(),
      click('ref:button "Later"'),
      awaitText('Arrived'),
      ['browser_wait_for', { textGone: 'Added' }],
      ['browser_wait_for', { text: 'Never there' }],
      ['browser_wait_for', { textGone: 'Arrived' }],
      ['browser_wait_for', { time: 0.1 }],
      ['browser_wait_for', {}],
      ['browser_wait_for', { text: 'Arrived', time: 0.1 }]
    ]
  ),
  scenario(
    'stale-refs',
    `<button id="gone">Going</button><button onclick="document.getElementById('gone').remove()">Remove</button>
    <button id="name" onclick="this.textContent='Renamed'">Named</button>`,
    [
      click('ref:button "Remove"'),
      click('e2'),
      click('ref:button "Named"'),
      snapshot(),
      click('ref:button "Renamed"'),
      click('e77'),
      click('f3e1'),
      snapshot({ target: 'e77' }),
      snapshot({ target: '#none' })
    ]
  ),
  scenario(
    'keyboard',
    `<input id="one" aria-label="One" value="abc"><input aria-label="Two"><button>Three</button>${LOG}<script>
    addEventListener('keydown', (event) => note([event.code, event.key, event.ctrlKey && 'ctrl', event.shiftKey && 'shift', document.activeElement.tagName].filter(Boolean).join(' ')))</script>`,
    [
      click('#one'),
      ...[
        'Tab',
        'a',
        'Shift+Tab',
        'Control+A',
        'Backspace',
        'ArrowLeft',
        'F5key',
        'Escape',
        'Shift+B',
        'ä',
        'Space',
        'Home',
        'Enter'
      ].map(press),
      snapshot()
    ]
  ),
  scenario(
    'focus',
    `<a href="#a">Link</a><div tabindex="0" role="button">Div</div><input aria-label="In"><dialog open><button>Inside</button></dialog>`,
    [press('Tab'), snapshot(), press('Tab'), press('Tab'), snapshot(), press('Tab'), snapshot()]
  ),
  scenario(
    'unicode-input',
    `<input aria-label="Text"><p id="out"></p><script>document.querySelector('input').oninput = (event) => { out.textContent = event.target.value }</script>`,
    [
      type('ref:textbox', 'Zoë 😀 漢字'),
      snapshot(),
      type('ref:textbox', 'e\u0301 \\ "quoted" \'single\' `tick`', { slowly: true }),
      snapshot(),
      type('ref:textbox', '<b>&amp;</b>'),
      snapshot()
    ]
  ),
  scenario(
    'drag-and-drop',
    `<div id="a" draggable="true" style="width:80px;height:40px;background:#fcc">Card</div>
    <div id="z" style="width:200px;height:80px;background:#cfc;margin-top:50px">Zone</div>${LOG}<script>
    a.ondragstart = (event) => { event.dataTransfer.setData('text/plain', 'card'); note('start') }
    z.ondragover = (event) => event.preventDefault()
    z.ondrop = (event) => { event.preventDefault(); note('drop ' + event.dataTransfer.getData('text/plain')) }
    a.ondragend = () => note('end')</script>`,
    [
      drag('text=Card', 'text=Zone'),
      drag('ref:: Card', 'ref:: Zone'),
      drag('#a', '#none'),
      drag('#a', '#z'),
      snapshot()
    ]
  ),
  scenario(
    'drag-with-mouse',
    `<div id="knob" style="position:absolute;left:20px;top:20px;width:40px;height:40px;background:#88f">K</div>
    <div id="goal" style="position:absolute;left:300px;top:200px;width:40px;height:40px;background:#8f8">G</div>
    <p id="out" style="margin-top:280px"></p><script>
    let held = false
    knob.onmousedown = () => { held = true }
    onmousemove = (event) => { if (held) knob.style.left = event.clientX - 20 + 'px' }
    onmouseup = (event) => { held = false; out.textContent = event.clientX + ',' + event.clientY }</script>`,
    [
      drag('#knob', '#goal'),
      snapshot(),
      ['browser_mouse_drag_xy', { startX: 320, startY: 40, endX: 120, endY: 90 }],
      snapshot({ boxes: true })
    ]
  ),
  scenario(
    'drop-data',
    `<div id="z" role="region" aria-label="Zone" style="width:300px;height:100px;background:#eee">Drop here</div>${LOG}<script>
    z.ondragover = (event) => event.preventDefault()
    z.ondrop = async (event) => { event.preventDefault(); const files = [...event.dataTransfer.files]
      note([...event.dataTransfer.types].join(' ') + ': ' + event.dataTransfer.getData('text/plain') + files.map((file) => file.name + ' ' + file.size).join()) }</script>`,
    [
      ['browser_drop', { target: 'ref:region "Zone"', data: { 'text/plain': 'hello' } }],
      ['browser_drop', { target: '#z', paths: ['{directory}/upload.txt'] }],
      [
        'browser_drop',
        { target: '#z', paths: ['upload.txt', 'second.txt'], data: { 'text/html': '<b>x</b>' } }
      ],
      ['browser_drop', { target: '#z' }],
      ['browser_drop', { target: '#z', paths: ['/etc/hostname'] }],
      ['browser_drop', { target: '#z', paths: ['missing.txt'] }],
      snapshot()
    ]
  ),
  scenario(
    'mouse',
    `<div id="pad" style="position:absolute;left:0;top:0;width:400px;height:300px;background:#eef"></div>
    <div style="margin-top:320px">${LOG}</div><script>
    for (const kind of ['mousedown', 'mouseup', 'click', 'dblclick', 'auxclick', 'wheel'])
      pad.addEventListener(kind, (event) => note([kind, event.clientX, event.clientY, event.button, event.detail, event.deltaY].join(' ')))</script>`,
    [
      ['browser_mouse_move_xy', { x: 50, y: 60 }],
      ['browser_mouse_down'],
      ['browser_mouse_up'],
      ['browser_mouse_click_xy', { x: 100, y: 120 }],
      ['browser_mouse_click_xy', { x: 100.5, y: 120, button: 'right' }],
      ['browser_mouse_click_xy', { x: 10, y: 20, clickCount: 2, delay: 5 }],
      ['browser_mouse_down', { button: 'middle' }],
      ['browser_mouse_up', { button: 'middle' }],
      ['browser_mouse_wheel', { deltaY: 100 }],
      ['browser_mouse_wheel', { deltaX: 5, deltaY: -20 }],
      ['browser_mouse_drag_xy', { startX: 10, startY: 10, endX: 90, endY: 80 }],
      snapshot()
    ]
  ),
  scenario(
    'navigation-history',
    `<a href="#part">Part</a> <a href="/clicks">Clicks</a><h2 id="part">Part</h2>
    <button onclick="history.pushState({}, '', '/pushed')">Push</button>`,
    [
      click('ref:link "Part"'),
      click('ref:link "Clicks"'),
      ['browser_navigate_back'],
      click('ref:button "Push"'),
      snapshot(),
      ['browser_navigate_back'],
      ['browser_navigate', { url: 'about:blank' }],
      ['browser_navigate', { url: 'file:///etc/hostname' }],
      ['browser_navigate', { url: 'data:text/html,<title>Data</title><p>From a URL</p>' }],
      ['browser_navigate', { url: '127.0.0.1:64999' }]
    ]
  ),
  scenario(
    'verification',
    `<h1>Welcome</h1><ul aria-label="Tasks"><li>Wash</li><li>Cook "well"</li></ul><p hidden>Secret</p>
    <button>OK</button><button>OK</button><p>Some longer text</p><iframe srcdoc="<p>Framed text</p><button>Inner</button>"></iframe>`,
    [
      ['browser_verify_element_visible', { role: 'heading', accessibleName: 'Welcome' }],
      ['browser_verify_element_visible', { role: 'button', accessibleName: 'OK' }],
      ['browser_verify_element_visible', { role: 'button', accessibleName: 'Cancel' }],
      ['browser_verify_element_visible', { role: 'button', accessibleName: 'Inner' }],
      ['browser_verify_text_visible', { text: 'longer' }],
      ['browser_verify_text_visible', { text: 'Secret' }],
      ['browser_verify_text_visible', { text: 'Framed' }],
      [
        'browser_verify_list_visible',
        { element: 'Tasks', target: 'ref:list "Tasks"', items: ['Wash', 'Cook "well"'] }
      ],
      ['browser_verify_list_visible', { element: 'Tasks', target: 'ul', items: ['Wash', 'Iron'] }],
      ['browser_highlight', { target: 'ref:heading "Welcome"' }],
      [
        'browser_highlight',
        { target: 'h1', element: 'the title', style: 'outline: 2px dashed red' }
      ],
      ['browser_hide_highlight', { target: 'h1', element: 'the title' }],
      ['browser_hide_highlight'],
      snapshot()
    ]
  ),
  scenario('argument-errors', '<p>Nothing</p>', [
    ['browser_click', {}],
    ['browser_click', { target: 5, button: 'up' }],
    ['browser_click', { ref: 'e1' }],
    ['browser_navigate', { url: 3 }],
    ['browser_type', { target: 'p' }],
    ['browser_fill_form', { fields: [{ target: 'p', name: 'x', type: 'text', value: 'y' }] }],
    ['browser_fill_form', { fields: {} }],
    ['browser_resize', { width: '10' }],
    ['browser_network_request', { index: 0 }],
    ['browser_network_request', { index: 1.5 }],
    ['browser_emulate_media', { colorScheme: 'sepia' }],
    ['browser_tabs', { action: 'open' }],
    ['browser_handle_dialog', { accept: 'yes' }],
    ['browser_route', {}],
    ['browser_evaluate', { function: null }],
    ['browser_drop', { target: 'p', data: { 'text/plain': 1 } }],
    ['browser_find', { text: 'a', regex: 'b' }],
    ['browser_take_screenshot', { type: 'gif' }],
    ['browser_take_screenshot', { fullPage: true, target: 'p' }],
    ['browser_snapshot', { unknown: 1 }],
    ['browser_mouse_click_xy', { x: '1' }],
    ['browser_no_such_tool', {}]
  ])
]
