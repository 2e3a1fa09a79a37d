// Seed 003, T-3, with as many conversations as a small machine can have at once without long waits; `npm run test:soak` has
// a hundred.
import { test } from 'node:test'
import { conversations } from '../support/conversations.mjs'

test(
  '20 conversations at once see only their own cookies, and leave nothing behind',
  { timeout: 120_000, skip: process.platform !== 'linux' },
  (t) => conversations(t, 20, 110)
)
