/** Decimal numbers of any size, exactly: amounts that nobody signs may have fractions, signs and exponents. */

/** `digits` divided by ten to the power of `scale`. */
export interface Decimal {
  readonly digits: bigint;
  /** 0 or more. */
  readonly scale: number;
}

export const ZERO: Decimal = { digits: 0n, scale: 0 };

/** Digits between the zeros of a number, and places from the first one to the point: arithmetic on longer ones would take seconds. */
const DIGITS_MAX = 1_000;
const PLACES_MAX = 1_000;
/** Beyond so many places the reference's number library knows no number, and below none but zero. */
const REFERENCE_PLACES_MAX = 1_000_000_000;

const NUMBER = /^([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:e([+-]?[0-9]+))?$/i;

/**
 * The number that a text stands for: a sign, digits, a point, an exponent, blanks around it.
 *
 * @returns undefined for anything else, and beyond 1,000 digits between the zeros or 1,000 places from the first digit to the point
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
  const significant = written.slice(first, written.length - zerosBehind(written));
  if (significant.length > DIGITS_MAX || Math.abs(place) > PLACES_MAX) return undefined;
  const magnitude = BigInt(significant);
  const digits = sign === '-' ? -magnitude : magnitude;
  const scale = significant.length - 1 - place;
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
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

export function decimalOfInteger(digits: bigint): Decimal {
  return { digits, scale: 0 };
}

export function sum(a: Decimal, b: Decimal): Decimal {
  if (a.scale === b.scale) return shortest({ digits: a.digits + b.digits, scale: a.scale });
  const scale = Math.max(a.scale, b.scale);
  return shortest({ digits: scaled(a, scale) + scaled(b, scale), scale });
}

export function negated({ digits, scale }: Decimal): Decimal {
  return { digits: -digits, scale };
}

/** True when `a` is less than `b`. */
export function isLess(a: Decimal, b: Decimal): boolean {
  const scale = Math.max(a.scale, b.scale);
  return scaled(a, scale) < scaled(b, scale);
}

/** The largest integer that is not above the number. */
export function wholeOf({ digits, scale }: Decimal): bigint {
  if (scale === 0) return digits;
  const unit = 10n ** BigInt(scale);
  const whole = digits / unit;
  return digits < 0n && whole * unit !== digits ? whole - 1n : whole;
}

/** The number as an integer, undefined when it has a fraction. */
export function integerOf({ digits, scale }: Decimal): bigint | undefined {
  return scale === 0 ? digits : undefined;
}

/** Decimal text without exponent. */
export function textOfDecimal({ digits, scale }: Decimal): string {
  if (scale === 0) return digits.toString();
  const magnitude = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0');
  return `${digits < 0n ? '-' : ''}${magnitude.slice(0, -scale)}.${magnitude.slice(-scale)}`;
}

function scaled({ digits, scale }: Decimal, to: number): bigint {
  return to === scale ? digits : digits * 10n ** BigInt(to - scale);
}

/** The same number without zeros at the end of its fraction, so that a number without fraction has scale 0. */
function shortest({ digits, scale }: Decimal): Decimal {
  if (scale === 0) return { digits, scale };
  let rest = digits;
  let places = scale;
  while (places > 0 && rest % 10n === 0n) {
    rest /= 10n;
    places -= 1;
  }
  return { digits: rest, scale: places };
}
