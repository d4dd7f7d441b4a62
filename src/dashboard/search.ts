/** Finds the possible meanings of the text in the search field, for example a height or the id of a block. */

export type Sought =
  | { readonly kind: 'height'; readonly height: number }
  | { readonly kind: 'block' | 'transaction'; readonly id: string }
  | { readonly kind: 'address'; readonly address: string }
  /**
   * Meaning of a text that has only digits: the address that consists of these digits and the final letter L. The
   * search suggests this address only if the account exists.
   */
  | { readonly kind: 'usedAddress'; readonly address: string }
  | { readonly kind: 'publicKey'; readonly publicKey: string }
  | { readonly kind: 'delegate'; readonly name: string };

const HEIGHT_MAX = 4_294_967_295;

export function soughtOf(text: string): readonly Sought[] {
  const trimmed = text.trim();
  if (/^\d{1,20}$/.test(trimmed)) {
    const height = Number(trimmed);
    const ids: readonly Sought[] = [
      { kind: 'block', id: trimmed },
      { kind: 'transaction', id: trimmed },
      { kind: 'usedAddress', address: `${BigInt(trimmed)}L` },
    ];
    return height >= 1 && height <= HEIGHT_MAX ? [{ kind: 'height', height }, ...ids] : ids;
  }
  if (/^\d{1,21}[lL]$/.test(trimmed)) return [{ kind: 'address', address: trimmed.toUpperCase() }];
  if (/^[0-9a-fA-F]{64}$/.test(trimmed)) return [{ kind: 'publicKey', publicKey: trimmed.toLowerCase() }];
  return /^[a-z0-9!@$&_.]{1,20}$/i.test(trimmed) ? [{ kind: 'delegate', name: trimmed.toLowerCase() }] : [];
}
