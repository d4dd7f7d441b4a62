/** Everything that `bloomery doctor` can name: its cause and its cure. docs/troubleshooting.md has the same table. */

export interface Fault {
  readonly severity: 'error' | 'warning';
  readonly cause: string;
  readonly remedy: string;
}

export type FaultCode = keyof typeof FAULTS;

export interface Finding extends Fault {
  readonly code: FaultCode;
  /** What was seen. */
  readonly evidence: string;
}

export const FAULTS = {
  NETWORK_FOLDER_WRONG: error(
    'The folder of the network cannot be used.',
    'Correct what the evidence names, or make the folder anew with `bloomery network import` or `genesis create`.',
  ),
  CONFIG_WRONG: error(
    'The configuration is refused.',
    'Correct the key that the evidence names; docs/configuration.md has them all.',
  ),
  FORGING_KEY_WRONG: error(
    'The encrypted passphrase of a delegate cannot be opened.',
    'Correct forging.delegates or forging.defaultPassword; `bloomery keys encrypt` makes the entry anew.',
  ),
  FORGING_OPEN_TO_STRANGERS: warning(
    'Everybody may try passwords at the switch of the delegates.',
    'Let http.forgingWhitelist name single addresses.',
  ),
  DATA_FOLDER_UNWRITABLE: error(
    'The folder for data cannot be written to.',
    'Give the folder to the user that runs the node (chown), mount its file system for writing, or choose another with --data-dir.',
  ),
  DISK_NEARLY_FULL: error(
    'The disk of the chain has little room left.',
    'Make room or move the folder to a larger disk: without room the node stops writing, and so forging.',
  ),
  STORE_DAMAGED: error(
    'The chain on the disk cannot be read.',
    'Stop the node, move the folder `chain` away, and restore a backup or a snapshot, or download the chain again.',
  ),
  STORE_CHAIN_BROKEN: error(
    'Blocks of the chain on the disk do not follow one another.',
    'Run `bloomery verify` for the first deviation, then restore a backup or download the chain again.',
  ),
  STORE_OF_OTHER_LAYOUT: error(
    'The chain was written by a version of the node with another layout.',
    'Run the version that wrote it, if only for `bloomery export`; move the folder `chain` away, then `bloomery import`.',
  ),
  STORE_OF_OTHER_NETWORK: error(
    'The folder for data belongs to another network.',
    'Start the node with the network that the folder was made for, or choose another --data-dir.',
  ),
  STORE_OF_OTHER_PARAMS: error(
    'The parameters of the network changed since the chain was written.',
    'Use the network folder that the chain was written with, or begin in another --data-dir.',
  ),
  JOURNAL_DAMAGED: error(
    'The record of what the delegates signed is damaged, so nothing may be signed.',
    'Move the file away and import the last `bloomery forging export`, or let the node wait until signing is safe.',
  ),
  PORT_TAKEN: error(
    'Another program has a port of the node.',
    'Stop that program, or choose other ports (http.port, p2p.port).',
  ),
  NODE_NOT_RUNNING: warning('No node runs on this folder.', 'Start it with `bloomery start`.'),
  NODE_SILENT: error(
    'A node has the folder, but its HTTP interface does not answer.',
    'Name its address with --node; if it is right, the node hangs: look at the end of its log, then restart it.',
  ),
  NODE_REFUSES: error(
    'The node does not let this machine ask.',
    'Run the doctor on the node’s machine, or add this address to http.accessWhitelist.',
  ),
  NODE_ANSWERS_ODDLY: error(
    'What answers is no node, or one of another program.',
    'Name the address of the node with --node; `ss -ltnp` shows which program has a port.',
  ),
  NODE_OF_OTHER_NETWORK: error(
    'The node that answers is of another network.',
    'Correct --node or --network: two nodes may be mixed up on this machine.',
  ),
  CLOCK_OFF: error(
    'The clock of this machine differs from those of its peers.',
    'Synchronise it (timedatectl set-ntp true, chrony): with a wrong clock slots are missed and good blocks refused.',
  ),
  CLOCKS_DIFFER: warning(
    'The clock of this machine and that of a peer differ, and one of the two is wrong.',
    'Check both (`timedatectl`, `chronyc tracking`) and synchronise the wrong one.',
  ),
  CLOCK_BEHIND_TIP: error(
    'The clock of this machine is behind the newest block of the chain, so nothing can be forged or taken over.',
    'Set it right (timedatectl set-ntp true, chrony); the node goes on by itself.',
  ),
  CLOCK_SET: warning(
    'The clock of this machine was set while the node ran.',
    'Have a service keep it (timedatectl set-ntp true, chrony) that slews it: slots that a clock is set past are lost.',
  ),
  NODE_LAGS: error(
    'The node is behind most of its peers and does not catch up.',
    'Look at `bloomery why` for refused blocks and failed downloads; a version or exceptions of the network may be missing.',
  ),
  NETWORK_STANDS_STILL: error(
    'No block has come for long, and the peers have none either.',
    'Too few delegates forge, or this part of the network is cut off: see `bloomery peers`, compare heights elsewhere.',
  ),
  FINALITY_LAGS: warning(
    'Blocks have not become final for rounds.',
    'More than a third of the delegates do not take part: wait for them; do not count on blocks that are not final.',
  ),
  NO_PEERS: error(
    'The node has no peer.',
    'Check p2p.seedPeers and p2p.fixedPeers, and that the firewall lets the peer port out and in; see `bloomery peers`.',
  ),
  PEERS_OF_OTHER_NETWORK: error(
    'Peers that were dialled belong to another network.',
    'Correct the addresses in p2p.fixedPeers and p2p.seedPeers, or the network folder.',
  ),
  CONSENSUS_LOW: warning(
    'Fewer than half of the peers have the tip of this node.',
    'If it lasts, the network is split: compare the block at a height with other nodes, see `bloomery why`.',
  ),
  SYNC_FAILS: error(
    'Downloads of blocks fail again and again.',
    'The evidence names the reason; if all peers fail alike, this node is on a branch that nobody shares: restore a snapshot.',
  ),
  BLOCKS_REFUSED: error(
    'Blocks of the network are refused again and again.',
    'Compare version and network folder (exceptions.json) with other nodes; run `bloomery verify`.',
  ),
  FORGING_OFF: warning(
    'Delegates are configured, and none of them forges.',
    'Switch them on with `bloomery forging enable`, or set forging.force for starts without a hand.',
  ),
  DELEGATE_NOT_ACTIVE: warning(
    'A delegate that forges here is not among those of this round.',
    'It needs more votes, or a round to pass since it got them.',
  ),
  DELEGATE_ELSEWHERE: error(
    'A delegate of this node signs on another machine, or its record was moved there.',
    'Leave it on in one place only; move it with `bloomery forging export` and `import`.',
  ),
  SLOTS_MISSED: error(
    'Slots of the delegates of this node pass unused.',
    'The evidence has the reason; `bloomery why missed SLOT` tells of a single one.',
  ),
  MACHINE_TOO_SLOW: error(
    'The machine is too busy or slept: slots passed before the node could look.',
    'Give the node a processor of its own, switch sleep off, and move other work away.',
  ),
  ALERTS_UNDELIVERED: error(
    'What the node has to tell does not reach the receiver of notify.webhook or notify.command.',
    'Look at the receiver, its address and the secret; events wait on the disk, the latest 1000, until it takes them.',
  ),
  FOLDER_TAKEN_OVER: error(
    'The claim of this node on its data folder is gone, so it writes and signs nothing more.',
    'Stop this node; start it again when no other has the folder, or with another --data-dir.',
  ),
  WRITES_FAIL: error(
    'What the node writes does not reach the disk.',
    'Make room, check the health of the disk (dmesg, smartctl); the node goes on by itself once writing works.',
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
