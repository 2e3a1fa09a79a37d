/** Near matches for a target that names nothing: what the user may have meant. */
import type { Match } from "./api";
import { attr, normalize, queryAll } from "./dom";
import { shadowRoots } from "./css";
import { nameOf } from "./names";
import type { RefGiver } from "./refs";
import { roleOf } from "./roles";
import { describeElement } from "./snapshot";
import { isHiddenForAria } from "./styles";
import { parseRole, parseTarget } from "./targets";

const candidates = "a[href], button, input, select, textarea, summary, [role], [onclick], [tabindex], [contenteditable], h1, h2, h3, h4, label, img, [id], [data-testid]";
const mostCandidates = 1500;
const mostSuggestions = 5;

interface Wanted {
  role: string;
  words: string[];
}

/** The texts that a target speaks of: names, ids, classes. */
function wantedOf(target: string): Wanted {
  const wanted: Wanted = { role: "", words: [] };
  try {
    const parts = parseTarget(target);
    const part = [...parts].reverse().find(({ engine }) => engine !== "nth" && engine !== "visible") ?? parts[0];
    if (part.engine === "role") {
      const role = parseRole(part.body, target);
      wanted.role = role.role;
      if (role.name?.needle) wanted.words.push(role.name.needle);
    } else if (part.engine === "css" || part.engine === "xpath") {
      for (const match of part.body.matchAll(/["']([^"']+)["']|[#.]([\w-]+)|\[[\w-]+\s*[*^$~|]?=\s*([^\]"']+)\]/g)) wanted.words.push(match[1] ?? match[2] ?? match[3]);
      const tag = /^([a-z][\w-]*)$/i.exec(part.body);
      if (tag) wanted.words.push(tag[1]);
    } else wanted.words.push(part.body.replace(/^["'/]|["'/]\w*$/g, ""));
  } catch {
    // A target that cannot be read has failed before.
  }
  wanted.words = wanted.words.map((word) => simplify(word)).filter((word) => word !== "");
  return wanted;
}

const simplify = (text: string): string => normalize(text.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/[-_]+/g, " ")).toLowerCase();

/** How alike two texts are, 0 to 1: shared pairs of letters, and whether one holds the other. */
function likeness(left: string, right: string): number {
  if (left === "" || right === "") return 0;
  if (left === right) return 1;
  const shorter = Math.min(left.length, right.length);
  const longer = Math.max(left.length, right.length);
  if (shorter >= 3 && (left.includes(right) || right.includes(left))) return 0.6 + 0.35 * (shorter / longer);
  if (shorter < 2) return 0;
  const pairs = new Map<string, number>();
  for (let i = 0; i < left.length - 1; i++) {
    const pair = left.slice(i, i + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  let shared = 0;
  for (let i = 0; i < right.length - 1; i++) {
    const pair = right.slice(i, i + 2);
    const left = pairs.get(pair) ?? 0;
    if (left > 0) {
      pairs.set(pair, left - 1);
      shared++;
    }
  }
  return (2 * shared) / (left.length + right.length - 2);
}

export function nearMatches(target: string, refs: RefGiver): Match[] {
  const wanted = wantedOf(target);
  if (wanted.words.length === 0 && wanted.role === "") return [];
  const scored: { element: Element; score: number }[] = [];
  const elements: Element[] = [];
  for (const root of [document, ...shadowRoots(document)]) for (const element of queryAll(root, candidates)) elements.push(element);
  for (const element of elements.slice(0, mostCandidates)) {
    const role = roleOf(element);
    let score = 0;
    const labels = [nameOf(element, role), attr(element, "id"), attr(element, "data-testid"), attr(element, "name"), attr(element, "class"), attr(element, "placeholder")];
    for (const label of labels) {
      if (!label || label.length > 200) continue;
      for (const word of wanted.words) score = Math.max(score, likeness(word, simplify(label)));
    }
    if (wanted.role !== "") score = wanted.words.length === 0 ? (role === wanted.role ? 0.6 : 0) : role === wanted.role ? Math.max(score + 0.15, 0.4) : score * 0.9;
    else if (role === "generic") score *= 0.9;
    if (score >= 0.4) scored.push({ element, score });
  }
  scored.sort((left, right) => right.score - left.score);
  const found: Match[] = [];
  for (const { element } of scored) {
    if (isHiddenForAria(element)) continue;
    found.push({ ref: refs.of(element), description: describeElement(element, refs) });
    if (found.length === mostSuggestions) break;
  }
  return found;
}
