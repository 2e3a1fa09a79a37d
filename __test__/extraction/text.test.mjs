// Reading a page as text.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { READING_PAGES } from '../support/reading-pages.mjs'
import { startShared } from '../support/scope.mjs'

/** Thirty paragraphs in each of three frames. */
const CROWD = `<title>Crowd</title>${['a', 'b', 'c'].map((frame) => `<iframe srcdoc="${Array.from({ length: 30 }, (_, index) => `<p>Person ${frame}${index}</p>`).join('')}"></iframe>`).join('')}`

const ICONS = `<title>Icons</title><p id="state">Build<img alt="passed" src="data:," width="9" height="9">in 3 s<img alt="" src="data:,"></p><p id="plain">No picture</p>`

describe('reading text', { timeout: 120_000 }, () => {
  const { server, site } = startShared({
    routes: { ...READING_PAGES, '/crowd': CROWD, '/icons': ICONS }
  })

  const at = (path) => server.ok('navigate', { url: site.url(path) })

  test('get_text reads the page, an element, a shadow root and a frame', async () => {
    await at('/outer')
    const { text } = await server.ok('get_text')
    assert.ok(
      text.includes('First line\n') &&
        text.includes('In the shadow') &&
        !text.includes('Not to be seen'),
      text
    )
    assert.deepEqual(await server.ok('get_text', { selector: '.line' }), { text: 'First line' })
    assert.deepEqual(await server.ok('get_text', { selector: '#deep' }), { text: 'In the shadow' })
    assert.deepEqual(await server.ok('get_text', { selector: '#inner >>> #text' }), {
      text: 'Inside the frame'
    })
    assert.deepEqual(await server.ok('get_text', { selector: '#inner >>> #innermost >>> #x' }), {
      text: 'Innermost text'
    })
    assert.deepEqual(await server.ok('get_text', { selector: 'xpath=//h1' }), { text: 'Outer' })
  })

  test('get_text contains the alternative texts of images at their positions', async () => {
    await at('/icons')
    assert.deepEqual(await server.ok('get_text', { selector: '#state' }), {
      text: 'Build passed in 3 s'
    })
    assert.deepEqual(await server.ok('get_text', { selector: '#plain' }), { text: 'No picture' })
  })

  test('snapshot shows everything, only interactive elements, a limited depth, or one element', async () => {
    await at('/board')
    const lines = async (args) =>
      (await server.ok('snapshot', args))
        .replaceAll(/ \[ref=\w+\]/g, '')
        .split('\n')
        .slice(1)
        .filter((line) => !line.includes('/url:'))
    assert.deepEqual(await lines({}), [
      '- heading "Board" [level=1]',
      '- paragraph:',
      '  - link "New":',
      '- paragraph: 3 open'
    ])
    assert.deepEqual(await lines({ interactive: true }), [
      '- heading "Board" [level=1]',
      '- link "New":'
    ])
    assert.deepEqual(await lines({ selector: 'h1' }), ['- heading "Board" [level=1]'])
    const shallow = await lines({ depth: 1 })
    assert.ok(
      !shallow.some((line) => /link "New"/.test(line)) &&
        shallow.some((line) => /3 open/.test(line)),
      shallow.join('\n')
    )
  })

  test('a missing element is an error with suggestions', async () => {
    await at('/outer')
    const missing = await server.fail('get_text', { selector: '#linc' })
    assert.equal(missing.errorCode, 'ELEMENT_NOT_FOUND')
    assert.match(missing.details.suggestions[0].description, /Other/)
    for (const selector of ['#inner >>> #nothing', '#nothing >>> #text']) {
      assert.equal(
        (await server.fail('get_text', { selector })).errorCode,
        'ELEMENT_NOT_FOUND',
        selector
      )
    }
    assert.equal((await server.fail('get_text', { selector: 'p[' })).errorCode, 'INVALID_SELECTOR')
    assert.equal(
      (await server.fail('get_text', { selector: 'h1 >>> p' })).errorCode,
      'INVALID_SELECTOR'
    )
    assert.equal((await server.fail('get_all_text', {})).errorCode, 'INVALID_PARAMETERS')
  })

  test('get_all_text reads all matches', async () => {
    await at('/outer')
    assert.deepEqual(await server.ok('get_all_text', { selector: '.line' }), {
      texts: ['First line', 'Second line'],
      count: 2
    })
    assert.deepEqual(await server.ok('get_all_text', { selector: '.nothing' }), {
      texts: [],
      count: 0
    })
  })

  test('get_attribute returns an attribute as in the markup, and null if it is missing', async () => {
    await at('/outer')
    assert.deepEqual(await server.ok('get_attribute', { selector: '#link', attribute: 'href' }), {
      value: '/other?a=1#top'
    })
    assert.deepEqual(await server.ok('get_attribute', { selector: '#link', attribute: 'rel' }), {
      value: null
    })
    assert.deepEqual(
      await server.ok('get_attribute', { selector: '#inner >>> #field', attribute: 'aria-label' }),
      { value: 'Field' }
    )
    await at('/fields')
    assert.deepEqual(
      await server.ok('get_attribute', { selector: '#name', attribute: 'data-empty' }),
      { value: '' }
    )
    const { value } = await server.ok('get_attribute', { selector: '#secret', attribute: 'value' })
    assert.ok(!value.includes('hunter2'))
    assert.equal(
      (await server.fail('get_attribute', { selector: '#no', attribute: 'id' })).errorCode,
      'ELEMENT_NOT_FOUND'
    )
  })

  test('get_value reads all types of fields except passwords', async () => {
    await at('/fields')
    const value = (selector) => server.ok('get_value', { selector })
    assert.deepEqual(await value('#name'), { value: 'Ada' })
    assert.deepEqual(await value('#note'), { value: 'two\nlines' })
    assert.deepEqual(await value('#one'), { value: 'b' })
    assert.deepEqual((await value('#several')).values, ['x', 'z'])
    assert.equal((await value('#agree')).checked, true)
    assert.deepEqual(await value('#rich'), { value: 'Rich text' })
    assert.deepEqual(await value('#none'), { value: null })
    assert.ok(!(await value('#secret')).value.includes('hunter2'))
    await at('/outer')
    assert.deepEqual(await value('#inner >>> #field'), { value: 'framed' })
    assert.equal(
      (await server.fail('get_value', { selector: '#no' })).errorCode,
      'ELEMENT_NOT_FOUND'
    )
  })

  test('find searches the page and its frames, and returns refs that work', async () => {
    await at('/outer')
    const lines = await server.ok('find', { text: 'LINE' })
    assert.match(lines, /^2 matches at http/)
    assert.match(lines, /First line/)
    const framed = await server.ok('find', { text: 'framed link' })
    assert.match(
      framed,
      /^1 match at .*\n- iframe \[ref=e\d+\]:\n {2}- link "Framed link" \[ref=f\d+e\d+\]/
    )
    const [ref] = /f\d+e\d+/.exec(framed)
    assert.deepEqual(await server.ok('get_text', { selector: ref }), { text: 'Framed link' })
    assert.match(await server.ok('find', { text: 'innermost' }), /Innermost text/)
    assert.match(await server.ok('find', { regex: '^in the sha' }), /In the shadow/)
    assert.match(await server.ok('find', { text: 'nowhere' }), /^Nothing at .* matches `nowhere`/)
  })

  test('find says how far it has searched a very large page', async () => {
    await at('/outer')
    const script = `document.body.innerHTML = '<p>Row</p>'.repeat(60000) + '<button>Order</button>'`
    await server.ok('evaluate', { script })
    const found = await server.ok('find', { text: 'Order' })
    assert.match(found, /^Nothing at .*, as far as it was searched\.\n- … cut here/)
  })

  test('find shows the first 50 matches of several frames, in the order of the document', async () => {
    await at('/crowd')
    const lines = await server.ok('find', { text: 'person' })
    assert.match(lines, /^90 matches at .*, the first 50:/)
    const shown = [...lines.matchAll(/Person (\w)(\d+)/g)].map(([, frame, number]) => [
      frame,
      Number(number)
    ])
    const expected = ['a', 'b'].flatMap((frame) =>
      Array.from({ length: frame === 'a' ? 30 : 20 }, (_, index) => [frame, index])
    )
    assert.deepEqual(shown, expected)
  })

  test('find rejects missing and conflicting arguments and an invalid pattern', async () => {
    for (const args of [{}, { text: 'a', regex: 'b' }, { text: '' }]) {
      assert.equal(
        (await server.fail('find', args)).errorCode,
        'INVALID_PARAMETERS',
        JSON.stringify(args)
      )
    }
    assert.match((await server.fail('find', { regex: '(' })).errorCode, /^INVALID_/)
  })

  test('find searches folded elements, and reports the number of matches', async () => {
    await at('/long')
    assert.match(await server.ok('find', { text: '599 the quick' }), /599 The quick/)
    assert.match(await server.ok('find', { text: 'quick' }), /^600 matches at .*, the first 50:/)
  })

  test('read_page returns the article as Markdown, without the rest of the page', async () => {
    await at('/article')
    const text = await server.ok('read_page')
    assert.ok(text.startsWith(`# An article\n${site.url('/article')}\n\n`), text)
    assert.match(text, /\n## Its part\n/)
    assert.match(text, /\n- one\n- \[two\]\(http:\/\/127\.0\.0\.1:\d+\/relative\)/)
    assert.match(text, /```[^\n]*\nlet x = 1\n```/)
    assert.ok(!text.includes('Menu one') && !text.includes('Imprint'), text)
  })

  test('read_page returns the whole page if it has no article', async () => {
    await at('/board')
    assert.equal(
      await server.ok('read_page'),
      `# Board\n${site.url('/board')}\n\n# Board\n\n[New](${site.url('/new')})\n\n3 open`
    )
    await server.ok('navigate', { url: 'data:text/html,' })
    assert.match(await server.ok('read_page'), /the page shows no text/)
  })

  test('read_page reads shadow roots and very deep pages', async () => {
    await at('/outer')
    assert.match(await server.ok('read_page'), /In the shadow/)
    const deep =
      '(() => { let at = document.body; for (let i = 0; i < 1500; i++) at = at.appendChild(document.createElement("div")); at.textContent = "bottom"; })()'
    await server.ok('evaluate', { script: deep })
    assert.match(await server.ok('read_page'), /bottom/)
  })
})
