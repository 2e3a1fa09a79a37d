// Reading a page as data.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { READING_PAGES } from '../support/reading-pages.mjs'
import { startShared } from '../support/scope.mjs'

describe('reading data', { timeout: 120_000 }, () => {
  const { server, site } = startShared({ routes: READING_PAGES })

  const at = (path) => server.ok('navigate', { url: site.url(path) })

  test('extract_table repeats spanned cells and joins header cells', async () => {
    await at('/tables')
    assert.deepEqual(await server.ok('extract_table', { selector: '#spans' }), {
      caption: 'Spans',
      headers: ['Name', 'Score / One', 'Score / Two'],
      rows: [
        ['Ada', '1', '2'],
        ['Ada', '3', '3']
      ]
    })
  })

  test('extract_table reads an ARIA grid, a table without headers, and the table around a cell', async () => {
    await at('/tables')
    assert.deepEqual(await server.ok('extract_table', { selector: '#grid' }), {
      caption: 'Grid',
      headers: ['K', 'V'],
      rows: [['k', 'v']]
    })
    assert.deepEqual(await server.ok('extract_table', { selector: '#bare' }), {
      headers: [],
      rows: [['1', '2']]
    })
    assert.deepEqual(await server.ok('extract_table', { selector: '#bare td' }), {
      headers: [],
      rows: [['1', '2']]
    })
    await at('/outer')
    assert.deepEqual(await server.ok('extract_table', { selector: '#inner >>> #table' }), {
      headers: ['Key', 'Value'],
      rows: [['a', '1']]
    })
  })

  test('extract_table reads the values of form fields', async () => {
    await at('/tables')
    const { rows } = await server.ok('extract_table', { selector: '#fields' })
    assert.deepEqual(rows, [['Ada et al.', 'M', 'checked', 'unchecked', '••••']])
  })

  test('extract_table rejects other elements than tables', async () => {
    await at('/tables')
    for (const selector of ['#none', '#nothing']) {
      const { isError, json } = await server.call('extract_table', { selector })
      assert.deepEqual([isError, json.errorCode], [true, 'ELEMENT_NOT_FOUND'], selector)
    }
  })

  test('extract_links lists links with text, absolute URL and a ref that works', async () => {
    await at('/outer')
    const { links } = await server.ok('extract_links')
    assert.deepEqual(
      links.map(({ text, url }) => ({ text, url })),
      [
        { text: 'Other', url: site.url('/other?a=1#top') },
        { text: 'Shadow link', url: site.url('/shadow') }
      ]
    )
    assert.deepEqual(await server.ok('get_text', { selector: links[1].ref }), {
      text: 'Shadow link'
    })
    const inner = await server.ok('extract_links', { selector: '#inner >>> body' })
    assert.deepEqual(
      inner.links.map(({ url }) => url),
      [site.url('/framed')]
    )
    assert.deepEqual(await server.ok('extract_links', { selector: 'h1' }), { links: [] })
    assert.equal(
      (await server.call('extract_links', { selector: '#no' })).json.errorCode,
      'ELEMENT_NOT_FOUND'
    )
  })

  test('get_page_metadata returns the data of the head, and the headings', async () => {
    await at('/article')
    assert.deepEqual(await server.ok('get_page_metadata'), {
      title: 'An article',
      url: site.url('/article'),
      description: 'About foxes',
      canonical: site.url('/canonical'),
      language: 'en',
      charset: 'UTF-8',
      meta: { description: 'About foxes', 'og:title': 'Foxes' },
      jsonLd: [{ '@type': 'Article' }],
      headings: [
        { level: 1, text: 'An article' },
        { level: 2, text: 'Its part' }
      ],
      icons: ['data:,']
    })
  })
})
