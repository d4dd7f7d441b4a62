/**
 * Copies an object without its undefined members. The copy has a type whose optional members can be absent, but cannot
 * have the value undefined.
 */
export function omitUndefined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const kept: Partial<T> = {};
  // The loop does not use `Object.entries`, which would take most of the function's time. The function must be fast,
  // because the node calls it for each transaction of the pool that an answer shows.
  for (const name of Object.keys(members) as (keyof T)[]) {
    if (members[name] !== undefined) kept[name] = members[name];
  }
  return kept as { [K in keyof T]?: Exclude<T[K], undefined> };
}
