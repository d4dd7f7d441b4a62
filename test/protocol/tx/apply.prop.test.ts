import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import { sha256 } from '../../../src/crypto/hash.ts';
import { defaultEd25519 } from '../../../src/crypto/ed25519.ts';
import { bytesOfHex, hexOf } from '../../../src/primitives/bytes.ts';
import { createGen3Codec, signedBytes } from '../../../src/protocol/gen3/codec.ts';
import { createTransactionRules } from '../../../src/protocol/gen3/transactions.ts';
import { emptyAccount, StateOverlay, type Account } from '../../../src/protocol/state.ts';
import type { JsonObject, Transaction } from '../../../src/protocol/types.ts';
import type { TransactionError } from '../../../src/protocol/verdict.ts';
import {
  NETWORK_IDENTIFIER,
  SIGNERS,
  anySigner,
  referenceOf,
  type Gen3Type,
  type Signer,
} from '../../support/reference-transactions.ts';
import { byAddress, comparableRow, ReferenceStore, rowOf } from '../../support/reference-store.ts';
import { AccountTable, storedRow } from '../../support/reference-tables.ts';
import { MemoryState } from '../../support/memory-state.ts';
import { paramsWith } from '../../support/fixtures.ts';

const params = paramsWith({ networkIdentifier: NETWORK_IDENTIFIER });
const codec = createGen3Codec(params);
const rules = createTransactionRules(params, codec);
const ed25519 = defaultEd25519();

const keys = SIGNERS.map(({ publicKey }) => publicKey);
const NAMES = ['ann', 'ben', 'cat', 'dan'];

/** State of one account before the transaction. */
interface Past {
  readonly balance: bigint;
  readonly keyKnown: boolean;
  readonly second: Signer | undefined;
  readonly username: string | undefined;
  readonly group: { readonly min: number; readonly members: readonly string[] } | undefined;
  readonly votes: readonly string[];
}

const LSK = 100_000_000n;
const balance = fc.oneof(
  fc.bigInt({ min: 0n, max: 60n * LSK }),
  fc.constantFrom(0n, LSK / 10n, LSK, 5n * LSK, 25n * LSK, 2n ** 63n - 1n, -10n * LSK),
);
const rare = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined, freq: 2 });

const past: fc.Arbitrary<Past> = fc.record({
  balance,
  keyKnown: fc.boolean(),
  second: rare(anySigner),
  username: fc.constant(undefined),
  group: rare(
    fc
      .uniqueArray(fc.constantFrom(...keys), { minLength: 1, maxLength: 4 })
      .chain((members) => fc.integer({ min: 1, max: members.length }).map((min) => ({ min, members }))),
  ),
  votes: fc.uniqueArray(fc.constantFrom(...keys), { maxLength: 4 }),
});

/** The state of all accounts before the transaction. The first `count` accounts are delegates. */
const world = fc
  .tuple(...SIGNERS.map(() => past))
  .chain((pasts) => fc.integer({ min: 0, max: NAMES.length }).map((count) => ({ pasts, count })));

function stateOf({ pasts, count }: { readonly pasts: readonly Past[]; readonly count: number }): MemoryState {
  const state = new MemoryState();
  for (const [index, known] of pasts.entries()) {
    const signer = SIGNERS[index];
    if (signer === undefined) continue;
    const username = index < count ? NAMES[index] : undefined;
    const account: Account = {
      ...emptyAccount(signer.address),
      balance: known.balance,
      votes: known.votes.filter((key) => keys.indexOf(key) < count),
      ...(known.keyKnown || username !== undefined ? { publicKey: signer.publicKey } : {}),
      ...(known.second === undefined ? {} : { secondPublicKey: known.second.publicKey }),
      ...(known.group === undefined ? {} : { group: { ...known.group, lifetime: 24 } }),
      ...(username === undefined ? {} : { username }),
    };
    state.setAccount(account);
    if (username === undefined) continue;
    const { publicKey, address } = signer;
    state.setDelegate({ publicKey, address, username, voteWeight: 0n, pendingVoteWeight: 0n, rank: 0 });
  }
  return state;
}

const keyOfSomebody = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...keys) },
  { weight: 1, arbitrary: fc.constantFrom('ab'.repeat(32), keys[0]?.toUpperCase() ?? '') },
);

const asset: fc.Arbitrary<{ readonly type: Gen3Type; readonly asset: JsonObject }> = fc.oneof(
  fc
    .record({
      amount: fc.oneof(fc.bigInt({ min: 1n, max: 60n * LSK }), fc.constantFrom(1n, 2n ** 63n - 1n)).map(String),
      recipientId: fc.constantFrom(...SIGNERS.map(({ address }) => address), '12345L'),
    })
    .map((each) => ({ type: 8 as const, asset: each })),
  keyOfSomebody.map((publicKey) => ({ type: 9 as const, asset: { publicKey } })),
  fc.constantFrom(...NAMES, 'eve').map((username) => ({ type: 10 as const, asset: { username } })),
  fc
    .uniqueArray(keyOfSomebody, { minLength: 1, maxLength: 6 })
    .chain((voted) => fc.tuple(...voted.map((key) => fc.constantFrom('+', '-').map((sign) => `${sign}${key}`))))
    .map((votes) => ({ type: 11 as const, asset: { votes } })),
  fc.uniqueArray(keyOfSomebody, { minLength: 1, maxLength: 4 }).map((members) => ({
    type: 12 as const,
    asset: { min: 1, lifetime: 1, keysgroup: members.map((key) => `+${key}`) },
  })),
);

