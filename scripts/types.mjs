// Creates index.d.ts for `npm run generate`: index.template.d.ts, with the types of the
// configuration and of the tools' arguments and results, which are generated from their schemas.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { ROOT } from './run.mjs'

const require = createRequire(import.meta.url)
const { camelCase, sessionMethods } = require('../lib/session-methods.js')

/** @typedef {import('../lib/session-methods.js').Tool} Tool */

/**
 * @param {Tool[]} tools
 * @param {any} config the schema of the configuration
 * @param {{ codes: import('./docs/errors.mjs').ErrorRow[], details: any }} errors
 * @param {any} events the schema of the sessions' events
 * @returns {string} the text of index.d.ts
 */
export function typesOf(tools, config, errors, events) {
  const template = readFileSync(join(ROOT, 'scripts/index.template.d.ts'), 'utf8')
  const methods = sessionMethods(tools)
  const saved = tools.find(({ name }) => name === 'save_state')?.outputSchema.properties.state
  const interfaces = [
    declaration('SessionInfo', tools.find(isList)?.outputSchema.properties.sessions.items),
    declaration('StorageState', saved, saved.description)
  ]
  for (const tool of tools) {
    const inSession = methods.some((method) => method.tool === tool.name)
    if (!inSession && tool.name !== 'create_session') continue
    interfaces.push(
      declaration(
        `${typeName(tool.name)}Arguments`,
        withTypes(tool.name, withoutSessionId(tool.inputSchema))
      )
    )
    const result = inSession && resultType(tool, tools)
    const declared = interfaces.some((text) => text.includes(`export interface ${result} {`))
    if (result && !declared)
      interfaces.push(declaration(result, withTypes(tool.name, tool.outputSchema)))
  }
  interfaces.push(...eventTypes(events))
  return template
    .replace('/*config*/', () => declaration('Config', config, CONFIG))
    .replace('/*errorCodes*/', () => errorTypes(errors))
    .replace('/*methods*/', () => methods.map((method) => methodType(method, tools)).join('\n\n  '))
    .replace('/*interfaces*/', () => interfaces.join('\n\n'))
}

const CONFIG =
  'The options of the command line (`troupe --help`), in camelCase. The sections of a nested configuration file are accepted, too.'

/** @param {Tool} tool */
const isList = (tool) => tool.name === 'list_sessions'

/** @param {string} tool */
const typeName = (tool) => camelCase(`_${tool}`)

/** @param {{ codes: import('./docs/errors.mjs').ErrorRow[], details: any }} errors */
function errorTypes({ codes, details }) {
  const lines = codes.map(({ code, when }) => `  /** ${when} */\n  | '${code}'`)
  return `export type ErrorCode =\n${lines.join('\n')}\n\n${declaration('ErrorDetails', details, DETAILS)}`
}

const DETAILS = 'Facts about an error. Which of them it has depends on its code and reason.'

const GIVEN_STATE = 'Partial<StorageState> | SaveStateResult | string'

/**
 * Named types for parts of schemas that repeat another type, or that are open to keep `tools/list`
 * short.
 * @type {Record<string, Record<string, string>>}
 */
const NAMED = {
  create_session: { storageState: GIVEN_STATE },
  restore_state: { state: GIVEN_STATE },
  save_state: { state: 'StorageState' }
}

/** Returns the schema with the types of `NAMED`. @param {string} tool @param {any} schema */
function withTypes(tool, schema) {
  const properties = { ...schema.properties }
  for (const [name, type] of Object.entries(NAMED[tool] ?? {})) {
    if (properties[name])
      properties[name] = { description: properties[name].description, typeName: type }
  }
  return { ...schema, properties }
}

/**
 * Returns the name of the type of a tool's result. Tools with the same result share it.
 * @param {Tool} tool
 * @param {Tool[]} tools
 */
function resultType(tool, tools) {
  if (!tool.outputSchema) return undefined
  const alike = tools.filter(
    ({ outputSchema, outputType }) => outputSchema && outputType === tool.outputType
  )
  const isShared = alike.length > 1
  const differs = alike.find(
    ({ outputSchema }) => JSON.stringify(outputSchema) !== JSON.stringify(tool.outputSchema)
  )
  if (differs)
    throw new Error(
      `${tool.name} and ${differs.name} have different results whose types are both named ${tool.outputType}`
    )
  return isShared
    ? tool.outputType?.replace(/(Answer)?$/, 'Result')
    : `${typeName(tool.name)}Result`
}

/**
 * Returns an interface for each event of a session, and their table by name.
 * @param {any} events
 * @returns {string[]}
 */
function eventTypes(events) {
  const rows = events.oneOf.map((/** @type {any} */ event) => {
    const { type, ...properties } = event.properties
    const schema = {
      ...event,
      properties,
      required: event.required.filter((/** @type {string} */ key) => key !== 'type')
    }
    return { name: type.const, type: `${typeName(type.const)}Event`, schema }
  })
  const interfaces = rows.map(({ type, schema }) => declaration(type, schema, schema.description))
  const lines = rows.map(({ name, type }) => `  ${name}: ${type}`)
  return [
    ...interfaces,
    `/** The events of a session and what its listeners are called with. */\nexport interface SessionEvents {\n${lines.join('\n')}\n}`
  ]
}

