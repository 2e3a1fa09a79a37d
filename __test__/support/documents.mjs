// The documents of the project, and the code blocks in them.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../scripts/run.mjs'

const FOLDERS = ['', 'docs', 'docs/internals']

/** Every Markdown file for users and contributors: path below the project's folder → text. */
export const DOCUMENTS = Object.fromEntries(
  FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((file) => file.endsWith('.md'))
      .map((file) => join(folder, file))
      .map((path) => [path, readFileSync(join(ROOT, path), 'utf8')])
  )
)

/**
 * Returns the code blocks of a language in all documents, except the results in generated ones.
 * @param {string} language @returns {{ path: string, code: string }[]}
 */
export function codeBlocks(language) {
  return Object.entries(DOCUMENTS)
    .filter(([path]) => path !== 'docs/tools.md')
    .flatMap(([path, text]) =>
      [...text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)]
        .filter(([, found]) => found === language)
        .map(([, , code]) => ({ path, code }))
    )
}

/**
 * Returns the lines of all shell blocks, without comments.
 * @returns {{ path: string, command: string }[]}
 */
export function shellCommands() {
  return [...codeBlocks('bash'), ...codeBlocks('')].flatMap(({ path, code }) =>
    code
      .replaceAll('\\\n', ' ')
      .split('\n')
      .map((line) => line.replace(/\s+#.*$/, '').trim())
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((command) => ({ path, command }))
  )
}
