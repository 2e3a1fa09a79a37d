// The contents of snapshots: roles, names, states, omitted and folded elements. Each rule has its
// own HTML page.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shared } from '../support/scope.mjs'
import { sharedPage } from './world.mjs'

const many = (count, item) => Array.from({ length: count }, (_, index) => item(index)).join('')

/**
 * The name of a rule, a page, its snapshot (a string), a pattern in it, or a function that checks
 * it, and the options of the snapshot.
 * @typedef {[string, string, string | RegExp | ((text: string) => boolean), object?]} Rule
 */

/** @type {Record<string, Rule[]>} */
const RULES = {
  names: [
    [
      'aria-labelledby takes precedence over aria-label, and joins names',
      '<span id=a>One</span><span id=b>Two</span><button aria-labelledby="a b" aria-label=X>Y</button>',
      /button "One Two"/
    ],
    [
      'a hidden element is a name if it is referenced',
      '<span id=a hidden>Hid <b>den</b></span><button aria-labelledby=a></button>',
      /button "Hid den"/
    ],
    [
      'the value of a field in a label is part of the name',
      '<label><input type=checkbox> Flash the screen <input value=3 size=2 aria-label=n> times</label>',
      /checkbox "Flash the screen 3 times"/
    ],
    [
      'the selected option of a select in a label is part of the name',
      '<label><input type=checkbox> in <select><option>a<option selected>b</select> x</label>',
      /checkbox "in b x"/
    ],
    [
      'images are named by alt, then title; an image with an empty alt is presentational',
      '<img src=x alt="A cat"><img alt=""><img alt="" title="T"><a href=/><img alt="Home"></a>',
      '- img "A cat" [ref=e1]\n- img "T" [ref=e2]\n- link "Home" [ref=e3]:\n  - /url: /'
    ],
    [
      'generated content is part of names, icon font characters are not',
      '<style>.s::before{content:"★ "} .e::after{content:"x" / "alt text"} .u::before{content:"\\f007"}</style><button class=s>Star</button><button class=e>E </button><button class="u">User</button>',
      '- button "★ Star" [ref=e1]\n- button "E alt text" [ref=e2]\n- button "User" [ref=e3]'
    ],
    [
      'generated content can come from an attribute',
      '<style>b::after{content: attr(data-n)}</style><p>Count <b data-n=5></b></p>',
      /Count 5/
    ],
    [
      'blocks and line breaks become spaces, inline elements do not',
      '<button><div>One</div><div>Two</div></button><button><span>A</span><span>B</span></button><h1>x<br>y</h1>',
      '- button "One Two" [ref=e1]\n- button "AB" [ref=e2]\n- heading "x y" [level=1] [ref=e3]'
    ],
    [
      'a placeholder is the name without another name, else a property',
      '<input placeholder=P><input placeholder=P title=T><input placeholder=P aria-label=L>',
      '- textbox "P" [ref=e1]\n- textbox "T" [ref=e2]:\n  - /placeholder: P\n- textbox "L" [ref=e3]:\n  - /placeholder: P'
    ],
    [
      'legend, figcaption and caption are names',
      '<fieldset><legend>Leg</legend><input aria-label=i></fieldset><figure><img alt=i><figcaption>Fig</figcaption></figure><table><caption>Cap</caption><tr><td>1<td>2</table>',
      /group "Leg".*\n.*textbox "i".*\n- figure "Fig":\n {2}- img "i".*\n- table "Cap" \[ref=e\d+\]:\n {2}- row/
    ],
    [
      'an SVG is named by its title, and omitted without one',
      '<svg role=img aria-label=S></svg><svg><title>T</title></svg><button><svg><title>Close</title></svg></button><svg><path/></svg><a href=#><svg width=9></svg></a>',
      '- img "S" [ref=e1]\n- img "T" [ref=e2]\n- button "Close" [ref=e3]\n- link [ref=e4]'
    ]
  ],
  roles: [
    [
      'presentation is ignored on focusable and named elements',
      '<ul role=none><li>a</ul><button role=presentation>b</button><h2 role=none>c</h2><h2 role=none aria-label=d>e</h2>',
      '- text: a\n- button "b" [ref=e1]\n- text: c\n- heading "d" [level=2] [ref=e2]: e'
    ],
    [
      'a focusable separator with role=none is omitted',
      '<ul role=menu><li role=menuitem tabindex=-1>Cut</li><li role=presentation tabindex=0></li><li role=menuitem tabindex=-1>Paste</li></ul>',
      '- menu [ref=e1]:\n  - menuitem "Cut" [ref=e2]\n  - menuitem "Paste" [ref=e3]'
    ],
    [
      'an interactive snapshot contains the text of an alert with buttons',
      '<p>Page</p><div role=alert><p>Want news?</p><button>Yes</button></div>',
      '- alert [ref=e1]:\n  - text: Want news?\n  - button "Yes" [ref=e2]',
      { interactive: true }
    ],
    ['a layout table is not a table', '<table role=presentation><tr><td>x</table>', '- text: x'],
    [
      'header and footer are landmarks only outside of sections',
      '<header>h</header><main><header>i</header></main><footer>f</footer>',
      '- banner [ref=e1]: h\n- main [ref=e2]: i\n- contentinfo [ref=e3]: f'
    ],
    [
      'sections and forms are landmarks if they have a name',
      '<section>a</section><section aria-label=S>b</section><form>c</form><form aria-label=F>d</form>',
      '- text: a\n- region "S" [ref=e1]: b\n- text: c\n- form "F" [ref=e2]: d'
    ],
    ['a list of terms', '<dl><dt>T<dd>D</dl>', '- term "T"\n- definition: D'],
    [
      'a tree inside a tree',
      '<ul role=tree><li role=treeitem aria-expanded=true>Foo<ul role=group><li role=treeitem>Bar</ul></ul>',
      '- tree [ref=e1]:\n  - treeitem "Foo" [expanded] [ref=e2]:\n    - group:\n      - treeitem "Bar" [ref=e3]'
    ],
    [
      'an editable element is a text box',
      '<div contenteditable aria-label=E>Hi <b>you</b></div>',
      '- textbox "E" [ref=e1]: Hi you'
    ],
    [
      'an editable body is a text box',
      '<body contenteditable aria-label=E><h1>Hi</h1>',
      '- textbox "E" [ref=e1]:\n  - heading "Hi" [level=1] [ref=e2]'
    ],
    [
      'options and their groups',
      '<select aria-label=s><optgroup label=G><option>v</optgroup></select>',
      '- combobox "s" [ref=e1]:\n  - group "G":\n    - option "v" [selected]'
    ],
    [
      'hidden options are omitted',
      '<select aria-label=s><option hidden>h<option style="display:none">n<option>v</select>',
      '- combobox "s" [ref=e1]:\n  - option "v"'
    ]
  ],
  states: [
    [
      'all states are shown, those of buttons if they are false too',
      '<button aria-pressed=true>p</button><button aria-expanded=false>x</button><div role=checkbox aria-checked=mixed tabindex=0>m</div><input aria-label=i aria-invalid=true disabled><div role=option aria-selected=true>o</div><select multiple aria-label=l><option selected>1<option>2</select><a href=# aria-current=page>c</a>',
      '- button "p" [pressed] [ref=e1]\n- button "x" [expanded=false] [ref=e2]\n- checkbox "m" [checked=mixed] [ref=e3]\n- textbox "i" [disabled] [invalid] [ref=e4]\n- option "o" [selected] [ref=e5]\n- listbox "l" [ref=e6]:\n  - option "1" [selected]\n  - option "2"\n- link "c" [current=page] [ref=e7]'
    ],
    [
      'a false state is shown if the role does not imply the state',
      '<button aria-pressed=false>p</button><div role=tree aria-label=T><div role=treeitem aria-selected=false aria-checked=false tabindex=0>t</div></div>',
      /button "p" \[pressed=false\] [^]*treeitem "t" \[checked=false\] \[selected=false\]/
    ],
    [
      'the header of a sortable column has a ref and its sort order',
      '<table><tr><th aria-sort=ascending>A<th aria-sort=none>B<th>C<tr><td>1<td>2<td>3</table>',
      /columnheader "A" \[sort=ascending\] \[ref=e\d+\]\n.*columnheader "B" \[ref=e\d+\]\n.*columnheader "C"\n/
    ],
    [
      'passwords are masked, other values are shown',
      '<input type=password value=hunter2 aria-label=p><input value="a: b" aria-label=v><textarea aria-label=t>x\ny</textarea><input type=number value=3 aria-label=n>',
      '- textbox "p" [ref=e1]: ••••\n- textbox "v" [ref=e2]: "a: b"\n- textbox "t" [ref=e3]: "x\\ny"\n- spinbutton "n" [ref=e4]: "3"'
    ],
    [
      'a modal dialog hides the rest of the page',
      '<button>out</button><dialog id=d aria-label=D><button>in</button></dialog><script>d.showModal()</script>',
      '- dialog "D" [ref=e1]:\n  - button "in" [active] [ref=e2]'
    ]
  ],
  'shown elements': [
    [
      'hidden elements are omitted',
      '<div hidden>a</div><div style="display:none">b</div><div style="visibility:hidden">c<i style="visibility:visible">d</i></div><div aria-hidden=true>e</div><div inert>f</div><div style="content-visibility:hidden"><p>g</p></div><div style="opacity:0">h</div><details><summary>s</summary><p>i</p></details><div style="display:contents"><button>j</button></div>',
      '- text: d\n- text: h\n- group:\n  - button "s" [expanded=false] [ref=e1]\n- button "j" [ref=e2]'
    ],
    [
      'a rule can hide elements by visibility, and another can show them again',
      '<style>.m{visibility:hidden} .m.open{visibility:visible}</style><ul class=m><li>no</ul><ul class="m open"><li>yes</ul>',
      '- list:\n  - listitem [ref=e1]: "yes"'
    ],
    [
      'a rule for a tag can hide elements without attributes',
      '<style>aside{display:none} nav > p{display:none}</style><aside>no</aside><nav><p>no</p><p2>yes</p2></nav>',
      '- navigation [ref=e1]: "yes"'
    ],
    [
      'texts of blocks are separate, those of inline elements are joined',
      '<div>Price</div><div>$5</div><span>A</span><span>B</span><div><span style="display:block">C</span><span style="display:block">D</span></div>',
      '- text: Price\n- text: $5\n- text: AB\n- text: C\n- text: D'
    ],
    [
      'the label of a hidden field is interactive',
      '<label><input type=file hidden>Upload</label><label style="cursor:pointer"><input type=checkbox style="opacity:0">Opt</label>',
      /generic \[ref=e1\]: Upload\n(- generic \[ref=e2\] \[cursor=pointer\]:\n {2})?- checkbox "Opt"/
    ],
    [
      'aria-owns moves an element to its owner',
      '<div role=list aria-owns=x><div role=listitem>1</div></div><div role=listitem id=x>2</div>',
      '- list:\n  - listitem [ref=e1]: "1"\n  - listitem [ref=e2]: "2"'
    ],
    [
      'an owner without contents shows the owned elements',
      '<div role=list aria-owns=x></div><div role=listitem id=x><button>Owned</button></div>',
      '- list:\n  - listitem:\n    - button "Owned" [ref=e1]'
    ],
    [
      'text in a closed `details` is omitted',
      '<details><summary>S</summary>plain <b>bold</b> tail</details><details open><summary>O</summary>told</details>',
      '- group:\n  - button "S" [expanded=false] [ref=e1]\n- group:\n  - button "O" [expanded] [ref=e2]\n  - text: told'
    ],
    [
      'slots show the assigned nodes, or their fallback',
      '<div id=h><span slot=b>B</span><span>A</span></div><script>h.attachShadow({mode:"open"}).innerHTML="<b><slot name=b></slot></b>-<slot></slot>-<slot name=n>fallback</slot>"</script>',
      '- text: B-A-fallback'
    ],
    [
      'fields whose names are form properties are read correctly',
      '<form aria-label=F><input name=parentNode aria-label=a><input name=firstChild aria-label=b><input name=getAttribute aria-label=c><input name=localName aria-label=d><input name=nodeType aria-label=e><input name=children aria-label=f></form><img name=body alt=B><img name=documentElement alt=D>',
      /form "F" \[ref=e1\]:\n {2}- textbox "a".*\n {2}- textbox "b".*\n {2}- textbox "c"[^]*textbox "f"[^]*img "B"/
    ],
    [
      'a frame has one line',
      '<iframe title=F srcdoc="x"></iframe><p>a</p>',
      '- iframe "F" [ref=e1]\n- paragraph: a'
    ],
    [
      'a wrapper with the name and state of its only child is omitted',
      '<div style="cursor:pointer" title=New aria-label=New><button aria-label=New>+</button></div>',
      '- button "New" [ref=e1]'
    ],
    [
      'lines are YAML',
      "<a href='#/x'>it's: a # b</a><p>- dash</p><p>true</p><p>a: b</p><p>12</p>",
      `- 'link "it''s: a # b" [ref=e1]':\n  - /url: "#/x"\n- paragraph: "- dash"\n- paragraph: "true"\n- paragraph: "a: b"\n- paragraph: "12"`
    ]
  ],
  hints: [
    [
      'a control without a name has a hint: its tooltip, icon, an attribute or a class',
      '<button data-tooltip="Deploy now"></button><button><i class="fa fa-trash fa-lg"></i></button><button><svg width=9 height=9><use href="/icons.svg#pencil"></use></svg></button><a href=#><img src="/img/close.png" width=9></a><button data-action=undo></button><button id=redo></button><button class="btn sidebar-toggle"></button><div tabindex=0 class=node></div>',
      '- button (Deploy now) [ref=e1]\n- button (trash) [ref=e2]\n- button (pencil) [ref=e3]\n- link [ref=e4]:\n  - img (close) [ref=e5]\n- button (data-action=undo) [ref=e6]\n- button (#redo) [ref=e7]\n- button (.sidebar-toggle) [ref=e8]\n- generic (.node) [ref=e9]'
    ],
    [
      'a control with a name, text or placeholder has no hint',
      '<button class=danger>Go</button><input class=field placeholder=Search><div tabindex=0 class=node>Text</div>',
      '- button "Go" [ref=e1]\n- textbox "Search" [ref=e2]\n- generic [ref=e3]: Text'
    ],
    [
      'interactive SVG shapes have lines, and a handle in one has its own line',
      '<style>g { cursor: move } .port, .wire { cursor: crosshair }</style><svg width=300 height=200><g><text y=20>inject</text><rect class=port width=9 height=9></rect></g><path class=wire d="M0 0L50 50"></path><g tabindex=0 style="cursor: auto"><title>Zoom</title><circle r=9></circle></g><g tabindex=0 style="cursor: auto"><circle r=9></circle></g></svg>',
      '- generic [ref=e1] [cursor=move]:\n  - text: inject\n  - generic (.port) [ref=e2] [cursor=crosshair]\n- generic (.wire) [ref=e3] [cursor=crosshair]\n- generic (Zoom) [ref=e4]\n- generic (circle) [ref=e5]'
    ],
    [
      'a drawing with its own cursor shows its parts',
      '<svg width=300 height=200 style="cursor: crosshair"><g style="cursor: move"><text y=20>inject</text></g></svg>',
      /^- img .*\[cursor=crosshair\]:\n +- generic \[ref=e\d+\] \[cursor=move\]: inject/
    ],
    [
      'a canvas has its size, and a note on positions',
      '<canvas width=300 height=150></canvas>',
      '- canvas [ref=e1]: 300×150 px, act in it with `position`'
    ],
    [
      'the text of a canvas for screen readers is shown, a grid by its rows',
      '<canvas width=300 height=150><table role=grid><tr><th>item<th>price<tr><td>Lamp<td>35</table></canvas><canvas width=9 height=9>Sales of <b>2025</b></canvas>',
      '- canvas [ref=e1]:\n  - text: 300×150 px, act in it with `position`\n  - text: item | price\n  - text: Lamp | 35\n- canvas [ref=e2]:\n  - text: 9×9 px, act in it with `position`\n  - text: Sales of 2025'
    ],
    [
      'generated ids are not hints',
      '<button id=":r1:"></button><button id=ember1234></button>',
      '- button [ref=e1]\n- button [ref=e2]'
    ],
    [
      'a class marks the selected link without an ARIA state',
      '<a href=# class="tab is-active">A</a><a href=# class=tab>B</a>',
      '- link "A" [selected?] [ref=e1]\n- link "B" [ref=e2]'
    ],
    [
      'a class does not mark a single link, several links, or links with an ARIA state',
      '<p><a href=# class=active>A</a></p><p><a href=# class=active>B</a><a href=# class=active>C</a></p><div role=tablist><button role=tab class=active aria-selected=true>D</button><button role=tab>E</button></div>',
      (text) => !text.includes('?]')
    ]
  ],
  limits: [
    [
      'long lists are folded, with a note on how to see all',
      `<ul>${many(30, () => '<li>x</li>')}</ul>`,
      /( {2}- listitem \[ref=e\d+\]: x\n){20} {2}- … 10 more list items: snapshot \{selector: "e1"\} shows them all$/
    ],
    [
      'two items over the limit are not folded',
      `<ul>${many(22, () => '<li>x</li>')}</ul>`,
      (text) => text.split('\n').length === 23
    ],
    [
      'selected elements are never folded',
      `<select aria-label=s>${many(50, (index) => `<option ${index === 40 ? 'selected' : ''}>o${index}`)}</select>`,
      /option "o19"\n {2}- … 20 more options[^\n]*\n {2}- option "o40" \[selected\]\n {2}- … 9 more options|option "o40" \[selected\]/
    ],
    [
      'a budget cuts between lines, with a note on how to continue',
      `<ul>${many(15, () => '<li>xxxxx</li>')}</ul>`,
      /cut at 200 characters: snapshot \{selector: "e\d+"\}/,
      { budget: 200 }
    ],
    [
      'the note of a cut part does not suggest the same call',
      `<ul id=u>${many(15, () => '<li>xxxxx</li>')}</ul>`,
      /cut at 200 characters: snapshot \{budget\} with a higher budget shows more/,
      { budget: 200, selector: '#u' }
    ],
    [
      'deeper elements are replaced by an ellipsis',
      '<main><ul><li><a href=#>x</a></ul></main>',
      '- main [ref=e1]:\n  - list [ref=e2]: …',
      { depth: 2 }
    ],
    [
      'a selector shows one element',
      '<main><ul id=u><li><a href=#>x</a></ul></main>',
      '- list:\n  - listitem:\n    - link "x" [ref=e1]',
      { selector: '#u' }
    ],
    [
      'an element without a role can be selected',
      '<div id=u>hi <b>x</b></div>',
      '- generic [ref=e1]: hi x',
      { selector: '#u' }
    ],
    [
      '`interactive` leaves what can be acted on, headings and landmarks',
      '<main><h1>H</h1><p>text <a href=/a>link</a></p><table><tr><td>cell<td><button>b</button></table><div onclick=1>act <b>me</b></div></main>',
      '- main [ref=e1]:\n  - heading "H" [level=1] [ref=e2]\n  - link "link" [ref=e3]:\n    - /url: /a\n  - button "b" [ref=e4]\n  - generic [ref=e5]: act me',
      { interactive: true }
    ],
    [
      '`cursors` shows the pointer of links and buttons too',
      '<a href=/a style="cursor:pointer">l</a><button style="cursor:pointer">b</button>',
      '- link "l" [ref=e1] [cursor=pointer]:\n  - /url: /a\n- button "b" [ref=e2] [cursor=pointer]',
      { cursors: true }
    ]
  ]
}

