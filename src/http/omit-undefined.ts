/**
 * Copies an object without its undefined members. The copy fits types whose optional members can be absent, but cannot
 * have the value undefined.
 */
export function omitUndefined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const kept: Partial<T> = {};
  // The loop does not use `Object.entries`, which would take most of the function's time. The time matters, because
  // each view of a pooled transaction calls this function.
  for (const name of Object.keys(members) as (keyof T)[]) {
    if (members[name] !== undefined) kept[name] = members[name];
  }
  return kept as { [K in keyof T]?: Exclude<T[K], undefined> };
}
