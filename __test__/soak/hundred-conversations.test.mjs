// Seed 003, T-3, as it is written: a hundred conversations at once. `npm test` has a few.
import { test } from 'node:test'
import { conversations } from '../support/conversations.mjs'

test('a hundred conversations at once', { timeout: 600_000 }, (t) => conversations(t, 100, 143))
