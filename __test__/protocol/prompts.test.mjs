// Built-in prompts, custom prompts, and the completion of their arguments.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { temporaryFolder } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'

/**
 * A folder of prompts.
 * @param {{ after: (end: () => unknown) => void }} t
 * @param {Record<string, string>} files
 */
function promptFolder(t, files) {
  const folder = temporaryFolder(t)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

describe('prompts', { timeout: 60_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startServer>>} */
  let server
  before(async () => {
    server = await startServer(scope)
  })
  const get = async (name, args) => {
    const { result, error } = await server.request('prompts/get', { name, arguments: args })
    assert.ok(!error, JSON.stringify(error))
    assert.deepEqual(
      result.messages.map(({ role, content }) => [role, content.type]),
      [['user', 'text']]
    )
    return result.messages[0].content.text
  }
  const refused = async (name, args) => {
    const { error } = await server.request('prompts/get', { name, arguments: args })
    assert.equal(error?.code, -32602, JSON.stringify(error))
    return error.message
  }

  test('that are built in are listed with their arguments and default values', async () => {
    const { prompts } = (await server.request('prompts/list')).result
    assert.deepEqual(
      prompts.map(({ name }) => name),
      ['scrape_website', 'fill_form', 'visual_regression', 'authenticate', 'e2e_test']
    )
    const [, form] = prompts
    assert.deepEqual(
      form.arguments.map(({ name, required }) => [name, required]),
      [
        ['url', true],
        ['form_data', true],
        ['submit_button', false]
      ]
    )
    assert.match(form.arguments[2].description, /default: button\[type='submit'\]/)
  })

  test('are rendered: JSON is iterated over, defaults are applied, nothing is escaped as HTML', async () => {
    const text = await get('fill_form', {
      url: 'http://a/?b=1&c=2',
      form_data: JSON.stringify({ name: `O'Hara <x>`, age: 7 })
    })
    assert.match(text, /submit a form at http:\/\/a\/\?b=1&c=2:/)
    assert.match(text, /^ {3}- name: O'Hara <x>\n {3}- age: 7$/m)
    assert.match(text, /submit button: button\[type='submit'\]$/m)
    assert.match(
      await get('fill_form', { url: 'http://a/', form_data: '{}', submit_button: '#go' }),
      /submit button: #go$/m
    )
  })

  test('print an argument unchanged, also if it looks like JSON, and number the entries of a list', async () => {
    for (const argument of ['{"a":1}', '[1,  2]', '{"a"', 'null', '7']) {
      const scenario = await get('e2e_test', { test_scenario: argument, start_url: 'http://a/' })
      assert.ok(scenario.startsWith(`Execute this E2E test scenario: ${argument}\n`), scenario)
      const logIn = await get('authenticate', {
        url: 'http://a/',
        username: argument,
        password: 'x'
      })
      assert.ok(logIn.includes(`input[type='email']): ${argument}\n`), logIn)
    }
    assert.match(
      await get('scrape_website', { url: 'http://a/', selectors: '["h1", ".p"]' }),
      /^ {3}- 0: h1\n {3}- 1: \.p$/m
    )
    assert.match(
      await get('fill_form', { url: 'http://a/', form_data: '{"address":{"town":"Ulm"}}' }),
      /^ {3}- address: \{"town":"Ulm"\}$/m
    )
  })

  test('never contain a password', async () => {
    const text = await get('authenticate', {
      url: 'http://a/',
      username: 'ada',
      password: 'correct horse'
    })
    assert.match(text, /username field \(input\[name='username'\], input\[type='email'\]\): ada/)
    assert.match(text, /\[REDACTED\]/)
    assert.ok(!JSON.stringify(server.received.at(-1)).includes('correct horse'))
  })

  test('report invalid arguments', async () => {
    assert.match(await refused('scrape_website', { url: 'http://a/' }), /`selectors` is missing/)
    assert.match(
      await refused('scrape_website', { url: 'http://a/', selectors: 'h1' }),
      /must be a JSON object/
    )
    assert.match(
      await refused('scrape_website', { url: 'http://a/', selectors: '{}', selektors: '' + 1 }),
      /no argument `selektors`; did you mean `selectors`/
    )
    assert.match(await refused('scrape_web', {}), /did you mean `scrape_website`/)
  })

  test('complete a URL with those of the open pages', async (t) => {
    const site = await startSite(t)
    await server.ok('navigate', { url: site.url('/form') })
    const complete = async (name, value) => {
      const params = { ref: { type: 'ref/prompt', name: 'fill_form' }, argument: { name, value } }
      return (await server.request('completion/complete', params)).result.completion.values
    }
    assert.deepEqual(await complete('url', 'http://127'), [site.url('/form')])
    assert.deepEqual(await complete('submit_button', ''), ["button[type='submit']"])
    assert.deepEqual(await complete('nothing', ''), [])
  })

  test('of the user are listed too, and replace a built-in one of the same name', async (t) => {
    const folder = promptFolder(t, {
      'greet.yaml':
        'name: greet\ndescription: Say hello\narguments:\n  - name: who\n    default: world\ntemplate: Hello {{who}}{{#if loud}}!{{/if}}\n',
      'e2e.yml': 'name: e2e_test\ntemplate: |\n  Ours\n',
      'notes.txt': 'none'
    })
    const own = await startServer(t, ['--prompts', folder])
    const { prompts } = (await own.request('prompts/list')).result
    assert.deepEqual(prompts.map(({ name }) => name).slice(-2), ['e2e_test', 'greet'])
    const text = async (name) =>
      (await own.request('prompts/get', { name })).result.messages[0].content.text
    assert.equal(await text('greet'), 'Hello world')
    assert.equal(await text('e2e_test'), 'Ours\n')
  })

  for (const [what, text, line] of /** @type {const} */ ([
    ['a template', 'name: a\ntemplate: |\n  one\n  {{#each x}}\n', 4],
    ['YAML', 'name: [a\ntemplate: x\n', 1],
    ['a key', 'name: a\ntemplate: x\narguments:\n  - name: b\n    optional: true\n', 5]
  ])) {
    test(`with ${what} that is invalid prevents the start, and one line names the file and the line`, async (t) => {
      const folder = promptFolder(t, { 'bad.yaml': text })
      const own = await startServer(t, ['--prompts', folder], { handshake: false })
      assert.deepEqual(await own.exit, { code: 2, signal: null })
      const lines = own.stderr().trim().split('\n')
      assert.equal(lines.length, 1, own.stderr())
      assert.ok(lines[0].includes(`${join(folder, 'bad.yaml')}:${line}: `), lines[0])
    })
  }
})
