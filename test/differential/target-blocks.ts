/**
 * Targets that compare the processing of whole blocks: the totals, the checks of each transaction, the stored data, and
 * the changes of accounts.
 */

import { sha256Hex } from '../../src/crypto/hash.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import { applyTransactions } from '../../src/protocol/block/apply.ts';
import { payloadFaults, validateTransactions, type BlockFormat } from '../../src/protocol/block/validate.ts';
import { headerBytes } from '../../src/protocol/block/header.ts';
import * as gen2Bytes from '../../src/protocol/gen2/transaction-bytes.ts';
import * as gen3Bytes from '../../src/protocol/gen3/transaction-bytes.ts';
import { StateOverlay, writeChanges } from '../../src/protocol/state.ts';
import type { Json, JsonObject } from '../../src/protocol/types.ts';
import type { RandomBelow } from '../fuzz/mutate.ts';
import { MemoryState } from '../support/memory-state.ts';
import { byAddress, comparableRow, rowOf } from '../support/reference-store.ts';
import { outcomeOf, Refused, type Comparison } from './comparison.ts';
import { anyDocument, namedMembers, NETWORK_IDENTIFIER, sign, type Document } from './documents.ts';
import { addUnknown, AMOUNTS, mutate, otherCase, pick, repeatInOtherCase } from './mutations.ts';
import { oursOf, verify } from './ours.ts';
import { PEOPLE, type Person } from './people.ts';
import { NOW_S, type Handlers, type RoundEntry } from './reference-node.ts';
import { AccountTable, fullRow, requireStorable, type Columns } from '../support/reference-tables.ts';
import { referenceTransaction, type ReferencePackage, type ReferenceTransaction } from './reference.ts';
import type { Target } from './target.ts';
import { anySequence, type Account, type BlockContent } from './sequences.ts';
import { anyAccounts, fill } from './world.ts';

/** A case in its printed form: the accounts before the block, and the block. */
interface Case {
  readonly accounts: readonly Account[];
  readonly block: JsonObject;
}

const COUNT_MAX = 5;

/** Target for blocks whose transactions come from random accounts and do not depend on each other. */
export function blockTarget(reference: ReferencePackage, handlers: Handlers): Target {
  return targetOf(`generation ${reference.generation}, blocks`, reference, handlers, anyContent);

  function anyContent(below: RandomBelow): BlockContent {
    const accounts = anyAccounts(below);
    const count = below(2) === 0 ? 1 : 1 + below(COUNT_MAX);
    const transactions = Array.from({ length: count }, () => anyTransaction(accounts.map(fullRow), below));
    if (below(20) === 0) transactions.push(structuredClone(pick(transactions, below)));
    return { accounts, transactions };
  }

  function anyTransaction(accounts: readonly Columns[], below: RandomBelow): Document {
    const sender = pick(PEOPLE, below);
    const row = accounts.find(({ address }) => address === sender.address);
    const delegates = PEOPLE.filter(({ address }) =>
      accounts.some((each) => each.address === address && each.isDelegate),
    );
    const document = anyDocument(reference, below, sender, delegates);
    beforeSigning(document, below);
    const members = [...namedMembers(document), ...personsOf(row?.membersPublicKeys)];
    const second = personsOf(row?.secondPublicKey ? [row.secondPublicKey] : [])[0];
    const isCareless = below(15) === 0;
    sign(reference, document, isCareless ? { sender } : { sender, second, members });
    afterSigning(document, below);
    return document;
  }

  /**
   * For about a third of the transactions with a list `keysgroup` or `votes`, takes a public key from the list and
   * changes its letter case. The changed key replaces the original key or becomes an additional entry. The signature
   * covers both lists.
   */
  function beforeSigning(document: Document, below: RandomBelow): void {
    const asset = document['asset'] as Record<string, unknown>;
    const inner = (asset['multisignature'] ?? asset) as { keysgroup?: string[]; votes?: string[] };
    const list = inner.keysgroup ?? inner.votes;
    if (list === undefined || below(3) > 0) return;
    const index = below(list.length);
    const changed = otherCase(list[index] ?? '', below);
    if (below(2) === 0) list[index] = changed;
    else list.push(changed);
    if (document['type'] === 4) document['fee'] = String(500_000_000 * (list.length + 1));
  }

  /** Changes the signed transaction, mostly in members or forms that no signature covers. */
  function afterSigning(document: Document, below: RandomBelow): void {
    const signatures = document['signatures'] as string[] | undefined;
    if (signatures !== undefined && below(2) === 0) {
      const index = below(signatures.length);
      // Two members with the same key make equal signatures. This node and the reference (lisk-sdk) refuse a
      // transaction with two equal signatures. Change the repeated signature to upper case, so that the signatures
      // differ.
      for (const [at, each] of signatures.entries())
        if (signatures.indexOf(each) < at) signatures[at] = each.toUpperCase();
      if (below(4) === 0) signatures[index] = otherCase(signatures[index] ?? '', below);
      if (below(10) === 0) signatures.push(otherCase(signatures[index] ?? '', below));
    }
    if (below(15) === 0) document['senderPublicKey'] = otherCase(String(document['senderPublicKey']), below);
    const asset = document['asset'] as Record<string, unknown>;
    if (below(4) === 0) asset['amount'] ??= structuredClone(pick(AMOUNTS, below));
    if (below(12) === 0) addUnknown(asset, below);
    if (below(12) === 0) repeatInOtherCase(document, below);
    if (below(30) === 0) mutate(document, below);
  }
}

