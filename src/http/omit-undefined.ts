/**
 * Copies an object without its undefined members. The copy fits types whose optional members may be absent, but not
 * undefined.
 */
export function omitUndefined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const kept: Partial<T> = {};
  // Each view of a pooled transaction calls this function. `Object.entries` would take most of the function's time.
  for (const name of Object.keys(members) as (keyof T)[]) {
    if (members[name] !== undefined) kept[name] = members[name];
  }
  return kept as { [K in keyof T]?: Exclude<T[K], undefined> };
}