/** @param {any} schema */
function withoutSessionId(schema) {
  const properties = { ...schema.properties }
  delete properties.sessionId
  return {
    ...schema,
    properties,
    required: (schema.required ?? []).filter((key) => key !== 'sessionId')
  }
}

/**
 * Returns the signatures of a method: with named arguments, and with positional ones where it
 * accepts them.
 * @param {import('../lib/session-methods.js').Method} method
 * @param {Tool[]} tools
 */
function methodType({ name, tool, positional, required }, tools) {
  const row = /** @type {Tool} */ (tools.find((other) => other.name === tool))
  const { description, inputSchema, answer } = row
  const named = `${typeName(tool)}Arguments`
  const plain = { text: 'string', image: 'Picture', content: 'string | Content' }[answer]
  const result = `Promise<${resultType(row, tools) ?? plain}>`
  const lines = [doc(description, '  ').trim()]
  if (positional.length > 0) {
    const places = positional
      .map((key, index) => `${key}${index < required ? '' : '?'}: ${named}['${key}']`)
      .join(', ')
    const rest = `options?: Omit<${named}, ${positional.map((key) => `'${key}'`).join(' | ')}>`
    lines.push(`${name}(${places}, ${rest}): ${result}`)
  }
  const optional = (inputSchema.required ?? []).every((key) => key === 'sessionId') ? '?' : ''
  lines.push(`${name}(args${optional}: ${named}): ${result}`)
  if (PLAYWRIGHT[name]) lines.push(`${PLAYWRIGHT[name]}: ${result}`)
  return lines.join('\n  ')
}

/**
 * Additional signatures of methods that accept Playwright's arguments.
 * @type {Record<string, string>}
 */
const PLAYWRIGHT = {
  evaluate:
    '/** As in Playwright: a function is called with `arg`. */\n  evaluate(script: string | ((arg: any) => unknown), arg?: unknown)',
  mockResponse:
    "/** As in Playwright's `route.fulfill`. */\n  mockResponse(url: string, response: NonNullable<MockResponseArguments['response']>)",
  compareScreenshots:
    "/** Compares with the result of `screenshot`, or with the bytes of a PNG or JPEG file. */\n  compareScreenshots(baseline: Picture | Uint8Array, options?: Omit<CompareScreenshotsArguments, 'baseline'>)"
}

/** @param {string} name @param {any} schema @param {string} [what] it is */
function declaration(name, schema, what) {
  const isPlain = schema.type === 'object' && !schema.anyOf && !schema.oneOf && !schema.allOf
  const type = typeOf(schema, schema.$defs ?? {}, '')
  return (
    doc(what, '') +
    (isPlain && type.startsWith('{')
      ? `export interface ${name} ${type}`
      : `export type ${name} = ${type}`)
  )
}

/**
 * Returns the TypeScript type of a JSON schema, for the keywords that the tools' schemas use.
 * @param {any} schema
 * @param {Record<string, any>} definitions the targets of `$ref`
 * @param {string} indent
 * @returns {string}
 */
function typeOf(schema, definitions, indent) {
  if (schema === true || schema === undefined) return 'unknown'
  if (schema === false) return 'never'
  if (schema.typeName) return schema.typeName
  if (schema.$ref)
    return typeOf(definitions[schema.$ref.replace('#/$defs/', '')], definitions, indent)
  if ('const' in schema) return literal(schema.const)
  if (schema.enum) return schema.enum.map(literal).join(' | ')
  const several = schema.anyOf ?? schema.oneOf
  if (several) return union(several.map((one) => typeOf(one, definitions, indent)))
  if (schema.allOf) return schema.allOf.map((one) => typeOf(one, definitions, indent)).join(' & ')
  if (Array.isArray(schema.type))
    return union(schema.type.map((type) => typeOf({ ...schema, type }, definitions, indent)))
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type
    case 'integer':
    case 'number':
      return 'number'
    case 'array': {
      const item = typeOf(schema.items, definitions, indent)
      return /[ |&]/.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`
    }
    case 'object':
      return objectType(schema, definitions, indent)
    default:
      return schema.properties ? objectType(schema, definitions, indent) : 'unknown'
  }
}

/** @param {any} schema @param {Record<string, any>} definitions @param {string} indent */
function objectType({ properties = {}, required = [], additionalProperties }, definitions, indent) {
  const inner = `${indent}  `
  const lines = Object.entries(properties).map(([key, schema]) => {
    const name = /^[\w$]+$/.test(key) ? key : literal(key)
    const type = typeOf(schema, definitions, inner)
    return `${doc(schema.description, inner)}${inner}${name}${required.includes(key) ? '' : '?'}: ${type}`
  })
  if (lines.length === 0) {
    const value = additionalProperties
      ? typeOf(additionalProperties, definitions, indent)
      : 'unknown'
    return additionalProperties === false ? 'Record<string, never>' : `Record<string, ${value}>`
  }
  return `{\n${lines.join('\n')}\n${indent}}`
}

/** @param {string[]} types */
const union = (types) => [...new Set(types)].join(' | ')

/** @param {unknown} value */
const literal = (value) =>
  typeof value === 'string' ? `'${value.replace(/['\\]/g, '\\$&')}'` : JSON.stringify(value)

/** @param {string | undefined} text @param {string} indent */
const doc = (text, indent) =>
  text ? `${indent}/** ${text.replace(/\*\//g, '*\\/').replace(/\s+/g, ' ')} */\n` : ''
