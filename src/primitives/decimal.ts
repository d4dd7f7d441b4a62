/**
 * Parses decimal numbers without rounding (`Decimal`), and computes sums of decimal numbers (`DecimalSum`). The node
 * uses decimal numbers mainly for amounts that the signature of the transaction does not cover (see `countedAmount` in
 * `protocol/tx/amounts.ts`). The JSON text of such an amount can have a fraction, a sign and an exponent. A `Decimal`
 * stores the sign, the digits and the exponent. The number `1e999999999` therefore takes only a few bytes of memory. A
 * `DecimalSum` of `1e999999999` and 1 takes little memory, too, because the sum does not store the zeros between the
 * digits of the two numbers. Computing the value of a sum takes about 4 ms for each million digits in all terms
 * together.
 */

import { assert } from './errors.ts';

/** A decimal number: a sign, and `digits` times ten to the power of `exponent`. */
export interface Decimal {
  readonly isNegative: boolean;
  /** Digits without leading and trailing zeros; empty for 0. */
  readonly digits: string;
  readonly exponent: number;
}

export const ZERO: Decimal = { isNegative: false, digits: '', exponent: 0 };

/**
 * The number library of lisk-sdk limits the decimal place of the first non-zero digit of a number. Units are place 0,
 * tens are place 1, and tenths are place -1. This constant is the highest place that the library accepts. If the first
 * non-zero digit of a number is at a higher place, the library refuses the number. If this digit is at a place below
 * the negative of this constant, the library treats the number as zero.
 */
const REFERENCE_PLACES_MAX = 1_000_000_000;
/**
 * Maximum number of digits of an integer that `integerOf` returns. Larger integers are not needed, because amounts and
 * weights have about twenty digits.
 */
const WHOLE_DIGITS_MAX = 40;

