// Pages for the tests of generated locators, by topic.

const dot = 'data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=='

/** Creates an open shadow root. @param {string} html */
const shadow = (html) => `<template shadowrootmode="open">${html}</template>`

/** Repeats HTML with a number. @param {number} count @param {(index: number) => string} html */
const repeat = (count, html) => Array.from({ length: count }, (_, index) => html(index)).join('')

const long =
  'The quick brown fox jumps over the lazy dog near the river bank, and then it runs away into the forest'

/** @type {Record<string, string[]>} */
export const LOCATOR_PAGES = {
  'roles and names': [
    '<button>Save</button><button>Save all</button><button>save</button><a href="#">Save</a>',
    '<h1>Title</h1><h2>Title</h2><h3>Subtitle</h3><p>Title of a paragraph</p>',
    '<nav><a href="/">Home</a><a href="/a">About</a></nav><footer><a href="/">Home</a></footer>',
    '<button aria-label="Close"><i></i></button><button title="Close">x</button><button>Close</button>',
    '<button aria-describedby="d">Go</button><button aria-describedby="e">Go</button><p id="d">First</p><p id="e">Second</p>',
    '<button aria-description="one">Go</button><button aria-description="two">Go</button><button title="three">Go</button>',
    '<div role="button" aria-label="A" aria-description="d1">x</div><div role="button" aria-description="d2"></div>',
    '<a href="#"><b>Bold</b> <i>italic</i></a><a href="#">Bold</a><button><span>Deep <em>text</em></span></button>',
    '<button>\ue001</button><button>\ue002 Icon</button><a href="#">\ue003</a>',
    '<button>a\u00a0b</button><button>a b</button><a href="#">\u00a0padded\u00a0</a>',
    `<img src="${dot}" alt="Logo"><img src="${dot}" alt=""><img src="${dot}" title="Pixel" width="9" height="9"><img src="${dot}" width="9" height="9">`,
    '<ul><li>One</li><li>Two</li><li>Three<ul><li>Nested one</li><li>Two</li></ul></li></ul>'
  ],
  'names that repeat': [
    repeat(4, () => '<button>Same</button>'),
    repeat(9, () => '<button>Same</button>'),
    repeat(9, (i) => `<div class="row"><span>Row ${i}</span><button>Edit</button></div>`),
    repeat(
      3,
      (i) => `<section aria-label="Part ${i}"><button>Edit</button><a href="#">More</a></section>`
    ),
    repeat(
      3,
      (i) => `<article><h2>Post ${i}</h2><p>${long}</p><a href="#">Read more</a></article>`
    ),
    `<ul>${repeat(8, (i) => `<li>Item ${i} <button>Remove</button></li>`)}</ul>`,
    `<ul id="list">${repeat(8, () => '<li><button>Remove</button></li>')}</ul>`,
    `<div id="left">${repeat(2, () => '<button>x</button>')}</div><div id="right"><button>x</button></div>`,
    '<form><button>OK</button></form><form aria-label="Second"><button>OK</button></form>',
    repeat(12, (i) => `<div><div><div><a href="#">Link</a></div></div><em>${i % 3}</em></div>`),
    '<div><p>x</p></div><div><p>x</p><p>y</p></div><div class="c"><p>x</p></div>',
    repeat(7, () => '<input type="checkbox">') + repeat(7, () => '<input type="radio" name="r">')
  ],
  texts: [
    `<p>${long}</p><p>${long} again</p><div>${long.slice(0, 60)}</div>`,
    '<p>12 messages</p><p>Messages 13</p><p>1.5 GB of 2.0</p><p>2024</p><p>10,000 users, 5</p>',
    '<button>Inbox 12</button><button>3 Drafts</button><button>42</button><a href="#">7 days left 3</a>',
    '<p>It\'s "quoted"</p><p>back\\slash</p><p>a >> b</p><p>`tick`</p><button>It\'s "q" >> \\</button>',
    '<p>  spaces \n and\tlines </p><p>zero\u200bwidth soft\u00adhyphen</p><pre>  a\n  b</pre>',
    '<div>outer <span>inner</span></div><div>outer</div><span>inner text</span>',
    '<p>Übersicht ß</p><button>日本語のボタン</button><a href="#">🎉 Party 🎉</a><p>Ж я</p>',
    '<div>text<script>var hidden = 1</script><style>.x{}</style><!-- no --></div><div>text</div>',
    '<span style="display:none">Shown</span><span>Shown</span><button style="visibility:hidden">B</button><button>B</button>',
    `<button>${long}</button><a href="#">${long} ${long}</a><h2>${long}</h2>`,
    '<p>(a+b)*[c]</p><p>(a+b)*[c] $^</p><p>. . .</p><p>---</p><p>Ärger</p>',
    `<b>${'x'.repeat(90)}</b><b>${'word '.repeat(20)}</b><i>${'ab-'.repeat(40)}</i>`
  ],
  'forms and labels': [
    '<label>Name <input></label><label for="m">Mail</label><input id="m"><input placeholder="Search">',
    '<input placeholder="Mail"><input placeholder="Mail address"><textarea placeholder="Mail"></textarea>',
    '<input name="user"><input name="pass" type="password"><input type="email"><input type="hidden" name="h"><input>',
    '<label>Agree <input type="checkbox"></label><label><input type="radio" name="r"> One</label><label><input type="radio" name="r"> Two</label>',
    '<select><option>a</option><option>b</option></select><select name="s"><option>a</option></select><label>L<select><option>c</option></select></label>',
    '<fieldset><legend>Address</legend><label>Street<input></label></fieldset><fieldset><legend>Billing</legend><label>Street<input></label></fieldset>',
    '<input type="submit"><input type="submit" value="Send"><input type="button" value="B"><input type="reset"><input type="image" alt="Go" src="x">',
    '<input aria-label="One"><input aria-labelledby="t"><span id="t">Two</span><input title="Three"><div contenteditable aria-label="Four">x</div>',
    '<label for="a">A</label><label for="a">B</label><input id="a"><label>Long label with more than thirty characters<input></label>',
    '<button id="own" aria-labelledby="own other">Own</button><span id="other">Other</span><label for="btn">For</label><button id="btn">x</button>',
    '<input type="number" value="3"><input type="range"><progress value="1"></progress><meter value="1">m</meter><output>o</output><textarea></textarea>',
    '<div contenteditable>Editable <b>bold</b></div><div role="textbox" tabindex="0">Role</div><div role="combobox" aria-expanded="false">Pick</div>'
  ],
  'ids and attributes': [
    '<div id="main">a</div><div id="x">b</div><div id="1a">c</div><div id="a.b">d</div><div id="a:b">e</div>',
    '<div id="a1b2c3d4e5"></div><div id="item-12">y</div><p id="camelCaseName"></p><p id="UUID-3f2504e0">z</p>',
    '<button data-testid="save">Save</button><div data-testid="it\'s &quot;x&quot;">y</div><p data-test="other">z</p><p data-test-id="third">w</p>',
    '<div data-testid="card">a</div><div data-testid="card">b</div><span data-testid="long-test-id-that-is-rather-long-and-more-than-that">c</span>',
    `<img alt="A" title="B" src="${dot}"><div title="Tip">x</div><abbr title="World Wide Web">WWW</abbr><area alt="Z" href="#">`,
    '<div class="a b"><div class="c"></div><div class="c d" tabindex="0"></div></div><div class="a" tabindex="0"></div>',
    repeat(9, (i) => `<div class="x"><div class="y-${i % 2}" tabindex="0"></div></div>`),
    '<my-element>a</my-element><my-element tabindex="0"></my-element><x-y.z></x-y.z><svg width="9" height="9"><circle r="4"></circle></svg>',
    '<div tabindex="0" class="1x w/2 hover:b"></div><div tabindex="0" class="-x -1"></div><div tabindex="0"></div>',
    '<svg role="img" aria-label="Chart" width="20" height="20"></svg><svg width="20" height="20"><title>T</title></svg><canvas></canvas><video></video>'
  ],
  'tables and widgets': [
    `<table><tr><th>Name</th><th>Age</th><th></th></tr>${repeat(4, (i) => `<tr><td>User ${i}</td><td>${i % 2}</td><td><button>Edit</button></td></tr>`)}</table>`,
    '<table><caption>Cap</caption><tr><td>1</td><td>1</td></tr><tr><td></td><td> </td></tr></table>',
    '<div role="tablist"><div role="tab" aria-selected="true">A</div><div role="tab">B</div></div><div role="tabpanel">A content</div>',
    '<div role="menu"><div role="menuitem">Cut</div><div role="menuitem">Copy</div><div role="separator"></div><div role="menuitem">Cut all</div></div>',
    '<div role="tree"><div role="treeitem" aria-level="1">A<div role="group"><div role="treeitem" aria-level="2">A</div></div></div></div>',
    '<details open><summary>More</summary><p>Body</p></details><details><summary>Other</summary></details><dialog open><p>Hi</p><button>OK</button></dialog>',
    '<div role="listbox"><div role="option">Red</div><div role="option" aria-selected="true">Green</div></div><div role="grid"><div role="row"><div role="gridcell">g</div></div></div>',
    '<dl><dt>T</dt><dd>D</dd><dt>T2</dt><dd>D</dd></dl><blockquote>q</blockquote><figure><img alt="i" src="x"><figcaption>cap</figcaption></figure>',
    '<div role="alert">Failed</div><div role="status"></div><div role="dialog" aria-label="Sure?"><button>Yes</button><button>No</button></div>',
    '<div role="switch" aria-checked="true">On</div><div role="checkbox">c</div><div role="slider" aria-valuenow="3"></div><div role="spinbutton"></div><div role="img"></div>'
  ],
  'shadow roots and frames': [
    `<my-box>${shadow('<button>In</button><p>text</p>')}</my-box><button>Out</button><p>text</p>`,
    `<div>${shadow('<button>Same</button><slot></slot>')}<button>Same</button></div><button>Same</button>`,
    `<x-a>${shadow(`<x-b>${shadow('<input placeholder="Deep"><a href="#">Deep</a>')}</x-b><a href="#">Deep</a>`)}</x-a>`,
    repeat(
      3,
      (i) =>
        `<x-card>${shadow(`<h3>Card</h3><button>Open</button><i id="i${i}">${i}</i>`)}</x-card>`
    ),
    `<x-s>${shadow('<slot name="a"></slot><span class="z" tabindex="0"></span>')}<b slot="a">slotted</b><b>lost</b></x-s>`,
    `<button>${shadow('<slot></slot>')}Press</button><button>Press</button>`.replace(
      /button>/g,
      'div>'
    ),
    '<iframe name="n" srcdoc="a"></iframe><iframe title="T" srcdoc="b"></iframe><iframe srcdoc="c"></iframe><iframe id="f" data-testid="t" srcdoc="d"></iframe>',
    '<style>.a::before{content:"before "}.b::after{content:"\\f101"}</style><button class="a">x</button><button class="b"></button><button>x</button>'
  ]
}

