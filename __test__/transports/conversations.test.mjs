// As many concurrent clients as a small machine can serve without long waits. `npm run test:soak`
// has a hundred.
import { test } from 'node:test'
import { conversations } from '../support/conversations.mjs'

test(
  '20 concurrent clients see only their own cookies, and leave no sessions behind',
  { timeout: 120_000, skip: process.platform !== 'linux' },
  (t) => conversations(t, 20, 110)
)
