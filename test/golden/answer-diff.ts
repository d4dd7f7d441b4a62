/** Finds the differences between two answers, and decides which ones are allowed. */

export interface Difference {
  /** Path such as `data.3.height`. */
  readonly path: string;
  /** `added`: only our answer has the member. `missing`: only the recorded answer has the member. */
  readonly kind: 'added' | 'missing' | 'changed';
  readonly recorded: unknown;
  readonly ours: unknown;
}

export function differencesOf(recorded: unknown, ours: unknown, path = ''): readonly Difference[] {
  if (Object.is(recorded, ours)) return [];
  if (isObject(recorded) && isObject(ours) && Array.isArray(recorded) === Array.isArray(ours)) {
    const names = new Set([...Object.keys(recorded), ...Object.keys(ours)]);
    return [...names].flatMap((name) => {
      const at = path === '' ? name : `${path}.${name}`;
      const [left, right] = [recorded[name], ours[name]];
      if (!Object.hasOwn(recorded, name))
        return [{ path: at, kind: 'added', recorded: undefined, ours: right } as const];
      if (!Object.hasOwn(ours, name)) return [{ path: at, kind: 'missing', recorded: left, ours: undefined } as const];
      return differencesOf(left, right, at);
    });
  }
  return [{ path, kind: 'changed', recorded, ours }];
}

/**
 * An allowed difference. `path` must match. `url`, `method` and `kind` must also match if the allowance contains them.
 */
export interface Allowance {
  readonly reason: string;
  /** True if the allowance does not apply to `http.strictDialect`, for example for a member that lisk-sdk nodes lack. */
  readonly isExtendedOnly?: true;
  readonly url?: RegExp;
  readonly method?: string;
  readonly path: RegExp;
  readonly kind?: Difference['kind'];
}

export function isAllowed(
  allowances: readonly Allowance[],
  { method, url }: { readonly method: string; readonly url: string },
  { path, kind }: Difference,
): boolean {
  return allowances.some(
    (allowance) =>
      (allowance.method === undefined || allowance.method === method) &&
      (allowance.url === undefined || allowance.url.test(url)) &&
      (allowance.kind === undefined || allowance.kind === kind) &&
      allowance.path.test(path),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
