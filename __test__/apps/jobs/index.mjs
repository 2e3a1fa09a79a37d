// The jobs, for the tests and for `npm run bench`.
import { django } from './django.mjs'

/** @type {import('./agent.mjs').Job[]} */
export const JOBS = [django]
