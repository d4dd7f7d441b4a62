/** The flags of each command, in the form that the parser of the command line returns. */

import type { Generation } from '../protocol/params.ts';
import type { MiningMode } from './devnet/mining.ts';
import type { RestartMode } from './devnet/restart-policy.ts';

export interface DevnetFlags {
  readonly network?: string;
  readonly delegates?: number;
  /** Data folder or snapshot with the chain that the devnet forks. */
  readonly fork?: string;
  readonly newNetworkId?: true;
  readonly nodes: number;
  readonly blockTime?: number;
  readonly generation: Generation;
  readonly httpPort: number;
  readonly wsPort: number;
  readonly dataDir?: string;
  readonly fresh?: true;
  readonly restart: RestartMode;
  readonly mine: MiningMode;
  readonly untilHeight?: number;
  readonly json?: true;
}

/** Common flags of the commands for a running devnet. */
export interface ControlFlags {
  readonly dataDir?: string;
  readonly generation: Generation;
  readonly json?: true;
}

export interface ScenarioFlags {
  readonly junit?: string;
  readonly httpPort?: number;
  readonly wsPort?: number;
  readonly json?: true;
}

export interface AccountsFlags {
  readonly network?: string;
  readonly generation: Generation;
  readonly json?: true;
}

export interface StartFlags {
  readonly network: string;
  readonly dataDir?: string;
  readonly httpPort?: number;
  readonly wsPort?: number;
  readonly peer?: readonly string[];
  readonly peers: boolean;
  readonly forging: boolean;
  readonly riskDoubleForging?: true;
  readonly config?: string;
}

export interface InitFlags {
  readonly network?: string;
  readonly dataDir?: string;
  readonly config?: string;
  readonly httpPort?: number;
  readonly wsPort?: number;
  readonly public?: true;
  readonly newAccount?: true;
  readonly passphraseFile?: string;
  readonly passwordFile?: string;
  readonly iterations: number;
  /**
   * Path of the systemd unit; true for `--unit` without a path, false for `--no-unit`. Undefined if neither flag is
   * given. If the value is undefined and `--yes` is absent, the command asks the user whether to write a unit. If the
   * value is undefined and `--yes` is given, the command does not ask, and writes no unit.
   */
  readonly unit?: string | boolean;
  readonly yes?: true;
  readonly json?: true;
}

export interface StatusFlags {
  readonly node: string;
  readonly digest?: true;
  readonly json?: true;
}

/** Flags that name the source of an answer: a running node, or a data folder. */
export interface SourceFlags {
  readonly node: string;
  readonly dataDir?: string;
  readonly network?: string;
}

/** Flags of commands that query a chain and print the answer. */
export interface QueryFlags extends SourceFlags {
  readonly json?: true;
}

export interface LimitFlags extends QueryFlags {
  readonly limit: number;
}

export interface ListFlags extends LimitFlags {
  readonly offset: number;
}

export interface DecodeFlags {
  readonly network?: string;
  readonly json?: true;
}

export interface EventsFlags extends SourceFlags {
  readonly follow?: true;
  readonly since?: string;
  readonly fromHeight?: number;
  readonly types?: string;
  readonly address?: string;
  readonly delegate?: string;
  readonly final?: true;
  readonly json?: true;
}

export interface GenesisFlags {
  readonly generation: Generation;
  readonly name: string;
  readonly out: string;
  readonly delegates: number;
  readonly blockTime: number;
  readonly seed?: string;
  readonly json?: true;
}

export interface WhyFlags {
  readonly node: string;
  readonly limit: number;
  readonly json?: true;
}

export interface PeersFlags {
  readonly node: string;
  readonly limit: number;
  readonly json?: true;
}

export interface ExportFlags {
  readonly network?: string;
  readonly dataDir?: string;
  readonly from?: number;
  readonly to?: number;
  readonly force?: true;
  readonly json?: true;
}

export interface ImportFlags {
  readonly network: string;
  readonly dataDir?: string;
  readonly json?: true;
}

export interface VerifyFlags {
  readonly network?: string;
  readonly dataDir?: string;
  readonly json?: true;
}

export interface UpgradeFlags {
  readonly network?: string;
  readonly dataDir?: string;
  readonly json?: true;
}

export interface RollbackFlags {
  readonly network?: string;
  readonly dataDir?: string;
  readonly to: number;
  readonly yes?: true;
  readonly json?: true;
}

