/**
 * Makes text from untrusted sources safe for a terminal. Safe text cannot control the terminal, look like another line
 * of output, or change the direction of writing.
 */

/**
 * Control characters (C0, DEL, C1), format characters (change of direction, invisible characters), unpaired surrogates,
 * and the separators U+2028 and U+2029.
 */
const UNSAFE_CHARACTERS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const UNSAFE_BUT_LINE_BREAKS_AND_TABS = /[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/**
 * Unsafe characters except the line break between JSON documents. Within a document, DEL is the only unsafe ASCII
 * character that can occur, because `JSON.stringify` escapes all other unsafe ASCII characters.
 */
const UNSAFE_BUT_LINE_BREAKS = /[^\P{Cc}\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Returns the text with `?` in place of each unsafe character, so that the text stays on one line. */
export function printable(text: string): string {
  return text.replace(UNSAFE_CHARACTERS, '?');
}

/** Like `printable`, but keeps line breaks and tabs. */
export function printableText(text: string): string {
  return text.replace(UNSAFE_BUT_LINE_BREAKS_AND_TABS, '?');
}

/** Returns the JSON with all unsafe characters as `\u` escapes. Line breaks between documents are kept. */
export function escapedJson(json: string): string {
  return json.replace(UNSAFE_BUT_LINE_BREAKS, (character) =>
    Array.from({ length: character.length }, (_, index) => escapeOf(character.charCodeAt(index))).join(''),
  );
}

function escapeOf(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
