/**
 * The types of `bloomery/testing`. These types use no types of other modules, so they stay valid for applications that
 * install the package.
 */

export interface DevnetOptions {
  /** Number of nodes, from 1 to 16; default 1. */
  readonly nodes?: number;
  /**
   * When nodes forge blocks: with each transaction (`instant`, the default), when `mine` is called (`on-demand`), or in
   * each slot of two seconds (`interval`).
   */
  readonly mine?: MiningMode;
  /** Default 3. */
  readonly generation?: 2 | 3;
  /**
   * Number of delegates in a round, from 1 to 101; default 101. With 5 delegates, a block becomes final after 7 to 11 further
   * blocks.
   */
  readonly delegates?: number;
  /** Name or folder of another network with known delegates, instead of the devnet of the package. */
  readonly network?: string;
  /** Lowest level of the log lines that the nodes write to the standard error output; none by default. */
  readonly log?: 'debug' | 'info' | 'warn' | 'error';
}

export type MiningMode = 'instant' | 'on-demand' | 'interval';

/** An account with a published passphrase. It is worthless on every other network. */
export interface TestAccount {
  /**
   * `genesis` has nearly all funds, `account_1` to `account_10` have 100,000 LSK each, and `genesis_1`, `genesis_2` and
   * so on are delegates.
   */
  readonly name: string;
  readonly address: string;
  readonly publicKey: string;
  readonly passphrase: string;
}

export interface TestNode {
  readonly index: number;
  /** URL of the HTTP interface of the node, without a path. */
  readonly url: string;
}

export interface NetworkFacts {
  readonly name: string;
  readonly generation: 2 | 3;
  /** 64 hexadecimal digits. Signatures of generation 3 cover the network identifier. */
  readonly networkIdentifier: string;
  readonly nethash: string;
  /** Timestamps of blocks and transactions count seconds from this moment. */
  readonly epoch: Date;
  readonly blockTimeS: number;
  readonly activeDelegates: number;
}

export interface Mined {
  readonly slots: number;
  /** Number of slots without a block. */
  readonly emptySlots: number;
  readonly height: number;
  readonly blockId: string;
  readonly time: Date;
}

export interface Snapshot {
  readonly name: string;
  readonly height: number;
  readonly blockId: string;
  /** SHA-256 of the state at the tip. */
  readonly digest: string;
}

/** Effect of a transaction on an account. Amounts are beddows: 100,000,000 of them are 1 LSK. */
export type TransactionPayload =
  | { readonly kind: 'transfer'; readonly to: string; readonly amount: bigint; readonly data?: string }
  | { readonly kind: 'delegate'; readonly username: string }
  /** Public keys of delegates. */
  | { readonly kind: 'vote'; readonly for?: readonly string[]; readonly against?: readonly string[] }
  | { readonly kind: 'secondSignature'; readonly publicKey: string };

export interface SentTransaction {
  readonly id: string;
  /** Height of the block with the transaction; undefined when the mining mode is not `instant`. */
  readonly height?: number;
}

export interface SendOptions {
  /** Number of the node that gets the transaction first; default 0. */
  readonly node?: number;
  /** Whether any text counts as a passphrase, even if the text is neither an account name nor a BIP-39 passphrase. */
  readonly anyPassphrase?: boolean;
}

export interface TestDevnet {
  /** URL of the HTTP interface of node 0, without a path. */
  readonly url: string;
  readonly nodes: readonly TestNode[];
  readonly accounts: readonly TestAccount[];
  readonly network: NetworkFacts;
  /** @throws an error for a name that no account has */
  account(name: string): TestAccount;
  /** Present time of the chain's clock. */
  now(): Date;
  /** Forges the next slots, each by its delegate; default 1. When it resolves, all nodes have the blocks. */
  mine(slots?: number): Promise<Mined>;
  /**
   * Resolves when all nodes have at least this height; in a partition, each group must reach it by itself. The call itself
   * forges no blocks.
   *
   * @param options `timeoutMs`: limit by the clock of the machine, default 30,000
   * @throws an error with the height of each node if the time is over, or an error if the devnet is closed
   */
  waitForHeight(height: number, options?: { readonly timeoutMs?: number }): Promise<void>;
  /** Sets the mining mode from now on. @throws an error for an unknown mode */
  setMining(mode: MiningMode): Promise<void>;
  /**
   * Sets the chain's clock ahead, either to a moment or by a duration (`90s`, `15m`, `1h`, `2d`, `3w`, `1y`). The skipped
   * slots stay empty.
   *
   * @throws an error for an invalid date or a moment in the past; the clock then stays as it is
   */
  warp(to: string | Date): Promise<Date>;
  /**
   * Saves chains, pools, signing journals and clock of all nodes under a name. A name has 1 to 64 characters (letters,
   * digits, `-`, `_`, `.`) and begins with a letter or digit.
   */
  snapshot(name: string): Promise<Snapshot>;
  /**
   * Restores a snapshot on all nodes. The snapshot is kept, and the ports stay the same.
   *
   * @throws an error that lists the existing snapshots if none has the name
   */
  revert(name: string): Promise<Snapshot>;
  /**
   * Signs a transaction and sends it to a node. With `mine: 'instant'`, a block contains the transaction when the call
   * resolves.
   *
   * @param from an account, its name, or a BIP-39 passphrase
   * @param options number of the node, or an object of options
   * @throws an error with the reason if the node refuses the transaction, if a text names no account, or if a field of the
   *   payload is missing
   */
  send(
    from: TestAccount | string,
    payload: TransactionPayload,
    options?: number | SendOptions,
  ): Promise<SentTransaction>;
  /** Sends beddows from the account `genesis` and mines a block with the transaction. */
  fund(address: string, amount: bigint): Promise<SentTransaction>;
  /** Makes the nodes accept any signature for that account from now on. The account must have sent a transaction before. */
  impersonate(address: string): Promise<void>;
  /**
   * Cuts the network: nodes of different groups do not reach one another. Nodes that are in no given group form one further
   * group.
   */
  partition(...groups: readonly (readonly number[])[]): Promise<void>;
  /**
   * Delays each message between nodes by a number of milliseconds, or by a duration such as `150ms` or `2s`. The delay of a
   * link is the greater delay of its two nodes. The delay does not affect `mine` and `mine: 'instant'`: they hand blocks to
   * all nodes at once.
   *
   * @param nodes nodes whose links get the delay; default: all
   */
  delay(by: string | number, nodes?: readonly number[]): Promise<void>;
  /**
   * Drops each message between nodes with the given probability, a number from 0 to 1 or a percentage such as `5%`.
   *
   * @param nodes nodes whose links lose messages; default: all
   */
  loss(share: string | number, nodes?: readonly number[]): Promise<void>;
  /**
   * Sets the clock of a node ahead of the devnet's clock by a number of milliseconds, or by a duration such as `+3s`. A
   * negative value such as `-3s` sets the clock behind.
   */
  skew(node: number, by: string | number): Promise<void>;
  /**
   * Ends partition, delays, losses and wrong clocks, and resolves when all nodes have the same tip. Until then, the devnet
   * mines some slots, because nodes learn of a better chain from new blocks.
   */
  heal(): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