const NUMBER = /^([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:e([+-]?[0-9]+))?$/i;

/**
 * Reads a decimal number. The text can have a sign, a point, an exponent, and blanks around the number.
 *
 * @returns undefined for any other text, and for a number that the number library of lisk-sdk refuses: a number that is
 *   too large (`REFERENCE_PLACES_MAX`), or a zero whose exponent is too large. For a number that the library treats as
 *   zero, the result is `ZERO`
 */
export function decimalOf(text: string): Decimal | undefined {
  const parts = NUMBER.exec(text.trim());
  if (parts === null) return undefined;
  const [, sign = '', whole = '', fraction = '', bare = '', exponentText = '0'] = parts;
  const written = whole + fraction + bare;
  const first = zerosBefore(written);
  // `place` is the decimal place of the first digit other than 0.
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

/** Returns the number as an integer; undefined if the number has a fraction or more than 40 digits. */
export function integerOf({ isNegative, digits, exponent }: Decimal): bigint | undefined {
  if (digits === '') return 0n;
  if (exponent < 0 || digits.length + exponent > WHOLE_DIGITS_MAX) return undefined;
  const magnitude = BigInt(digits + '0'.repeat(exponent));
  return isNegative ? -magnitude : magnitude;
}

/**
 * Number of decimal digits in a limb. A limb is a group of neighbouring digits of a number. Sums are computed limb by
 * limb, and each limb is a JavaScript number.
 */
const LIMB_PLACES = 12;
const LIMB = 10 ** LIMB_PLACES;
/**
 * Maximum number of decimal terms in a sum. The decimal terms are the values of the type `Decimal` that the methods
 * `add` and `subtract` of `DecimalSum` have received; a value of 0 does not count. 8,000 limbs of 12 digits add up to
 * less than 2^53, so each JavaScript number is exact. A block of 25 transactions adds at most 25 decimal terms to a
 * sum.
 */
const TERMS_MAX = 8_000;
/**
 * Maximum number of limbs of the integer that `DecimalSum.integer` returns for a sum with decimal terms. Four limbs
 * hold 48 digits.
 */
const WHOLE_LIMBS_MAX = 4;

/** A group of neighbouring limbs of one number. */
interface Limbs {
  /** The limb `values[index]` counts units of `LIMB ** (base + index)`. */
  readonly base: number;
  readonly values: Float64Array;
}

/**
 * A sum to which terms are added one by one. The sum adds an integer immediately. The sum stores decimal terms, and
 * adds the decimal terms only when a caller reads the value of the sum.
 */
export class DecimalSum {
  #terms: { readonly number: Decimal; readonly sign: number }[] = [];
  /** Sum of the values that `addInteger` received. */
  #whole = 0n;

  addInteger(value: bigint): void {
    this.#whole += value;
  }

  add(number: Decimal): void {
    this.#add(number, 1);
  }

  subtract(number: Decimal): void {
    this.#add(number, -1);
  }

  /** Returns an independent copy of the sum. */
  copy(): DecimalSum {
    const copy = new DecimalSum();
    copy.#terms = [...this.#terms];
    copy.#whole = this.#whole;
    return copy;
  }

  /**
   * Returns the sum as an integer; undefined if the sum is not a whole number. For a sum with decimal terms, the result
   * is also undefined if the integer has more than 48 digits (`WHOLE_LIMBS_MAX`).
   */
  integer(): bigint | undefined {
    if (this.#terms.length === 0) return this.#whole;
    const runs = this.#carried();
    const sign = signOf(runs);
    const limbs = wholeLimbs(runs, sign);
    if (limbs === undefined) return undefined;
    return BigInt(sign) * limbs.reduceRight((sum, limb) => sum * BigInt(LIMB) + BigInt(limb), 0n);
  }

  /** Returns -1 for a sum below zero, 1 for a sum above zero, and 0 for a sum of zero. */
  sign(): number {
    if (this.#terms.length > 0) return signOf(this.#carried());
    return this.#whole === 0n ? 0 : this.#whole < 0n ? -1 : 1;
  }

  #add(number: Decimal, sign: number): void {
    if (number.digits === '') return;
    assert(this.#terms.length < TERMS_MAX, 'a sum has at most 8,000 decimal terms');
    this.#terms.push({ number, sign: number.isNegative ? -sign : sign });
  }

  /**
   * Adds all decimal terms (`#terms`) to the sum of all integer terms (`#whole`). The result is a list of runs, lowest
   * first. A run is a group of neighbouring limbs. The magnitude of each limb is below `LIMB`, and a limb can be
   * negative.
   */
  #carried(): Limbs[] {
    const whole = decimalOf(this.#whole.toString()) ?? ZERO;
    const terms = [...this.#terms, { number: whole, sign: whole.isNegative ? -1 : 1 }]
      .filter(({ number }) => number.digits !== '')
      .map(({ number, sign }) => ({ ...limbsOf(number), sign }))
      .sort((a, b) => a.base - b.base);
    const runs: Limbs[] = [];
    for (let from = 0; from < terms.length;) {
      const { base } = terms[from] as (typeof terms)[number];
      let end = base;
      let to = from;
      for (let next = terms[to]; next !== undefined && next.base <= end; next = terms[to]) {
        end = Math.max(end, next.base + next.values.length);
        to += 1;
      }
      const values = new Float64Array(end - base);
      for (const term of terms.slice(from, to)) {
        const at = term.base - base;
        for (let index = 0; index < term.values.length; index += 1) {
          values[at + index] = (values[at + index] ?? 0) + term.sign * (term.values[index] ?? 0);
        }
      }
      runs.push({ base, values });
      from = to;
    }
    return carry(runs);
  }
}

/**
 * Caches the limbs of each number that was added to a sum, for later sums with this number. The node adds each number
 * of a transaction to several sums before the block of the transaction is in the chain.
 */
const known = new WeakMap<Decimal, Limbs>();

function limbsOf(number: Decimal): Limbs {
  const kept = known.get(number);
  if (kept !== undefined) return kept;
  const { digits, exponent } = number;
  const base = Math.floor(exponent / LIMB_PLACES);
  const within = exponent - base * LIMB_PLACES;
  const values = new Float64Array(Math.ceil((digits.length + within) / LIMB_PLACES));
  // The loop starts at the last digit, because the exponent decides how many digits of the number the lowest limb
  // contains.
  for (let index = 0, end = digits.length; end > 0; index += 1) {
    const shift = index === 0 ? within : 0;
    const start = Math.max(0, end - (LIMB_PLACES - shift));
    values[index] = Number(digits.slice(start, end)) * 10 ** shift;
    end = start;
  }
  const limbs = { base, values };
  known.set(number, limbs);
  return limbs;
}

/**
 * Carries the multiples of `LIMB` in each limb over to the next limb.
 *
 * @param runs runs in ascending order; the function changes them in place
 */
function carry(runs: readonly Limbs[]): Limbs[] {
  const result: Limbs[] = [];
  let over = 0;
  for (const [at, run] of runs.entries()) {
    const { base, values } = run;
    for (let index = 0; index < values.length; index += 1) {
      const value = (values[index] ?? 0) + over;
      over = Math.trunc(value / LIMB);
      values[index] = value - over * LIMB;
    }
    result.push(run);
    const end = base + values.length;
    if (over === 0 || runs[at + 1]?.base === end) continue;
    result.push({ base: end, values: Float64Array.of(over) });
    over = 0;
  }
  return result;
}

/**
 * The sign of a sum is the sign of its highest limb other than 0. All lower limbs together are less than one unit of
 * this limb.
 */
function signOf(runs: readonly Limbs[]): number {
  for (const { values } of runs.toReversed()) {
    for (let index = values.length - 1; index >= 0; index -= 1) {
      const value = values[index] ?? 0;
      if (value !== 0) return Math.sign(value);
    }
  }
  return 0;
}

/**
 * The magnitude of a sum, as limbs with values from 0 to `LIMB` - 1, lowest first. The result has `WHOLE_LIMBS_MAX`
 * limbs.
 *
 * @param runs result of `carry`
 * @param sign result of `signOf` for these runs
 * @returns undefined for a sum with a fraction, and for a sum with more than `WHOLE_LIMBS_MAX` limbs
 */
function wholeLimbs(runs: readonly Limbs[], sign: number): readonly number[] | undefined {
  const whole = new Array<number>(WHOLE_LIMBS_MAX).fill(0);
  const take = (index: number, limb: number): boolean => {
    if (limb === 0) return true;
    if (index < 0 || index >= WHOLE_LIMBS_MAX) return false;
    whole[index] = limb;
    return true;
  };
  let owed = 0;
  let end = 0;
  for (const { base, values } of runs) {
    // A run (an element of `runs`) with a negative remainder borrows one unit from the next run. The digits in the gap
    // between the two runs are zeros, so the subtraction changes these zeros to nines.
    if (owed > 0) for (; end < base; end += 1) if (!take(end, LIMB - 1)) return undefined;
    for (let index = 0; index < values.length; index += 1) {
      const value = sign * (values[index] ?? 0) - owed;
      owed = value < 0 ? 1 : 0;
      if (!take(base + index, value + owed * LIMB)) return undefined;
    }
    end = base + values.length;
  }
  return whole;
}
