// The text of index.d.ts: the fixed part from index.template.d.ts, the arguments and results of every tool and the
// configuration from their schemas.
// `npm run generate` writes it.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { ROOT } from './run.mjs'

const require = createRequire(import.meta.url)
const { camelCase, sessionMethods } = require('../lib/session-methods.js')

/** @typedef {import('../lib/session-methods.js').Tool} Tool */

/** @param {Tool[]} tools @param {any} config the schema of the configuration @returns {string} the text of index.d.ts */
export function typesOf(tools, config) {
  const template = readFileSync(join(ROOT, 'scripts/index.template.d.ts'), 'utf8')
  const methods = sessionMethods(tools)
  const interfaces = [declaration('SessionInfo', tools.find(isList)?.outputSchema.properties.sessions.items)]
  for (const tool of tools) {
    const inSession = methods.some((method) => method.tool === tool.name)
    if (!inSession && tool.name !== 'create_session') continue
    interfaces.push(declaration(`${typeName(tool.name)}Arguments`, withoutSessionId(tool.inputSchema)))
    if (inSession && tool.outputSchema) interfaces.push(declaration(`${typeName(tool.name)}Result`, tool.outputSchema))
  }
  return template
    .replace('/*config*/', () => declaration('Config', config, CONFIG))
    .replace('/*methods*/', () => methods.map((method) => methodType(method, tools)).join('\n\n  '))
    .replace('/*interfaces*/', () => interfaces.join('\n\n'))
}

const CONFIG = 'The options of the command line (`troupe --help`), in camelCase. The sections of a nested config file are taken too.'

/** @param {Tool} tool */
const isList = (tool) => tool.name === 'list_sessions'

/** @param {string} tool */
const typeName = (tool) => camelCase(`_${tool}`)

/** @param {any} schema */
function withoutSessionId(schema) {
  const properties = { ...schema.properties }
  delete properties.sessionId
  return { ...schema, properties, required: (schema.required ?? []).filter((key) => key !== 'sessionId') }
}

/** The signatures of a method: with named arguments, and by place where it can be called so.
 * @param {{ name: string, tool: string, positional: string[] }} method @param {Tool[]} tools */
function methodType({ name, tool, positional }, tools) {
  const { description, inputSchema, outputSchema, answer } = /** @type {Tool} */ (tools.find((other) => other.name === tool))
  const named = `${typeName(tool)}Arguments`
  const plain = { text: 'string', image: 'Picture' }[answer] ?? 'string | Picture'
  const result = `Promise<${outputSchema ? `${typeName(tool)}Result` : plain}>`
  const lines = [doc(description, '  ').trim()]
  if (positional.length > 0) {
    const places = positional.map((key) => `${key}: ${named}['${key}']`).join(', ')
    const rest = `options?: Omit<${named}, ${positional.map((key) => `'${key}'`).join(' | ')}>`
    lines.push(`${name}(${places}, ${rest}): ${result}`)
  }
  const optional = (inputSchema.required ?? []).every((key) => key === 'sessionId') ? '?' : ''
  lines.push(`${name}(args${optional}: ${named}): ${result}`)
  return lines.join('\n  ')
}

/** @param {string} name @param {any} schema @param {string} [what] it is */
function declaration(name, schema, what) {
  const isPlain = schema.type === 'object' && !schema.anyOf && !schema.oneOf && !schema.allOf
  const type = typeOf(schema, schema.$defs ?? {}, '')
  return doc(what, '') + (isPlain && type.startsWith('{') ? `export interface ${name} ${type}` : `export type ${name} = ${type}`)
}

/**
 * The TypeScript type of a JSON schema: the plain part of JSON Schema that tools are described in.
 * @param {any} schema
 * @param {Record<string, any>} definitions what `$ref` names
 * @param {string} indent
 * @returns {string}
 */
function typeOf(schema, definitions, indent) {
  if (schema === true || schema === undefined) return 'unknown'
  if (schema === false) return 'never'
  if (schema.$ref) return typeOf(definitions[schema.$ref.replace('#/$defs/', '')], definitions, indent)
  if ('const' in schema) return literal(schema.const)
  if (schema.enum) return schema.enum.map(literal).join(' | ')
  const several = schema.anyOf ?? schema.oneOf
  if (several) return union(several.map((one) => typeOf(one, definitions, indent)))
  if (schema.allOf) return schema.allOf.map((one) => typeOf(one, definitions, indent)).join(' & ')
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type }, definitions, indent)))
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
    const value = additionalProperties ? typeOf(additionalProperties, definitions, indent) : 'unknown'
    return additionalProperties === false ? 'Record<string, never>' : `Record<string, ${value}>`
  }
  return `{\n${lines.join('\n')}\n${indent}}`
}

/** @param {string[]} types */
const union = (types) => [...new Set(types)].join(' | ')

/** @param {unknown} value */
const literal = (value) => (typeof value === 'string' ? `'${value.replace(/['\\]/g, '\\$&')}'` : JSON.stringify(value))

/** @param {string | undefined} text @param {string} indent */
const doc = (text, indent) => (text ? `${indent}/** ${text.replace(/\*\//g, '*\\/').replace(/\s+/g, ' ')} */\n` : '')