/** Target for blocks in which some transactions depend on earlier transactions of the block. */
export function sequenceTarget(reference: ReferencePackage, handlers: Handlers): Target {
  const target = targetOf(`generation ${reference.generation}, sequences`, reference, handlers, (below) =>
    anySequence(reference, below),
  );
  // A case of this target takes as long as three cases of another target, so this target gets fewer cases.
  return { ...target, weight: 0.4 };
}

function targetOf(
  name: string,
  reference: ReferencePackage,
  handlers: Handlers,
  anyContent: (below: RandomBelow) => BlockContent,
): Target {
  const { generation } = reference;
  const ours = oursOf(generation);
  const bytes = generation === 2 ? gen2Bytes : gen3Bytes;
  const format: BlockFormat = { headerBytes, transactionBytes: bytes.transactionBytes };
  return { name, compare: (below) => compareText(anyCase(below)), compareText };

  function anyCase(below: RandomBelow): string {
    const { accounts, transactions } = anyContent(below);
    // This node and the reference (lisk-sdk) receive the documents after conversion to JSON.
    const block = JSON.parse(JSON.stringify(headerFor(transactions, below))) as JsonObject;
    return JSON.stringify({ accounts, block });
  }

  function headerFor(transactions: readonly Document[], below: RandomBelow): JsonObject {
    let totalAmount = '0';
    let totalFee = '0';
    const parts: Buffer[] = [];
    try {
      let amount = reference.number(0);
      let fee = reference.number(0);
      for (const document of JSON.parse(JSON.stringify(transactions)) as Document[]) {
        const transaction = referenceTransaction(reference, document, NETWORK_IDENTIFIER);
        parts.push(transaction.getBytes());
        amount = amount.plus(transaction.amount ?? (transaction.asset.amount || 0));
        fee = fee.plus(transaction.fee);
      }
      totalAmount = amount.toString();
      totalFee = fee.toString();
    } catch {
      // The code above throws if the reference (lisk-sdk) cannot read one of the transactions. Such a block is invalid
      // with any totals, so the totals stay 0.
    }
    if (below(15) === 0)
      totalAmount = pick(['0', '7', ` ${totalAmount}`, `${totalAmount}.0`, `+${totalAmount}`], below);
    const height = below(20) === 0 ? pick([2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1], below) : 0;
    return {
      version: generation === 2 ? 1 : 2,
      height: 10,
      timestamp: 100,
      [generation === 2 ? 'previousBlock' : 'previousBlockId']: '9',
      numberOfTransactions: transactions.length,
      totalAmount,
      totalFee,
      reward: '0',
      payloadLength: 0,
      payloadHash: sha256Hex(Buffer.concat(parts)),
      generatorPublicKey: PEOPLE[0]?.publicKey ?? '',
      blockSignature: '00'.repeat(64),
      ...(generation === 2 ? {} : { maxHeightPreviouslyForged: height, maxHeightPrevoted: 0 }),
      transactions: transactions as Json,
    };
  }

  async function compareText(input: string): Promise<Comparison> {
    return {
      input,
      ours: await outcomeOf(() => processHere(JSON.parse(input) as Case)),
      reference: await outcomeOf(() => processThere(JSON.parse(input) as Case)),
    };
  }

  function processHere({ accounts, block: json }: Case): unknown {
    const state = new MemoryState();
    fill(state, accounts.map(fullRow));
    const block = ours.codec.blockFromJson(json);
    validateTransactions(block, ours.rules.validateTransaction, verify);
    for (const fault of payloadFaults(block, ours.params, format)) throw new Refused(fault);
    const overlay = new StateOverlay(state);
    applyTransactions(overlay, block, { nowS: NOW_S, verify }, ours.params, ours.rules);
    writeChanges(overlay.changes(), state);
    return {
      accounts: byAddress(
        [...state.accounts()].map((account) => {
          const delegate = account.publicKey === undefined ? undefined : state.delegate(account.publicKey);
          return {
            ...comparableRow(rowOf(account)),
            weight: (delegate?.voteWeight ?? 0n).toString(),
            gathered: (delegate?.pendingVoteWeight ?? 0n).toString(),
          };
        }),
      ),
    };
  }

  async function processThere({ accounts, block }: Case): Promise<unknown> {
    const table = new AccountTable(accounts.map(fullRow));
    const transactions = (block['transactions'] as readonly Json[]).map((json) =>
      referenceTransaction(reference, json, NETWORK_IDENTIFIER),
    );
    const totals = {
      totalAmount: reference.number(block['totalAmount']),
      totalFee: reference.number(block['totalFee']),
    };
    // The reference (lisk-sdk) first writes the header as bytes, which fails for a negative total.
    for (const total of Object.values(totals)) total.toBuffer({ size: 8, endian: 'little' });
    for (const transaction of transactions) {
      const { status, errors } = transaction.validate();
      if (status !== 1) throw errors;
    }
    handlers.validatePayload(transactions, { ...totals, payloadHash: String(block['payloadHash']) });
    await handlers.verify(transactions, table);
    const store = (): void => {
      const assets = transactions.map(storedAsset);
      const heights = [Number(block['maxHeightPreviouslyForged'] ?? 0)];
      requireStorable([totals.totalAmount.toString(), totals.totalFee.toString()], heights, assets);
    };
    // Generation 2 first applies and then stores transactions. Generation 3 first stores and then applies them.
    if (generation === 3) store();
    const rounds = await handlers.apply(transactions, table);
    if (generation === 2) store();
    return { accounts: byAddress(table.rows().map((row) => comparable(row, rounds))) };
  }
}

/**
 * Returns the JSON that the database of the reference (lisk-sdk) stores for the asset. For a transfer with data, the
 * result is null, because this database stores only the data, in a separate column.
 */
function storedAsset(transaction: ReferenceTransaction): Json {
  const asset = (transaction.toJSON()['asset'] ?? null) as Json;
  const isTransfer = transaction.type === 0 || transaction.type === 8;
  return isTransfer && typeof asset === 'object' && asset !== null && 'data' in asset && asset['data'] ? null : asset;
}

function comparable(row: Columns, rounds: readonly RoundEntry[]) {
  const gathered = rounds
    .filter(({ delegatePublicKey }) => addressOf(delegatePublicKey) === row.address)
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  return { ...comparableRow(row), weight: row.voteWeight, gathered: gathered.toString() };
}

function personsOf(keys: readonly string[] | null | undefined): readonly Person[] {
  return (keys ?? []).flatMap((key) => PEOPLE.filter(({ publicKey }) => publicKey === key.toLowerCase()));
}
