/** How components read the live state, the address and the answers of the node. */

import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { placeOfHash, type Place } from '../place.ts';
import { ask, AskFailed, type Answer } from './ask.ts';
import { Live, type LiveState } from './live.ts';

export const LiveContext = createContext(new Live());

export function useLive(): LiveState {
  const live = useContext(LiveContext);
  const [state, setState] = useState(live.state);
  useEffect(() => live.listen(() => setState(live.state)), [live]);
  return state;
}

/** The node's time in milliseconds, once a second. */
export function useNow(): number {
  const { clockAheadMs } = useLive();
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now + clockAheadMs;
}

export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = (): void => setHash(location.hash);
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return placeOfHash(hash);
}

export type Asked<Data> =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'answered'; readonly answer: Answer<Data> };

/**
 * Asks the node, and again when `version` changes; meanwhile the earlier answer to the same question stands.
 *
 * @param path below `/api`
 */
export function useAnswer<Data>(path: string, version: string | number = ''): Asked<Data> {
  const [asked, setAsked] = useState<{ readonly path: string; readonly result: Asked<Data> }>({
    path,
    result: { kind: 'waiting' },
  });
  useEffect(() => {
    let isWanted = true;
    ask<Data>(path).then(
      (answer) => isWanted && setAsked({ path, result: { kind: 'answered', answer } }),
      (error: unknown) => {
        const reason = error instanceof AskFailed ? error.message : 'The answer cannot be shown.';
        if (isWanted) setAsked({ path, result: { kind: 'failed', reason } });
      },
    );
    return () => {
      isWanted = false;
    };
  }, [path, version]);
  return asked.path === path ? asked.result : { kind: 'waiting' };
}
