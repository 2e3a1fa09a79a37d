// Measures a new session with a page: from nothing, and from a browser context that was created in
// advance.

/**
 * @param {(...flags: string[]) => import('./stdio-client.mjs').StdioClient} start Troupe
 * @param {import('./floor.mjs').FloorClient | undefined} bare
 * @param {number} rounds
 * @returns {Promise<{ session: number[], sessionWarm: number[], floor: number[] }>} milliseconds
 */
export async function sessionTimes(start, bare, rounds) {
  const servers = { session: start(), sessionWarm: start('--warm-contexts', '1') }
  /** @type {{ session: number[], sessionWarm: number[], floor: number[] }} */
  const times = { session: [], sessionWarm: [], floor: [] }
  try {
    await bare?.initialize()
    for (const client of Object.values(servers)) {
      await client.initialize()
      // Wait until the browser runs.
      await client.call('navigate', { url: 'about:blank' })
    }
    for (let round = 0; round <= rounds * 3; round++) {
      const keep = (id, begun) => round > 0 && times[id].push(performance.now() - begun)
      for (const [id, client] of Object.entries(servers)) {
        const begun = performance.now()
        const { structuredContent } = await client.call('create_session', {})
        keep(id, begun)
        await client.call('close_session', { sessionId: structuredContent.sessionId })
      }
      if (bare) {
        const begun = performance.now()
        const close = await bare.createSession()
        keep('floor', begun)
        await close()
      }
      // Wait until the next context is created, which no event reports.
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  } finally {
    await Promise.all([...Object.values(servers).map((client) => client.close()), bare?.close()])
  }
  return times
}
