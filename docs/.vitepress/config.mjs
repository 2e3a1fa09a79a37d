import { defineConfig } from 'vitepress'
import llmstxt from 'vitepress-plugin-llms'

/** @param {string} text @param {string} link */
const page = (text, link) => ({ text, link })

export default defineConfig({
  title: 'Troupe',
  description:
    'Browser automation for AI agents: one MCP server, many isolated sessions, a Rust core',
  lastUpdated: false,
  vite: { plugins: [llmstxt()] },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      page('Clients', '/clients'),
      page('Tools', '/tools'),
      page('Configuration', '/configuration')
    ],
    sidebar: [
      {
        text: 'Use',
        items: [
          page('Clients', '/clients'),
          page('Command line', '/command-line'),
          page('Tools', '/tools'),
          page('Error codes', '/errors'),
          page('Configuration', '/configuration'),
          page('Browsers', '/browsers'),
          page('Cookbook', '/cookbook'),
          page('Migrating from @playwright/mcp', '/migrating-from-playwright-mcp'),
          page('Troubleshooting', '/troubleshooting')
        ]
      },
      {
        text: 'Features',
        items: [
          page('Sessions and resume', '/sessions'),
          page('The record', '/record'),
          page('The dashboard', '/dashboard'),
          page('Network rules', '/network'),
          page('Secrets', '/secrets'),
          page('Resources and prompts', '/resources-and-prompts'),
          page('Node API', '/node')
        ]
      },
      {
        text: 'Operate',
        items: [
          page('One server for many clients', '/http'),
          page('Operating a server', '/operations'),
          page('Reverse proxies', '/reverse-proxy'),
          page('Several servers', '/scaling'),
          page('Containers', '/docker'),
          page('Your own Chrome', '/your-browser'),
          page('Remote browsers', '/remote-browsers'),
          page('Platforms', '/platforms'),
          page('Upstream servers', '/upstream')
        ]
      },
      {
        text: 'Inside',
        items: [
          page('Architecture', '/architecture'),
          page('Benchmarks', '/benchmarks'),
          page('Performance log', '/internals/performance'),
          page('Token costs', '/tokens'),
          page('Clicks, step by step', '/internals/click'),
          page('Fast paths', '/internals/fast-paths'),
          page('Firefox notes', '/internals/firefox'),
          page('The Playwright set', '/internals/playwright-set'),
          page('Agent jobs', '/internals/agent-jobs'),
          page('MiniWoB++', '/internals/miniwob')
        ]
      }
    ]
  }
})
