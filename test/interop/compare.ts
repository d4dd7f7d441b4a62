/** Compares the HTTP answers of two nodes with the same tip, field by field. */

import { ALLOWANCES } from '../golden/allowances.ts';
import { differencesOf, isAllowed, type Allowance } from '../golden/answer-diff.ts';
import type { Untyped } from '../support/untyped.ts';
import { answerOf } from './http.ts';
import type { InteropNode } from './nodes.ts';

export interface Agreement {
  readonly answers: number;
  readonly fields: number;
}

/**
 * Differences that are allowed between the answers of two nodes with the same chain.
 * `docs/http/interface-differences.md` lists the other allowed differences.
 */
const LOCAL: readonly Allowance[] = [
  { reason: 'What a node knows of others is its own affair.', path: /^data\.(consensus|networkHeight)$/ },
  { reason: 'Pools are their own affair.', url: /status/, path: /^data\.transactions\.(?!confirmed)/ },
  { reason: 'Reading processes are of one node.', url: /status/, path: /^data\.readers/ },
  { reason: 'One node leaves a branch that another never saw.', url: /status/, path: /^data\.reorgs/ },
  { reason: 'It names the present.', path: /^meta\.(toTimestamp|currentSlot)$/ },
];
const ALLOWED = [...ALLOWANCES, ...LOCAL];
const PAGE = 100;
const COMPLAINTS_MAX = 8;

/** @throws Error with the first differences that are not allowed, if there are such differences */
export async function compareNodes(reference: InteropNode, other: InteropNode): Promise<Agreement> {
  const complaints: string[] = [];
  let answers = 0;
  let fields = 0;
  const same = async (path: string, arrange: (answer: Untyped) => unknown = (answer) => answer): Promise<Untyped> => {
    const [expected, found] = await Promise.all([answerOf(reference.url, path), answerOf(other.url, path)]);
    answers++;
    fields += fieldsIn(expected.body);
    const arranged = [expected, found].map(({ status, body }) =>
      status === 200 ? arrange(body) : { status, ...body },
    );
    const differences = differencesOf(arranged[0], arranged[1]).filter(
      (difference) => !isAllowed(ALLOWED, { method: 'GET', url: `/api/${path}` }, difference),
    );
    for (const { path: at, kind, recorded, ours } of differences) {
      complaints.push(`${path}: ${kind} ${at}: ${JSON.stringify(recorded)} became ${JSON.stringify(ours)}`);
    }
    return found.body;
  };
  /** Compares all pages of a list. Both nodes must return the items in the same order. */
  const samePages = async (path: string): Promise<Untyped[]> => {
    const found: Untyped[] = [];
    for (let offset = 0; ; offset += PAGE) {
      const { data } = await same(`${path}&limit=${PAGE}&offset=${offset}`);
      found.push(...data);
      if (data.length < PAGE) return found;
    }
  };

  await same('node/constants');
  await same('node/status');
  const blocks = await samePages('blocks?sort=height:asc');
  for (const { id, numberOfTransactions } of blocks) {
    if (numberOfTransactions > 0) await same(`transactions?blockId=${id}&limit=${PAGE}`, byId);
  }
  const accounts = await samePages('accounts?sort=balance:desc');
  for (const { address, delegate } of accounts) {
    await same(`votes?address=${address}&limit=101`);
    await same(`accounts/${address}/multisignature_groups`);
    await same(`accounts/${address}/multisignature_memberships`);
    if (delegate !== undefined) {
      await same(`voters?username=${delegate.username}&limit=100`);
      await same(`delegates/${address}/forging_statistics`);
    }
  }
  await samePages('delegates?sort=username:asc');
  await same('delegates?limit=101');
  await same('delegates/forgers?limit=101', orderOfForgers);
  if (complaints.length > 0) {
    const shown = complaints.slice(0, COMPLAINTS_MAX).join('\n');
    throw new Error(`${reference.name} and ${other.name} differ in ${complaints.length} fields:\n${shown}`);
  }
  return { answers, fields };
}

function byId(answer: Untyped): unknown {
  const data = [...answer.data].sort((one, another) => (one.id < another.id ? -1 : 1));
  return { ...answer, data };
}

/**
 * Returns the order in which the delegates forge in the current round of the node. The result does not depend on the
 * slot in which the node answered.
 */
function orderOfForgers(answer: Untyped): unknown {
  const places = answer.data.map(({ publicKey, nextSlot }: Untyped) => [nextSlot % answer.data.length, publicKey]);
  return Object.fromEntries(places);
}

function fieldsIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, each) => sum + fieldsIn(each), 0);
}
