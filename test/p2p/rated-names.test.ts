/**
 * Tests that every call and message that a node can send has a row in the table of rates (`RATES`). A call or message
 * without a row would have no rate limit of its own.
 */

import test from 'ava';
import type { Outgoing, WireDialect } from '../../src/p2p/dialect.ts';
import { gen2Dialect } from '../../src/p2p/dialect-gen2.ts';
import { gen3Dialect } from '../../src/p2p/dialect-gen3.ts';
import { ReceiveLimits } from '../../src/p2p/receive-limits.ts';
import { RATES } from '../../src/ports/rates.ts';
import type { PeerMessage, PeerRequest } from '../../src/ports/transport.ts';

const REQUESTS: { readonly [K in PeerRequest['kind']]: Extract<PeerRequest, { kind: K }> } = {
  peers: { kind: 'peers' },
  tip: { kind: 'tip' },
  blocksAfter: { kind: 'blocksAfter', blockId: '1' },
  highestCommonBlock: { kind: 'highestCommonBlock', blockIds: ['1'] },
  transactions: { kind: 'transactions' },
  signatures: { kind: 'signatures' },
};
const MESSAGES: { readonly [K in PeerMessage['kind']]: Extract<PeerMessage, { kind: K }> } = {
  block: { kind: 'block', block: {} },
  transactionIds: { kind: 'transactionIds', ids: ['1'] },
  transactions: { kind: 'transactions', transactions: [{}] },
  signatures: { kind: 'signatures', signatures: [] },
};
/** The dialect of each generation, and the kinds of requests that this generation does not have. */
const DIALECTS: readonly (readonly [2 | 3, WireDialect, readonly PeerRequest['kind'][]])[] = [
  [2, gen2Dialect({ nethash: 'a'.repeat(64), protocolVersion: '1.1', nonce: 'a'.repeat(16) }), ['tip']],
  [3, gen3Dialect({ networkIdentifier: 'a'.repeat(64), protocolVersion: '2.0' }), []],
];

/**
 * Returns the name that the table of rates uses for an outgoing frame. For a call, this is its procedure. For a
 * message, this is its event.
 */
function nameOf({ event, data }: Outgoing): string {
  const { procedure, event: inner } = data as { readonly procedure?: string; readonly event?: string };
  return procedure ?? inner ?? event;
}

for (const [generation, dialect, missing] of DIALECTS) {
  test(`generation ${generation}: all calls and messages have a limit`, (t) => {
    const asked = Object.values(REQUESTS).filter(({ kind }) => !missing.includes(kind));
    const calls = asked.map((request) => dialect.ask(request).next().value as Outgoing);
    const messages = Object.values(MESSAGES).flatMap((message) => dialect.packMessage(message) ?? []);
    const names = [dialect.infoCall(), dialect.infoPush({}), ...calls, ...messages].map(nameOf);
    t.true(names.length > 8);
    for (const name of names) {
      const limits = new ReceiveLimits(generation);
      const uses = Array.from({ length: 10_000 }, () => limits.use(name, 0));
      t.not(uses.at(-1), 'taken', name);
    }
    const unused = RATES.filter((row) => row.generation === generation && row.kind !== 'probe').filter(
      ({ name }) => !names.includes(name),
    );
    t.deepEqual(unused, [], 'names of the table that nothing sends');
  });
}
