/** State that outlives a browser: form fields, storage, refs. */
import type { Done, FormState, RefsState, RestoreFormResult, RestoreRefsResult, StorageState } from "./api";
import { queryAll } from "./dom";
import { shadowRoots } from "./css";
import { nameOf } from "./names";
import { pathOf } from "./path";
import { claimRef, connectedRefs } from "./refs";
import { roleOf } from "./roles";
import { findAll } from "./targets";

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

const unsaved = /^(password|file|hidden|submit|button|reset|image)$/;

/** What a user entered and has not sent: fields that differ from their defaults, passwords never. */
export function formState(): FormState {
  const fields: FormState["fields"] = [];
  for (const root of [document, ...shadowRoots(document)]) {
    for (const field of queryAll(root, "input, textarea, select") as NodeListOf<Field>) {
      if (field instanceof HTMLSelectElement) {
        const options = Array.from(field.options);
        if (options.some((option) => option.selected !== option.defaultSelected)) fields.push({ path: pathOf(field), selected: options.flatMap((option, index) => (option.selected ? [index] : [])) });
      } else if (field instanceof HTMLInputElement && (field.type === "checkbox" || field.type === "radio")) {
        if (field.checked !== field.defaultChecked) fields.push({ path: pathOf(field), checked: field.checked });
      } else if (!(field instanceof HTMLInputElement && unsaved.test(field.type)) && field.value !== field.defaultValue) {
        fields.push({ path: pathOf(field), value: field.value });
      }
    }
  }
  return { url: location.href, scroll: { x: Math.round(scrollX), y: Math.round(scrollY) }, fields };
}

function findPath(path: string): Element | null {
  try {
    const found = findAll(path);
    return found.length === 1 ? found[0] : null;
  } catch {
    return null;
  }
}

export function restoreForm(state: FormState): RestoreFormResult {
  let restored = 0;
  for (const saved of state.fields) {
    const field = findPath(saved.path) as Field | null;
    if (!field) continue;
    if (saved.selected !== undefined && field instanceof HTMLSelectElement) {
      Array.from(field.options).forEach((option, index) => (option.selected = saved.selected!.includes(index)));
    } else if (saved.checked !== undefined && field instanceof HTMLInputElement) field.checked = saved.checked;
    else if (saved.value !== undefined && !(field instanceof HTMLInputElement && unsaved.test(field.type))) field.value = saved.value;
    else continue;
    field.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
    restored++;
  }
  scrollTo({ left: state.scroll.x, top: state.scroll.y, behavior: "instant" as ScrollBehavior });
  return { restored, missing: state.fields.length - restored };
}

function entries(read: () => Storage): Record<string, string> {
  try {
    const storage = read();
    const found: Record<string, string> = {};
    for (let i = 0; i < storage.length; i++) {
      const key = storage.key(i);
      if (key !== null) found[key] = storage.getItem(key) ?? "";
    }
    return found;
  } catch {
    // An opaque origin has no storage.
    return {};
  }
}

export const storage = (): StorageState => ({ origin: location.origin, localStorage: entries(() => localStorage), sessionStorage: entries(() => sessionStorage) });

export function restoreStorage(state: StorageState): Done {
  for (const [key, value] of Object.entries(state.localStorage ?? {})) localStorage.setItem(key, value);
  for (const [key, value] of Object.entries(state.sessionStorage ?? {})) sessionStorage.setItem(key, value);
  return { done: true };
}

export function refsState(): RefsState {
  return {
    refs: Array.from(connectedRefs(), ([ref, element]) => {
      const role = roleOf(element);
      return { ref, role, name: nameOf(element, role), path: pathOf(element) };
    }),
  };
}

/** A ref comes back where exactly one element of its role and name stands at its path. */
export function restoreRefs(state: RefsState): RestoreRefsResult {
  const result: RestoreRefsResult = { restored: [], stale: [] };
  for (const { ref, role, name, path } of state.refs) {
    const element = findPath(path);
    const same = element !== null && roleOf(element) === role && nameOf(element, role) === name;
    if (same && claimRef(ref, element)) result.restored.push(ref);
    else result.stale.push(ref);
  }
  return result;
}