export interface NetworkImportFlags {
  readonly from: string;
  readonly name: string;
  readonly out?: string;
  readonly protocolVersion?: string;
  readonly force?: true;
  readonly json?: true;
}

/** Flag that allows a passphrase that is not a BIP-39 mnemonic. */
export interface AnyPassphraseFlags {
  readonly anyPassphrase?: true;
}

/**
 * Flag for the file with a passphrase. Without this flag, commands read `BLOOMERY_PASSPHRASE`, or ask on the terminal.
 */
export interface PassphraseFlags {
  readonly passphraseFile?: string;
}

export interface KeysCreateFlags {
  readonly words: 12 | 24;
  readonly out?: string;
  readonly json?: true;
}

export interface KeysEncryptFlags extends PassphraseFlags {
  readonly passwordFile?: string;
  readonly iterations: number;
  readonly json?: true;
}

export interface MessageSignFlags extends PassphraseFlags {
  readonly json?: true;
}

export interface MessageVerifyFlags {
  readonly json?: true;
}

export interface KeysShowFlags extends PassphraseFlags {
  readonly publicKey?: string;
  readonly json?: true;
}

/** Flags that determine the network of a transaction: a node, or a network folder. */
export interface NetworkChoiceFlags {
  readonly node: string;
  readonly network?: string;
  readonly offline?: true;
}

export interface SendingFlags {
  readonly yes?: true;
  readonly wait?: true;
  readonly json?: true;
}

/** Common flags of the commands that make a transaction. */
export interface TransactionFlags extends PassphraseFlags, AnyPassphraseFlags, NetworkChoiceFlags, SendingFlags {
  /** Name of the devnet account that sends the transaction, for example `account_1`. */
  readonly from?: string;
  readonly secondPassphraseFile?: string;
}

export interface TransferFlags extends TransactionFlags {
  readonly data?: string;
}

export interface MultisigRegisterFlags extends TransactionFlags {
  readonly min: number;
  readonly lifetime: number;
  readonly member: readonly string[];
}

export interface MultisigSignFlags extends PassphraseFlags, AnyPassphraseFlags, NetworkChoiceFlags, SendingFlags {}

export interface BroadcastFlags extends SendingFlags, Pick<NetworkChoiceFlags, 'node' | 'network'> {}

export interface ForgingSwitchFlags {
  readonly node: string;
  readonly passwordFile?: string;
  readonly json?: true;
}

export interface ForgingStatusFlags {
  readonly node: string;
  readonly json?: true;
}

export interface ForgingImportFlags {
  readonly network: string;
  readonly dataDir?: string;
  /** Path of the node's configuration file. The commands read the option `forging.watermarkFolder` from this file. */
  readonly config?: string;
  readonly json?: true;
}

export interface ForgingExportFlags extends ForgingImportFlags {
  readonly keep?: true;
}

export interface DoctorFlags {
  /**
   * Address of the node. With `--network` and without `--node`, the command takes the address from the configuration.
   * The options `--network` and `--config` determine this configuration. Without `--node` and without `--network`, the
   * address is http://127.0.0.1:4000.
   */
  readonly node?: string;
  readonly network?: string;
  readonly dataDir?: string;
  readonly config?: string;
  readonly json?: true;
}

export interface WhyMissedFlags {
  readonly node: string;
  readonly json?: true;
}

export interface BackupFlags {
  readonly network?: string;
  readonly dataDir?: string;
  readonly json?: true;
}

export interface SnapshotCreateFlags {
  readonly network?: string;
  readonly dataDir?: string;
  readonly force?: true;
  readonly json?: true;
}

export interface SnapshotRestoreFlags {
  readonly network: string;
  readonly dataDir?: string;
  readonly trustDigest?: string;
  readonly json?: true;
}

export interface ConfigShowFlags {
  readonly network: string;
  readonly config?: string;
  readonly json?: true;
}

export interface SinkFlags {
  readonly dataDir?: string;
  readonly network?: string;
  readonly node?: string;
  readonly rangeBlocks: number;
  readonly depth?: number;
  readonly once?: true;
  readonly json?: true;
}

export interface ClickHouseFlags extends SinkFlags {
  readonly url: string;
  readonly database: string;
  readonly cluster?: string;
  readonly passwordFile?: string;
}

export interface SqlQueryFlags {
  readonly from: string;
  readonly format?: string;
  readonly engine?: string;
  readonly json?: true;
}
