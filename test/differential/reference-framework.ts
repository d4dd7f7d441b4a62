/** The real framework of the reference (lisk-sdk), with tables in memory instead of its database. */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Generation } from '../../src/protocol/params.ts';
import { allOf, type JudgeHeader } from './reference-headers.ts';
import { HEADER_FACTS, NOW_S, type Handlers, type PayloadHeader, type RoundEntry } from './reference-node.ts';
import type { AccountTable } from '../support/reference-tables.ts';
import { loadPackage, type ReferenceResponse, type ReferenceTransaction } from './reference.ts';
import type { Reference } from './targets.ts';

interface Responses {
  readonly transactionsResponses: readonly ReferenceResponse[];
}

type Run<T = Responses> = (transactions: readonly ReferenceTransaction[], store?: unknown) => Promise<T>;

interface StateStore {
  readonly account: { finalize(): Promise<unknown> };
  /** Vote changes of the round. Only generation 2 uses this member. */
  readonly round?: { readonly data: readonly RoundEntry[] };
}

type StateStoreClass = new (storage: unknown, options?: unknown) => StateStore;

const SLOTS = { getSlotNumber: (timestamp?: number): number => timestamp ?? NOW_S };
const TRANSACTIONS_MAX = 25;
const PAYLOAD_BYTES_MAX = 1_048_576;

/** @param sdk folder of an installed package `lisk-sdk` in the release of the generation */
export function loadFramework(generation: Generation, sdk: string): Reference {
  const own = createRequire(join(sdk, 'package.json'));
  const framework = createRequire(own.resolve('lisk-framework/package.json'));
  const chain = (file: string): unknown => framework(`./src/modules/chain/${file}`);
  const reference = loadPackage(generation, framework.resolve('@liskhq/lisk-transactions'));
  const classes = new Map(TYPES[generation].map((type) => [type, reference.classOf(type)]));
  const shared = { chain, validator: framework('@liskhq/lisk-validator') as { validator: Validator }, classes };
  return {
    package: reference,
    handlers:
      generation === 2
        ? { ...handlers2(chain), judgeHeader: headerJudge2(shared) }
        : { ...handlers3(chain), judgeHeader: headerJudge3(shared) },
  };
}

const TYPES = { 2: [0, 1, 2, 3, 4], 3: [8, 9, 10, 11, 12] } as const;

interface Validator {
  validate(schema: object, value: unknown): readonly { readonly dataPath: string; readonly message: string }[];
}

/** Parts of the framework that read and check a header. */
interface HeaderParts {
  readonly chain: (file: string) => unknown;
  readonly validator: { readonly validator: Validator };
  /** Transaction classes by the number of their type. */
  readonly classes: ReadonlyMap<number, unknown>;
}

type Block = Record<string, unknown>;

const { nowS, blockTimeS, genesisBlockId, networkIdentifier, reward, transactionsMax, payloadBytesMax, forger } =
  HEADER_FACTS;
const HEADER_SLOTS = { getSlotNumber: (timestamp = nowS): number => Math.floor(timestamp / blockTimeS) };
const GENESIS = { id: genesisBlockId };

function requireMessage({ validator }: HeaderParts, schema: unknown, block: unknown): void {
  const [error] = validator.validator.validate(schema as object, { block });
  if (error !== undefined) throw new Error(`'${error.dataPath.replace('.block', '')}' ${error.message}`);
}

function requireForger(block: Block): void {
  if (block['generatorPublicKey'] !== forger) throw new Error('Failed to verify slot');
}

function headerJudge3(parts: HeaderParts): JudgeHeader {
  const { chain, classes } = parts;
  const { postBlockEvent } = chain('transport/schemas') as { postBlockEvent: unknown };
  const { Blocks } = chain('blocks/blocks') as { Blocks: new (options: object) => { lastBlock: unknown } };
  const { BlockProcessorV2 } = chain('block_processor_v2') as {
    BlockProcessorV2: new (
      options: object,
    ) => Record<'deserialize' | 'validate', { run(data: object): Promise<Block> }>;
  };
  const blocksModule = new Blocks({
    ...{ logger: undefined, storage: undefined, genesisBlock: GENESIS, slots: HEADER_SLOTS, exceptions: {} },
    ...{ registeredTransactions: Object.fromEntries(classes), networkIdentifier },
    ...{ maxPayloadLength: payloadBytesMax, maxTransactionsPerBlock: transactionsMax },
    ...{ rewardDistance: 1, rewardOffset: 0, rewardMileStones: [String(reward)], totalAmount: '0' },
  });
  const processor = new BlockProcessorV2({
    blocksModule,
    bftModule: {
      isBFTProtocolCompliant: (block: Block) => block['maxHeightPreviouslyForged'] === 0,
      validateBlock: () => undefined,
    },
    dposModule: { verifyBlockForger: requireForger },
    exceptions: {},
  });
  return async (json, lastBlock) => {
    requireMessage(parts, postBlockEvent, json);
    // Without `exceptions.blockVersions`, the framework refuses every block above height 1 whose version is not 2.
    if (!(String(json['version'] ?? 0) in { 2: true })) throw new Error('Block processing version is not registered');
    const block = await processor.deserialize.run({ block: json });
    await processor.validate.run({ block, lastBlock });
    return String(block['id']);
  };
}

