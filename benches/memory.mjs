import { spawn } from 'node:child_process'
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'

/**
 * Returns the memory of a server in MiB: the proportional set size of its process and its
 * descendants, without browsers. Linux only.
 * @param {number} pid
 */
export function serverMemory(pid) {
  const children = childrenByParent()
  const total = (process) =>
    pss(process) +
    (children.get(process) ?? []).filter(isServer).reduce((sum, child) => sum + total(child), 0)
  return total(pid) / 1024
}

/** Returns the memory of an idle Node process in MiB. */
export async function nodeMemory() {
  const node = spawn(process.execPath, ['-e', 'console.log(); setInterval(() => {}, 1e6)'])
  await new Promise((resolve) => node.stdout.once('data', resolve))
  const memory = serverMemory(/** @type {number} */ (node.pid))
  node.kill()
  return memory
}

/** @returns {Map<number, number[]>} */
function childrenByParent() {
  const children = new Map()
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = read(`/proc/${pid}/stat`)
    // "pid (name, which may contain any character) state parent …"
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    children.set(parent, [...(children.get(parent) ?? []), Number(pid)])
  }
  return children
}

/** @param {number} pid */
function isServer(pid) {
  try {
    return !/chrom|headless/.test(readlinkSync(`/proc/${pid}/exe`))
  } catch {
    return false
  }
}

/** Returns the proportional set size of a process in KiB. @param {number} pid */
function pss(pid) {
  return Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0)
}

/** @param {string} path */
function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
