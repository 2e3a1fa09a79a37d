// The jobs, for the tests and for `npm run bench`.
import { django } from './django.mjs'
import { nodeRed } from './node-red.mjs'
import { streamlit } from './streamlit.mjs'

/** @type {import('./agent.mjs').Job[]} */
export const JOBS = [django, nodeRed, streamlit]
