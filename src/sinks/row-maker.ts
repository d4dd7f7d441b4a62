/**
 * Makes the rows of a chain's blocks for the tables of a sink. `RowMaker` applies the blocks again, from the genesis
 * block on, with the rules of the network, but does not verify signatures. The last block of a round pays the
 * delegates. By comparing the accounts before and after this block, the module finds the payment of each delegate, and
 * the delegates that missed a block.
 */

import { addressOf } from '../crypto/keys.ts';
import { ProtocolError } from '../primitives/errors.ts';
import { isLastOfRound, roundOf } from '../protocol/rounds.ts';
import type { Rules } from '../protocol/rules.ts';
import { momentMs } from '../protocol/slots.ts';
import type { Address, Block, BlockHeader } from '../protocol/types.ts';
import { BalanceChanges, type BalanceChange } from './balance-changes.ts';
import { ChainState, type AccountChange } from './chain-state.ts';
import { blockRow, signatureRows, transactionRow, voteRows } from './rows.ts';
import type { Row, Rows } from './tables.ts';

export class RowMaker {
  readonly #rules: Rules;
  readonly #state = new ChainState();
  readonly #changes: BalanceChanges;

  constructor(rules: Rules) {
    this.#rules = rules;
    this.#changes = new BalanceChanges(rules.params, this.#state);
  }

  /** The newest block that is applied and not reverted. */
  tip(): BlockHeader | undefined {
    return this.#state.tip();
  }

  /**
   * Applies the next block without making its rows.
   *
   * @throws ProtocolError `SINK_BLOCK_REFUSED` for a block that does not follow the tip or breaks a rule
   */
  apply(block: Block): void {
    this.#append(block);
  }

