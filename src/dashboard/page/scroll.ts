/** Back and forward in the browser restore the scroll position, also if the content of the page arrives late. */

import { useEffect } from 'preact/hooks';

interface Kept {
  readonly scrollY?: number;
}

/** Content that arrives after this time does not change the scroll position. */
const RESTORE_MS_MAX = 10_000;
/** The page counts as complete when its length has not changed for this time. */
const SETTLED_MS = 1000;
const NOTE_MS = 150;

/** Stores the scroll position of each entry of the browser's history. A new entry begins at the top. */
export function useScrollMemory(): void {
  useEffect(() => {
    history.scrollRestoration = 'manual';
    let noting: ReturnType<typeof setTimeout> | undefined;
    let stop = (): void => undefined;
    const note = (): void => {
      clearTimeout(noting);
      noting = setTimeout(() => history.replaceState({ scrollY } satisfies Kept, ''), NOTE_MS);
    };
    const arrived = (event: PopStateEvent): void => {
      // Earlier scrolling belongs to the history entry that was left.
      clearTimeout(noting);
      stop();
      const target = (event.state as Kept | null)?.scrollY ?? 0;
      scrollTo(0, target);
      // The top needs no restoring: nothing that arrives later moves it, and the reader may scroll at once.
      if (target > 0) stop = scrollWhenThere(target);
    };
    addEventListener('scroll', note, { passive: true });
    addEventListener('popstate', arrived);
    return () => {
      stop();
      removeEventListener('scroll', note);
      removeEventListener('popstate', arrived);
    };
  }, []);
}

/**
 * Scrolls to the position as soon as the page is long enough, and keeps it while parts of the page arrive, because
 * parts above would move it.
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
    if ((isLongEnough && nowMs - changedMs > SETTLED_MS) || nowMs - beganMs > RESTORE_MS_MAX) return giveUp();
    frame = requestAnimationFrame(look);
  });
  // If the reader scrolls meanwhile, the position is not restored.
  const acts = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;
  const giveUp = (): void => {
    cancelAnimationFrame(frame);
    for (const act of acts) removeEventListener(act, giveUp);
  };
  for (const act of acts) addEventListener(act, giveUp, { passive: true });
  return giveUp;
}
