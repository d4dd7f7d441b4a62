/**
 * Functions that check the shape (the members and their types) of the JSON answers of nodes. `NodeAsker.ask` checks
 * each answer, because the address that the user gave can belong to a program that is not a node.
 */

/** Returns the fault of a value, for example `.height must be a string`; undefined for a valid value. */
export type Shape = (value: unknown) => string | undefined;

/** Largest height, slot number or time in seconds. In the protocol, heights and times have 32 bits. */
const UINT32_MAX = 2 ** 32 - 1;
/** Largest time that `Date` can show. */
const TIME_MS_MAX = 8.64e15;
/**
 * Maximum distance between the `nextSlot` of the first forger and the `nextSlot` of any other forger in an answer of
 * `delegates/forgers`. A larger distance does not come from a node: a node lists the forgers of at most 101 consecutive
 * slots, far fewer than this maximum.
 */
const FORGER_SLOTS_APART_MAX = 10_000;

function that(expected: string, accepts: (value: unknown) => boolean): Shape {
  return (value) => (accepts(value) ? undefined : ` must be ${expected}`);
}

export const text = that('a string', (value) => typeof value === 'string');
const flag = that('true or false', (value) => typeof value === 'boolean');
export const number = that('a number', Number.isFinite);
export const uint32 = that('a whole number below 2^32', isUint32);
export const moment = that('a date and time', (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)));
const timeMs = that(
  'a time in milliseconds',
  (value) => Number.isFinite(value) && Math.abs(Number(value)) <= TIME_MS_MAX,
);
/** A balance can be negative: the account that forged the genesis block paid the whole supply to other accounts. */
export const balance = that(
  'a whole number as a string',
  (value) => typeof value === 'string' && /^-?[0-9]{1,30}$/.test(value),
);
const scalar = that('a string, a number or true or false', (value) =>
  ['string', 'number', 'boolean'].includes(typeof value),
);
const anything: Shape = () => undefined;

