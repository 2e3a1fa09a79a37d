// Conversations with real upstream servers: as many at once as the machine holds. `npm test` has
// two.
import { freemem } from 'node:os'
import { test } from 'node:test'
import { realConversations } from '../upstream/real.mjs'

/**
 * The memory of one session: Node with @playwright/mcp, and a Chromium with a page. The test uses
 * half of the free memory.
 */
const MIB_EACH = 300
const count = Math.min(100, Math.floor(freemem() / 2 ** 20 / 2 / MIB_EACH))

test(
  `${count} concurrent conversations, each with its own @playwright/mcp, see only their own cookies`,
  { timeout: 1_800_000 },
  (t) => realConversations(t, count)
)