/** A page for the targets below. */
export const TARGET_PAGE = `<main id="main" class="page wide">
  <h1>Welcome</h1><h2>Welcome back</h2>
  <form aria-label="Login">
    <label>User name <input id="user" name="user" placeholder="Your name" title="User"></label>
    <label for="pass">Password</label><input id="pass" type="password" data-testid="password">
    <label><input type="checkbox" checked> Remember me</label>
    <label><input type="checkbox"> Send mail</label>
    <button class="primary" type="submit">Log in</button><button disabled>Log in later</button>
    <button aria-pressed="true">Bold</button><button aria-expanded="false">Menu</button>
    <select aria-label="Country"><option>France</option><option selected>Spain</option></select>
  </form>
  <ul class="items">
    <li class="item">Apple <a href="#">Buy</a></li><li class="item special">Banana <a href="#">Buy</a></li>
    <li class="item">Cherry <a href="#" style="display:none">Buy</a></li>
  </ul>
  <table><tr><th>Name</th><th>Price</th></tr><tr><td>Apple</td><td>1.50</td></tr><tr><td>Pear "green"</td><td>2</td></tr></table>
  <img alt="Company logo" title="Logo" src="${dot}" width="20" height="20">
  <div data-testid="card" data-test="old" id="card-1"><p>First   card</p><span>it's</span></div>
  <div data-testid="card"><p>Second card</p><p hidden>Hidden text</p></div>
  <div role="tree"><div role="treeitem" aria-level="2" aria-selected="true">Leaf</div></div>
  <x-box>${shadow('<p>Shadow text</p><button id="in">Shadow button</button><x-in>' + shadow('<b>Deepest</b>') + '</x-in>')}<i>slotted</i></x-box>
  <section><p>one</p><p>two</p><p>three</p><div><p>four</p></div></section>
  <p aria-describedby="hint">Line<br>break</p><p id="hint">A hint</p><button aria-describedby="hint">Help</button>
  <script>var text = 'Welcome script'</script>
</main>`

