// Inserts the example results from docs/examples.json into README.md.
import { replaceBetween } from '../between.mjs'
import { fenced, readable } from './tools.mjs'

const SHOWN = ['snapshot', 'click']
const RESULT_LINES = 16

/**
 * @param {string} readme the text of README.md
 * @param {import('./examples.mjs').Example[]} examples
 */
export function withExamples(readme, examples) {
  return SHOWN.reduce((readme, tool) => {
    const example = examples.find((example) => example.tool === tool)
    if (!example) throw new Error(`docs/examples.json has no call of \`${tool}\``)
    const call = `${tool} ${JSON.stringify(example.arguments)}`
    const { text } = readable(example.result, RESULT_LINES)
    const shown = fenced('text', `${call}\n\n${text}`)
    return replaceBetween(readme, `<!-- ${tool} -->`, `<!-- /${tool} -->`, shown)
  }, readme)
}
