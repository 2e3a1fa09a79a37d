// What snapshots show of content.
// cspell:ignore שלום עולם ändern reaking İstanbul GRÖSSE
import { click, documentOf, evaluate, locator, scenario, snapshot } from '../scenario.mjs'

/** @param {object} more @returns {import('../scenario.mjs').Call} */
const find = (more) => ['browser_find', more]
const ROWS = Array.from(
  { length: 30 },
  (_, index) => `<tr><td>${index}</td><td>Name ${index}</td><td><button>Edit</button></td></tr>`
).join('')

/** A scenario that only looks at its page. @param {string} name @param {string} body */
const shown = (name, body, calls = []) =>
  scenario(name, body, [snapshot(), ...calls, snapshot({ depth: 2 }), snapshot({ boxes: true })])

/** @type {import('../scenario.mjs').Scenario[]} */
export const CONTENT = [
  shown(
    'landmarks',
    `<header><h1>Site</h1><nav><a href="/">Home</a><a href="/about" aria-current="page">About</a></nav></header>
    <main><article><h2>News</h2><h3>Sub</h3><section aria-label="Part"><p>Text</p></section></article><aside>Side</aside></main>
    <footer><address>Street</address><small>©</small></footer><div role="banner">Custom</div><search>Find</search>`,
    [locator('ref:navigation'), locator('ref:link "About"'), find({ text: 'about' })]
  ),
  shown(
    'lists',
    `<ul><li>One</li><li>Two<ul><li>Nested</li></ul></li></ul><ol start="3"><li><a href="#a">Link</a> and text</li></ol>
    <dl><dt>Term</dt><dd>Definition</dd></dl><menu><li>Item</li></menu><ul role="list" style="list-style:none"><li>Plain</li></ul><ul><div>Odd</div></ul>`
  ),
  shown(
    'tables',
    `<table><caption>Sales</caption><thead><tr><th>Year</th><th scope="col">Sum</th></tr></thead>
    <tbody><tr><th scope="row">2024</th><td>10</td></tr><tr><td colspan="2">Total <b>10</b></td></tr></tbody></table>
    <table role="presentation"><tr><td>Layout</td></tr></table><div role="table"><div role="row"><div role="cell">C</div></div></div>
    <div role="grid" aria-label="Grid"><div role="row"><div role="gridcell" aria-selected="true">G</div></div></div>`,
    [locator('ref:cell "10"'), locator('ref:row')]
  ),
  shown(
    'images-and-links',
    `<a href="/x?a=1&b=2#h"><img src="/pixel.png" alt="Picture"></a><img src="/pixel.png" alt=""><img src="/pixel.png">
    <svg width="10" height="10" role="img" aria-label="Icon"><circle r="3"/></svg><svg width="9" height="9"><title>Titled</title><rect width="2" height="2"/></svg>
    <a>No target</a><a href="">Empty</a><a href="mailto:a@b.c">Mail</a><a href="javascript:void 0">Script</a><figure><img src="/pixel.png" alt="F"><figcaption>Caption</figcaption></figure>`
  ),
  shown(
    'hidden',
    `<p style="display:none">None</p><p style="visibility:hidden">Unseen <span style="visibility:visible">seen</span></p><p hidden>Attribute</p>
    <p aria-hidden="true">Aria <button>Inside</button></p><p style="opacity:0">Clear</p><p inert>Inert <button>I</button></p>
    <div style="width:0;height:0;overflow:hidden">Clipped</div><p style="position:absolute;left:-9999px">Away</p>
    <details><summary>More</summary><p>Folded</p></details><details open><summary>Less</summary><p>Unfolded</p></details>
    <template><p>Template</p></template><noscript>No script</noscript><div style="content-visibility:hidden">Skipped</div>`,
    [click('text=More'), snapshot()]
  ),
  shown(
    'names-and-descriptions',
    `<button aria-label="Labeled">Other</button><button aria-labelledby="x y">Z</button><span id="x">X</span><span id="y" hidden>Y</span>
    <button title="Titled"></button><button><img alt="Image" src="/pixel.png"> text</button><button aria-describedby="x">Described</button>
    <button>  Spaces   and
    lines </button><button><span>Many</span><span>Parts</span></button><div role="button">Role</div><button aria-label="">Empty label</button>
    <a href="#z" aria-label="Long ${'name '.repeat(30)}">L</a><input type="submit" value="Send it"><h2><a href="#y">Heading link</a></h2>`,
    [locator('ref:button "Labeled"'), locator('ref:button "Spaces'), locator('ref:link "Long')]
  ),
  shown(
    'text-merging',
    `<p>Some <b>bold</b> and <i>italic</i> <code>code()</code> text<br>second line</p><div>Bare <span>span</span> text</div>
    <div><div><div>Deep</div></div></div><p><em>Only</em></p><div>A<div>B</div>C</div><pre>pre  formatted
  text</pre><blockquote>Quote <cite>Who</cite></blockquote><p>x<sub>1</sub> y<sup>2</sup> <mark>m</mark> <del>d</del><ins>i</ins> <kbd>K</kbd> <time>noon</time></p><hr><span></span><div> </div>`
  ),
  shown(
    'states',
    `<button aria-pressed="true">Bold</button><button aria-expanded="false">Menu</button><button aria-haspopup="menu" aria-expanded="true">Open</button>
    <button disabled>Off</button><button aria-disabled="true">Aria off</button><div role="tablist"><div role="tab" aria-selected="true">T1</div><div role="tab">T2</div></div>
    <div role="tabpanel">Panel</div><ul role="tree"><li role="treeitem" aria-level="1" aria-expanded="true">Node</li></ul><div role="heading" aria-level="4">H4</div>
    <div role="menu"><div role="menuitem">Cut</div><div role="menuitemcheckbox" aria-checked="mixed">Wrap</div></div><div role="alert">Warning</div><div role="status">Saved</div>
    <div role="radiogroup" aria-label="R"><span role="radio" aria-checked="true">A</span></div><div role="separator"></div><div role="tooltip">Tip</div><div aria-busy="true">Busy</div>`,
    [locator('ref:tab "T2"'), locator('ref:heading "H4"'), locator('ref:button "Aria off"')]
  ),
  shown(
    'generics',
    `<div onclick="1" style="cursor:pointer">Clickable</div><span style="cursor:pointer">Span <b>in</b></span><div style="cursor:pointer"><div>Inner</div><button>B</button></div>
    <div tabindex="0">Focusable</div><section>No name</section><form>Unnamed form</form><form aria-label="Named">f</form><div aria-label="Generic label">g</div>
    <div role="none"><p>None</p></div><div role="group">Group</div><label>Loose label</label><center>Old</center><div role="generic">Explicit</div><div role="unknown">Unknown</div><article></article>`,
    [locator('text=Clickable'), locator('text=Focusable'), click('ref:: Clickable')]
  ),
  shown(
    'generated-content',
    `<style>.b::before{content:"before "}.a::after{content:" after"}.i::before{content:url(/pixel.png)}.q::before{content:open-quote}.n{counter-increment:n}.n::before{content:counter(n)}
    .alt::before{content:"\\2605" / "star"}.up{text-transform:uppercase}</style>
    <p class="b">B</p><button class="a">A</button><p class="i">I</p><p class="q">Q</p><p class="n">N</p><button class="alt">Rate</button><p class="up">upper</p><q>quoted</q>`
  ),
  shown(
    'aria-owns',
    `<ul aria-owns="far"><li>Near</li></ul><div><li id="far">Far</li></div><div role="combobox" aria-controls="opts" aria-expanded="true">C</div>
    <div id="opts" role="listbox"><div role="option" aria-selected="true">O</div></div><div aria-owns="missing">Missing</div><input role="combobox" aria-activedescendant="o2" aria-label="Active"><div id="o2" role="option">O2</div>`
  ),
  shown(
    'yaml-escaping',
    `<p>key: value</p><p>- dash</p><p># hash</p><p>"double" and 'single'</p><p>true</p><p>123</p><p>null</p><p>{braces} [brackets]</p><p>back\\slash</p><p>@at</p><p>%percent</p><p>* star & amp</p>
    <p>colon:</p><p>ends with colon :</p><p>~</p><p>1.5e3</p><p>yes</p><p>multi
    line</p><button>a: "b"</button><button>[x]</button><p>? question</p><p>| pipe</p><p>&gt; fold</p><p>!bang</p><p>\`tick\`</p><p>=</p><p>2020-01-01</p><p>0x1F</p><p>a #b</p><p>tab\tin</p>`,
    [locator('ref:button "a:'), find({ text: 'colon' })]
  ),
  shown(
    'long-text',
    `<p>${'word '.repeat(150)}</p><button>${'long label '.repeat(30)}</button><p>${'x'.repeat(600)}</p><a href="/${'p'.repeat(300)}">Long address</a>`,
    [locator('ref:button')]
  ),
  shown(
    'languages',
    `<p dir="rtl">שלום עולם</p><p lang="ja">日本語のテキスト</p><button>Größe ändern</button><p>👩‍👩‍👧 family 🇩🇪</p><p>non\u00a0breaking\u200bzero\u00adsoft</p><p>combining e\u0301</p><button>İstanbul</button>`,
    [locator('ref:button "Größe'), find({ text: 'GRÖSSE' }), find({ text: 'größe' })]
  ),
  scenario(
    'large-table',
    `<table><thead><tr><th>Id</th><th>Name</th><th>Action</th></tr></thead><tbody>${ROWS}</tbody></table><p id="out"></p>
    <script>onclick = (event) => { out.textContent = event.target.closest('tr')?.textContent }</script>`,
    [
      find({ text: 'name 17' }),
      find({ regex: 'Name 2\\d' }),
      find({ regex: '/NAME 5/i' }),
      find({ text: 'not there' }),
      find({ regex: '(' }),
      find({}),
      snapshot({ depth: 3 }),
      snapshot({ target: 'tbody tr:nth-child(12)' }),
      click('tbody tr:nth-child(12) button'),
      locator('tbody tr:nth-child(12) button'),
      locator('tbody tr:nth-child(12)'),
      locator('tbody tr:nth-child(12) td:nth-child(2)')
    ]
  ),
  scenario(
    'test-ids',
    `<div data-testid="card"><h3 data-testid="card-title">Card</h3><button data-testid="go" id="go">Go</button></div><button id="plain-id">Same</button><button id="other-id">Same</button>
    <input id="named" name="n"><div id="only-id">x</div><span class="label">Class</span><p data-test-id="other">Other attribute</p>`,
    [
      ...[
        '[data-testid=card]',
        'h3',
        '#go',
        '#plain-id',
        '#other-id',
        '#named',
        '#only-id',
        '.label',
        'p'
      ].map(locator),
      click('ref:button "Go"'),
      click('ref:button "Same"')
    ]
  ),
  scenario(
    'media-elements',
    `<video controls width="200" height="100"></video><audio controls></audio><canvas width="50" height="50">Canvas fallback</canvas><canvas aria-label="Chart" role="img" width="5" height="5"></canvas>
    <object data="about:blank" width="20" height="20">Object</object><embed width="10" height="10"><map name="m"><area href="#area" alt="Area" shape="rect" coords="0,0,5,5"></map><img usemap="#m" src="/pixel.png" alt="Map" width="20" height="20"><math><mi>x</mi></math>`,
    [snapshot(), locator('canvas >> nth=1')]
  ),
  scenario(
    'incremental',
    `<ul id="list"></ul><button onclick="list.insertAdjacentHTML('beforeend', '<li>Item ' + list.children.length + '</li>')">Add</button><button>Other</button>`,
    [
      click('ref:button "Add"'),
      click('ref:button "Add"'),
      snapshot(),
      evaluate('() => { list.lastChild.remove() }'),
      snapshot()
    ]
  ),
  scenario('empty', '', [
    snapshot(),
    click('body'),
    ['browser_find', { text: 'x' }],
    ['browser_take_screenshot', { target: 'html' }]
  ]),
  scenario(
    'roles-of-inputs',
    `<input type="file" aria-label="File"><input type="hidden"><input type="reset"><input type="range" aria-label="R"><input list="l" aria-label="L"><datalist id="l"></datalist>
    <select size="3" aria-label="S"><option>1</option></select><output>Out</output><button type="reset">Reset</button><input type="search" aria-label="Q"><input type="checkbox" role="switch" aria-label="Sw"><option>Loose</option><label>L1 <input type="checkbox"></label>
    <input type="text" role="spinbutton" aria-label="Sp" aria-valuenow="3"><textarea aria-label="T">multi
line</textarea>`,
    [snapshot(), locator('ref:switch'), locator('ref:"File"')]
  ),
  scenario(
    'redirecting-page',
    `<meta http-equiv="refresh" content="0;url=/landing"><p>Moving</p>`,
    [['browser_wait_for', { text: 'Landed' }], snapshot()],
    { '/landing': documentOf('Landing', '<h1>Landed</h1>') }
  ),
  scenario(
    'strict-targets',
    `<p class="n">1</p><p class="n">2</p><p class="n">3</p><button>Save</button><button>Save as</button>`,
    [
      click('.n'),
      click('text=Save'),
      click('getByRole("button", { name: "Save" })'),
      click('getByRole("button", { name: "Save", exact: true })'),
      ['browser_hover', { target: '.n' }],
      snapshot({ target: '.n' })
    ]
  ),
  scenario('settings-without-effect', '<p>Page</p>', [
    ['browser_hide_highlight', { element: 'x' }],
    ['browser_network_state_set', { state: 'online' }],
    snapshot()
  ])
]
