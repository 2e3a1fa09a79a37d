// Kills the server a hundred times, and the browser a hundred times (`npm run test:soak`). `npm
// test` does it a few times.
import { test } from 'node:test'
import { killRounds } from '../support/kills.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 100)

test(
  `a session is restored after each of ${ROUNDS} crashes of its server`,
  { timeout: 3_600_000 },
  (t) => killRounds(t, 'server', ROUNDS)
)
test(
  `a session is restored after each of ${ROUNDS} crashes of its browser`,
  { timeout: 3_600_000 },
  (t) => killRounds(t, 'browser', ROUNDS)
)