  /**
   * Applies the next block and makes its rows.
   *
   * @throws ProtocolError the error of `apply`; `SINK_BALANCE_DIFFERS` if the balance changes of an account do not add
   *   up to the change of its balance
   */
  rowsOf(block: Block): Rows {
    const accounts = this.#append(block);
    const earnings = isLastOfRound(block.height, this.#rules.params) ? payoutOf(accounts) : [];
    const changes = [...this.#changes.of(block), ...earnings.flatMap(changesOf)];
    checkBalances(block, changes, accounts);
    const time = Math.floor(momentMs(block.timestamp, this.#rules.params) / 1000);
    const { height } = block;
    return {
      blocks: [blockRow(block, time, roundOf(height, this.#rules.params))],
      transactions: block.transactions.map((transaction, position) =>
        transactionRow(transaction, { height, position, time }),
      ),
      balance_changes: changes.map(({ address, amount, cause, transactionId }, position) => {
        return { height, position, time, address, amount, cause, transaction_id: BigInt(transactionId ?? 0) };
      }),
      votes: voteRows(block, time, (key) => this.#state.delegate(key)?.address ?? addressOf(key)),
      rounds: this.#roundRows(block, time, accounts, earnings),
      signatures: signatureRows(block, time, (address) => this.#state.account(address)?.secondPublicKey ?? ''),
    };
  }

  /** Reverts the newest block. */
  revert(): void {
    this.#state.revert();
  }

  /** Drops the undo records of the blocks up to `height`. After this call, `revert` cannot revert these blocks. */
  settle(height: number): void {
    this.#state.settle(height);
  }

  #append(block: Block): readonly AccountChange[] {
    const tip = this.#state.tip();
    if (block.height !== (tip?.height ?? 0) + 1 || (tip !== undefined && block.previousBlockId !== tip.id)) {
      throw refused(block, `it does not follow block ${tip?.id ?? '0'} at height ${tip?.height ?? 0}`);
    }
    const { transactions: _transactions, ...header } = block;
    const context = { nowS: block.timestamp, verify: () => true };
    try {
      return this.#state.append(header, (state) => {
        if (block.height === 1) this.#rules.applyGenesis(state, block);
        else this.#rules.applyBlock(state, block, context);
      });
    } catch (error) {
      throw refused(block, error instanceof Error ? error.message : String(error), error);
    }
  }

  #roundRows(
    { height }: Block,
    time: number,
    accounts: readonly AccountChange[],
    earnings: readonly Payout[],
  ): readonly Row<'rounds'>[] {
    const { params } = this.#rules;
    if (!isLastOfRound(height, params)) return [];
    const round = roundOf(height, params);
    const paid = new Map(earnings.map((payout) => [payout.address, payout]));
    const forged = new Map<Address, { key: string; blocks: number }>();
    for (let at = height - params.activeDelegates + 1; at <= height; at += 1) {
      const key = this.#state.header(at)?.generatorPublicKey ?? '';
      const address = addressOf(key);
      forged.set(address, { key, blocks: (forged.get(address)?.blocks ?? 0) + 1 });
    }
    const rows = Array.from(forged, ([delegate, { key, blocks }]) => {
      const { fees = 0n, rewards = 0n } = paid.get(delegate) ?? {};
      return { delegate, delegate_key: key, forged: blocks, missed: 0, rewards, fees };
    });
    const missed = accounts.flatMap(({ before, after }) =>
      after.missedBlocks > (before?.missedBlocks ?? 0)
        ? [
            {
              delegate: after.address,
              delegate_key: after.publicKey ?? '',
              forged: 0,
              missed: 1,
              rewards: 0n,
              fees: 0n,
            },
          ]
        : [],
    );
    return [...rows, ...missed].map((row, position) => ({ height, position, time, round, ...row }));
  }
}

/** Payment to an account at the end of a round, in beddows (1 LSK is 100,000,000 beddows). */
interface Payout {
  readonly address: Address;
  readonly fees: bigint;
  readonly rewards: bigint;
}

function payoutOf(accounts: readonly AccountChange[]): readonly Payout[] {
  return accounts.flatMap(({ before, after }) => {
    const fees = after.forgedFees - (before?.forgedFees ?? 0n);
    const rewards = after.forgedRewards - (before?.forgedRewards ?? 0n);
    return fees === 0n && rewards === 0n ? [] : [{ address: after.address, fees, rewards }];
  });
}

function changesOf({ address, fees, rewards }: Payout): readonly BalanceChange[] {
  const changes: BalanceChange[] = [];
  if (fees !== 0n) changes.push({ address, amount: fees, cause: 'fee', transactionId: undefined });
  if (rewards !== 0n) changes.push({ address, amount: rewards, cause: 'reward', transactionId: undefined });
  return changes;
}

/**
 * Compares the balance changes of a block with the balances of the accounts before and after the block. `rowsOf` checks
 * each block in this way, because wrong sums are worse than no rows.
 */
function checkBalances(block: Block, changes: readonly BalanceChange[], accounts: readonly AccountChange[]): void {
  const sums = new Map<Address, bigint>();
  for (const { address, amount } of changes) sums.set(address, (sums.get(address) ?? 0n) + amount);
  for (const { before, after } of accounts) {
    const { address, balance } = after;
    const expected = balance - (before?.balance ?? 0n);
    if ((sums.get(address) ?? 0n) !== expected) throw differing(block, address, sums.get(address) ?? 0n, expected);
    sums.delete(address);
  }
  for (const [address, sum] of sums) if (sum !== 0n) throw differing(block, address, sum, 0n);
}

function differing({ id, height }: Block, address: Address, sum: bigint, expected: bigint): ProtocolError {
  return new ProtocolError(
    'SINK_BALANCE_DIFFERS',
    { height, blockId: id, address },
    `the balance changes of ${address} in block ${id} at height ${height} are ${sum} beddows, the rules say ${expected}: please ` +
      'report this',
  );
}

function refused({ id, height }: Block, why: string, cause?: unknown): ProtocolError {
  return new ProtocolError(
    'SINK_BLOCK_REFUSED',
    { height, blockId: id },
    `block ${id} at height ${height} cannot be taken: ${why}`,
    { cause },
  );
}