const anyTransaction = fc.record({
  content: asset,
  sender: anySigner,
  second: fc.constantFrom('fitting', 'fitting', 'missing', 'foreign'),
  members: fc.uniqueArray(anySigner, { maxLength: 5 }),
  fitting: fc.boolean(),
  damaged: fc.boolean(),
});

interface Request {
  readonly content: { readonly type: Gen3Type; readonly asset: JsonObject };
  readonly sender: Signer;
  readonly second: string;
  readonly members: readonly Signer[];
  /**
   * True if the members of the right group sign the transaction. If the transaction registers a group, this group is
   * the right one; otherwise, it is the sender's group. False if the accounts in `members` sign.
   */
  readonly fitting: boolean;
  /** Whether the first signature of the members is replaced by a signature that no member has made. */
  readonly damaged: boolean;
}

function signedFor(state: MemoryState, request: Request): Transaction {
  const { content, sender, members, fitting, damaged } = request;
  const unsigned = {
    ...content,
    timestamp: 7,
    senderPublicKey: sender.publicKey,
    signature: '00'.repeat(64),
  };
  const draft = codec.transactionFromJson(unsigned);
  const bytes = signedBytes(draft, NETWORK_IDENTIFIER);
  const sign = (parts: readonly Uint8Array[], by: Signer): string =>
    hexOf(ed25519.sign(sha256(...parts), by.keyPair.privateKey));
  const signature = sign([bytes], sender);
  const known = state.account(sender.address);
  const secondSigner =
    request.second === 'foreign'
      ? SIGNERS[7]
      : SIGNERS.find(({ publicKey }) => request.second === 'fitting' && publicKey === known?.secondPublicKey);
  const group =
    draft.payload.kind === 'multisignature'
      ? draft.payload.keysgroup.map((key) => key.slice(1))
      : (known?.group?.members ?? []);
  const signers = fitting ? SIGNERS.filter(({ publicKey }) => group.includes(publicKey)) : members;
  const signatures = signers.map((member) => sign([bytes], member));
  return codec.transactionFromJson({
    ...unsigned,
    signature,
    ...(secondSigner === undefined ? {} : { signSignature: sign([bytes, bytesOfHex(signature)], secondSigner) }),
    signatures: damaged && signatures.length > 0 ? ['cd'.repeat(64), ...signatures.slice(1)] : signatures,
  });
}

const STATUS = { 0: 'fail', 1: 'ok', 2: 'pending' } as const;

function plain(errors: readonly TransactionError[]): object[] {
  return errors.map(({ name, id, message, dataPath, actual, expected }) => ({
    name,
    id,
    message,
    dataPath,
    actual: actual ?? null,
    expected: expected ?? null,
  }));
}

/**
 * Removes all errors about signatures that no member has made, except the first such error. Bloomery reports only the
 * first, because it stops at such a signature.
 */
function sought(errors: readonly TransactionError[]): readonly TransactionError[] {
  const isOfNobody = ({ message, dataPath }: TransactionError): boolean =>
    dataPath === '.signatures' && message.startsWith('Failed to validate signature');
  return errors.filter((error, index) => !isOfNobody(error) || errors.findIndex(isOfNobody) === index);
}

test('a transaction changes the state as in the reference package, or is refused in the same words', (t) => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(world, anyTransaction, (pasts, request) => {
      const state = stateOf(pasts);
      const transaction = signedFor(state, request);
      const store = new ReferenceStore(new AccountTable(), [...state.accounts()].map(rowOf));
      const reference = referenceOf({ type: request.content.type, ...codec.transactionToJson(transaction) });
      const expected = reference.apply(store as never);
      const overlay = new StateOverlay(state);
      const { verdicts } = rules.applyInSequence(overlay, [transaction], (check) => ed25519.verify(check));
      const [verdict = { status: 'ok' }] = verdicts;
      const outcome = STATUS[expected.status as 0 | 1 | 2];
      const errors = verdict.status === 'ok' ? [] : verdict.errors;
      t.deepEqual(plain(errors), plain(sought(expected.errors as unknown as readonly TransactionError[])));
      t.is(verdict.status, outcome);
      if (outcome === 'ok') {
        const accounts = new Map([...state.accounts()].map((account) => [account.address, account]));
        for (const [address, account] of overlay.changes().accounts) accounts.set(address, account);
        const own = [...accounts.values()].map((account) => comparableRow(rowOf(account)));
        t.deepEqual(byAddress(own), byAddress(store.account.rows().map((row) => comparableRow(storedRow(row)))));
      } else t.is(overlay.changes().accounts.size, 0);
      const key = `${transaction.type} ${outcome}`;
      seen.set(key, (seen.get(key) ?? 0) + 1);
    }),
    { numRuns: 400, ignoreEqualValues: true },
  );
  const outcomes = new Set([...seen.keys()].map((key) => key.split(' ')[1]));
  t.true(['ok', 'fail', 'pending'].every((outcome) => outcomes.has(outcome)));
});
