// The manifests for the MCP registry, Claude Code, Gemini CLI and Helm. `npm run generate` writes
// them from package.json.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { ROOT } from './run.mjs'

const { name, version, description, keywords, license, homepage, repository, mcpName, author } =
  JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

const REPOSITORY = repository.url.replace(/^git\+|\.git$/g, '')

/** How clients start this version. */
const SERVERS = { [name]: { command: 'npx', args: ['-y', `${name}@${version}`] } }

/** @type {Record<string, () => string>} path of a generated file → its text */
export const manifestFiles = {
  'npm/server.json': () =>
    json({
      $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      name: mcpName,
      title: 'Troupe',
      description,
      repository: { url: REPOSITORY, source: 'github' },
      websiteUrl: homepage,
      version,
      packages: [
        {
          registryType: 'npm',
          identifier: name,
          version,
          runtimeHint: 'npx',
          transport: { type: 'stdio' }
        }
      ]
    }),
  '.claude-plugin/plugin.json': () =>
    json({
      ...{ name, version, description, author, homepage, repository: REPOSITORY, license },
      ...{ keywords, mcpServers: SERVERS }
    }),
  '.claude-plugin/marketplace.json': () =>
    json({ name, owner: author, plugins: [{ name, source: './', description }] }),
  'gemini-extension.json': () => json({ name, version, description, mcpServers: SERVERS }),
  'deploy/helm/troupe/Chart.yaml': () =>
    stringify({
      apiVersion: 'v2',
      ...{ name, description, type: 'application', version, appVersion: version },
      // The first version in which a container can sleep before it ends (preStop).
      kubeVersion: '>=1.30.0-0',
      home: homepage
    })
}

/**
 * Returns the manifest of an MCP bundle (`.mcpb`), which contains the packages of one platform.
 * @param {import('./platforms.mjs').Platform} platform @param {string} version
 */
export function bundleManifest({ os }, version) {
  const program = `node_modules/${name}/bin/${name}.js`
  return {
    manifest_version: '0.3',
    ...{ name, display_name: 'Troupe', version, description, author, license, keywords },
    repository: { type: 'git', url: REPOSITORY },
    homepage,
    tools_generated: true,
    server: {
      type: 'node',
      entry_point: program,
      mcp_config: { command: 'node', args: [`\${__dirname}/${program}`] }
    },
    compatibility: { platforms: [os], runtimes: { node: '>=20.0.0' } }
  }
}

/** @param {unknown} value */
const json = (value) => `${JSON.stringify(value, null, 2)}\n`
