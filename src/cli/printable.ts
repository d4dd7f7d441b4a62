/** Text of strangers for a terminal: nothing of it may steer the terminal, forge a line or turn the direction of writing. */

/**
 * Control characters (C0, DEL, C1), formatting ones (changes of direction, invisible ones), halves of pairs, and the two
 * that break lines.
 */
const STEERING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const STEERING_BUT_BREAKS_AND_TABS = /[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** Every one of them that is ASCII is escaped by `JSON.stringify`, but for DEL. */
const STEERING_BUT_BREAKS = /[^\P{Cc}\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** One line with `?` in place of each character that could do harm. */
export function printable(text: string): string {
  return text.replace(STEERING, '?');
}

/** As `printable`, but line breaks and tabs stay. */
export function printableText(text: string): string {
  return text.replace(STEERING_BUT_BREAKS_AND_TABS, '?');
}

/** The same JSON, with all such characters as `\u` escapes; line breaks between documents stay. */
export function escapedJson(json: string): string {
  return json.replace(STEERING_BUT_BREAKS, (character) =>
    Array.from({ length: character.length }, (_, index) => escapeOf(character.charCodeAt(index))).join(''),
  );
}

function escapeOf(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
