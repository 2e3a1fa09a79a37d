// The skill for coding agents: all its commands work, one after the other.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { CommandLine, NO_NATIVE_CLIENT } from '../support/command-line.mjs'
import { startSite } from '../support/site.mjs'

/** The address of the examples. */
const EXAMPLE = 'http://localhost:3000'

// In the examples, e3 stands for the third element of this page with a ref: it is dragged onto e9,
// and e7 is a field. Enter opens a dialog if a file was chosen.
const shop = `<title>Shop</title><h1>Shop</h1>
  <button>One</button><button>Two</button><button draggable="true">Three</button><button>Four</button>
  <label>Email <input name="email"></label><label>Name <input name="name"></label>
  <label>Comment <input name="comment"></label>
  <label>Country <select><option>Spain<option>Norway</select></label><button>Nine</button>
  <label><input type="checkbox"> I agree</label><label>Photo <input type="file"></label>
  <button>Save</button><a href="/more">More</a>
  <p style="margin-bottom: 3000px">Order total: <b id="total">42</b></p><p>Saved</p>
  <table><tr><th>Item<th>Price<tr><td>Tea<td>3</table>
  <script>
    addEventListener('keydown', (event) => {
      const { files } = document.querySelector('[type=file]')
      if (event.key === 'Enter' && files.length > 0) setTimeout(() => confirm('Leave?'))
    })
  </script>`

/** The refs of a snapshot. @param {CommandLine} cli */
async function refsOf(cli) {
  const snapshot = await cli.ok('snapshot', '--interactive')
  return Array.from(snapshot.matchAll(/\[ref=(e\d+)\]/g), ([, ref]) => ref)
}

describe('the skill', { timeout: 180_000, skip: NO_NATIVE_CLIENT }, () => {
  test('consists of commands that work one after the other', async (t) => {
    const site = await startSite(t, { '/': shop, '/more': '<title>More</title>' })
    const cli = new CommandLine(t)
    // In Firefox, a page that is opened again gets no second entry in the history.
    await cli.ok('open', site.url('/more'))
    writeFileSync(join(cli.folder, 'photo.png'), 'photo')
    writeFileSync(
      join(cli.folder, 'steps.js'),
      "console.log(await session.getText('h1'))\nreturn (await session.findElements('role=button')).length"
    )
    const skill = await cli.ok('skill')
    assert.match(skill, /^---\nname: troupe\ndescription: [^\n:]+\n---\n/)
    assert.ok(Buffer.byteLength(skill) <= 8192, `${Buffer.byteLength(skill)}`)
    const commands = Array.from(skill.matchAll(/`(troupe [^`]+)`/g), ([, command]) => command ?? '')
    assert.ok(commands.length > 44, `${commands.length}`)
    for (const command of commands) {
      // The number in a ref of an example is the position of the element in the page.
      const refs = / e\d/.test(command) ? await refsOf(cli) : []
      const line = command
        .replaceAll(EXAMPLE, site.url('/'))
        .replaceAll(/ e(\d+)/g, (_, at) => ` ${refs[at - 1]}`)
      const run = await cli.shell(line)
      assert.equal(run.status, 0, `${command}\n${run.stdout}${run.stderr}`)
      // Firefox restores storage by loading a page, which fails offline.
      if (command === 'troupe offline true') await cli.ok('offline', 'false')
    }
  })

  test('has references on demand', async (t) => {
    const cli = new CommandLine(t)
    const [, list = ''] = /The topics: ([^.]+)\./.exec(await cli.ok('skill')) ?? []
    const topics = Array.from(list.matchAll(/`(\w+)`/g), ([, topic]) => topic ?? '')
    assert.ok(topics.includes('interaction') && topics.includes('errors'))
    for (const topic of topics) assert.ok((await cli.ok('skill', topic)).length > 100, topic)
    assert.match(await cli.ok('skill', 'click'), /^## troupe click\n[^]*`--click-count VALUE`/)
    assert.match(await cli.ok('skill', 'run'), /session\.click\(\{selector/)
    const unknown = await cli.run(['skill', 'cooking'])
    assert.equal(unknown.status, 2)
    assert.match(unknown.stderr, /no topic `cooking`; use one of navigation, /)
  })

  test('is installed as a file that refers to it', async (t) => {
    const cli = new CommandLine(t)
    const tree = join(cli.folder, 'tree')
    mkdirSync(join(tree, '.git'), { recursive: true })
    mkdirSync(join(tree, 'deep'))
    const file = (...folder) => join(tree, ...folder, 'troupe', 'SKILL.md')
    /** @param {string[]} args @param {Record<string, string>} [env] */
    const install = async (args, env = {}) => {
      const options = { cwd: join(tree, 'deep'), env }
      const run = await cli.run(['skill', 'install', ...args], options)
      assert.equal(run.status, 0, run.stderr)
      return run.stdout.trim().split('\n')
    }
    const both = [file('.claude', 'skills'), file('.agents', 'skills')]
    assert.deepEqual(await install([]), both)
    for (const path of both)
      assert.match(readFileSync(path, 'utf8'), /^---\n[^]*Run `troupe skill`/)
    assert.deepEqual(await install([]), both, 'installing it again has the same result')
    assert.deepEqual(await install(['--copilot', '--gemini']), [
      file('.gemini', 'skills'),
      file('.github', 'skills')
    ])
    assert.deepEqual(await install(['--cursor', 'mine']), [
      file('.cursor', 'skills'),
      file('deep', 'mine')
    ])
    const home = join(cli.folder, 'home')
    mkdirSync(home)
    await install(['--copilot', '--user'], { HOME: home })
    assert.ok(existsSync(join(home, '.copilot', 'skills', 'troupe', 'SKILL.md')))
    writeFileSync(file('.claude', 'skills'), 'mine')
    const refused = await cli.run(['skill', 'install', '--claude'], { cwd: tree })
    assert.equal(refused.status, 1)
    assert.match(refused.stderr, /was not written: another skill is there/)
  })
})
