import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import { addressOf } from '../../../src/crypto/keys.ts';
import { applyTransactions, type BlockTransactionRules } from '../../../src/protocol/block/apply.ts';
import { createGen2Codec } from '../../../src/protocol/gen2/codec.ts';
import { createTransactionRules as gen2Rules } from '../../../src/protocol/gen2/transactions.ts';
import { createGen3Codec } from '../../../src/protocol/gen3/codec.ts';
import { createTransactionRules as gen3Rules } from '../../../src/protocol/gen3/transactions.ts';
import { emptyAccount, StateOverlay } from '../../../src/protocol/state.ts';
import type { Payload, Transaction } from '../../../src/protocol/types.ts';
import { BlockRejected } from '../../../src/protocol/verdict.ts';
import { fakeBlock } from '../../support/fake-codec.ts';
import { keyNumber, paramsWith } from '../../support/fixtures.ts';
import { MemoryState } from '../../support/memory-state.ts';

/**
 * Public keys of the senders and recipients. The number is small, so that several transactions of a block often use the
 * same account. The first three accounts are delegates.
 */
const PEOPLE = Array.from({ length: 7 }, (_, index) => keyNumber(index + 1));
const DELEGATES = PEOPLE.slice(0, 3);
const STRANGER = '12345L';
const BOTH_PARAMS = [paramsWith({ generation: 2 }), paramsWith()] as const;

const person = fc.constantFrom(...PEOPLE);
const payload: fc.Arbitrary<Payload> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('transfer' as const),
      amount: fc.bigInt({ min: 1n, max: 20n }),
      recipientId: fc.constantFrom(...PEOPLE.map(addressOf), STRANGER),
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .uniqueArray(fc.constantFrom(...DELEGATES), { minLength: 1 })
      .chain((keys) => fc.tuple(...keys.map((key) => fc.constantFrom(`+${key}`, `-${key}`))))
      .map((votes) => ({ kind: 'vote' as const, votes, amount: 0n })),
  },
  { weight: 1, arbitrary: person.map((publicKey) => ({ kind: 'secondSignature' as const, publicKey })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('ann', 'ben').map((username) => ({ kind: 'delegate' as const, username })),
  },
  {
    weight: 1,
    arbitrary: fc.uniqueArray(person, { minLength: 1, maxLength: 2 }).map((keys) => ({
      kind: 'multisignature' as const,
      min: 1,
      lifetime: 1,
      keysgroup: keys.map((key) => `+${key}`),
    })),
  },
);

const past = fc.record({
  balance: fc.oneof(fc.bigInt({ min: 0n, max: 60n }), fc.constant(1000n)),
  keyKnown: fc.boolean(),
  votes: fc.uniqueArray(fc.constantFrom(...DELEGATES)),
  hasSecondKey: fc.integer({ max: 5, min: 0 }).map((chance) => chance === 0),
});

const draft = fc.record({
  senderPublicKey: person,
  payload,
  fee: fc.bigInt({ min: 0n, max: 5n }),
});

const TYPES = { transfer: 0, secondSignature: 1, delegate: 2, vote: 3, multisignature: 4 } as const;

for (const params of BOTH_PARAMS) {
  const rules: BlockTransactionRules =
    params.generation === 2 ? gen2Rules(params, createGen2Codec(params)) : gen3Rules(params, createGen3Codec(params));
  /**
   * To check a transaction, the rules apply it on its own. `applyTransactions` passes the results of these checks to
   * `applyInSequence`, which may reuse them. The rules `anew` do not pass these results on. Therefore `applyInSequence`
   * applies each transaction again.
   */
  const anew: BlockTransactionRules = {
    ...rules,
    applyInSequence: (state, transactions, verify) => rules.applyInSequence(state, transactions, verify),
  };

  test(`generation ${params.generation}: reused and fresh checks give the same state or refusal`, (t) => {
    const outcomes = new Map<string, number>();
    fc.assert(
      fc.property(
        fc.tuple(...PEOPLE.map(() => past)),
        fc.array(draft, { minLength: 3, maxLength: 10 }),
        (pasts, drafts) => {
          const state = new MemoryState();
          for (const [index, publicKey] of PEOPLE.entries()) {
            const known = pasts[index];
            if (known === undefined) continue;
            const { balance, keyKnown, votes, hasSecondKey } = known;
            const isDelegate = DELEGATES.includes(publicKey);
            const [address, username] = [addressOf(publicKey), `delegate_${index}`];
            state.setAccount({
              ...emptyAccount(address),
              balance,
              votes,
              ...(keyKnown || isDelegate ? { publicKey } : {}),
              ...(hasSecondKey ? { secondPublicKey: '22'.repeat(32) } : {}),
              ...(isDelegate ? { username } : {}),
            });
            if (isDelegate)
              state.setDelegate({ publicKey, address, username, voteWeight: 0n, pendingVoteWeight: 0n, rank: 0 });
          }
          const made = drafts.map((rest, index): Transaction => {
            const type = TYPES[rest.payload.kind as keyof typeof TYPES] + (params.generation === 2 ? 0 : 8);
            const members = rest.payload.kind === 'multisignature' ? rest.payload.keysgroup.length : 0;
            const second = pasts[PEOPLE.indexOf(rest.senderPublicKey)]?.hasSecondKey === true;
            return {
              ...rest,
              id: String(index + 1),
              type,
              timestamp: 7,
              senderId: addressOf(rest.senderPublicKey),
              signature: 'ab'.repeat(64),
              ...(second ? { signSignature: 'cd'.repeat(64) } : {}),
              signatures: Array.from({ length: members }, (_, member) => `0${member}`.repeat(64)),
            };
          });
          const verify = (): boolean => true;
          // If a transaction is invalid on its own, `rules` and `anew` both always refuse the block. The test removes
          // such transactions, so that it tests the other cases more often.
          const fit = made.filter((each) => rules.verifyTransaction(state, each, 100, verify).status === 'ok');
          const outcomeOf = (by: BlockTransactionRules): unknown => {
            const overlay = new StateOverlay(state);
            try {
              applyTransactions(overlay, fakeBlock(undefined, fit), { nowS: 100, verify }, params, by);
              return overlay.changes();
            } catch (error) {
              if (!(error instanceof BlockRejected)) throw error;
              return { code: error.code, message: error.message, data: error.data };
            }
          };
          const outcome = outcomeOf(rules);
          t.deepEqual(outcome, outcomeOf(anew));
          const kind = fit.length < 3 ? 'few' : 'accounts' in (outcome as object) ? 'applied' : 'refused';
          outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
        },
      ),
      { numRuns: 300, ignoreEqualValues: true },
    );
    t.true((outcomes.get('applied') ?? 0) > 20 && (outcomes.get('refused') ?? 0) > 20);
  });
}
