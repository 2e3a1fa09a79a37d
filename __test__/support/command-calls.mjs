// Translates calls of tools into lines of a shell, for scripts that name tools. A `batch` becomes a
// chain of commands, of which only the last prints its result. All commands print their errors.

/**
 * The command of each tool, and the parameters that it takes without a name.
 * @type {Record<string, string[]>}
 */
const COMMANDS = {
  navigate: ['open', 'url'],
  snapshot: ['snapshot'],
  find: ['find', 'text'],
  wait_for: ['wait', 'text'],
  click: ['click', 'selector'],
  fill: ['fill', 'selector', 'value'],
  select: ['select', 'selector', 'value'],
  check: ['check', 'selector'],
  press: ['press', 'key']
}

/** Quotes a word for a POSIX shell. @param {unknown} word */
const quoted = (word) =>
  /^[\w./:=@-]+$/.test(String(word)) ? String(word) : `'${String(word).replaceAll("'", "'\\''")}'`

/** @param {string} tool @param {Record<string, unknown>} args */
function command(tool, args) {
  const [name, ...positional] = COMMANDS[tool] ?? []
  if (!name) throw new Error(`no command for ${tool}`)
  const words = positional
    .filter((parameter) => parameter in args)
    .map((parameter) => args[parameter])
  const options = Object.entries(args)
    .filter(([parameter]) => !positional.includes(parameter))
    .flatMap(([parameter, value]) => [
      `--${parameter.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
      value
    ])
  return ['troupe', name, ...[...words, ...options].map(quoted)].join(' ')
}

/** Returns the line of a shell for a call. @param {string} tool @param {any} args */
export function commandLine(tool, args) {
  if (tool !== 'batch') return command(tool, args)
  return args.steps.map((step) => command(step.tool, step.arguments)).join(' > /dev/null && ')
}
