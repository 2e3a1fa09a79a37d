// Accessible names by the newer web-platform-tests, as data. No package contains these
// (wpt.test.mjs has the older ones from one). They are the cases of the folder accname/name
// (github.com/web-platform-tests/wpt), one comment for each file. Loops generate their variations
// (types of fields, ways to hide, elements).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shared } from '../support/scope.mjs'
import { sharedPage } from './world.mjs'

/** A page on which the element of class `ex` has this name. @typedef {[string, string]} Case */

const HIDING = {
  'display: none': 'style="display:none"',
  'visibility: hidden': 'style="visibility:hidden"',
  'visibility: collapse': 'style="visibility:collapse"',
  'aria-hidden': 'aria-hidden=true',
  hidden: 'hidden'
}
const FIELD_TYPES =
  'checkbox color date datetime-local email month number password radio range search tel text time url week'.split(
    ' '
  )

// comp_labelledby_hidden_nodes.html, and comp_label's hidden labels
const hiddenNodes = Object.entries(HIDING).map(([way, hide]) => {
  // `display` and `hidden` can hide at each level. The other ways are inherited.
  const again = way === 'visibility: hidden' || way === 'aria-hidden' ? '' : hide
  const button = (rest) => `<button aria-labelledby=a class=ex></button>${rest}`
  /** @type {Case[]} */
  const cases = [
    [button(`<span id=a ${hide}> foo <span ${hide}>bar</span></span>`), 'foo bar'],
    [
      button(`<span id=a ${hide}> foo <span ${again}> bar <span ${again}>baz</span></span></span>`),
      'foo bar baz'
    ],
    [button(`<span id=a> foo <span ${hide}> bar <span ${again}>baz</span></span></span>`), 'foo'],
    [
      button(`<span id=a ${hide}> foo <span ${again}>bar</span> <span ${hide}>baz</span></span>`),
      'foo bar baz'
    ],
    [button(`<span id=a> foo <span ${hide}>bar</span> <span ${hide}>baz</span></span>`), 'foo'],
    [button(`<span id=a ${hide}> foo <span>bar</span> <span>baz</span></span>`), 'foo bar baz'],
    ...['text', 'checkbox', 'password', 'number', 'range', 'button'].map(
      (type) =>
        /** @type {Case} */ ([
          `<label for=i ${hide}>input label</label><input id=i type=${type} value=3 class=ex>`,
          'input label'
        ])
    )
  ]
  return /** @type {[string, Case[]]} */ ([`hidden labels: ${way}`, cases])
})

// comp_host_language_label.html
/** @type {Case[]} */
const hostLabels = [
  ...FIELD_TYPES.flatMap(
    (type) =>
      /** @type {Case[]} */ ([
        [`<label for=i>${type} label</label><input id=i type=${type} class=ex>`, `${type} label`],
        [`<label><input type=${type} class=ex>${type} label</label>`, `${type} label`],
        [`<label>${type} label<input type=${type} class=ex value=1></label>`, `${type} label`],
        [`<input type=${type} title=label class=ex placeholder=p>`, 'label']
      ])
  ),
  ...['textarea', 'select', 'meter', 'progress', 'output'].map(
    (tag) =>
      /** @type {Case} */ ([
        `<label for=i>${tag} label</label><${tag} id=i class=ex></${tag}>`,
        `${tag} label`
      ])
  ),
  ['<a href=# class=ex title=label><img alt=""></a>', 'label'],
  ['<iframe title=label class=ex></iframe>', 'label'],
  ['<abbr title="Web Platform Tests" class=ex>WPT</abbr>', 'Web Platform Tests'],
  ['<fieldset class=ex><legend>f <b>l</b></legend></fieldset>', 'f l'],
  ['<figure class=ex><figcaption>cap</figcaption></figure>', 'cap'],
  ['<table class=ex><caption>cap</caption><tr><td>1</table>', 'cap'],
  ['<select><optgroup label=og class=ex><option>1</select>', 'og'],
  ['<select><option class=ex label=ol>x</select>', 'ol'],
  [
    '<map name=m><area href=# alt=al class=ex shape=default></map><img usemap=#m src=x width=9 height=9>',
    'al'
  ],
  ['<details><summary class=ex>sum</summary>x</details>', 'sum'],
  ['<input type=submit class=ex>', 'Submit'],
  ['<input type=reset class=ex>', 'Reset'],
  ['<input type=image class=ex>', 'Submit'],
  ['<input type=image alt=A value=V class=ex>', 'A'],
  ['<input type=button value=B class=ex>', 'B']
]

