/** Describes a transaction in words and links: `sends 12.5 LSK to 17L`. */

import type { Transaction } from './answers.ts';
import { amountText, firstTypeOf } from './format.ts';

/**
 * A part of a description. A part of the kind `delegate` has only the public key. The component that shows the part
 * looks up the name of the delegate.
 */
export type Part =
  | string
  | { readonly kind: 'account'; readonly address: string }
  | { readonly kind: 'delegate'; readonly publicKey: string }
  | { readonly kind: 'name'; readonly username: string }
  | { readonly kind: 'key'; readonly publicKey: string }
  | { readonly kind: 'text'; readonly text: string };

export function descriptionOf({ type, amount, recipientId, asset }: Described): readonly Part[] {
  switch (firstTypeOf(type)) {
    case 0:
      return [
        `sends ${amountText(amount)}`,
        ...(isFilled(recipientId) ? [' to ', { kind: 'account', address: recipientId } as const] : []),
        ...(isFilled(asset['data']) ? [' with the text ', { kind: 'text', text: asset['data'] } as const] : []),
      ];
    case 1: {
      const key = asset['publicKey'] ?? recordOf(asset['signature'])['publicKey'];
      return [
        'registers a second passphrase',
        ...(isFilled(key) ? [' with the key ', { kind: 'key', publicKey: key } as const] : []),
      ];
    }
    case 2: {
      const username = asset['username'] ?? recordOf(asset['delegate'])['username'];
      return ['registers the delegate ', isFilled(username) ? { kind: 'name', username } : '?'];
    }
    case 3:
      return votesOf(textsOf(asset['votes']));
    case 4:
      return groupOf('multisignature' in asset ? recordOf(asset['multisignature']) : asset);
    default:
      return [`is of type ${type}`];
  }
}

/**
 * If a transaction has at most this number of votes, a list of transactions shows the names of the delegates. If a
 * transaction has more votes, the list shows only how many votes the transaction adds and removes.
 */
const VOTES_SHOWN = 2;

/**
 * The target of a transaction, in the short form that lists of transactions show. Depending on the type, the target is
 * the recipient, the delegates of the votes, or the registered name. For the registration of a multisignature group,
 * the target is the number of needed signatures and the number of members. For a transaction without a target, the
 * result is empty.
 */
export function targetsOf({ type, recipientId, asset }: Described): readonly Part[] {
  switch (firstTypeOf(type)) {
    case 2: {
      const username = asset['username'] ?? recordOf(asset['delegate'])['username'];
      return isFilled(username) ? [{ kind: 'name', username }] : [];
    }
    case 3: {
      const votes = textsOf(asset['votes']);
      const signed = votes.flatMap((vote, index): readonly Part[] => {
        const delegate = { kind: 'delegate', publicKey: vote.slice(1) } as const;
        return [`${index === 0 ? '' : ', '}${vote.startsWith('-') ? '−' : '+'}`, delegate];
      });
      if (votes.length <= VOTES_SHOWN) return signed;
      const taken = votes.filter((vote) => vote.startsWith('-')).length;
      return [[taken < votes.length && `+${votes.length - taken}`, taken > 0 && `−${taken}`].filter(Boolean).join(' ')];
    }
    case 4: {
      const { min, keysgroup } = 'multisignature' in asset ? recordOf(asset['multisignature']) : asset;
      return typeof min === 'number' ? [`${min} of ${textsOf(keysgroup).length}`] : [];
    }
    default:
      return isFilled(recipientId) ? [{ kind: 'account', address: recipientId }] : [];
  }
}

/** The members of a transaction that its description needs. */
export type Described = Pick<Transaction, 'type' | 'amount' | 'recipientId' | 'asset'>;

function votesOf(votes: readonly string[]): readonly Part[] {
  const given = votes.filter((vote) => vote.startsWith('+'));
  const taken = votes.filter((vote) => vote.startsWith('-'));
  if (given.length + taken.length === 0) return ['votes for nobody'];
  return [
    ...(given.length === 0 ? [] : ['votes for ', ...listed(given)]),
    ...(given.length > 0 && taken.length > 0 ? [', '] : []),
    ...(taken.length === 0 ? [] : ['takes back ', ...listed(taken)]),
  ];
}

function listed(votes: readonly string[]): readonly Part[] {
  return votes.flatMap((vote, index): readonly Part[] => {
    const delegate = { kind: 'delegate', publicKey: vote.slice(1) } as const;
    return index === 0 ? [delegate] : [', ', delegate];
  });
}

function groupOf({ min, lifetime, keysgroup }: Readonly<Record<string, unknown>>): readonly Part[] {
  const keys = textsOf(keysgroup).map((key) => key.replace(/^\+/, ''));
  const members = keys.flatMap((publicKey, index): readonly Part[] => {
    const member = { kind: 'key', publicKey } as const;
    return index === 0 ? [member] : [', ', member];
  });
  const hours = typeof lifetime === 'number' ? `, who have ${lifetime} h to sign` : '';
  const needed = typeof min === 'number' ? min : '?';
  return [`becomes a group: ${needed} of ${keys.length} members must sign${hours}: `, ...members];
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
