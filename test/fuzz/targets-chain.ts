/**
 * Defines the fuzz targets for decoders of blocks and transactions of both generations (JSON from peers, lines of a
 * file, stored bytes), and for decoders of stored accounts, delegates and undo records.
 */

import { blockOfLine, unverifiedId, lineOfBlock } from '../../src/protocol/block/block-line.ts';
import { AssertionFailed, ProtocolError } from '../../src/primitives/errors.ts';
import { NO_EXCEPTIONS } from '../../src/protocol/params.ts';
import type { Rules } from '../../src/protocol/rules.ts';
import { emptyAccount } from '../../src/protocol/state.ts';
import type { Block, JsonObject, Payload, Transaction } from '../../src/protocol/types.ts';
import { BlockRejected, TransactionRejected } from '../../src/protocol/verdict.ts';
import {
  decodeAccount,
  decodeDelegate,
  decodeKeys,
  encodeAccount,
  encodeDelegate,
  encodeKeys,
} from '../../src/store/tables/records.ts';
import { decodeUndo, encodeUndo } from '../../src/store/chain/undo.ts';
import {
  type LiveKind,
  addressOfPair,
  ChainMaker,
  keyPairOf,
  LSK,
  makeNetwork,
  makeTransaction,
  publicKeyOf,
} from '../support/chain-maker.ts';
import { headerWith, keyNumber } from '../support/fixtures.ts';
import type { Target } from './fuzzer.ts';

const ALICE = keyPairOf('account 1');
const BOB = keyPairOf('account 2');
const WORDS = [
  ...['"id"', '"type"', '"version"', '"height"', '"timestamp"', '"previousBlockId"', '"previousBlock"', '"asset"'],
  ...['"amount"', '"recipientId"', '"senderId"', '"fee"', '"signatures"', '"votes"', '"multisignature"', '"keysgroup"'],
  ...['"username"', '"transactions"', '"maxHeightPrevoted"', '"payloadHash"', '"totalAmount"', '"dapp"', '"data"'],
];

interface World {
  readonly name: string;
  readonly maker: ChainMaker;
  readonly blocks: readonly Block[];
  readonly transactions: readonly Transaction[];
}

export function chainTargets(): readonly Target[] {
  return [...[worldOf(2), worldOf(3)].flatMap(targetsOf), ...recordTargets()];
}

function worldOf(generation: 2 | 3): World {
  // Few delegates keep the genesis block small. No check of the decoders depends on the number of delegates.
  const older = { exceptions: { ...NO_EXCEPTIONS, blockVersions: new Map([[1, { start: 10, end: 11 }]]) } };
  const network = makeNetwork({ generation, delegates: 3, accounts: 2, ...(generation === 3 ? older : {}) });
  const maker = new ChainMaker(network);
  const { params } = network;
  const key = `+${publicKeyOf(BOB)}`;
  const payloads: { readonly [Kind in LiveKind]: Extract<Payload, { kind: Kind }> } = {
    transfer: { kind: 'transfer', amount: LSK, recipientId: addressOfPair(BOB), data: 'Grüße' },
    secondSignature: { kind: 'secondSignature', publicKey: publicKeyOf(BOB) },
    delegate: { kind: 'delegate', username: 'alice' },
    vote: { kind: 'vote', votes: [key], amount: 0n },
    multisignature: { kind: 'multisignature', min: 1, lifetime: 24, keysgroup: [key] },
  };
  const members = [BOB];
  const transactions = Object.values(payloads).map((payload) =>
    makeTransaction(params, ALICE, payload, { second: BOB, members }),
  );
  const blocks: Block[] = [];
  const plain = maker.transfer(ALICE, BOB, LSK);
  blocks.push(maker.forge(), maker.forge({ transactions: [plain] }));
  const version = generation === 2 ? [0, 1] : [0, 1, 2];
  blocks.push(
    ...version.map((each) => ({ ...headerWith({ version: each, height: 10 + each }), transactions: [plain] })),
  );
  return { name: `gen${generation}`, maker, blocks, transactions };
}

function isRejection(error: unknown): boolean {
  return error instanceof BlockRejected || error instanceof TransactionRejected;
}

function isRefusal(error: unknown): boolean {
  return error instanceof ProtocolError;
}

/** Whether an error shows that damage to stored bytes was noticed: a refusal with a code, or a failed assertion. */
function isDamage(error: unknown): boolean {
  return isRefusal(error) || error instanceof AssertionFailed;
}

const yes = () => true;

