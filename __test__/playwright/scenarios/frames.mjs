// Frames and shadow trees.
import {
  awaitText,
  click,
  documentOf,
  evaluate,
  hover,
  locator,
  scenario,
  snapshot,
  type
} from '../scenario.mjs'

/** @type {import('../scenario.mjs').Scenario[]} */
export const FRAMES = [
  scenario(
    'frame',
    `<h1>Outer</h1><iframe src="/frame-inner" title="Inner frame" width="400" height="200"></iframe>`,
    [
      click('ref:button "Inside"'),
      snapshot(),
      type('ref:textbox "Field"', 'framed'),
      locator('ref:button "Inside"'),
      locator('ref:iframe'),
      hover('ref:button "Inside"'),
      snapshot({ target: 'ref:iframe' }),
      evaluate('(element) => element.tagName', { target: 'ref:textbox "Field"' }),
      ['browser_find', { text: 'inside' }]
    ],
    {
      '/frame-inner': documentOf(
        'Inner',
        `<button onclick="out.textContent='clicked'">Inside</button><input aria-label="Field"><p id="out"></p>`
      )
    }
  ),
  scenario(
    'nested-frames',
    `<p>Level 0</p><iframe name="one" src="/nested-1" width="500" height="300"></iframe>`,
    [
      click('ref:button "Deep"'),
      snapshot(),
      locator('ref:button "Deep'),
      click("frameLocator('iframe').frameLocator('iframe').getByRole('button')"),
      snapshot({ depth: 1 })
    ],
    {
      '/nested-1': documentOf(
        'One',
        '<p>Level 1</p><iframe src="/nested-2" width="300" height="200"></iframe>'
      ),
      '/nested-2': documentOf(
        'Two',
        `<p>Level 2</p><button onclick="this.textContent += '!'">Deep</button>`
      )
    }
  ),
  scenario(
    'srcdoc-frames',
    `<iframe srcdoc="<p>First document</p><a href='#x'>Link</a>" width="300" height="80"></iframe>
    <iframe srcdoc="<p>Second document</p>" width="300" height="80"></iframe>
    <iframe srcdoc="<p>Hidden document</p>" hidden></iframe><iframe width="10" height="10"></iframe>`,
    [snapshot(), click('ref:link "Link"'), locator('ref:link "Link"'), snapshot()]
  ),
  scenario(
    'cross-origin-frame',
    `<p>Host</p><div id="place"></div><script>
    place.innerHTML = '<iframe id="far" width="400" height="150" src="' + location.origin.replace('127.0.0.1', 'localhost') + '/far"></iframe>'</script>`,
    [
      awaitText('Host'),
      snapshot(),
      click('ref:button "Far"'),
      type('ref:textbox "Far field"', 'abc'),
      locator('ref:textbox "Far field"'),
      snapshot()
    ],
    {
      '/far': documentOf(
        'Far',
        `<button onclick="this.textContent='Far pressed'">Far</button><input aria-label="Far field">`
      )
    }
  ),
  scenario(
    'changing-frames',
    `<button onclick="box.innerHTML='<iframe srcdoc=&quot;<button>New</button>&quot;></iframe>'">Add</button>
    <button onclick="box.innerHTML=''">Drop</button><div id="box"></div>`,
    [
      click('ref:button "Add"'),
      snapshot(),
      click('ref:button "New"'),
      click('ref:button "Drop"'),
      click('f1e2'),
      snapshot(),
      click('ref:button "Add"'),
      snapshot()
    ]
  ),
  scenario(
    'shadow',
    `<my-box>Light <b slot="title">Title</b></my-box><p id="out"></p><script>
    customElements.define('my-box', class extends HTMLElement {
      constructor() { super().attachShadow({ mode: 'open' }).innerHTML =
        '<section aria-label="Box"><h2><slot name="title"></slot></h2><slot></slot><button>Shadow</button></section>'
        this.shadowRoot.querySelector('button').onclick = () => { out.textContent = 'pressed' } } })</script>`,
    [
      click('ref:button "Shadow"'),
      snapshot(),
      locator('ref:button "Shadow"'),
      click('my-box >> button'),
      click('button')
    ]
  ),
  scenario(
    'nested-shadow',
    `<x-outer></x-outer><script>
    customElements.define('x-inner', class extends HTMLElement { connectedCallback() {
      this.attachShadow({ mode: 'open' }).innerHTML = '<input placeholder="Deep"><slot>Fallback</slot>' } })
    customElements.define('x-outer', class extends HTMLElement { connectedCallback() {
      this.attachShadow({ mode: 'open' }).innerHTML = '<ul><li><x-inner></x-inner></li><li><x-inner>Slotted</x-inner></li></ul>' } })</script>`,
    [
      snapshot(),
      type('ref:textbox "Deep"', 'a'),
      locator('ref:textbox "Deep"'),
      snapshot({ depth: 2 })
    ]
  ),
  scenario(
    'closed-shadow',
    `<div id="host"></div><script>host.attachShadow({ mode: 'closed' }).innerHTML = '<button>Closed</button><p>Text</p>'</script><button>Open</button>`,
    [snapshot(), click('text=Open')]
  )
]
