'use strict'

// The methods of a Session, derived from the tools' schemas. index.js creates them,
// scripts/types.mjs generates their types.

/**
 * A row of the addon's `toolSchemas()`. A result that is not a JSON object has no schema: a `text`,
 * an `image`, or the `content` of an earlier call, which is a text and images.
 * @typedef {{
 *   name: string, group: string, description: string, inputSchema: any, outputSchema?: any,
 *   outputType: string | null, answer: 'json' | 'text' | 'image' | 'content',
 *   lifecycle: 'create' | 'resume' | 'close' | null
 * }} Tool
 */

/**
 * How a Session method is called. `positional` are the parameters that can be passed in order,
 * before an object with the others; `required` is the number of them that must be passed.
 * @typedef {{ name: string, tool: string, parameters: string[], positional: string[], required:
 *   number, signature: string }} Method
 */

/**
 * Returns one method for each tool that acts in a session, under the tool's name in camelCase.
 * SessionManager has the methods that create, resume and close a session.
 * @param {Tool[]} tools
 * @returns {Method[]}
 */
function sessionMethods(tools) {
  return tools
    .filter(({ group, inputSchema, lifecycle }) => {
      // A program asks its user itself.
      return inputSchema.properties?.sessionId && !lifecycle && group !== 'person'
    })
    .map(({ name: tool, inputSchema: { properties, required: requiredKeys = [] } }) => {
      const parameters = Object.keys(properties).filter((key) => key !== 'sessionId')
      const required = parameters.filter((key) => requiredKeys.includes(key))
      const positional = POSITIONAL[tool] ?? positionalOf(properties, parameters, required)
      const name = camelCase(tool)
      const method = { name, tool, parameters, positional, required: required.length }
      return {
        ...method,
        signature: `session.${name}(${SPECIAL[name]?.signature(properties) ?? parametersOf(method)})`
      }
    })
}

const PLAIN_TYPES = ['string', 'number', 'integer', 'boolean', 'array']
const LEADING_TYPES = ['string', 'array']

/**
 * Positional parameters of the methods to which the rule in `positionalOf` does not apply.
 * @type {Record<string, string[]>}
 */
const POSITIONAL = { drag_and_drop: ['source', 'target'] }

/**
 * Returns the required parameters, unless the first may be an object, which cannot be distinguished
 * from an object of all parameters. If none is required, the first parameter alone, as in
 * `getText(selector)`.
 * @param {Record<string, any>} properties @param {string[]} parameters @param {string[]} required
 */
function positionalOf(properties, parameters, required) {
  if (required.length > 0)
    return PLAIN_TYPES.includes(properties[required[0] ?? '']?.type) ? required : []
  const first = parameters.find((key) => key !== 'pageId')
  return first && LEADING_TYPES.includes(properties[first].type) ? [first] : []
}

/**
 * Returns the parameters in the form of a signature.
 * @param {Pick<Method, 'parameters' | 'positional' | 'required'>} method
 */
function parametersOf({ parameters, positional, required }) {
  const named = parameters.filter((key) => !positional.includes(key))
  const isNeeded = positional.length === 0 && required > 0
  const keys = named.map((key, index) => (isNeeded && index < required ? key : `${key}?`))
  const places = positional.map((key, index) => (index < required ? key : `${key}?`))
  return [...places, `${isNeeded ? 'args' : 'options?'}: { ${keys.join(', ')} }`].join(', ')
}

/** @param {string} name */
function camelCase(name) {
  return name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())
}

/**
 * Returns the tool's arguments for the arguments of a call of `method`.
 * @param {Method} method
 * @param {any[]} values
 * @throws {TypeError} if they fit no signature of the method
 */
function argumentsOf(method, values) {
  return SPECIAL[method.name]?.read(method, values) ?? namedArguments(method, values)
}

/**
 * Reads `(selector, text, options?)` or `({ selector, text, … })`.
 * @param {Method} method
 * @param {any[]} values
 */
function namedArguments({ name, positional }, values) {
  if (values.length <= 1 && (values[0] === undefined || isPlainObject(values[0])))
    return { ...values[0] }
  const [options, ...more] = values.slice(positional.length)
  if (more.length > 0 || !(options === undefined || isPlainObject(options))) {
    throw new TypeError(
      `\`${name}\` was called with ${values.length} arguments that match no signature`
    )
  }
  return { ...options, ...Object.fromEntries(positional.map((key, place) => [key, values[place]])) }
}

/**
 * Methods that can also be called as in Playwright. `read` returns undefined for the arguments that
 * every method takes.
 * @type {Record<string, { signature: (properties: Record<string, any>) => string, read: (method:
 *   Method, values: any[]) => object | undefined }>}
 */
const SPECIAL = {
  // `(script, arg?)`, where `script` may be a function and is called with `arg`. The second value
  // may also be the tool's own parameters, `{ args?, pageId? }`.
  evaluate: {
    signature: () => 'script, arg?',
    read(method, [script, arg, ...more]) {
      if (typeof script !== 'function' && typeof script !== 'string') return undefined
      if (more.length > 0)
        throw new TypeError(
          '`evaluate` takes one argument for the script: pass an array or an object'
        )
      if (arg === undefined || isOptions(method, arg)) return { ...arg, script: String(script) }
      return { args: [arg], script: String(script) }
    }
  },
  // `(url, response?)`, where `response` is what Playwright's `route.fulfill` takes.
  mockResponse: {
    signature: ({ response }) =>
      `url, response?: { ${Object.keys(response.properties)
        .map((key) => `${key}?`)
        .join(', ')} }`,
    read(method, [url, response, ...more]) {
      if (more.length > 0 || !isPlainObject(response) || isOptions(method, response))
        return undefined
      return { url, response }
    }
  },
  // The baseline may be the result of `screenshot`, or the bytes of a file.
  compareScreenshots: {
    signature: () => 'baseline, options?: { selector?, pageId? }',
    read(method, [first, ...rest]) {
      const text = baselineText(first)
      const given = namedArguments(method, [text ?? first, ...rest])
      return { ...given, baseline: baselineText(given.baseline) ?? given.baseline }
    }
  }
}

/**
 * Returns a picture, or the bytes of one, as a data URL. Returns undefined for any other value.
 * @param {any} baseline
 */
function baselineText(baseline) {
  if (ArrayBuffer.isView(baseline)) {
    const bytes = Buffer.from(baseline.buffer, baseline.byteOffset, baseline.byteLength)
    return `data:;base64,${bytes.toString('base64')}`
  }
  const isPicture =
    isPlainObject(baseline) &&
    typeof baseline.data === 'string' &&
    typeof baseline.mimeType === 'string'
  return isPicture ? `data:${baseline.mimeType};base64,${baseline.data}` : undefined
}

/**
 * Returns whether all keys of an object are parameters of the tool.
 * @param {Method} method @param {any} value
 */
function isOptions({ parameters }, value) {
  const keys = isPlainObject(value) ? Object.keys(value) : []
  return keys.length > 0 && keys.every((key) => parameters.includes(key))
}

/**
 * Returns whether a value is a plain object, also one of another realm, such as that of Jest.
 * @param {unknown} value
 */
function isPlainObject(value) {
  return Object.prototype.toString.call(value) === '[object Object]'
}

module.exports = { sessionMethods, argumentsOf, parametersOf, camelCase }
