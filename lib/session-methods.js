'use strict'

// Which methods a Session has, from the tools' schemas: index.js makes them, scripts/types.mjs gives them types.

/**
 * A row of the addon's `toolSchemas()`. Where the answer is no JSON it has no schema, and is `text` or an `image`.
 * @typedef {{ name: string, description: string, inputSchema: any, outputSchema?: any, answer: 'json' | 'text' | 'image' }} Tool
 */

/** Tools that are about sessions rather than in one: SessionManager and `session.close()` stand for them. */
const OF_THE_MANAGER = ['create_session', 'close_session', 'list_sessions', 'session_resume']

/**
 * One method for each tool that acts in a session, under its name in camelCase. Its required parameters may be given by
 * place, before an object with the rest, unless the first may be an object itself: that would look like named ones.
 * @template {Tool} T
 * @param {T[]} tools
 */
function sessionMethods(tools) {
  return tools
    .filter((tool) => tool.inputSchema.properties?.sessionId && !OF_THE_MANAGER.includes(tool.name))
    .map(({ name: tool, inputSchema: { properties, required = [] } }) => {
      const needed = Object.keys(properties).filter((key) => key !== 'sessionId' && required.includes(key))
      const byPlace = PLAIN_TYPES.includes(properties[needed[0] ?? '']?.type)
      return { name: camelCase(tool), tool, positional: byPlace ? needed : [] }
    })
}

const PLAIN_TYPES = ['string', 'number', 'integer', 'boolean', 'array']

/** @param {string} name */
function camelCase(name) {
  return name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())
}

/**
 * `(selector, text, options?)` or `({ selector, text, … })`, as one object.
 * @param {string} name
 * @param {string[]} positional
 * @param {any[]} values
 */
function namedArguments(name, positional, values) {
  if (values.length <= 1 && (values[0] === undefined || isPlainObject(values[0]))) return { ...values[0] }
  const [options, ...more] = values.slice(positional.length)
  if (more.length > 0 || !(options === undefined || isPlainObject(options))) {
    const form = [...positional, 'options?'].join(', ')
    throw new TypeError(`session.${name}(${form}) cannot be called with these ${values.length} arguments`)
  }
  return { ...options, ...Object.fromEntries(positional.map((key, place) => [key, values[place]])) }
}

/** @param {unknown} value */
function isPlainObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

module.exports = { sessionMethods, namedArguments, camelCase }
