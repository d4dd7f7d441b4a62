/**
 * Notes are small records that modules of the node write to the store of the chain. Notes are never consensus state.
 */

/**
 * Describes the content of each note. A note is a small record with a name, which a module of the node writes to the
 * store of the chain. The key of each entry is the name of a note. If a key ends with a slash, the key is a prefix, and
 * the entry describes all notes whose names begin with this prefix.
 */
export const NOTES = {
  'chain/finalized':
    'finalized height before the latest revert, u32 (little endian), then the checksum of the note, 8 bytes (`store/tables/checksummed.ts`); the node never reverts a block at or below this height (`engine/commit.ts`)',
  'chain/unsigned':
    'one byte, 1: the chain belongs to a devnet, and can contain unsigned blocks or transactions (`node/unsigned-chain.ts`)',
  'chain-log-head':
    'JSON: the number of the newest record of the chain log; the number of the oldest record; the finalized height after the newest record; the id of the tip after the newest record (`store/chain/chain-log.ts`)',
  'chain-log/':
    'JSON: a record of the chain log; the name ends with the number of the record, in 15 digits (`store/chain/chain-log.ts`)',
  'disk/trial/':
    'zeros. After a failed write, the node writes these notes as a test, and removes them immediately (`engine/disk-watch.ts`)',
  'peers/book':
    'JSON: addresses of peers with the data that the node has about each peer, bans, and the secret that selects the buckets of peers (`engine/peers/book.ts`)',
} as const;

/**
 * Name of the note with the finalized height before the latest revert. A revert can lower the finalized height in the
 * state, because the state must depend only on the blocks that remain. Without this note, the node could later revert
 * final blocks. The store adds a checksum to the value of this note, and verifies the checksum when it reads the note.
 */
export const FINALIZED_NOTE = 'chain/finalized' satisfies NoteName;

/** Name of the note with the saved peer book. */
export const PEER_BOOK_NOTE = 'peers/book' satisfies NoteName;

export type NoteName = { [K in keyof typeof NOTES]: K extends `${string}/` ? `${K}${string}` : K }[keyof typeof NOTES];
