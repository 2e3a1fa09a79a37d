// A walk reuses cached lines of the previous one. After any change, the snapshot must be the same
// as without the cache.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedPage } from './world.mjs'

const HTML = `<style>
.gone { display: none } .unseen { visibility: hidden } .seen { visibility: visible } .hand { cursor: pointer } .mark::before { content: "* " }
.open .inner { display: none } .gone + .next { display: none } .block { display: block } .from { display: var(--shown, inline) } .hollow { display: contents }
</style>
<header id="a"><a href="/x">Home</a> <b>bold</b><i>slanted</i></header>
<main id="b"><h1>Title</h1>
<table id="t"><caption>Rows</caption>${Array.from({ length: 8 }, (_, row) => `<tr class="inner"><td>${row}</td><td>Name <span>${row}</span></td><td><a href="/${row}">Open</a> <button>Go</button></td></tr>`).join('')}</table>
<ul id="u">${Array.from({ length: 6 }, (_, item) => `<li><a href="#${item}">Item <em>${item}</em></a><p>Text of it</p></li>`).join('')}</ul>
<section id="s"><h2>Part</h2><p>One <b>two</b>three <span class="block">four</span></p><div tabindex="0"><p>deep</p></div></section>
<details id="d"><summary>More</summary><p>Hidden text</p><ul><li>in it</li></ul></details>
<form id="f"><label for="i">Field</label><input id="i"><select><option>1<option>2</select><fieldset><legend>Group</legend><button>Send</button></fieldset></form>
<dialog id="g"><p>Asked</p><button>Yes</button></dialog>
<nav><ol><li>first<li>second</ol></nav></main>`

const RUNS = Number(process.env.RUNS ?? 10)

/** Makes one random change in the page, by a seeded generator. @param {number} seed */
function change(seed) {
  let state = seed * 2654435761
  /** @param {number} below */
  const random = (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0
    return (state >>> 4) % below
  }
  /** @template T @param {T[]} list */
  const one = (list) => list[random(list.length)]
  const elements = [...document.body.querySelectorAll('*')]
  const element = /** @type {HTMLElement} */ (one(elements))
  const other = /** @type {HTMLElement} */ (one(elements))
  if (!element) return
  const attributes = /** @type {[string, string][]} */ ([
    ['role', 'list'],
    ['role', 'presentation'],
    ['role', 'button'],
    ['role', 'row'],
    ['role', 'grid'],
    ['aria-label', 'Called'],
    ['aria-hidden', 'true'],
    ['aria-disabled', 'true'],
    ['aria-labelledby', 'a'],
    ['aria-owns', 'f'],
    ['title', 'Tip'],
    ['hidden', ''],
    ['inert', ''],
    ['tabindex', '0'],
    ['style', 'display: none'],
    ['style', '--shown: none'],
    ['style', 'cursor: pointer'],
    ['style', 'content-visibility: hidden'],
    ['open', ''],
    ['href', '/other'],
    ['disabled', ''],
    ['aria-expanded', 'false'],
    ['contenteditable', ''],
    ['id', 'a'],
    ['for', 'i']
  ])
  const classes = [
    'gone',
    'unseen',
    'seen',
    'hand',
    'mark',
    'open',
    'next',
    'block',
    'from',
    'hollow'
  ]
  const changes = [
    () => element.classList.toggle(one(classes)),
    () => element.classList.toggle(one(classes)),
    () => {
      const [name, value] = one(attributes)
      if (element.getAttribute(name) === value) element.removeAttribute(name)
      else element.setAttribute(name, value)
    },
    () => element.removeAttribute(one(attributes)[0]),
    () => element.append(`text ${random(9)}`),
    () => {
      const text = [...element.childNodes].find((node) => node.nodeType === 3)
      if (text) text.nodeValue = ` other ${random(9)}`
    },
    () => !element.contains(other) && other.append(element),
    () => !element.contains(other) && other.before(element),
    () =>
      element.insertAdjacentHTML(
        'beforeend',
        one([
          '<p>new</p>',
          '<li>new <a href="/n">one</a></li>',
          '<b>n</b>',
          '<input value="v">',
          '<span role="status">now</span>',
          '<x-tag>own</x-tag>'
        ])
      ),
    () => elements.length > 60 && element.remove(),
    () => element.replaceWith(element.cloneNode(true)),
    () => element.focus(),
    () =>
      element.localName === 'div' &&
      !element.shadowRoot &&
      element
        .attachShadow({ mode: 'open' })
        .append(`shadow ${random(9)} `, document.createElement('slot')),
    () =>
      document.styleSheets[0].insertRule(
        `.${one(classes)}, ${one(['li', 'b', 'td', 'em'])} { ${one(['display: none', 'display: revert', 'visibility: hidden', 'cursor: grab'])} }`,
        random(4)
      ),
    () => (document.styleSheets[0].disabled = !document.styleSheets[0].disabled),
    () =>
      document.head.append(
        Object.assign(document.createElement('style'), {
          textContent: `${one(['p', '.open', 'a'])} { display: none }`
        })
      ),
    () => document.head.querySelector('style ~ style')?.remove(),
    () => element instanceof HTMLInputElement && (element.value = `typed ${random(9)}`),
    () => {
      const dialog = document.querySelector('dialog')
      if (dialog?.open) dialog.close()
      else dialog?.showModal()
    }
  ]
  one(changes)()
}

test('a snapshot with cached lines equals a snapshot without the cache', async (t) => {
  const page = sharedPage(t)
  let lines = 0
  for (let run = 0; run < RUNS; run++) {
    const world = await page.open(HTML)
    /** @type {number[]} */
    const seeds = []
    for (let step = 0; step < 40; step++) {
      for (let changes = (step % 3) + 1; changes > 0; changes--) {
        const seed = (run + Number(process.env.SEED ?? 0)) * 1000 + seeds.length
        seeds.push(seed)
        await world.page.evaluate(change, seed)
      }
      const cached = await world.call('snapshot', { fold: 0 })
      // With a depth, the walk does not use the cache.
      const uncached = await world.call('snapshot', { fold: 0, depth: 1000 })
      assert.equal(cached.text, uncached.text, `after the changes ${seeds.join(' ')}`)
      lines += cached.text.split('\n').length
    }
  }
  assert.ok(lines > RUNS * 40 * 20, `there was little to read: ${lines} lines`)
})
