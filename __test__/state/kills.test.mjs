// Kills the server or the browser at random moments while calls run. `__test__/soak` does so more
// often.
import { test } from 'node:test'
import { killRounds } from '../support/kills.mjs'

const skip = process.platform !== 'linux'

test(
  'a session is restored after each of six crashes of its server',
  { skip, timeout: 120_000 },
  (t) => killRounds(t, 'server', 6)
)
test(
  'a session is restored after each of four crashes of its browser',
  { skip, timeout: 120_000 },
  (t) => killRounds(t, 'browser', 4)
)
