/** Text of strangers for a terminal. */

/** A peer may have had a say in a text: nothing of it may steer a terminal. */
export function printable(text: string): string {
  return text.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?');
}
