/**
 * Describes the shape of data that came from a process that the node does not trust. The data have passed a structured
 * clone, so their objects have no getters and no methods.
 */

/**
 * Checks a value.
 *
 * @returns undefined if the value fits; otherwise the path to the first member that does not fit. The path is empty if
 *   the value itself does not fit
 */
export type Shape = (value: unknown) => string | undefined;

/** @param charsMax maximum number of UTF-16 code units */
export function text(charsMax: number, pattern?: RegExp): Shape {
  return shapeOf(
    (value) => typeof value === 'string' && value.length <= charsMax && (pattern === undefined || pattern.test(value)),
  );
}

/** An integer from `min` to `max`, both included. */
export function integer(min: number, max: number): Shape {
  return shapeOf((value) => typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max);
}

export const FINITE: Shape = shapeOf(Number.isFinite);
export const FLAG: Shape = shapeOf((value) => typeof value === 'boolean');

export function oneOf(values: readonly unknown[]): Shape {
  return shapeOf((value) => values.includes(value));
}

/** @param bytesMax maximum number of bytes */
export function bytes(bytesMax: number): Shape {
  return shapeOf((value) => value instanceof Uint8Array && value.length <= bytesMax);
}

export function optional(shape: Shape): Shape {
  return (value) => (value === undefined ? undefined : shape(value));
}

/** @param lengthMax maximum number of entries. A longer list is refused before its entries are read. */
export function list(entry: Shape, lengthMax: number): Shape {
  return (value) => {
    if (!Array.isArray(value) || value.length > lengthMax) return '';
    for (let at = 0; at < value.length; at += 1) {
      const wrong = entry(value[at]);
      if (wrong !== undefined) return `[${at}]${wrong}`;
    }
    return undefined;
  };
}

/** A list with one entry per shape. An entry whose shape is optional can be missing at the end. */
export function tuple(entries: readonly Shape[]): Shape {
  return (value) => {
    if (!Array.isArray(value) || value.length > entries.length) return '';
    for (const [at, entry] of entries.entries()) {
      const wrong = entry(value[at]);
      if (wrong !== undefined) return `[${at}]${wrong}`;
    }
    return undefined;
  };
}

/** A plain object that has these members and no others. A member whose shape is optional can be missing. */
export function record<T extends object>(members: { readonly [Name in keyof T]-?: Shape }): Shape {
  const entries = Object.entries<Shape>(members);
  return (value) => {
    if (!isRecord(value)) return '';
    let known = 0;
    for (const [name, shape] of entries) {
      const wrong = shape(value[name]);
      if (wrong !== undefined) return `.${name}${wrong}`;
      if (Object.hasOwn(value, name)) known += 1;
    }
    return Object.keys(value).length === known ? undefined : '.(unknown member)';
  };
}

/**
 * A plain object with any names, whose values are neither objects nor functions.
 *
 * @param sizeMax maximum number of characters of all names and texts together, plus the number of members
 */
export function flatRecord(sizeMax: number): Shape {
  return shapeOf((value) => {
    if (!isRecord(value)) return false;
    let size = 0;
    for (const [name, member] of Object.entries(value)) {
      if (typeof member === 'object' && member !== null) return false;
      size += 1 + name.length + (typeof member === 'string' ? member.length : 0);
    }
    return size <= sizeMax;
  });
}

/**
 * Data that JSON can express, and undefined. The size counts each value, and each character of names and texts. The
 * check is a loop, because a client can nest the body of its request as deeply as the size of the body allows.
 */
export function plainData(sizeMax: number): Shape {
  return shapeOf((value) => {
    const open: unknown[] = [value];
    for (let left = sizeMax; open.length > 0; left -= 1) {
      const each = open.pop();
      if (typeof each === 'string') left -= each.length;
      else if (typeof each === 'object' && each !== null) {
        // The loop does not copy a list that is too long, because a list of 4 billion holes is a message of a few
        // bytes.
        if (Array.isArray(each) ? each.length > left : !isRecord(each)) return false;
        for (const [name, member] of Object.entries(each)) {
          left -= Array.isArray(each) ? 0 : name.length;
          open.push(member);
        }
      } else if (typeof each === 'bigint' || typeof each === 'symbol' || typeof each === 'function') return false;
      if (left < open.length) return false;
    }
    return true;
  });
}

/** True for an object that is neither a list nor an object of a class, such as a `Map` or a `Date`. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function shapeOf(fits: (value: unknown) => boolean): Shape {
  return (value) => (fits(value) ? undefined : '');
}
