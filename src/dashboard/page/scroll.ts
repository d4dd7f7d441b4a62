/**
 * Restores the scroll position when the user goes back or forward in the browser, even if content of the page arrives
 * late.
 */

import { useEffect } from 'preact/hooks';
import { isWaiting } from './hooks.ts';

interface Kept {
  readonly scrollY?: number;
}

/**
 * Maximum time in milliseconds for restoring a scroll position. The time is long enough for several consecutive
 * requests, even if each of them fails after 8 s (the time limit for an answer of the node).
 */
const RESTORE_MS_MAX = 60_000;
/**
 * Time in milliseconds. If the page is long enough for the scroll position, two conditions must hold before the page
 * counts as complete: the length of the page has not changed for `SETTLED_MS`, and no component waits for the first
 * answer to its request.
 */
const SETTLED_MS = 1000;
/**
 * Time in milliseconds. If the page is too short for the scroll position, two conditions must hold before
 * `scrollWhenThere` gives up: the length of the page has not changed for `SHORT_MS_MAX`, and no component waits for the
 * first answer to its request. For a page that is long enough, the shorter time `SETTLED_MS` replaces `SHORT_MS_MAX`.
 * For a page that is too short, the time is longer, because the dashboard repeats a failed request when the next block
 * arrives, and the answer to this request can make the page long enough.
 */
const SHORT_MS_MAX = 10_000;
const NOTE_MS = 150;

/**
 * Stores the scroll position of each entry of the browser's history, and restores this position when the user goes back
 * or forward to the entry. A new entry begins at the top.
 */
export function useScrollMemory(): void {
  useEffect(() => {
    history.scrollRestoration = 'manual';
    let noting: ReturnType<typeof setTimeout> | undefined;
    let stop = (): void => undefined;
    const record = (): void => {
      clearTimeout(noting);
      noting = setTimeout(() => history.replaceState({ scrollY } satisfies Kept, ''), NOTE_MS);
    };
    const arrived = (event: PopStateEvent): void => {
      // A scroll position that is not stored yet is dropped, because it belongs to the history entry that the user
      // left.
      clearTimeout(noting);
      stop();
      const target = (event.state as Kept | null)?.scrollY ?? 0;
      scrollTo(0, target);
      // A position at the top needs no further work, because later content does not move the top.
      if (target > 0) stop = scrollWhenThere(target);
    };
    addEventListener('scroll', record, { passive: true });
    addEventListener('popstate', arrived);
    return () => {
      stop();
      removeEventListener('scroll', record);
      removeEventListener('popstate', arrived);
    };
  }, []);
}

/**
 * Scrolls to the position `target` as soon as the page is long enough. Until the page is complete, the function scrolls
 * again and again, because content that arrives above the position moves the content below.
 *
 * @returns a function that ends the scrolling
 */
function scrollWhenThere(target: number): () => void {
  const beganMs = performance.now();
  let height = 0;
  let changedMs = beganMs;
  let frame = requestAnimationFrame(function look() {
    const nowMs = performance.now();
    const { scrollHeight } = document.documentElement;
    if (scrollHeight !== height) changedMs = nowMs;
    height = scrollHeight;
    if (Math.abs(scrollY - target) >= 2) scrollTo(0, target);
    const isLongEnough = height >= target + innerHeight;
    const isComplete = !isWaiting() && nowMs - changedMs > (isLongEnough ? SETTLED_MS : SHORT_MS_MAX);
    if (isComplete || nowMs - beganMs > RESTORE_MS_MAX) return giveUp();
    frame = requestAnimationFrame(look);
  });
  // If the user scrolls, clicks or presses a key before the page is complete, the function stops.
  const acts = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;
  const giveUp = (): void => {
    cancelAnimationFrame(frame);
    for (const act of acts) removeEventListener(act, giveUp);
  };
  for (const act of acts) addEventListener(act, giveUp, { passive: true });
  return giveUp;
}
