/** `bloomery events`: shows past and live events of a node's chain, such as `blocks/new`. */

import { setTimeout as sleep } from 'node:timers/promises';
import { storedEvents, refusalOf } from '../../http/events/stored-events.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import { nodeAsker } from '../ask-node.ts';
import { eventsIn, type NodeEventJson } from '../event-stream.ts';
import { eventLine } from '../chain-query/format-events.ts';
import { isStopped, withStoppedNode } from '../chain-query/chain-source.ts';
import type { EventsFlags } from '../flags.ts';
import { printStderr, printJson, printLine } from '../output.ts';
import { usageError } from '../error-lines.ts';
import { isTransient } from '../sink/node-retry.ts';

/** Pause in milliseconds before a command with `--follow` connects to the node again. */
const AGAIN_MS = 1000;
const BEGINNING = '0.0';

/**
 * @throws ProtocolError for a data folder: `USAGE` with `--follow`; `EVENTS_REFUSED` for parameters that the route
 *   `/events` refuses; errors of `withStoppedNode`
 * @throws ProtocolError for a node: errors of `nodeAsker`, `NodeAsker.stream` and `eventsIn`
 */
export async function events(flags: EventsFlags): Promise<void> {
  const print = (event: NodeEventJson): void => {
    if (flags.json === true) printJson(event);
    else printLine(eventLine(event));
  };
  if (!isStopped(flags)) return flags.follow === true ? follow(flags, print) : printAll(flags, print);
  if (flags.follow === true) throw usageError('--follow needs a running node: nothing happens in a folder');
  await withStoppedNode(flags, async (api, base) => {
    try {
      for (const event of storedEvents(api, queryOf(flags, beginningOf(flags)))) print(event);
    } catch (error) {
      const refusal = refusalOf(error, api);
      if (refusal === undefined) throw error;
      throw new ProtocolError('EVENTS_REFUSED', { base }, `${base}: ${refusal}`, { cause: error });
    }
  });
}

type PrintEvent = (event: NodeEventJson) => void;

async function printAll(flags: EventsFlags, print: PrintEvent): Promise<void> {
  const node = nodeAsker(flags.node, { isOwnKind: true });
  const body = await node.stream(`events?${queryOf(flags, beginningOf(flags))}&follow=false`);
  for await (const event of eventsIn(body)) print(event);
}

async function follow(flags: EventsFlags, print: PrintEvent): Promise<never> {
  const node = nodeAsker(flags.node, { isOwnKind: true });
  let last = flags.since;
  let hasBegun = false;
  for (;;) {
    try {
      const body = await node.stream(`events?${queryOf(flags, last)}`);
      if (hasBegun) printStderr(`${node.base} is back`);
      hasBegun = true;
      for await (const event of eventsIn(body)) {
        print(event);
        last = event.id ?? last;
      }
      printStderr(`${node.base} ended the stream; the command retries until the node answers`);
    } catch (error) {
      // Before the first stream begins, each error ends the command. Later, the command connects again if the stream
      // broke off, if no connection was possible, or if the status was 408, 429 or 503. Other errors end the command.
      const isLost = !(error instanceof ProtocolError) || isTransient(error);
      if (!isLost || !hasBegun) throw error;
      if (!(error instanceof ProtocolError))
        printStderr(`${node.base} is unreachable (${messageOf(error)}); the command retries until the node answers`);
    }
    await sleep(AGAIN_MS);
  }
}

/**
 * Returns the id of the event after which the output begins; by default, an id before the oldest event. Returns
 * undefined if only `--from-height` sets the first event of the output.
 */
function beginningOf({ since, fromHeight }: EventsFlags): string | undefined {
  return since ?? (fromHeight === undefined ? BEGINNING : undefined);
}

function queryOf({ fromHeight, types, address, delegate, final }: EventsFlags, after: string | undefined): string {
  return new URLSearchParams({
    // If the request has `lastEventId`, a node ignores `fromHeight`.
    ...(fromHeight === undefined ? {} : { fromHeight: String(fromHeight) }),
    ...(types === undefined ? {} : { types }),
    ...(address === undefined ? {} : { address }),
    ...(delegate === undefined ? {} : { delegate }),
    ...(final === true ? { finality: 'final' } : {}),
    ...(after === undefined ? {} : { lastEventId: after }),
  }).toString();
}
