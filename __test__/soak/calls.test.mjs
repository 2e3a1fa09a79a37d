// Twenty thousand calls on fifty short sessions. `npm test` makes a few hundred.
import { test } from 'node:test'
import { churn } from '../support/churn.mjs'

test(
  'twenty thousand calls leave no resources behind',
  { timeout: 3_600_000, skip: process.platform !== 'linux' },
  (t) => churn(t, { calls: 20_000, sessions: 50, growth: 12 })
)