/** Targets as agents write them. */
export const TARGETS = [
  // CSS
  ...[
    '#user',
    'input',
    '.item',
    'li.special',
    'main > h1',
    '#main h1, h2',
    'li:nth-child(2)',
    '[type=password]',
    'form input[name="user"]'
  ],
  ...[
    'ul.items > li',
    'h1 + h2',
    'h1 ~ form',
    'li:first-child',
    'li:not(.special)',
    'li:not(:first-child)',
    ':is(h1, h2)',
    'li:has(a)',
    'ul:has(> li.special)'
  ],
  ...[
    'li:has-text("apple")',
    'li:has-text("Banana"):visible',
    'a:visible',
    ':text("Buy")',
    'p:text-is("First card")',
    ':text-matches("^\\\\d+")',
    'p:text-matches("card", "i")'
  ],
  ...[
    ':nth-match(li, 2)',
    ':nth-match(:text("Buy"), 3)',
    'x-box p',
    'x-box > p',
    'x-in b',
    ':light(x-box p)',
    'css=li',
    'css:light=x-box p',
    'main :scope',
    'section:has(p:text("four"))'
  ],
  ...[
    'p:near(#user)',
    'p:right-of(label)',
    'button:below(h2)',
    'button:above(ul)',
    'label:left-of(img)',
    'input:near(button, 300)',
    'div p',
    'section > p ~ p',
    'section p:last-child'
  ],
  ...[
    'button[class*="prim"]',
    'input:checked',
    'button:disabled',
    'option:checked',
    '*',
    'p:where(.x, section p)',
    'a:is(:visible)',
    'div[data-testid="card"] >> p',
    'html',
    'body > main'
  ],
  ...[
    'li:has(:scope > a)',
    'p:not(:has-text("card"))',
    'svg',
    '#none',
    'LI.item',
    'li\\:x',
    '[id="card-1"]',
    'ul li:nth-of-type(2n+1)',
    'p /* comment */ , h1',
    '.item >> nth=0'
  ],
  // Texts
  ...[
    'text=Welcome',
    'text="Welcome"',
    "text='Welcome back'",
    'text=/welcome/i',
    '"Welcome"',
    "'Buy'",
    "text=it's",
    'text="Line"',
    'text=Line',
    'text=First card',
    'text="First card"',
    'text=Shadow',
    'text=script',
    'text=Hidden text',
    'text=""',
    'text=Log in'
  ],
  // XPath, roles, ids, test ids
  ...[
    '//li',
    'xpath=//li[2]',
    '//ul/li[last()]',
    '(//a)[1]',
    '//form >> xpath=.//input',
    '//h1/..',
    '..',
    'xpath=/html/body'
  ],
  ...[
    'role=button',
    'role=button[name="Log in"]',
    'role=button[name=/log/i]',
    'role=button[name="log" i]',
    'role=heading[level=2]',
    'role=checkbox[checked]',
    'role=checkbox[checked=false]',
    'role=button[disabled]',
    'role=button[pressed=true]',
    'role=button[expanded=false]',
    'role=treeitem[selected]',
    'role=option[selected]',
    'role=link[include-hidden]',
    'role=button[name*="og"]',
    'role=foo',
    'role=listitem >> nth=1',
    'role=textbox',
    'role=img'
  ],
  ...[
    'id=user',
    'data-testid=card',
    'data-test=old',
    'data-test-id=none',
    'id:light=user',
    'data-testid=card >> nth=1',
    'id=in'
  ],
  // Chains
  ...[
    'ul >> li >> nth=1',
    'button >> nth=1',
    'li >> nth=-1',
    'a >> visible=true',
    'a >> visible=false',
    'li >> text=Buy',
    '*css=li >> text=Buy',
    'form >> input >> nth=0',
    'li >> internal:has-text="ban"i',
    'li >> internal:has-not-text="ban"i',
    'li >> internal:has="a"',
    'li >> internal:has-not=".none"',
    'li >> internal:and=".special"',
    'h1 >> internal:or="h2"',
    'ul >> internal:chain="li >> nth=1"',
    'li >> internal:has-text=/an/',
    'p >> near="#user"',
    'p >> right-of="label",500',
    'li >> internal:has-text="Apple Buy"s'
  ],
  ...[
    'internal:role=button[name="Log in"s]',
    'internal:role=button[name="log in"i]',
    'internal:text="Welcome"s',
    'internal:text="welcome"i',
    'internal:label="Password"i',
    'internal:attr=[placeholder="your"i]',
    'internal:attr=[alt="Company logo"s]',
    'internal:attr=[title="user"i]',
    'internal:testid=[data-testid="card"s]',
    'internal:testid=[data-testid=/^c/]',
    'internal:attr=[name="user"s]',
    'internal:describe="x"',
    'li >> internal:describe="The item"'
  ],
  // Locators
  ...[
    "getByRole('button')",
    "getByRole('button', { name: 'Log in' })",
    "getByRole('button', { name: 'Log in', exact: true })",
    'getByRole("button", { name: /^log in$/i })',
    "getByRole('heading', { level: 1 })",
    "getByRole('heading', { name: 'welcome', level: 2 })",
    "getByRole('checkbox', { checked: true })",
    "getByRole('button', { disabled: true })",
    "getByRole('button', { pressed: true })",
    "getByRole('button', { expanded: false })",
    "getByRole('link', { includeHidden: true })",
    "getByRole('treeitem', { selected: true, level: 2 })",
    "getByRole('button', { description: 'A hint' })",
    "getByRole('row', { name: 'Apple 1.50' })",
    "getByRole('cell', { name: 'Pear \"green\"' })",
    "getByRole('presentation')",
    'getByRole(`listitem`)'
  ],
  ...[
    "getByText('Welcome')",
    "getByText('Welcome', { exact: true })",
    'getByText(/^Wel/)',
    'getByText(/wel.*back/i)',
    "getByText('it\\'s')",
    'getByText("it\'s")',
    "getByText('First card')",
    "getByText('Shadow text')",
    "getByText('Deepest')",
    "getByText('Linebreak')",
    "getByLabel('Password')",
    "getByLabel('user')",
    "getByLabel('Country', { exact: true })",
    'getByLabel(/remember/i)',
    "getByPlaceholder('your NAME')",
    "getByPlaceholder('Your', { exact: true })",
    "getByAltText('logo')",
    "getByTitle('Logo')",
    'getByTitle(/^U/)',
    "getByTestId('card')",
    'getByTestId(/card|pass/)',
    "getByTestId('car')"
  ],
  ...[
    "locator('#user')",
    'locator("li").first()',
    "locator('li').last()",
    "locator('li').nth(1)",
    "locator('li').nth(-1)",
    "locator('li').filter({ hasText: 'Banana' })",
    "locator('li', { hasText: 'Banana' })",
    "locator('li', { hasNotText: /an/ })",
    "locator('li').filter({ hasNotText: 'Banana' })",
    "locator('li').filter({ has: locator('a') })",
    "locator('li').filter({ has: page.getByText('Buy') })",
    "locator('li').filter({ hasNot: locator('.special') })",
    "locator('li', { has: getByRole('link'), hasText: 'app' })",
    "locator('a').filter({ visible: true })",
    "locator('a').filter({ visible: false })",
    "locator('a').visible()",
    "locator('li').and(locator('.special'))",
    "getByRole('heading').or(getByRole('img'))",
    "locator('ul').locator('li').nth(2)",
    "locator('ul').locator(getByText('Buy')).first()",
    "getByRole('list').getByRole('listitem').filter({ hasText: /^Cherry/ })",
    "locator('form').getByLabel('Password')",
    "locator('//li')",
    "locator('xpath=//li').first()",
    "locator('text=Buy >> nth=1')",
    "locator('li >> visible=true').getByText('Buy')",
    "getByTestId('card').filter({ hasText: 'Second' }).getByRole('paragraph')",
    "page.getByRole('button', { name: 'Help' })",
    "page.locator('li').first();",
    "locator('section').getByText('one', { exact: true })",
    "locator('role=button')",
    "getByText('Welcome\\u0020back')",
    "locator('li').filter({ hasText: 'a', hasNotText: 'Banana' })",
    "locator('#main').locator('p').filter({ hasText: 'card' }).nth(1)",
    "getByRole('button').filter({ has: locator('xpath=self::*') })"
  ],
  // Invalid
  ...[
    '',
    'li[',
    'li:has(',
    '>> li',
    "getByRole('button'",
    "getByFoo('x')",
    "getByRole('button', { nme: 'x' })",
    'foo=bar',
    'role=button[foo=1]',
    'role=heading[checked]',
    '//li[',
    'internal:has="li"',
    "locator('li').filter('x')",
    ':nth-match(li)',
    'li:text(a)',
    '@media',
    'a{b}',
    'internal:text=/(/'
  ]
]
