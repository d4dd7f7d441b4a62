/**
 * Defines the types of `bloomery/testing`. The types use no types of other modules, so they are valid in applications
 * that install the package.
 */

export interface DevnetOptions {
  /** Number of nodes, from 1 to 16; default 1. */
  readonly nodes?: number;
  /**
   * When nodes forge blocks: with each transaction (`instant`, the default), when `mine` is called (`on-demand`), or in
   * each slot (`interval`). A slot of the devnet of the package takes two seconds.
   */
  readonly mine?: MiningMode;
  /** Generation of the network; default 3. A devnet with `network` has the generation of this network. */
  readonly generation?: 2 | 3;
  /**
   * Number of delegates in a round, from 1 to 101; default 101. In generation 3 with 5 delegates, a block is final
   * after 7 to 11 more blocks. Not allowed together with `network`.
   */
  readonly delegates?: number;
  /**
   * Name or folder of another network, instead of the devnet of the package. The folder must contain the encrypted
   * passphrases of the delegates.
   */
  readonly network?: string;
  /** Lowest level of the log lines that the nodes write to the standard error output. By default, they write none. */
  readonly log?: 'debug' | 'info' | 'warn' | 'error';
}

export type MiningMode = 'instant' | 'on-demand' | 'interval';

/** An account with a published passphrase. Never use the account on another network. */
export interface TestAccount {
  /**
   * In the devnet of the package, `genesis` has nearly all funds, `account_1` to `account_10` have 100,000 LSK each,
   * and `genesis_1`, `genesis_2` and so on are delegates.
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
  /** 64 hexadecimal digits. In generation 3, each signature covers the network identifier. */
  readonly networkIdentifier: string;
  readonly nethash: string;
  /** Start of time on the network: timestamps count the seconds since this moment. */
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
  /** SHA-256 of the state at the block `blockId`. */
  readonly digest: string;
}

/** Effect of a transaction. Amounts are in beddows (100,000,000 beddows are 1 LSK). */
export type TransactionPayload =
  | { readonly kind: 'transfer'; readonly to: string; readonly amount: bigint; readonly data?: string }
  | { readonly kind: 'delegate'; readonly username: string }
  /** Public keys of delegates. */
  | { readonly kind: 'vote'; readonly for?: readonly string[]; readonly against?: readonly string[] }
  | { readonly kind: 'secondSignature'; readonly publicKey: string };

export interface SentTransaction {
  readonly id: string;
  /**
   * Height of the block with the transaction. `fund` always returns the height. `send` returns the height only in the
   * mining mode `instant` and without a partition.
   */
  readonly height?: number;
}

export interface SendOptions {
  /**
   * Number of the node that gets the transaction first; default 0. In the mining mode `instant`, without a partition,
   * all nodes get the transaction at once.
   */
  readonly node?: number;
  /** Accepts any string as a passphrase, even if the string is neither an account name nor a BIP-39 passphrase. */
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
  /**
   * Mines the next slots (default: 1 slot, at most 10,000): in each slot, the delegate of the slot forges a block. All
   * nodes have the blocks when the promise resolves. In a partition, only the nodes in the group of the forging node
   * get the block.
   */
  mine(slots?: number): Promise<Mined>;
  /**
   * Resolves when all nodes have at least this height. In a partition, each group must reach the height by itself.
   * `waitForHeight` forges no blocks.
   *
   * @param options `timeoutMs`: time limit in milliseconds by the clock of the machine, default 30,000
   * @throws an error that names the height of each node if the time limit is reached; an error if the devnet is closed
   */
  waitForHeight(height: number, options?: { readonly timeoutMs?: number }): Promise<void>;
  /** Sets the mining mode from now on. @throws an error for an unknown mode */
  setMining(mode: MiningMode): Promise<void>;
  /**
   * Sets the chain's clock ahead: to a moment, or by a duration (`90s`, `15m`, `1h`, `2d`, `3w`, `1y`). All skipped
   * slots stay empty. Resolves with the new time of the chain's clock.
   *
   * @throws an error for an invalid date or a moment in the past; the clock does not change
   */
  warp(to: string | Date): Promise<Date>;
  /**
   * Saves chains, pools, signing journals and clock of all nodes under a name. A name has 1 to 64 characters (letters,
   * digits, `-`, `_`, `.`) and begins with a letter or digit. A snapshot replaces an earlier snapshot of the same name.
   *
   * @throws an error for an invalid name, or if there are already 100 snapshots with other names
   */
  snapshot(name: string): Promise<Snapshot>;
  /**
   * Restores a snapshot on all nodes. The snapshot is kept, and the ports stay the same.
   *
   * @throws an error that lists the existing names if no snapshot has the name
   */
  revert(name: string): Promise<Snapshot>;
  /**
   * Signs a transaction and sends it to a node. In the mining mode `instant`, a block contains the transaction when the
   * promise resolves, except in a partition.
   *
   * @param from an account, its name, or a BIP-39 passphrase
   * @param options number of the node, or an object of options
   * @throws an error with the reason when the node refuses the transaction; an error for a string that is neither the
   *   name of an account nor a BIP-39 passphrase; an error with the name of the field for an incomplete payload
   */
  send(
    from: TestAccount | string,
    payload: TransactionPayload,
    options?: number | SendOptions,
  ): Promise<SentTransaction>;
  /**
   * Sends beddows from the account `genesis` (on another network, from its first account), and mines slots until a
   * block contains the transaction.
   */
  fund(address: string, amount: bigint): Promise<SentTransaction>;
  /**
   * Makes the nodes accept any signature for the account with this address from now on. The account must have sent a
   * transaction before, and must not be a multisignature group.
   */
  impersonate(address: string): Promise<void>;
  /**
   * Partitions the network: nodes of different groups exchange no messages. Nodes outside the given groups form another
   * group.
   */
  partition(...groups: readonly (readonly number[])[]): Promise<void>;
  /**
   * Delays each message between nodes by a duration: a number of milliseconds, or a string such as `150ms` or `2s`. A
   * link has the greater delay of its two nodes. A delay does not affect the function `mine` and the mining mode
   * `instant`, which pass blocks to all nodes at once.
   *
   * @param nodes nodes whose links get the delay; default: all
   */
  delay(by: string | number, nodes?: readonly number[]): Promise<void>;
  /**
   * Drops each message between nodes with a probability: a number from 0 to 1, or a string such as `5%`.
   *
   * @param nodes nodes whose links lose messages; default: all
   */
  loss(share: string | number, nodes?: readonly number[]): Promise<void>;
  /**
   * Sets the clock of a node ahead of the devnet's clock, by a number of milliseconds or a string such as `+3s`. A
   * negative number, or a string such as `-3s`, sets the clock behind.
   */
  skew(node: number, by: string | number): Promise<void>;
  /**
   * Ends partition, delays, losses and wrong clocks, and resolves when all nodes have the same tip. If the tips differ,
   * `heal` also mines slots. A node learns of a better chain from a new block of that chain, and a new block decides
   * between two equally good chains.
   *
   * @throws an error if the nodes do not have the same tip within 60 seconds
   */
  heal(): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
