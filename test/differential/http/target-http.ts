/** Requests to a real node and to one of ours on the same chain. Equal are status, type of content, and the whole body. */

import type { Below } from '../../fuzz/mutate.ts';
import type { Comparison } from '../comparison.ts';
import type { Target } from '../target.ts';
import { disagreement, exchange } from './answers.ts';
import { factsOf } from './facts.ts';
import type { HttpLab } from './lab.ts';
import { Questions, type HttpRequest } from './questions.ts';
import { Submissions } from './submissions.ts';

/** Questions in either dialect, and what is handed in. */
export async function httpTargets(lab: HttpLab): Promise<readonly Target[]> {
  const questions = new Questions(lab.generation, await factsOf(lab.real));
  const submissions = new Submissions(lab);
  return [
    target('http questions, strict dialect', lab.real, lab.strict, true, (below) => questions.next(below)),
    target('http questions, joined dialect', lab.real, lab.joined, false, (below) => questions.next(below)),
    target('http submissions', lab.real, lab.joined, false, (below) => submissions.next(below)),
  ];
}

function target(
  name: string,
  real: string,
  ours: string,
  isStrict: boolean,
  next: (below: Below) => HttpRequest,
): Target {
  const compareRequest = async (request: HttpRequest): Promise<Comparison> => {
    let found = await both(request);
    // Two nodes may be asked on two sides of the end of a slot.
    if (found.difference !== undefined && request.method === 'GET') found = await both(request);
    return found;
  };
  const both = async (request: HttpRequest): Promise<Comparison> => {
    const [theirs, own] = await Promise.all([exchange(real, request), exchange(ours, request)]);
    return {
      input: JSON.stringify(request),
      ours: { accepted: own.status < 300, result: own, why: String(own.status) },
      reference: { accepted: theirs.status < 300, result: theirs, why: String(theirs.status) },
      difference: disagreement(request, theirs, own, isStrict)?.name,
    };
  };
  return {
    name,
    compare: (below) => compareRequest(next(below)),
    compareText: (input) => compareRequest(JSON.parse(input) as HttpRequest),
  };
}