describe('snapshot', { timeout: 60_000 }, () => {
  const page = sharedPage(shared())
  for (const [topic, rules] of Object.entries(RULES)) {
    describe(topic, () => {
      for (const [sentence, html, expected, argument] of rules) {
        test(sentence, async () => {
          const text = await page.snapshot(html, argument)
          if (typeof expected === 'string') assert.equal(text, expected)
          else if (expected instanceof RegExp) assert.match(text, expected)
          else assert.ok(expected(text), text)
        })
      }
    })
  }

  test('ordinary pages have no elements that may have a closed shadow root', async () => {
    const world = await page.open(
      '<h1>T</h1><p>Text <span>in <b>it</b></span></p><div id=empty></div><div style="height:9px">x</div><ul><li>a</ul>'
    )
    assert.equal(await world.evaluate('__troupe.takeUncheckedHosts().length'), 0)
  })

  test('contains closed shadow roots after the protocol has passed them in', async () => {
    const world = await page.open(`<div id=h style="height:20px"></div><x-y></x-y><script>
      h.attachShadow({ mode: 'closed' }).innerHTML = '<button>Closed</button><slot></slot>'
      customElements.define('x-y', class extends HTMLElement {
        constructor() { super(); this.attachShadow({ mode: 'closed' }).innerHTML = '<input aria-label=deep>' }
      })</script>`)
    assert.match(
      await world.evaluate(
        '__troupe.takeUncheckedHosts().map((element) => element.localName).join()'
      ),
      /x-y/
    )
    const navigation = world.call('readNavigation', { snapshot: {}, hosts: true })
    const { root } = await world.cdp.send('DOM.getDocument', { depth: -1, pierce: true })
    const closed = (node) => [
      ...(node.shadowRoots ?? [])
        .filter(({ shadowRootType }) => shadowRootType === 'closed')
        .map((shadow) => [node, shadow]),
      ...[...(node.children ?? []), ...(node.shadowRoots ?? [])].flatMap(closed)
    ]
    const context = { executionContextId: world.context }
    const handle = async ({ backendNodeId }) => ({
      objectId: (await world.cdp.send('DOM.resolveNode', { backendNodeId, ...context })).object
        .objectId
    })
    await world.cdp.send('Runtime.callFunctionOn', {
      functionDeclaration: 'function (...pairs) { __troupe.adoptShadowRoots(...pairs) }',
      arguments: await Promise.all(closed(root).flat().map(handle)),
      ...context
    })
    const lines = '- button "Closed" [ref=e1]\n- textbox "deep" [ref=e2]'
    assert.equal((await navigation).snapshot.text, lines, 'a navigation awaits them')
    assert.equal((await world.call('snapshot')).text, lines)
    assert.equal((await world.call('resolve', { target: 'div button', strict: true })).ref, 'e1')
    assert.equal(
      (await world.call('waitActionable', { target: 'e1', action: 'click', timeout: 300 })).ok,
      true
    )
  })
})
