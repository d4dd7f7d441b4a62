/**
 * Defines the tables that every sink has, with their columns. Each sink maps the column types to the types of its own
 * database or file format. A new column or table needs a new schema version of each sink. `docs/extend/sink-column.md`
 * says how to add a column.
 */

/**
 * Type of a column. In a row, a value of `u64` or `i64` is a bigint, a value of `text` is a string, and all other
 * values are numbers. A value of `time` is a Unix time in whole seconds.
 */
export type ColumnType = 'u8' | 'i8' | 'u32' | 'i32' | 'u64' | 'i64' | 'time' | 'text';

/**
 * Version of the tables in Parquet folders. The Parquet sink refuses a folder whose tables have another version. A
 * ClickHouse database has its own version number: the number of its migrations (`clickhouse/schema.ts`).
 */
export const SCHEMA_VERSION = 1;

/** Amounts are beddows. Ids of blocks and transactions are the integers that the network writes as decimal text. */
const SINK_TABLES = {
  blocks: {
    height: 'u32',
    id: 'u64',
    time: 'time',
    /** Timestamp of the block, in seconds since the epoch of the network. */
    timestamp: 'u32',
    version: 'u8',
    /** Id of the previous block; 0 in the row of the genesis block. */
    previous_id: 'u64',
    round: 'u32',
    generator: 'text',
    generator_key: 'text',
    transactions: 'u32',
    amount: 'i64',
    fee: 'i64',
    reward: 'i64',
    payload_bytes: 'u32',
    payload_hash: 'text',
    max_height_prevoted: 'u32',
    max_height_previously_forged: 'u32',
  },
  transactions: {
    height: 'u32',
    /** Position of the transaction in the block, from 0. */
    position: 'u32',
    /** Time of the block that contains the transaction. */
    time: 'time',
    id: 'u64',
    type: 'u8',
    kind: 'text',
    /** Timestamp that the sender wrote, in seconds since the epoch of the network. */
    timestamp: 'i32',
    sender: 'text',
    sender_key: 'text',
    /**
     * Recipient of a transfer, or of a transfer out of a registered application (dapp); empty for other transactions.
     */
    recipient: 'text',
    amount: 'i64',
    fee: 'i64',
    /** Data field of a transfer; empty for other transactions. */
    data: 'text',
    /** Username in a delegate registration; empty for other transactions. */
    username: 'text',
  },
  balance_changes: {
    height: 'u32',
    /** Position of the row among the balance changes of the block, counted from 0. */
    position: 'u32',
    time: 'time',
    address: 'text',
    amount: 'i64',
    /** Cause of the change: `transfer`, `fee`, `reward` or `genesis`. */
    cause: 'text',
    /**
     * Id of the transaction that makes the change; 0 for a fee or reward that a delegate receives at the end of a
     * round.
     */
    transaction_id: 'u64',
  },
  votes: {
    height: 'u32',
    /** Position of the row among the votes of the block, from 0. */
    position: 'u32',
    time: 'time',
    transaction_id: 'u64',
    voter: 'text',
    delegate: 'text',
    delegate_key: 'text',
    /** 1 for a vote, -1 for the withdrawal of a vote. */
    change: 'i8',
  },
  rounds: {
    /** Height of the last block of the round. */
    height: 'u32',
    /** Position of the row among the rows of the round in this table, from 0. */
    position: 'u32',
    time: 'time',
    round: 'u32',
    delegate: 'text',
    delegate_key: 'text',
    /** Number of blocks of the round that the delegate forged. */
    forged: 'u32',
    /** 1 if the delegate was in the delegate list of the round but forged no block of the round; otherwise 0. */
    missed: 'u32',
    rewards: 'i64',
    fees: 'i64',
  },
  signatures: {
    height: 'u32',
    /** Position of the row among the signatures of the block, from 0. */
    position: 'u32',
    time: 'time',
    /** Id of the signed transaction; 0 for the signature of the block itself. */
    transaction_id: 'u64',
    /**
     * The kind of the signature. `block`: signature of the block. `sender`: signature of a transaction with the first
     * key of its sender. `second`: signature of a transaction with the second key of its sender. `member`: signature of
     * a transaction by a member of a multisignature group.
     */
    kind: 'text',
    /**
     * Public key of the signer. The key is empty if the kind is `member`, because the transaction does not say which
     * member signed.
     */
    signer_key: 'text',
    signature: 'text',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ColumnType>>>>;

export type SinkTable = keyof typeof SINK_TABLES;

export const SINK_TABLE_NAMES = Object.keys(SINK_TABLES) as readonly SinkTable[];

type ValueOf<T extends ColumnType> = T extends 'u64' | 'i64' ? bigint : T extends 'text' ? string : number;

/** A row of a table: an object with one member for each column. */
export type Row<T extends SinkTable> = {
  readonly [C in keyof (typeof SINK_TABLES)[T]]: (typeof SINK_TABLES)[T][C] extends infer K extends ColumnType
    ? ValueOf<K>
    : never;
};

/** Rows of all tables, for one block or for consecutive blocks. */
export type Rows = { readonly [T in SinkTable]: readonly Row<T>[] };

/** Returns the columns of a table, in the order in which every sink has them. */
export function columnsOf(table: SinkTable): readonly (readonly [name: string, type: ColumnType])[] {
  return Object.entries(SINK_TABLES[table]);
}

/** @param column name of a column, from `columnsOf` */
export function valueIn(row: object, column: string): bigint | number | string {
  return (row as Readonly<Record<string, bigint | number | string>>)[column] as bigint | number | string;
}

/** Joins the rows of consecutive blocks into one list for each table. */
export function joinedRows(parts: readonly Rows[]): Rows {
  // The return type of `fromEntries` loses the type of each table's rows, so a cast is needed.
  return Object.fromEntries(
    SINK_TABLE_NAMES.map((table) => [table, parts.flatMap((rows): readonly object[] => rows[table])]),
  ) as unknown as Rows;
}

/** Number of rows in all tables together. */
export function rowCount(rows: Rows): number {
  return SINK_TABLE_NAMES.reduce((sum, table) => sum + rows[table].length, 0);
}
