/**
 * Lists the options, and the event codes (`EVENT_CODES`), that had another name in an earlier version of the node. A
 * configuration with an old name is refused with an error that contains the new name.
 */

/** The new path of each renamed option, by its old path. A path is `section.key`. */
export const RENAMED_OPTIONS: Readonly<Record<string, string>> = {
  'log.fileSizeMax': 'log.fileSizeMaxMb',
  'log.rooms': 'log.modules',
  'memory.ceilingMb': 'memory.limitMb',
};

/** The new name of each renamed event code, by its old name. The option `notify.events` lists event codes. */
export const RENAMED_EVENT_CODES: Readonly<Record<string, string>> = {
  BRANCH_LEFT: 'CHAIN_REORG',
  CHAIN_SWITCHED: 'CHAIN_REORG',
  FORGING_WATCH: 'FORGING_WAITS_FOR_EMPTY_SLOT',
  LEDGER_UNREADABLE: 'BFT_STATE_UNREADABLE',
  PEER_EXPELLED: 'PEER_DISCONNECTED_FOR_OFFENCE',
  PEER_FORGIVEN: 'PEER_OFFENCE_EXEMPT',
  STORE_WRITES_AGAIN: 'STORE_RECOVERED',
  SYNC_HELPER_PARTED: 'SYNC_HELPER_DIVERGED',
  TRANSACTION_JOURNAL_WORKS: 'TRANSACTION_JOURNAL_RECOVERED',
};
