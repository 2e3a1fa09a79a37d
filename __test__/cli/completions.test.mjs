// Shell completions.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { temporaryFolder } from '../support/record.mjs'
import { BIN } from '../support/server.mjs'

const hasBash = spawnSync('bash', ['-c', '(( BASH_VERSINFO[0] >= 4 ))']).status === 0

/** @param {string} shell */
function completions(shell) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, 'completions', shell], {
    encoding: 'utf8'
  })
  assert.equal(status, 0, stderr)
  return stdout
}

describe('completions', { timeout: 60_000 }, () => {
  test('in bash offer commands, options and values', { skip: !hasBash }, (t) => {
    const folder = temporaryFolder(t)
    const file = join(folder, 'troupe.bash')
    writeFileSync(file, completions('bash'))
    /** Returns the completions that bash offers for the last word. @param {...string} words */
    const offered = (...words) => {
      const script = `
        source "$1"; shift
        [[ $(complete -p troupe) == *' -F '* ]] || exit 3
        COMP_WORDS=(troupe "$@"); COMP_CWORD=$#; COMP_LINE="troupe $*"; COMP_POINT=\${#COMP_LINE}
        compopt() { :; }
        _troupe troupe "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\\n' "\${COMPREPLY[@]}"`
      const run = spawnSync('bash', ['-c', script, 'bash', file, ...words], { encoding: 'utf8' })
      assert.deepEqual([run.status, run.stderr], [0, ''])
      return run.stdout.split('\n').filter(Boolean)
    }
    assert.deepEqual(offered('cl').sort(), ['click', 'close'])
    assert.deepEqual(offered('click', '--click-c'), ['--click-count'])
    assert.deepEqual(offered('console', '--level', 'err'), ['error'])
    assert.deepEqual(offered('daemon', 'st').sort(), ['start', 'status', 'stop'])
    assert.deepEqual(offered('completions', 'z'), ['zsh'])
    assert.deepEqual(offered('--browser', 'fire'), ['firefox'])
    assert.ok(offered('dialog', '').includes('true'))
  })

  test('for every shell name every command', () => {
    const help = spawnSync(process.execPath, [BIN, '--help'], { encoding: 'utf8' }).stdout
    const [, list = ''] =
      /Commands that drive a page: ([^.]+)\./.exec(help.replace(/\s+/g, ' ')) ?? []
    const commands = list.split(', ')
    assert.ok(commands.length > 40)
    for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
      const script = completions(shell)
      for (const name of commands) assert.match(script, new RegExp(`\\b${name}\\b`), shell)
      assert.match(script, /click-count/)
    }
    const unknown = spawnSync(process.execPath, [BIN, 'completions', 'csh'], { encoding: 'utf8' })
    assert.equal(unknown.status, 2)
    assert.match(unknown.stderr, /unknown shell `csh`; use one of bash, zsh, fish, powershell/)
  })
})
