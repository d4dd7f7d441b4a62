/** Who of a group has signed a waiting transaction. Signatures do not say whose they are: each is tried with the members. */

import { LruMap } from '../primitives/bounded.ts';
import type { GroupSigners } from '../ports/node-api.ts';
import type { Rules } from '../protocol/rules.ts';
import type { StateReader } from '../protocol/state.ts';
import type { PublicKey, Signature, SignatureOracle, Transaction } from '../protocol/types.ts';

/** Transactions whose signers are remembered: a page of a queue. Each took up to 120 checks, which nobody repeats by asking again. */
const REMEMBERED_MAX = 100;

export interface GroupSignersParts {
  readonly rules: Pick<Rules, 'addMemberSignature'>;
  /** At the tip. */
  readonly state: () => StateReader;
  readonly verify: SignatureOracle;
}

/** @returns what tells the signers of a transaction; undefined for one that no group signs */
export function createGroupSigners(parts: GroupSignersParts): (transaction: Transaction) => GroupSigners | undefined {
  const known = new LruMap<string, GroupSigners>(REMEMBERED_MAX);
  return (transaction) => {
    const group = groupOf(transaction, parts.state());
    if (group === undefined) return undefined;
    // A group may change under a transaction that waits, and so may its signatures.
    const key = JSON.stringify([transaction.id, group, transaction.signatures]);
    let signers = known.get(key);
    if (signers === undefined) known.set(key, (signers = signersOf(transaction, group, parts)));
    return signers;
  };
}

interface Group {
  readonly min: number;
  readonly members: readonly PublicKey[];
}

/** A registration needs all of its members, whatever it says that its transactions will need. */
function groupOf({ payload, senderId }: Transaction, state: StateReader): Group | undefined {
  if (payload.kind === 'multisignature') {
    const members = payload.keysgroup.map((key) => key.slice(1).toLowerCase());
    return { min: members.length, members };
  }
  const group = state.account(senderId)?.group;
  return group === undefined || group.members.length === 0 ? undefined : { min: group.min, members: group.members };
}

function signersOf(transaction: Transaction, { min, members }: Group, parts: GroupSignersParts): GroupSigners {
  const unclaimed = new Set(transaction.signatures);
  const bare = { ...transaction, signatures: [] };
  const isSignedBy = (publicKey: PublicKey, signature: Signature): boolean => {
    const given = { transactionId: transaction.id, publicKey, signature };
    return !('errors' in parts.rules.addMemberSignature(parts.state(), bare, given, parts.verify));
  };
  return {
    min,
    members: members.map((publicKey) => {
      const own = [...unclaimed].find((signature) => isSignedBy(publicKey, signature));
      if (own !== undefined) unclaimed.delete(own);
      return { publicKey, hasSigned: own !== undefined };
    }),
  };
}
