/**
 * Defines the types of `bloomery/testing`. The types use no types of other modules, because the installed package
 * contains no type declarations of these modules.
 */

export interface DevnetOptions {
  /** Number of nodes, from 1 to 16; default 1. */
  readonly nodes?: number;
  /**
   * Mining mode, which decides when the nodes forge blocks. With `instant` (the default), the nodes forge when a
   * transaction arrives. With `on-demand`, the nodes forge only when the test calls `mine`, `fund` or `heal`. With
   * `interval`, the nodes forge in each slot.
   */
  readonly mine?: MiningMode;
  /**
   * Generation of the packaged devnet; default 3. Bloomery contains one packaged devnet of each generation, with slots
   * of two seconds. The option is ignored if `network` is given, because the devnet then has the generation of that
   * network.
   */
  readonly generation?: 2 | 3;
  /**
   * Number of delegates in each round of the packaged devnet, from 1 to 101; default 101. In generation 3 with 5
   * delegates, a block is final after 7 to 11 more blocks, if no slot stays empty. The option is not allowed together
   * with `network`, because a network has its own number of delegates.
   */
  readonly delegates?: number;
  /**
   * Name or folder of the network; default: the packaged devnet. The folder must contain `accounts.json` with the
   * accounts, and `forgers.json` with the encrypted passphrases of the delegates. `forgers.json` must also contain the
   * password with which the passphrases are encrypted. The command `bloomery genesis create` makes such a folder.
   */
  readonly network?: string;
  /**
   * Lowest level of the log lines that the nodes write to the standard error output. By default, the nodes write no log
   * lines.
   */
  readonly log?: 'debug' | 'info' | 'warn' | 'error';
}

export type MiningMode = 'instant' | 'on-demand' | 'interval';

/** An account whose passphrase is in `accounts.json` of the network. Never use the account on another network. */
export interface TestAccount {
  /**
   * Name of the account. In the packaged devnet, `genesis` has nearly all funds. `account_1` to `account_10` have
   * 100,000 LSK each. `genesis_1`, `genesis_2` and so on are delegates.
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
  /** The network identifier as 64 hexadecimal digits. In generation 3, each signature covers the network identifier. */
  readonly networkIdentifier: string;
  readonly nethash: string;
  /**
   * The moment from which the network counts time. The timestamps of blocks and transactions are numbers of seconds
   * since this moment.
   */
  readonly epoch: Date;
  readonly blockTimeS: number;
  readonly activeDelegates: number;
}

export interface Mined {
  readonly slots: number;
  /** Number of mined slots in which no delegate forged a block. */
  readonly emptySlots: number;
  readonly height: number;
  readonly blockId: string;
  /** Time of the chain clock after the mined slots. */
  readonly time: Date;
}

export interface Snapshot {
  readonly name: string;
  readonly height: number;
  readonly blockId: string;
  /** SHA-256 of the state at the block `blockId`. */
  readonly digest: string;
}

/** Kind and content of a transaction. Amounts are in beddows (100,000,000 beddows are 1 LSK). */
export type TransactionPayload =
  | { readonly kind: 'transfer'; readonly to: string; readonly amount: bigint; readonly data?: string }
  | { readonly kind: 'delegate'; readonly username: string }
  /** `for` and `against` are lists of public keys of delegates. */
  | { readonly kind: 'vote'; readonly for?: readonly string[]; readonly against?: readonly string[] }
  | { readonly kind: 'secondSignature'; readonly publicKey: string };

export interface SentTransaction {
  readonly id: string;
  /**
   * Height of the block with the transaction. `fund` always returns the height. `send` returns the height only in the
   * mining mode `instant`, and only while the devnet has no partition.
   */
  readonly height?: number;
}

export interface SendOptions {
  /**
   * Number of the node that gets the transaction first; default 0. In the mining mode `instant`, the number has no
   * effect while the devnet has no partition. In this case, `send` gives the transaction first to the node with the
   * greatest height, and then to all nodes.
   */
  readonly node?: number;
  /**
   * If true, `send` accepts any string as a passphrase, even if the string is neither an account name nor a BIP-39
   * passphrase. Default false.
   */
  readonly anyPassphrase?: boolean;
}

