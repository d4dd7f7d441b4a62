/**
 * Hooks with which components read the live state of the node (`LiveState`), the route in the URL fragment
 * (`HashRoute`), and the node's answers to requests.
 */

import { createContext, type RefObject } from 'preact';
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { routeOfHash, type HashRoute } from '../hash-route.ts';
import type { ListRequest } from '../list-requests.ts';
import { roundSlots, type Round } from '../round.ts';
import { ask, AskFailed, type Answer } from './api-requests.ts';
import { Live, type LiveState } from './live.ts';

export const LiveContext = createContext(new Live());

export function useLive(): LiveState {
  const live = useContext(LiveContext);
  const [state, setState] = useState(live.state);
  useEffect(() => live.listen(() => setState(live.state)), [live]);
  return state;
}

/**
 * Returns the time of the node's clock as Unix time in milliseconds. The component that calls this hook is updated once
 * per second.
 */
export function useNow(): number {
  const { clockAheadMs } = useLive();
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now + clockAheadMs;
}

/**
 * Returns false while the node catches up or does not answer. During this time, the dashboard lacks the newest blocks
 * of the network.
 */
export function useIsCurrent(): boolean {
  const { status, connection } = useLive();
  return status?.syncing !== true && connection !== 'lost';
}

/**
 * Returns the present round: the round to which the next block belongs. The result is undefined until the node has sent
 * its constants and the list of the delegates that forge in this round.
 */
export function useRound(): Round | undefined {
  const { blocks, forgers, blockTimeS, constants } = useLive();
  const isCurrent = useIsCurrent();
  const now = useNow();
  if (constants === undefined || forgers.length === 0) return undefined;
  const { activeDelegates } = constants;
  // While the node catches up or does not answer, the slot of the newest known block counts as the present slot. Later
  // slots do not count as missed, because the dashboard does not have the blocks of these slots yet.
  const currentSlot = isCurrent ? Math.floor((now - Date.parse(constants.epoch)) / 1000 / blockTimeS) : 0;
  return roundSlots({
    blocks,
    forgers,
    blockTimeS,
    currentSlot,
    ...(activeDelegates === undefined ? {} : { activeDelegates }),
  });
}

/** @returns a function from a slot to its start time, as Unix time in milliseconds */
export function useSlotStart(): (slot: number) => number {
  const { blockTimeS, constants } = useLive();
  const epochMs = constants === undefined ? 0 : Date.parse(constants.epoch);
  return (slot) => epochMs + slot * blockTimeS * 1000;
}

export function useRoute(): HashRoute {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = (): void => setHash(location.hash);
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return routeOfHash(hash);
}

/**
 * Returns true while the content of an element is wider than the element. The result is updated when one of the two
 * widths changes.
 */
export function useOverflow(element: RefObject<HTMLElement>): boolean {
  const [isWider, setIsWider] = useState(false);
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const measure = (): void => setIsWider(current.scrollWidth > current.clientWidth);
    const resized = new ResizeObserver(measure);
    for (const watched of [current, ...current.children]) resized.observe(watched);
    return () => resized.disconnect();
  });
  return isWider;
}

export type RequestState<Data> =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'failed'; readonly reason: string; readonly status: number | undefined }
  /** No request was sent, because a field of the form with the list's filters is wrong. The form shows the fault. */
  | { readonly kind: 'notSent' }
  | { readonly kind: 'answered'; readonly answer: Answer<Data> };

/**
 * Asks the node, and asks again when `path` or `version` changes. Until the new answer arrives, the hook returns the
 * earlier answer to the same path. If there is no such answer, the state is `waiting`.
 *
 * @param path path without the prefix `/api`, as for `ask`; with an empty path, no request is sent
 */
export function useAnswer<Data>(path: string, version: string | number = ''): RequestState<Data> {
  return useAsked(() => ask<Data>(path), path, version);
}

/** Like `useAnswer`, but the hook sends no request if `request` states a wrong field of the form instead of a path. */
export function useRequest<Data>(request: ListRequest, version: string | number = ''): RequestState<Data> {
  const path = 'path' in request ? request.path : '';
  const asked = useAsked(() => ask<Data>(path), path, version);
  return 'problem' in request ? { kind: 'notSent' } : asked;
}

/**
 * Number of uses of `useAsked`, in all components, that have neither an answer nor an error for their present `name`
 * yet. A use with an empty name sends no request and does not count.
 */
let waitingParts = 0;

/**
 * Returns true while any component waits for the first answer to its request. The page can grow when the answer
 * arrives.
 */
export function isWaiting(): boolean {
  return waitingParts > 0;
}

/** Sequence number of the last request of `useAsked`, counted over all components. */
let lastRequest = 0;

/**
 * Does the same as `useAnswer`, but for an answer that needs several requests.
 *
 * @param name name of the query. When the name changes, the hook no longer returns the earlier answer. With an empty
 *   name, the hook sends no request
 */
export function useAsked<Data>(
  request: () => Promise<Answer<Data>>,
  name: string,
  version: string | number,
): RequestState<Data> {
  const [asked, setAsked] = useState<{ readonly name: string; readonly result: RequestState<Data> }>({
    name,
    result: { kind: 'waiting' },
  });
  const wanted = useRef('');
  const shown = useRef(0);
  useEffect(() => {
    if (name === '') return undefined;
    wanted.current = name;
    const number = ++lastRequest;
    // An answer is shown even if a later request with the same name is already waiting for its answer. Many views send
    // a new request for each new block. Suppose that only the answer to the last request were shown, and that each
    // answer took longer than the time between two blocks. Such a view would then never show an answer.
    const show = (result: RequestState<Data>): void => {
      if (wanted.current !== name || number < shown.current) return;
      shown.current = number;
      setAsked({ name, result });
    };
    request().then(
      (answer) => show({ kind: 'answered', answer }),
      (error: unknown) => {
        const reason = error instanceof AskFailed ? error.message : 'The answer cannot be shown.';
        const status = error instanceof AskFailed ? error.status : undefined;
        show({ kind: 'failed', reason, status });
      },
    );
    return () => {
      wanted.current = '';
    };
  }, [name, version]);
  const result: RequestState<Data> = asked.name === name ? asked.result : { kind: 'waiting' };
  const isUnanswered = name !== '' && result.kind === 'waiting';
  useLayoutEffect(() => {
    if (!isUnanswered) return undefined;
    waitingParts += 1;
    return () => {
      waitingParts -= 1;
    };
  }, [isUnanswered]);
  return result;
}
