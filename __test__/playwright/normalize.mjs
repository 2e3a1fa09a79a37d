// Removes what differs between two runs of the same server from results and files.

/** Replacements in every text, in order. */
const VARYING = [
  // Names of files in the output directory.
  [/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z/g, '{time}'],
  // Times since the start of a console log.
  [/^\[ *-?\d+ms\]/gm, '[{ms}]'],
  [/( {4}duration: +)\d+ms/g, '$1{ms}'],
  // Troupe gets more time, because its failing actions are few and its others must not fail.
  [/\bTimeout \d+ms exceeded/g, 'Timeout {ms}ms exceeded'],
  // Response headers.
  [/\b(date: )\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/gi, '$1{date}'],
  // Versions of the browser.
  [/\b((?:Headless)?Chrome|AppleWebKit|Safari)\/[\d.]+/g, '$1/{version}'],
  [/;v="\d+"/g, ';v="{version}"'],
  // Expiry times of cookies, in seconds.
  [/("expires": )\d{10,}(\.\d+)?/g, '$1{expiry}']
]

/**
 * Returns `text` without ports, paths and times.
 * @param {string} text
 * @param {{ port: number, directory: string }} run
 */
export function normalize(text, { port, directory }) {
  let normal = text.replaceAll(directory, '{directory}').replaceAll(`:${port}`, ':{port}')
  for (const [pattern, replacement] of VARYING)
    normal = normal.replace(pattern, String(replacement))
  return normal.replace(/(?<=^Call log:\n)(.+\n)*/m, (log) => withoutRetries(log))
}

/**
 * Returns a call log with each line once, because the number of retries depends on the time.
 * @param {string} log
 */
function withoutRetries(log) {
  const lines = log
    .split('\n')
    .map((line) => line.replace(/^(\S*m)? +(\d+ × |- )?/, '$1'))
    .filter((line) => !/waiting \d+ms|retrying/.test(line))
  return [...new Set(lines)].join('\n')
}