export interface TestDevnet {
  /** URL of the HTTP interface of node 0, without a path. */
  readonly url: string;
  readonly nodes: readonly TestNode[];
  readonly accounts: readonly TestAccount[];
  readonly network: NetworkFacts;
  /** @throws an error if no account has the name `name` */
  account(name: string): TestAccount;
  /** Present time of the chain clock. */
  now(): Date;
  /**
   * Mines the next `slots` slots (1 to 10,000; default 1). In each slot, the delegate of the slot forges a block. If
   * this delegate cannot forge, the slot stays empty, and `emptySlots` counts the slot. Without a partition, all nodes
   * have the blocks when the promise resolves. In a partition, only the nodes in the group of the forging node get the
   * block.
   *
   * @throws RangeError for an invalid number of slots
   */
  mine(slots?: number): Promise<Mined>;
  /**
   * Resolves when the tip of each node has at least the height `height`. In a partition, each group must reach the
   * height with its own blocks. `waitForHeight` forges no blocks.
   *
   * @param options `timeoutMs` is the time limit in milliseconds of real time (not of the chain clock); default
   *   30,000
   * @throws RangeError for an invalid height or time limit
   * @throws an error with the height of each node if the time limit passes first, and an error if the devnet is closed
   *   before or during the call
   */
  waitForHeight(height: number, options?: { readonly timeoutMs?: number }): Promise<void>;
  /** Changes the mining mode. @throws an error for an unknown mode */
  setMining(mode: MiningMode): Promise<void>;
  /**
   * Sets the chain clock ahead: to a moment (a `Date`, or a text in UTC such as `2027-01-01`), or by a duration
   * (`90s`, `15m`, `1h`, `2d`, `3w`, `1y`). All skipped slots stay empty. Resolves with the new time of the chain
   * clock.
   *
   * @throws an error for an invalid time, a moment before the present time of the chain clock, or a moment after the
   *   year 2149. In these cases, the chain clock does not change
   */
  warp(to: string | Date): Promise<Date>;
  /**
   * Saves a snapshot under a name. The snapshot contains the chain, the pool and the signing journal (the headers that
   * the delegates have signed) of each node, the chain clock, and the mining mode. A name has 1 to 64 characters
   * (letters, digits, `-`, `_`, `.`) and begins with a letter or digit. If an earlier snapshot has the same name, the
   * new snapshot replaces the earlier snapshot.
   *
   * @throws an error for an invalid name, or if there are already 100 snapshots with other names
   */
  snapshot(name: string): Promise<Snapshot>;
  /**
   * Restores all nodes, the chain clock and the mining mode from a snapshot. The devnet keeps the snapshot, and each
   * node keeps its HTTP port. The call closes all HTTP connections to the nodes. The settings made with `partition`,
   * `delay`, `loss`, `skew` and `impersonate` stay in effect.
   *
   * @throws an error with the names of all snapshots if no snapshot has this name
   * @throws an error if a node does not return to the state of the snapshot
   */
  revert(name: string): Promise<Snapshot>;
  /**
   * Signs and sends a transaction. If the mining mode is `instant` and the devnet has no partition, `send` also mines
   * slots until a block contains the transaction.
   *
   * @param from an account, its name, or a BIP-39 passphrase
   * @param options number of the node that gets the transaction first, or an object with options
   * @throws an error with the reason if the node refuses the transaction
   * @throws an error if `send` mined slots, and no block of these slots (at most two rounds) contains the transaction
   * @throws an error if `from` is neither the name of an account nor a BIP-39 passphrase, and `anyPassphrase` is false
   * @throws an error if the payload is invalid; the error names the wrong field
   * @throws RangeError for a node that does not exist
   */
  send(
    from: TestAccount | string,
    payload: TransactionPayload,
    options?: number | SendOptions,
  ): Promise<SentTransaction>;
  /**
   * Sends `amount` beddows from the account `genesis` to `address`, and mines slots until a block contains the
   * transaction. If the devnet was started with the option `network`, the sender is the first account in
   * `accounts.json` of that network.
   *
   * @throws an error if the address or the amount is invalid, or if the nodes refuse the transaction
   * @throws an error if none of the blocks that the call mines contains the transaction; the call mines at most two
   *   rounds of slots
   */
  fund(address: string, amount: bigint): Promise<SentTransaction>;
  /**
   * From now on, the nodes accept any signature for the account with this address. The chain must contain the public
   * key of the account, for example in an earlier transaction of the account. The account must not be a multisignature
   * account.
   *
   * @throws an error for an account that does not meet these conditions
   */
  impersonate(address: string): Promise<void>;
  /**
   * Partitions the network into the given groups of nodes. Nodes of different groups exchange no messages. Nodes that
   * are in none of the given groups form one more group. A later call of `partition` replaces the groups of an earlier
   * call.
   *
   * @throws RangeError for a node that does not exist
   */
  partition(...groups: readonly (readonly number[])[]): Promise<void>;
  /**
   * Delays each message between nodes by a duration: a number of milliseconds, or a string such as `150ms` or `2s`. If
   * the sender and the receiver of a message have different delays, the greater delay applies. A delay does not affect
   * blocks from `mine`, `fund` or the mining mode `instant`, because the devnet gives these blocks to the nodes
   * directly.
   *
   * @param nodes numbers of the nodes whose sent and received messages get the delay; default: all nodes
   * @throws an error for an invalid delay, a delay longer than a minute, or a node that does not exist
   */
  delay(by: string | number, nodes?: readonly number[]): Promise<void>;
  /**
   * Drops each message between nodes with a probability: a number from 0 to 1, or a string such as `5%`. If the sender
   * and the receiver of a message have different probabilities, the greater probability applies. A loss does not affect
   * blocks from `mine`, `fund` or the mining mode `instant`, because the devnet gives these blocks to the nodes
   * directly.
   *
   * @param nodes numbers of the nodes whose sent and received messages can get lost; default: all nodes
   * @throws an error for an invalid probability, or a node that does not exist
   */
  loss(share: string | number, nodes?: readonly number[]): Promise<void>;
  /**
   * Sets the clock of a node ahead of the chain clock, by a number of milliseconds or a string such as `+3s`. A
   * negative number, or a string such as `-3s`, sets the clock behind the chain clock.
   *
   * @throws an error for an invalid offset, an offset longer than a day, or a node that does not exist
   */
  skew(node: number, by: string | number): Promise<void>;
  /**
   * Ends the partition, delays, losses and clock offsets, and resolves when all nodes have the same tip. If the tips
   * differ, `heal` also mines slots, because the nodes learn of each other's chains from new blocks. Nodes with two
   * equally good chains keep these chains until a new block makes one of the chains better.
   *
   * @throws an error if the nodes do not have the same tip within 60 seconds, or if the devnet is closed
   */
  heal(): Promise<void>;
  /** Ends the devnet and its nodes. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