function targetsOf({ name, maker, blocks, transactions }: World): readonly Target[] {
  const { rules, state, network } = maker;
  const { codec } = rules;
  const json = (value: unknown) => Buffer.from(JSON.stringify(value));
  const genesis: JsonObject = network.genesisJson;
  return [
    {
      name: `transactions-${name}`,
      seeds: transactions.map((each) => json(codec.transactionToJson(each))),
      words: WORDS,
      isDeclared: isRejection,
      run(input) {
        const transaction = codec.transactionFromJson(parsed(input));
        rules.primarySignatureChecks(transaction);
        const errors = rules.validateTransaction(
          transaction,
          { blockHeight: 5, blockVersion: 2, blockTimestamp: 20 },
          yes,
        );
        const verdict = rules.verifyTransaction(state, transaction, 1_000, yes);
        rules.processTransactions(state, [transaction], yes);
        rules.multisignatureStatus(state, transaction, yes);
        sameTransaction(transaction, rules);
        return `${transaction.payload.kind} ${errors.length} ${JSON.stringify(verdict).slice(0, 60)}`;
      },
    },
    {
      name: `blocks-${name}`,
      seeds: blocks.map((block) => json(codec.blockToJson(block))),
      words: WORDS,
      isDeclared: isRejection,
      run(input) {
        const block = codec.blockFromJson(parsed(input));
        rules.blockSignatureChecks(block);
        const again = codec.blockFromJson(codec.blockToJson(block));
        if (again.id !== block.id) throw new Error('a block changes when it is passed on');
        const header = codec.decodeHeader(codec.encodeHeader(block));
        if (header.id !== block.id) throw new Error('a block changes in the store');
        rules.validateBlock(block, yes);
        rules.forkStatus({ header: maker.tip }, { header: block, receivedAtS: 100 });
        return `valid ${block.version} ${block.transactions.length}`;
      },
    },
    {
      name: `genesis-${name}`,
      weight: 0.3,
      seeds: [json(genesis)],
      words: WORDS,
      isDeclared: isRefusal,
      run: (input) => `read ${codec.genesisFromJson(parsed(input)).transactions.length}`,
    },
    {
      name: `chain-lines-${name}`,
      seeds: [...blocks.slice(0, 2).map((block) => Buffer.from(lineOfBlock(block, codec))), json(genesis)],
      words: WORDS,
      isDeclared: isRefusal,
      run(input) {
        const line = input.toString('utf8').trim();
        unverifiedId(line);
        return blockOfLine(line, codec).fault === undefined ? 'whole' : 'contradicts itself';
      },
    },
    {
      name: `stored-transactions-${name}`,
      seeds: transactions.map((each) => Buffer.from(codec.encodeTransaction(each))),
      isDeclared: isDamage,
      run: (input) => codec.decodeTransaction(input).payload.kind,
    },
    {
      name: `stored-headers-${name}`,
      seeds: blocks.map((block) => Buffer.from(codec.encodeHeader(block))),
      isDeclared: isDamage,
      run: (input) => String(codec.decodeHeader(input).version),
    },
  ];
}

/** Checks that an accepted transaction keeps its id through JSON and through the store. */
function sameTransaction(transaction: Transaction, { codec }: Rules): void {
  const copy = codec.transactionFromJson(codec.transactionToJson(transaction));
  if (copy.id !== transaction.id) throw new Error('a transaction changes when it is passed on');
  const stored = codec.decodeTransaction(codec.encodeTransaction(transaction));
  if (stored.id !== transaction.id) throw new Error('a transaction changes in the store');
}

function recordTargets(): readonly Target[] {
  const account = {
    ...emptyAccount('12345L'),
    publicKey: keyNumber(1),
    secondPublicKey: keyNumber(2),
    username: 'alice',
    balance: 12_345_678_901n,
    group: { min: 2, lifetime: 24, members: [keyNumber(3), keyNumber(4)] },
    votes: [keyNumber(5)],
  };
  const delegate = {
    publicKey: keyNumber(1),
    address: '12345L',
    username: 'alice',
    voteWeight: 1n << 70n,
    pendingVoteWeight: 5n,
    rank: 3,
  };
  const isDeclared = (error: unknown) => error instanceof AssertionFailed;
  const undo = {
    accounts: [{ address: account.address, before: account }],
    delegates: [],
    others: [
      { key: Buffer.from('a key'), before: undefined },
      { key: Buffer.from('another'), before: Buffer.from('what it held') },
    ],
  };
  return [
    {
      name: 'records',
      seeds: [
        encodeAccount(account),
        encodeAccount(emptyAccount('1L')),
        encodeDelegate(delegate),
        encodeKeys([keyNumber(9)]),
      ],
      isDeclared: () => false,
      run(input) {
        const results = [
          () => encodeAccount(decodeAccount('12345L', input, () => [])).length,
          () => encodeDelegate(decodeDelegate(keyNumber(1), input)).length,
          () => decodeKeys(input).length,
        ].map((decode) => attempted(decode, isDeclared));
        return results.join(' ');
      },
    },
    {
      name: 'undo-records',
      seeds: [encodeUndo(undo)],
      isDeclared,
      run: (input) => `read ${Math.min(9, decodeUndo(input).length)}`,
    },
  ];
}

function attempted(decode: () => number, isDeclared: (error: unknown) => boolean): string {
  try {
    return String(Math.min(99, decode()));
  } catch (error) {
    if (!isDeclared(error)) throw error;
    return 'damaged';
  }
}

/** Parses an input. Returns undefined for invalid JSON. In the node, the caller of a decoder parses the JSON. */
function parsed(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}
