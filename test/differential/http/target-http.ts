/**
 * Sends requests to a real node and to one of our nodes on the same chain, and compares the answers. `disagreement`
 * defines which parts of the answers must be equal.
 */

import type { RandomBelow } from '../../fuzz/mutate.ts';
import type { Comparison } from '../comparison.ts';
import type { Target } from '../target.ts';
import { disagreement, exchange } from './answers.ts';
import { factsOf } from './facts.ts';
import { oddGroupOf, type HttpLab } from './lab.ts';
import { Queries, type HttpRequest } from './queries.ts';
import { Refusals } from './refusals.ts';
import { Submissions } from './submissions.ts';

/** Number of queries that run at the same time. Queries change nothing, so they do not affect each other. */
const QUERIES_AT_ONCE = 8;
/** Maximum number of repetitions of a GET request whose answers differ. */
const TRIES_MORE = 3;

/** Returns the targets for queries in each dialect, and the target for submissions. */
export async function httpTargets(lab: HttpLab, refusals = new Refusals()): Promise<readonly Target[]> {
  const asked = { concurrency: QUERIES_AT_ONCE };
  const queries = new Queries(lab.generation, await factsOf(lab.real, oddGroupOf(lab.wallet)));
  const submissions = new Submissions(lab);
  const named = (name: string): string => `generation ${lab.generation}, http ${name}`;
  return [
    {
      ...target(named('queries, strict dialect'), lab.real, lab.strict, true, (below) => queries.next(below), refusals),
      ...asked,
    },
    {
      ...target(named('queries, extended dialect'), lab.real, lab.extended, false, (below) => queries.next(below)),
      ...asked,
    },
    // Accepted transactions fill the pools of the nodes. Therefore the submissions run after the queries, and there are
    // few submissions.
    {
      ...target(named('submissions'), lab.real, lab.extended, false, (below) => submissions.next(below)),
      weight: 0.15,
    },
  ];
}

function target(
  name: string,
  real: string,
  ours: string,
  isStrict: boolean,
  next: (below: RandomBelow) => HttpRequest,
  refusals?: Refusals,
): Target {
  const compareRequest = async (request: HttpRequest): Promise<Comparison> => {
    let found = await both(request);
    // The answers may differ because the request reached the two nodes in different slots. On a busy machine, this may
    // happen several times in a row.
    for (let more = 0; more < TRIES_MORE && found.difference !== undefined && request.method === 'GET'; more += 1)
      found = await both(request);
    return found;
  };
  const both = async (request: HttpRequest): Promise<Comparison> => {
    const [theirs, own] = await Promise.all([exchange(real, request), exchange(ours, request)]);
    const difference = disagreement(request, theirs, own, isStrict)?.name;
    if (difference === undefined) refusals?.record(request, theirs);
    return {
      input: JSON.stringify(request),
      ours: { accepted: own.status < 300, result: own, why: String(own.status) },
      reference: { accepted: theirs.status < 300, result: theirs, why: String(theirs.status) },
      difference,
    };
  };
  return {
    name,
    compare: (below) => compareRequest(next(below)),
    compareText: (input) => compareRequest(JSON.parse(input) as HttpRequest),
  };
}
