// The lists of tools that servers offer with each capability.

/** Values of `--caps`, alone and together. */
export const CAPABILITY_LISTS = [
  '',
  ...'vision pdf devtools network storage testing tracing config core'.split(' '),
  'vision,pdf',
  'config,devtools,network,pdf,storage,testing,tracing,vision'
]

/** Parameters that Troupe adds to each tool. */
const ADDED = ['sessionId', 'pageId']

/**
 * Returns the tools of a server with each list of capabilities: all their names, and the schema
 * and annotations of each tool without the descriptions.
 * @param {typeof import('./servers.mjs').startTroupe} start
 * @returns {Promise<{ names: Record<string, string[]>, tools: Record<string, object> }>}
 */
export async function listTools(start) {
  /** @type {Record<string, string[]>} */
  const names = {}
  let tools = {}
  for (const caps of CAPABILITY_LISTS) {
    /** @type {(() => unknown)[]} */
    const ends = []
    const { server } = await start({ after: (end) => void ends.push(end) }, { caps })
    const { result } = await server.request('tools/list')
    names[caps] = result.tools.map(({ name }) => name)
    // The last list of capabilities has all tools.
    tools = Object.fromEntries(result.tools.map((tool) => [tool.name, describe(tool)]))
    for (const end of ends.reverse()) await end()
  }
  return { names, tools }
}

/** @param {any} tool */
function describe({ inputSchema, annotations }) {
  const { properties = {}, required = [], additionalProperties } = withoutDescriptions(inputSchema)
  for (const name of ADDED) delete properties[name]
  return { properties, required, additionalProperties, annotations }
}

/** @param {any} schema @returns {any} */
function withoutDescriptions(schema) {
  if (Array.isArray(schema)) return schema.map(withoutDescriptions)
  if (!schema || typeof schema !== 'object') return schema
  const kept = Object.entries(schema).filter(
    ([key, value]) => key !== 'description' || typeof value !== 'string'
  )
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutDescriptions(value)]))
}
