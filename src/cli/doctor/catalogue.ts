/**
 * All faults that `bloomery doctor` can report, each with its cause and remedy. docs/troubleshooting.md has a table of
 * the same faults.
 */

export interface Fault {
  readonly severity: 'error' | 'warning';
  readonly cause: string;
  readonly remedy: string;
}

export type FaultCode = keyof typeof FAULTS;

export interface Finding extends Fault {
  readonly code: FaultCode;
  /** The observed facts that show the fault. */
  readonly evidence: string;
}

export const FAULTS = {
  NETWORK_FOLDER_WRONG: error(
    'The node cannot use the network folder.',
    'Correct the file that the evidence names, or create the folder again with `bloomery network import` or `bloomery genesis create`.',
  ),
  CONFIG_WRONG: error(
    'The node refuses the configuration.',
    'Correct the key that the evidence names; docs/configuration.md lists all keys.',
  ),
  FORGING_KEY_WRONG: error(
    'The node cannot decrypt the passphrase of a delegate, or the passphrase does not belong to the public key of the delegate.',
    'Correct forging.delegates or forging.defaultPassword. `bloomery keys encrypt` creates a new entry for a delegate.',
  ),
  FORGING_OPEN_TO_STRANGERS: warning(
    'Any other machine can try passwords to switch forging on or off.',
    'In http.forgingWhitelist, list only the addresses of the operator.',
  ),
  DATA_FOLDER_UNWRITABLE: error(
    'The node cannot write to the data folder.',
    'Give the folder to the user that runs the node (chown), mount its file system for writing, or choose another folder with --data-dir.',
  ),
  DISK_NEARLY_FULL: error(
    'The disk of the chain has less than 1 GiB of free space, or has fewer than 100 free inodes.',
    'Free space, or move the data folder to a larger disk. A node with a full disk cannot write and cannot forge.',
  ),
  STORE_DAMAGED: error(
    'The node cannot read the chain on the disk.',
    'Stop the node, and move the folder `chain` away. Then restore a backup or a snapshot, or let the node download the chain again.',
  ),
  STORE_CHAIN_BROKEN: error(
    'A block of the chain on the disk is missing or unreadable, or does not follow the block below it.',
    'Run `bloomery verify` to find the first wrong block. Then restore a backup, or download the chain again.',
  ),
  STORE_OF_OTHER_LAYOUT: error(
    'Another version of the node wrote the chain, in a layout that this version cannot read.',
    'If a newer version wrote the chain, run that version. Otherwise run `bloomery export` with the version that wrote the chain, move the folder `chain` away, then run `bloomery import`.',
  ),
  STORE_OF_OTHER_NETWORK: error(
    'The data folder belongs to another network.',
    'Start the node with the network of the folder, or choose another folder with --data-dir.',
  ),
  STORE_OF_OTHER_PARAMS: error(
    'The parameters of the network were changed after the chain was written.',
    'Use the network folder with which the node wrote this chain, or choose another folder with --data-dir.',
  ),
  JOURNAL_DAMAGED: error(
    'The record of the delegates’ signatures is damaged, so the node must not sign.',
    'Move away the file that the evidence names. Then import the newest file from `bloomery forging export`. If there is no such file, start the node without a record: the delegates sign again after a wait.',
  ),
  PORT_TAKEN: error(
    'Another program uses a port of the node.',
    'Stop the other program, or choose other ports (http.port, p2p.port).',
  ),
  NODE_UNCHECKED: warning(
    'The doctor did not check the running node, because its address is unknown.',
    'First correct the network folder or the configuration, or set the address of the node with --node.',
  ),
  NODE_NOT_RUNNING: warning(
    'No node answers at the address.',
    'Start a node with `bloomery start`, or set the address of the node with --node.',
  ),
  NODE_SILENT: error(
    'The node does not answer HTTP requests in time, or does not answer its reading processes.',
    'Set the address of the node with --node. If the node is on another machine, also check the firewalls. If the address is right and no firewall blocks the request, the node hangs: read the end of its log, then restart the node.',
  ),
  NODE_REFUSES: error(
    'The node refuses requests from this machine.',
    'Run the doctor on the node’s machine, or add the address of this machine to http.accessWhitelist.',
  ),
  NODE_ANSWERS_ODDLY: error(
    'The program that answers at the address of the node is not a Bloomery node.',
    'Set the address of the node with --node. `ss -ltnp` shows the program that uses a port.',
  ),
  NODE_OF_EARLIER_BUILD: error(
    'The node that answers is an earlier build of Bloomery, or a node of lisk-sdk. The doctor cannot check such a node.',
    'Upgrade the node to the build of this command (docs/guides/operate.md), or set the address of another node with --node.',
  ),
  NODE_OF_OTHER_NETWORK: error(
    'The node that answers belongs to another network.',
    'Correct --node or --network. The node at the address in --node must belong to the network in --network.',
  ),
  CLOCK_OFF: error(
    'The clock of this machine differs from the clocks of the peers.',
    'Synchronise the clock (timedatectl set-ntp true, chrony). With a wrong clock, the node misses slots and refuses valid blocks.',
  ),
  CLOCKS_DIFFER: warning(
    'The clock of this machine differs from the clock of a peer. One of the two clocks is wrong.',
    'Check both clocks (`timedatectl`, `chronyc tracking`), and synchronise the wrong clock.',
  ),
  CLOCK_BEHIND_TIP: error(
    'The clock of this machine is behind the newest block of the chain, so the node can neither forge nor accept blocks.',
    'Correct the clock (timedatectl set-ntp true, chrony); the node continues by itself.',
  ),
  CLOCK_SET: warning(
    'The clock of this machine was changed while the node ran.',
    'Use a time service that slews the clock (timedatectl set-ntp true, chrony). If the clock is set forward past a slot, the delegates of the node miss this slot.',
  ),
  NODE_LAGS: error(
    'The node is more than two blocks behind most of its peers, and does not catch up.',
    'Run `bloomery why` to see refused blocks and failed downloads. Perhaps the node needs a newer version, or the file exceptions.json of the network.',
  ),
  NETWORK_STANDS_STILL: error(
    'Neither the node nor its peers have received a block for at least three slots.',
    'Too few delegates forge, or this part of the network is cut off: check `bloomery peers`, and compare heights with other nodes.',
  ),
  FINALITY_LAGS: warning(
    'No block has become final for more than four rounds.',
    'More than a third of the delegates do not forge. Wait until they forge again, and do not rely on blocks that are not final.',
  ),
  NO_PEERS: error(
    'The node has no peer.',
    'Check p2p.seedPeers, p2p.fixedPeers and `bloomery peers`. The firewall must open the peer port in both directions.',
  ),
  PEERS_OF_OTHER_NETWORK: error(
    'Configured peers belong to another network.',
    'Correct the addresses in p2p.fixedPeers, p2p.seedPeers and p2p.whitelistedPeers, or the network folder.',
  ),
  CONSENSUS_LOW: warning(
    'Fewer than 51 % of the peers have the same tip as this node.',
    'If the consensus stays low, the network is split. Compare the ids of blocks of the same height on this node and on other nodes, and read `bloomery why`.',
  ),
  SYNC_FAILS: error(
    'The node repeatedly fails to download blocks.',
    'The evidence names the reason. If downloads from all peers fail for the same reason, perhaps the node is on a branch that no peer has: restore a snapshot.',
  ),
  BLOCKS_OF_FUTURE: error(
    'The node refuses blocks because of their time: perhaps the clock of this machine is behind.',
    'Compare the clock of this machine with a time server, and correct it (timedatectl set-ntp true, chrony). The node continues by itself.',
  ),
  BLOCKS_REFUSED: error(
    'The node refuses blocks of the network repeatedly.',
    'Compare the version of the node and its network folder (exceptions.json) with other nodes; run `bloomery verify`.',
  ),
  FORGING_OFF: warning(
    'Delegates are configured, but none of them forges.',
    'Enable the delegates with `bloomery forging enable`, or set forging.force to forge after each start.',
  ),
  DELEGATE_NOT_ACTIVE: warning(
    'A delegate of this node is not among the active delegates of this round.',
    'The delegate needs more votes. New votes take effect in a later round.',
  ),
  DELEGATE_ELSEWHERE: error(
    'A delegate of this node has signed blocks on another node, or its signing record was exported.',
    'Enable the delegate on one machine only. Move the delegate with `bloomery forging export` and `import`.',
  ),
  DELEGATE_SIGNS_TWICE: error(
    'A delegate that is enabled on this node has signed two blocks with the same parent: two nodes sign for it.',
    'Let only one node sign for the delegate: disable the delegate on all other nodes at once, or stop these nodes.',
  ),
  SLOTS_MISSED: error(
    'The delegates of this node miss slots.',
    'The evidence contains the reason. `bloomery why missed SLOT` explains a single slot.',
  ),
  MACHINE_TOO_SLOW: error(
    'The machine is too busy, or was asleep: slots ended before the node could forge.',
    'Give the node its own processor, disable sleep, and move other work to another machine.',
  ),
  ALERTS_UNDELIVERED: error(
    'Alerts of the node do not reach the receiver in notify.webhook or notify.command.',
    'Check the receiver, its address and the secret. The node keeps the newest 1000 events on the disk until the receiver accepts them.',
  ),
  READERS_FAIL: warning(
    'Fewer reading processes run than http.processes sets.',
    'Read the log of the node from `HTTP_READER_LOST` on. If reading processes end again and again, perhaps the store is damaged: ' +
      'stop the node and run `bloomery verify`. With `http.processes: 0`, the node answers HTTP requests without reading processes.',
  ),
  FOLDER_TAKEN_OVER: error(
    'Another node has taken over the data folder, so this node no longer writes or signs.',
    'Stop this node. Start it again when no other node uses the folder, or start it with another folder (--data-dir).',
  ),
  WRITES_FAIL: error(
    'The node cannot write to the disk.',
    'Free space, check the health of the disk (dmesg, smartctl); the node continues by itself when writes succeed.',
  ),
} as const satisfies Readonly<Record<string, Fault>>;

export function finding(code: FaultCode, evidence: string): Finding {
  return { code, ...FAULTS[code], evidence };
}

function error(cause: string, remedy: string): Fault {
  return { severity: 'error', cause, remedy };
}

function warning(cause: string, remedy: string): Fault {
  return { severity: 'warning', cause, remedy };
}