function isUint32(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= UINT32_MAX;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function optional(shape: Shape): Shape {
  return (value) => (value === undefined ? undefined : shape(value));
}

/** Shape of an object that has the given members. The object can have further members. */
export function members(shapes: Readonly<Record<string, Shape>>): Shape {
  return (value) => {
    if (!isRecord(value)) return ' must be an object';
    for (const [name, shape] of Object.entries(shapes)) {
      const wrong = shape(Object.hasOwn(value, name) ? value[name] : undefined);
      if (wrong !== undefined) return `.${name}${wrong}`;
    }
    return undefined;
  };
}

function each(shape: Shape): Shape {
  return (value) => {
    const items = Array.isArray(value)
      ? (value as readonly unknown[])
      : isRecord(value)
        ? Object.values(value)
        : undefined;
    for (const item of items ?? []) {
      const wrong = shape(item);
      if (wrong !== undefined) return `[]${wrong}`;
    }
    return undefined;
  };
}

function all(...shapes: readonly Shape[]): Shape {
  return (value) => {
    for (const shape of shapes) {
      const wrong = shape(value);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
}

const list = that('a list', Array.isArray);

export function listOf(shape: Shape): Shape {
  return all(list, each(shape));
}

const closeSlots = that('slots that follow one another', (value) => {
  const slots = (value as readonly { readonly nextSlot: number }[]).map(({ nextSlot }) => nextSlot);
  return slots.every((slot) => Math.abs(slot - (slots[0] ?? 0)) <= FORGER_SLOTS_APART_MAX);
});

const syncProgress = members({ targetHeight: uint32, blocksPerS: number, secondsLeft: optional(number) });
const readers = members({
  wanted: uint32,
  restarts: uint32,
  each: listOf(members({ reader: uint32, state: text, since: moment, memoryBytes: number, requests: number })),
});
const totals = members({ confirmed: number, total: number });

const recorded = members({
  time: moment,
  module: text,
  code: text,
  message: text,
  fields: all(members({}), each(scalar)),
});
const blockTime = that('a whole number of seconds, at least 1', (value) => isUint32(value) && value >= 1);
const roundLength = that('a whole number from 1 to 101', (value) => isUint32(value) && value >= 1 && value <= 101);

/** Second shape for `node/constants`: the members that a command needs to compute the start times of slots. */
export const slotConstants = members({ epoch: moment, blockTime });

/**
 * Shapes of answers, by HTTP path without the prefix `/api/`. Some shapes omit a member that only some commands need,
 * or declare this member as optional. A command that needs such a member passes a second shape to `NodeAsker.ask`.
 */
const ENDPOINTS: Readonly<Record<string, Shape>> = {
  'node/status': members({
    height: optional(uint32),
    chainMaxHeightFinalized: optional(uint32),
    networkHeight: optional(uint32),
    consensus: optional(number),
    syncing: optional(flag),
    secondsSinceEpoch: optional(uint32),
    currentTime: optional(timeMs),
    transactions: optional(totals),
    clockOffsetMs: optional(number),
    clocksDiffer: optional(members({ peer: text, offsetMs: number })),
    isAlone: optional(flag),
    readers: optional(readers),
    syncProgress: optional(syncProgress),
  }),
  'node/constants': members({
    epoch: optional(moment),
    version: optional(text),
    nethash: optional(text),
    networkId: optional(text),
    protocolVersion: optional(text),
    blockTime: optional(blockTime),
    activeDelegates: optional(roundLength),
  }),
  'node/status/forging': listOf(
    members({
      publicKey: text,
      forging: optional(flag),
      waiting: optional(members({ code: text, reason: text, until: optional(moment) })),
      paused: optional(members({ reason: text, since: moment, cause: optional(text) })),
    }),
  ),
  'node/peers': listOf(
    members({
      ip: text,
      wsPort: optional(uint32),
      verdict: text,
      direction: optional(text),
      since: optional(moment),
      until: optional(moment),
      code: optional(number),
      reason: optional(text),
      roles: listOf(text),
      reputation: number,
      height: optional(uint32),
      latencyMs: optional(number),
    }),
  ),
  'node/diagnostics': listOf(recorded),
  'node/slots': members({
    since: moment,
    slots: listOf(
      members({
        slot: uint32,
        facts: listOf(recorded),
        forger: optional(members({ publicKey: text, username: text, height: uint32, isCertain: flag })),
      }),
    ),
    switches: listOf(members({ time: moment, delegate: text, on: flag })),
    branches: optional(
      listOf(
        members({
          ...{ time: moment, fromSlot: uint32, toSlot: uint32 },
          ...{ forHeight: optional(uint32), forBlockId: optional(text) },
        }),
      ),
    ),
    looks: optional(listOf(members({ fromSlot: uint32, toSlot: uint32 }))),
    oldOrders: optional(listOf(members({ fromSlot: uint32, toSlot: uint32, height: uint32 }))),
  }),
  'node/digest': members({ height: uint32, blockId: text, digest: text }),
  'delegates/forgers': all(listOf(members({ publicKey: text, username: text, nextSlot: uint32 })), closeSlots),
  delegates: listOf(
    members({
      account: members({ publicKey: text }),
      producedBlocks: optional(number),
      missedBlocks: optional(number),
    }),
  ),
  blocks: listOf(members({ height: uint32, id: optional(text), timestamp: optional(uint32) })),
  peers: list,
  accounts: listOf(members({ balance, secondPublicKey: optional(text) })),
  transactions: listOf(members({ height: uint32 })),
};

/** Shape of an answer of `node/status` with all required members of `NodeState` (`node-client.ts`). */
export const FULL_STATUS = members({
  height: uint32,
  chainMaxHeightFinalized: uint32,
  networkHeight: uint32,
  consensus: number,
  syncing: flag,
  transactions: totals,
});
export const NODE_CLOCK = members({ secondsSinceEpoch: uint32 });
export const NODE_IDENTITY = members({ version: text, build: optional(text), nethash: text });
/**
 * Second shape for `node/constants`. The answers of all Lisk nodes have this shape, even the answers of lisk-sdk and of
 * earlier builds of Bloomery.
 */
export const LISK_NODE = members({ version: text, protocolVersion: text, epoch: moment, build: optional(text) });
export const NODE_PROTOCOL = members({ protocolVersion: text });

/**
 * Returns the shape of the answer for a path. The answer for a queue of the transaction pool (`node/transactions/...`)
 * must be a list. For any other path that is not in `ENDPOINTS`, the answer can have any shape.
 *
 * @param path path below `/api/`, with or without a query string
 */
export function shapeOf(path: string): Shape {
  const endpoint = path.replace(/\?.*$/, '');
  return ENDPOINTS[endpoint] ?? (endpoint.startsWith('node/transactions/') ? list : anything);
}
