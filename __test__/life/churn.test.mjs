// Short sessions leave no resources behind. `npm run test:soak` makes twenty thousand calls.
import { test } from 'node:test'
import { churn } from '../support/churn.mjs'

test(
  'six hundred calls on short sessions leave no resources behind',
  { timeout: 120_000, skip: process.platform !== 'linux' },
  (t) => churn(t, { calls: 600, sessions: 6, growth: 20 })
)