function headerJudge2(parts: HeaderParts): JudgeHeader {
  const { chain, classes } = parts;
  const { WSBlocksBroadcast } = chain('schema/definitions') as { WSBlocksBroadcast: unknown };
  const { addBlockProperties } = chain('blocks/utils') as { addBlockProperties: (block: Block) => Block };
  const { objectNormalize } = chain('blocks/block') as { objectNormalize: (block: Block) => Block };
  const { TransactionInterfaceAdapter } = chain('interface_adapters') as {
    TransactionInterfaceAdapter: new (classes: object) => { fromBlock(block: Block): unknown };
  };
  const { BlocksVerify } = chain('blocks/verify') as {
    BlocksVerify: new (options: object) => {
      isSaneBlock(block: Block, tip: unknown): boolean;
      verifyBlock(block: Block, tip: unknown): { verified: boolean; errors: readonly unknown[] };
    };
  };
  const { calculateReward } = chain('blocks/block_reward') as {
    calculateReward: (height: unknown, options: object) => unknown;
  };
  const rewards = { distance: 1, rewardOffset: 0, milestones: [String(reward)], totalAmount: '0' };
  const adapter = new TransactionInterfaceAdapter(Object.fromEntries(classes));
  const verifier = new BlocksVerify({
    ...{ exceptions: {}, slots: HEADER_SLOTS, genesisBlock: GENESIS, roundsModule: { fork: () => undefined } },
    blockReward: { calculateReward: (height: unknown) => calculateReward(height, rewards) },
    constants: { maxTransactionsPerBlock: transactionsMax, maxPayloadLength: payloadBytesMax },
  });
  return async (json, tip) => {
    requireMessage(parts, WSBlocksBroadcast, json);
    const received = addBlockProperties({ ...json });
    received['transactions'] = adapter.fromBlock(received);
    const block = objectNormalize(received);
    if (!verifier.isSaneBlock(block, tip)) throw new Error('Discarded block that does not match with current chain');
    const { verified, errors } = verifier.verifyBlock(objectNormalize(block), tip);
    if (!verified) throw allOf(errors);
    requireForger(block);
    return String(block['id']);
  };
}

function handlers3(chain: (file: string) => unknown): Omit<Handlers, 'judgeHeader'> {
  const { StateStore } = chain('blocks/state_store') as { StateStore: StateStoreClass };
  const { verifyTransactions, applyTransactions } = chain('blocks/transactions') as {
    verifyTransactions: (slots: unknown, exceptions: object) => Run;
    applyTransactions: (exceptions: object) => Run;
  };
  const { validatePayload } = chain('blocks/validate') as {
    validatePayload: (block: unknown, count: number, bytes: number) => void;
  };
  return {
    judge: judgeWith((table) => new StateStore(storageOf(table))),
    async verify(transactions, table) {
      const responses = await verifyTransactions(SLOTS, {})(transactions, new StateStore(storageOf(table)));
      throwFirst(responses);
    },
    async apply(transactions, table) {
      const store = new StateStore(storageOf(table));
      throwFirst(await applyTransactions({})(transactions, store));
      await store.account.finalize();
      return [];
    },
    validatePayload: (transactions, header) => {
      validatePayload(blockOf(transactions, header), TRANSACTIONS_MAX, PAYLOAD_BYTES_MAX);
    },
  };
}

function handlers2(chain: (file: string) => unknown): Omit<Handlers, 'judgeHeader'> {
  const StateStore = chain('state_store') as StateStoreClass;
  const { verifyTransactions, applyTransactions } = chain('transactions') as {
    verifyTransactions: (storage: unknown, slots: unknown, exceptions: object) => Run;
    applyTransactions: (storage: unknown, exceptions: object) => Run<Responses & { readonly stateStore: StateStore }>;
  };
  const { verifyPayload } = chain('blocks/verify') as {
    verifyPayload: (block: unknown, count: number, bytes: number, result: { errors: Error[] }) => { errors: Error[] };
  };
  return {
    judge: judgeWith((table) => new StateStore(storageOf(table), { mutate: true })),
    async verify(transactions, table) {
      throwFirst(await verifyTransactions(storageOf(table), SLOTS, {})(transactions));
    },
    async apply(transactions, table) {
      const answer = await applyTransactions(storageOf(table), {})(transactions);
      throwFirst(answer);
      await answer.stateStore.account.finalize();
      return answer.stateStore.round?.data ?? [];
    },
    validatePayload: (transactions, header) => {
      const block = blockOf(transactions, header);
      const { errors } = verifyPayload(block, TRANSACTIONS_MAX, PAYLOAD_BYTES_MAX, { errors: [] });
      if (errors[0] !== undefined) throw errors[0];
    },
  };
}

function judgeWith(storeOver: (table: AccountTable) => StateStore): Handlers['judge'] {
  return async (transaction, table) => {
    const store = storeOver(table);
    await transaction.prepare(store);
    return transaction.apply(store);
  };
}

function storageOf(table: AccountTable): unknown {
  return { entities: { Account: table, Transaction: {}, ChainState: {}, Round: {} } };
}

function blockOf(transactions: readonly ReferenceTransaction[], header: PayloadHeader): unknown {
  return { ...header, transactions, numberOfTransactions: transactions.length, payloadLength: 0 };
}

function throwFirst({ transactionsResponses }: Responses): void {
  const failed = transactionsResponses.find(({ status }) => status !== 1);
  if (failed !== undefined) throw failed.errors;
}