// comp_labelledby.html, comp_label.html, also with the misspelled attribute that browsers support
/** @type {Case[]} */
const referred = [
  [
    '<div role=group aria-label="self label" id=g aria-labelledby="g h" class=ex><h2 id=h>+ first heading</h2></div>',
    'self label + first heading'
  ],
  [
    '<nav aria-labelledby="s1 s2 s3 s4" class=ex><span id=s1>verify</span><span id=s2>spaces</span><span>NO</span><span id=s3>between</span><span id=s4>foreach</span></nav>',
    'verify spaces between foreach'
  ],
  ...[
    '<a href=# ATTR class=ex>x</a>',
    '<button ATTR class=ex>x</button>',
    '<div role=group ATTR class=ex>x</div>',
    '<img alt=x ATTR class=ex>',
    '<svg ATTR class=ex><title>x</title></svg>',
    '<h1 ATTR class=ex>x</h1>',
    '<input ATTR class=ex title=x>'
  ].flatMap((element) => {
    const labels = '<span id=n>first label</span><i id=m>other</i>'
    const having = (attributes) => element.replace('ATTR', attributes)
    return /** @type {Case[]} */ ([
      [labels + having('aria-labeledby=n'), 'first label'],
      [labels + having('aria-labelledby=n aria-labeledby=m'), 'first label'],
      [labels + having('aria-labelledby=n aria-label=foo'), 'first label'],
      [having('aria-labelledby=missing aria-label=foo'), 'foo'],
      // A label of spaces is no name, and a group has no other.
      ...(element.includes('group') ? [] : [[having('aria-label="  "'), 'x']])
    ])
  })
]

// comp_name_from_content.html, comp_text_node.html
/** @type {Case[]} */
const content = [
  ['<h2 class=ex> heading<!-- c -->label<!-- d --> </h2>', 'headinglabel'],
  [
    '<h3 class=ex>link <a href=#>nested</a> <button>btn</button> <img alt=image></h3>',
    'link nested btn image'
  ],
  ['<div role=button class=ex tabindex=0>x <span aria-label=lab>y</span></div>', 'x lab']
]

// comp_embedded_control.html
/** @type {Case[]} */
const embedded = [
  [
    '<label>Flash <input type=checkbox class=ex> for <input type=text value=5 title=no> min</label>',
    'Flash for 5 min'
  ],
  ['<label><input type=checkbox class=ex> at <input type=range value=40> pct</label>', 'at 40 pct'],
  [
    '<label><input type=checkbox class=ex> vol <span role=slider aria-valuetext=loud aria-valuenow=9></span></label>',
    'vol loud'
  ],
  [
    '<label><input type=checkbox class=ex> in <div role=listbox><div role=option>a</div><div role=option aria-selected=true>b</div></div></label>',
    'in b'
  ]
]

describe('accessible names in web-platform-tests', { timeout: 120_000 }, () => {
  const page = sharedPage(shared())
  /** @type {[string, Case[]][]} */
  const files = [
    ...hiddenNodes,
    ['labels of HTML', hostLabels],
    ['aria-labelledby and aria-label', referred],
    ['names from content', content],
    ['fields in labels', embedded]
  ]
  for (const [file, cases] of files) {
    test(`${file}: each of ${cases.length} elements gets the expected name`, async () => {
      const world = await page.open('')
      for (const [html, expected] of cases) {
        await world.page.evaluate((html) => (document.body.innerHTML = html), html)
        const { ref } = await world.call('resolve', { target: '.ex' })
        assert.equal((await world.call('describe', { ref })).name, expected, html)
      }
    })
  }
})
