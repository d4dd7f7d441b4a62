/**
 * Decimal numbers of any size, exactly, and their sums: amounts that nobody signs may have fractions, signs and exponents. A
 * number stays as it is written and a sum has room for the places that are taken alone, so that neither `1e999999999` nor
 * millions of digits cost more than the text that they came as.
 */

/** A sign and `digits` times ten to the power of `exponent`. */
export interface Decimal {
  readonly isNegative: boolean;
  /** Without zeros before and behind; empty for 0. */
  readonly digits: string;
  readonly exponent: number;
}

export const ZERO: Decimal = { isNegative: false, digits: '', exponent: 0 };

/** Beyond so many places the reference's number library knows no number, and below none but zero. */
const REFERENCE_PLACES_MAX = 1_000_000_000;
/** Whole numbers of more digits have no use: amounts and weights have twenty. */
const WHOLE_DIGITS_MAX = 40;

const NUMBER = /^([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:e([+-]?[0-9]+))?$/i;

/**
 * The number that a text stands for: a sign, digits, a point, an exponent, blanks around it.
 *
 * @returns undefined for anything else
 */
export function decimalOf(text: string): Decimal | undefined {
  const parts = NUMBER.exec(text.trim());
  if (parts === null) return undefined;
  const [, sign = '', whole = '', fraction = '', bare = '', exponentText = '0'] = parts;
  const written = whole + fraction + bare;
  const first = zerosBefore(written);
  // The place of the first digit: 0 for units, 1 for tens.
  const place = whole.length + Number(exponentText) - first - 1;
  if (place > REFERENCE_PLACES_MAX) return undefined;
  if (first === written.length || place < -REFERENCE_PLACES_MAX) return ZERO;
  const digits = written.slice(first, written.length - zerosBehind(written));
  return { isNegative: sign === '-', digits, exponent: place - digits.length + 1 };
}

function zerosBefore(digits: string): number {
  let count = 0;
  while (digits[count] === '0') count += 1;
  return count;
}

function zerosBehind(digits: string): number {
  let count = 0;
  while (digits[digits.length - 1 - count] === '0') count += 1;
  return count;
}

/** The number as an integer; undefined when it has a fraction, or more than 40 digits. */
export function integerOf({ isNegative, digits, exponent }: Decimal): bigint | undefined {
  if (digits === '') return 0n;
  if (exponent < 0 || digits.length + exponent > WHOLE_DIGITS_MAX) return undefined;
  const magnitude = BigInt(digits + '0'.repeat(exponent));
  return isNegative ? -magnitude : magnitude;
}

/** Places of one piece of a sum: so many sums of pieces fit into a number of this runtime. */
const PIECE_PLACES = 14;
const PIECE = 10 ** PIECE_PLACES;
const TERMS_BEFORE_CARRY_MAX = 64;
/** Pieces that a whole number of 40 digits has. */
const WHOLE_PIECES_MAX = 3;

/** A sum that is made up step by step. */
export class DecimalSum {
  /** By the power of `PIECE` that it counts for: whole numbers of either sign. */
  #pieces = new Map<number, number>();
  #termsSinceCarry = 0;
  /** What came as integers. */
  #whole = 0n;

  addInteger(value: bigint): void {
    this.#whole += value;
  }

  add(number: Decimal): void {
    this.#add(number, number.isNegative ? -1 : 1);
  }

  subtract(number: Decimal): void {
    this.#add(number, number.isNegative ? 1 : -1);
  }

  /** The same sum, to be gone on with apart. */
  copy(): DecimalSum {
    const copy = new DecimalSum();
    copy.#pieces = new Map(this.#pieces);
    copy.#termsSinceCarry = this.#termsSinceCarry;
    copy.#whole = this.#whole;
    return copy;
  }

  /** The sum as an integer; undefined when it has a fraction, or some forty digits and more. */
  integer(): bigint | undefined {
    if (this.#pieces.size === 0) return this.#whole;
    const { sign, pieces } = this.#settled();
    let sum = 0n;
    for (const [index, piece] of pieces) {
      if (piece === 0) continue;
      if (index < 0 || index >= WHOLE_PIECES_MAX) return undefined;
      sum += BigInt(piece) * 10n ** BigInt(index * PIECE_PLACES);
    }
    return sign * sum;
  }

  /** -1n below zero, 1n above. */
  sign(): bigint {
    return this.#pieces.size === 0 ? signOf(this.#whole) : this.#settled().sign;
  }

  #add({ digits, exponent }: Decimal, sign: 1 | -1): void {
    if (digits === '') return;
    this.#termsSinceCarry += 1;
    if (this.#termsSinceCarry > TERMS_BEFORE_CARRY_MAX) {
      this.#pieces = carried(this.#pieces);
      this.#termsSinceCarry = 1;
    }
    // From the last digit on; places count from the units.
    for (let end = digits.length, place = exponent; end > 0;) {
      const index = Math.floor(place / PIECE_PLACES);
      const within = place - index * PIECE_PLACES;
      const start = Math.max(0, end - (PIECE_PLACES - within));
      const piece = sign * Number(digits.slice(start, end)) * 10 ** within;
      this.#pieces.set(index, (this.#pieces.get(index) ?? 0) + piece);
      place += end - start;
      end = start;
    }
  }

  /** The sign of the sum, and its magnitude in pieces from 0 to `PIECE` - 1, lowest first. */
  #settled(): { sign: bigint; pieces: [number, number][] } {
    const all = new Map(this.#pieces);
    for (let index = 0, rest = this.#whole; rest !== 0n; index += 1, rest /= BigInt(PIECE)) {
      all.set(index, (all.get(index) ?? 0) + Number(rest % BigInt(PIECE)));
    }
    const signed = [...carried(all)].filter(([, piece]) => piece !== 0);
    // All that is below the highest piece is less than one of its units.
    const sign = Math.sign(signed.at(-1)?.[1] ?? 0);
    return { sign: BigInt(sign), pieces: borrowed(signed.map(([index, piece]) => [index, sign * piece])) };
  }
}

/** Pieces below `PIECE` in magnitude, in ascending order. */
function carried(pieces: ReadonlyMap<number, number>): Map<number, number> {
  const result = new Map<number, number>();
  let carry = { index: 0, piece: 0 };
  const take = (index: number, value: number): void => {
    const over = Math.trunc(value / PIECE);
    result.set(index, value - over * PIECE);
    carry = { index: index + 1, piece: over };
  };
  for (const [index, piece] of [...pieces].sort(([a], [b]) => a - b)) {
    if (carry.piece !== 0 && carry.index < index) take(carry.index, carry.piece);
    take(index, piece + (carry.index === index ? carry.piece : 0));
  }
  if (carry.piece !== 0) take(carry.index, carry.piece);
  return result;
}

/** Pieces of a sum that is not negative, none of them negative. A gap that is borrowed over is told by its lowest piece. */
function borrowed(pieces: readonly [number, number][]): [number, number][] {
  const result: [number, number][] = [];
  let owedBy: number | undefined;
  for (const [index, piece] of pieces) {
    let value = piece;
    if (owedBy !== undefined) {
      // All pieces between are nines; few of them are told apart, as a number that has more is too large anyway.
      for (let gap = owedBy; gap < index && gap < owedBy + WHOLE_PIECES_MAX + 1; gap += 1)
        result.push([gap, PIECE - 1]);
      value -= 1;
    }
    owedBy = value < 0 ? index + 1 : undefined;
    result.push([index, value < 0 ? value + PIECE : value]);
  }
  return result;
}

function signOf(value: bigint): bigint {
  if (value === 0n) return 0n;
  return value < 0n ? -1n : 1n;
}
