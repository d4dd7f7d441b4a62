/** Back and forward lead to where one was on a page, also where its content comes late. */

import { useEffect } from 'preact/hooks';

interface Kept {
  readonly scrollY?: number;
}

/** Content that takes longer does not move the reader any more. */
const RESTORE_MS_MAX = 3000;
const NOTE_MS = 150;

/** Keeps with each entry of the history how far it was scrolled; an entry that is new begins at the top. */
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
      // Scrolling that came before belongs to the entry that was left.
      clearTimeout(noting);
      stop();
      stop = scrollWhenThere((event.state as Kept | null)?.scrollY ?? 0);
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

/** Scrolls as soon as the page is long enough. @returns what gives it up */
function scrollWhenThere(target: number): () => void {
  scrollTo(0, target);
  const beganMs = performance.now();
  let frame = requestAnimationFrame(function look() {
    const isDone = Math.abs(scrollY - target) < 2 && document.documentElement.scrollHeight >= target + innerHeight;
    if (isDone || performance.now() - beganMs > RESTORE_MS_MAX) return;
    scrollTo(0, target);
    frame = requestAnimationFrame(look);
  });
  const giveUp = (): void => cancelAnimationFrame(frame);
  // Whoever scrolls meanwhile knows better.
  addEventListener('wheel', giveUp, { once: true, passive: true });
  addEventListener('touchmove', giveUp, { once: true, passive: true });
  return giveUp;
}
