/** Random accounts, as rows of the account table of the reference (lisk-sdk), and as entries of our node's state. */

import { emptyAccount, type StateWriter } from '../../src/protocol/state.ts';
import type { RandomBelow } from '../fuzz/mutate.ts';
import { otherCase, pick } from './mutations.ts';
import { PEOPLE } from './people.ts';
import type { Columns } from '../support/reference-tables.ts';

const BALANCES = ['0', '10000000', '500000000', '2500000000', '3000000000', '10000000000', '100000000000000'];
/** Balances near the maximum of an account, and balances below the smallest fee. */
const ODD_BALANCES = ['9223372036854775807', '9223372036754775807', '9223372036854775806', '9999999', '1'];
/** Vote weights of delegates, some at the limits of the database column. */
const WEIGHTS = ['0', '100000000000', '9223372036854775807', '-9223372036854775808', '9223372036000000000'];

/** Returns accounts for some of the people. Every delegate and every voter has a public key. */
export function anyAccounts(below: RandomBelow): readonly (Partial<Columns> & { readonly address: string })[] {
  const delegates = PEOPLE.filter(() => below(3) === 0);
  const people = PEOPLE.filter((person) => delegates.includes(person) || below(5) > 0);
  return people.map((person, index) => {
    const isDelegate = delegates.includes(person);
    const hasSpoken = isDelegate || below(3) > 0;
    const hasVotes = hasSpoken && delegates.length > 0 && below(2) === 0;
    const hasGroup = hasSpoken && below(6) === 0;
    const members = hasGroup ? [...new Set([0, 1, 2].map(() => pick(PEOPLE, below).publicKey))] : [];
    return {
      address: person.address,
      balance: pick(below(15) === 0 ? ODD_BALANCES : BALANCES, below),
      ...(hasSpoken ? { publicKey: person.publicKey } : {}),
      ...(hasSpoken && below(5) === 0 ? { secondPublicKey: pick(PEOPLE, below).publicKey } : {}),
      ...(isDelegate ? { username: `delegate${index}`, isDelegate: true, voteWeight: anyWeight(below) } : {}),
      ...(hasVotes ? { votedDelegatesPublicKeys: [...new Set([pick(delegates, below).publicKey])] } : {}),
      ...(hasGroup
        ? {
            membersPublicKeys: members.map((key) => (below(4) === 0 ? otherCase(key, below) : key)),
            multiMin: 1 + below(members.length),
            multiLifetime: 24,
          }
        : {}),
    };
  });
}

export function fill(state: StateWriter, accounts: readonly Columns[]): void {
  for (const row of accounts) {
    const { address, publicKey, secondPublicKey, username, membersPublicKeys: members } = row;
    state.setAccount({
      ...emptyAccount(address),
      balance: BigInt(row.balance),
      ...(publicKey === null ? {} : { publicKey }),
      ...(secondPublicKey === null ? {} : { secondPublicKey }),
      ...(username === null ? {} : { username }),
      ...(members === null
        ? {}
        : {
            group: { min: row.multiMin, lifetime: row.multiLifetime, members: members.map((key) => key.toLowerCase()) },
          }),
      votes: row.votedDelegatesPublicKeys ?? [],
    });
    if (username === null || publicKey === null) continue;
    const voteWeight = BigInt(row.voteWeight);
    state.setDelegate({ publicKey, address, username, voteWeight, pendingVoteWeight: 0n, rank: 0 });
  }
}

function anyWeight(below: RandomBelow): string {
  return below(4) > 0 ? '100000000000' : pick(WEIGHTS, below);
}
