// A hundred conversations at once. `npm test` has 20.
import { test } from 'node:test'
import { conversations } from '../support/conversations.mjs'

test(
  'a hundred concurrent conversations see only their own cookies, and leave no process behind',
  { timeout: 600_000 },
  (t) => conversations(t, 100, 143)
)
