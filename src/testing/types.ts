/** What `bloomery/testing` offers. The shapes name nothing of the inside, so that they hold for whoever installs the package. */

export interface DevnetOptions {
  /** How many, from 1 to 16; default 1. */
  readonly nodes?: number;
  /**
   * When blocks come: with each transaction (`instant`, the default), when `mine` is called (`on-demand`), or in each slot of
   * two seconds (`interval`).
   */
  readonly mine?: MiningMode;
  /** Default 3. */
  readonly generation?: 2 | 3;
  /** Delegates of a round, from 1 to 101; default 101. With 5 a block is final 7 to 11 blocks later. */
  readonly delegates?: number;
  /** Name or folder of another network with known delegates, in the place of the devnet of the package. */
  readonly network?: string;
  /** Log lines of the nodes go to the standard error output from this level on; none unless given. */
  readonly log?: 'debug' | 'info' | 'warn' | 'error';
}

export type MiningMode = 'instant' | 'on-demand' | 'interval';

/** An account with its public passphrase: worthless on every other network. */
export interface TestAccount {
  /** `genesis` has nearly everything, `account_1` to `account_10` have 100,000 LSK each, `genesis_1` and on are delegates. */
  readonly name: string;
  readonly address: string;
  readonly publicKey: string;
  readonly passphrase: string;
}

export interface TestNode {
  readonly index: number;
  /** Of its HTTP interface, without a path. */
  readonly url: string;
}

export interface NetworkFacts {
  readonly name: string;
  readonly generation: 2 | 3;
  /** 64 hexadecimal digits; goes into signatures of generation 3. */
  readonly networkIdentifier: string;
  readonly nethash: string;
  /** Timestamps are seconds from here on. */
  readonly epoch: Date;
  readonly blockTimeS: number;
  readonly activeDelegates: number;
}

export interface Mined {
  readonly slots: number;
  /** Slots without a block. */
  readonly emptySlots: number;
  readonly height: number;
  readonly blockId: string;
  readonly time: Date;
}

export interface Snapshot {
  readonly name: string;
  readonly height: number;
  readonly blockId: string;
  /** SHA-256 over the state at that block. */
  readonly digest: string;
}

/** Effect of a transaction. Amounts are beddows: 100,000,000 of them are 1 LSK. */
export type TransactionPayload =
  | { readonly kind: 'transfer'; readonly to: string; readonly amount: bigint; readonly data?: string }
  | { readonly kind: 'delegate'; readonly username: string }
  /** Public keys of delegates. */
  | { readonly kind: 'vote'; readonly for?: readonly string[]; readonly against?: readonly string[] }
  | { readonly kind: 'secondSignature'; readonly publicKey: string };

export interface SentTransaction {
  readonly id: string;
  /** Of its block; undefined where blocks do not come with transactions. */
  readonly height?: number;
}

export interface SendOptions {
  /** Number of the node that gets the transaction first; default 0. */
  readonly node?: number;
  /** Accepts any text as a passphrase, also one that is neither an account name nor BIP-39. */
  readonly anyPassphrase?: boolean;
}

export interface TestDevnet {
  /** Of the HTTP interface of node 0, without a path. */
  readonly url: string;
  readonly nodes: readonly TestNode[];
  readonly accounts: readonly TestAccount[];
  readonly network: NetworkFacts;
  /** @throws an error for a name that no account has */
  account(name: string): TestAccount;
  /** Of the chain's clock. */
  now(): Date;
  /** Forges the next slots, each by its delegate; default 1. All nodes have the blocks then. */
  mine(slots?: number): Promise<Mined>;
  /**
   * Resolves when all nodes have at least this height; parts of a cut network reach it each by itself. It forges nothing.
   *
   * @param options `timeoutMs`: of the machine's clock, default 30,000
   * @throws an error that names the height of each node when the time is over; also an error when the devnet is closed
   */
  waitForHeight(height: number, options?: { readonly timeoutMs?: number }): Promise<void>;
  /** Sets when blocks come from now on. @throws an error for another mode */
  setMining(mode: MiningMode): Promise<void>;
  /**
   * Sets the chain's clock ahead: to a moment, or by `90s`, `15m`, `1h`, `2d`, `3w`, `1y`. The slots between stay empty.
   *
   * @throws an error for an invalid date and a moment that has passed; the clock stays as it is then
   */
  warp(to: string | Date): Promise<Date>;
  /**
   * Saves chains, pools, signing journals and clock of all nodes under a name: 1 to 64 letters, digits, `-`, `_` and `.`, the
   * first of them a letter or digit.
   */
  snapshot(name: string): Promise<Snapshot>;
  /** Restores a snapshot on all nodes. The snapshot and the ports stay. @throws an error that names the snapshots there are */
  revert(name: string): Promise<Snapshot>;
  /**
   * Signs a transaction and sends it to a node. With `mine: 'instant'` a block has it then.
   *
   * @param from an account, its name, or a passphrase of BIP-39
   * @param options number of the node, or more
   * @throws an error with the reason that the node refuses it for, for a text that names no account, and for a payload that
   *   lacks something, with the name of the field
   */
  send(
    from: TestAccount | string,
    payload: TransactionPayload,
    options?: number | SendOptions,
  ): Promise<SentTransaction>;
  /** Sends beddows of the account `genesis` and mines the block with them. */
  fund(address: string, amount: bigint): Promise<SentTransaction>;
  /** Makes the nodes accept any signature for that account from now on. The account must have sent a transaction before. */
  impersonate(address: string): Promise<void>;
  /** Cuts the network: nodes of different groups do not reach one another. Nodes in no group form one more. */
  partition(...groups: readonly (readonly number[])[]): Promise<void>;
  /**
   * Delays messages between nodes, one way: milliseconds, or `150ms`, `2s`. A link has the greater delay of its two nodes.
   * `mine` and `mine: 'instant'` hand blocks on at once all the same.
   *
   * @param nodes on whose links; all unless given
   */
  delay(by: string | number, nodes?: readonly number[]): Promise<void>;
  /**
   * Each message between nodes is lost with that chance: a share from 0 to 1, or `5%`.
   *
   * @param nodes on whose links; all unless given
   */
  loss(share: string | number, nodes?: readonly number[]): Promise<void>;
  /** The clock of a node is that much ahead of the devnet's: milliseconds, or `+3s`; less than 0, or `-3s`, is behind. */
  skew(node: number, by: string | number): Promise<void>;
  /**
   * Ends partition, delays, losses and skewed clocks, and resolves when all nodes have the same tip. It mines some slots meanwhile,
   * because nodes learn of a better chain from its blocks.
   */
  heal(): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
