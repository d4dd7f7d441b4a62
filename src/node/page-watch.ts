/**
 * Looks at the pages of the chain store a few at a time while the node runs: a disk that loses or garbles one says nothing,
 * and the library of the database ends the process when it meets it.
 */

import { join } from 'node:path';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { ProtocolError } from '../primitives/errors.ts';
import { DATA_FILE } from '../store/data-file.ts';
import { storeDamaged } from '../store/environment.ts';
import { checkPages } from '../store/page-check.ts';

/** Some 3 ms of the node's time, once a second: a store of 16 GB in an hour and a half. */
const PAGES_PER_LOOK = 800;
const LOOK_MS = 1000;
/** Between two rounds. */
const ROUND_MS = 60 * 60_000;

export interface PageWatch {
  /** Resolves when a page is damaged; the watch ends then. */
  readonly damaged: Promise<ProtocolError>;
  stop(): void;
}

/**
 * Each look is of the newest tree and over before anything else happens in this process, which is the only one that writes: so
 * no page changes under it.
 *
 * @param directory folder of the store
 */
export function watchPages(
  directory: string,
  { clock, observer }: { readonly clock: Clock; readonly observer: Observer },
): PageWatch {
  let timer: Timer;
  let from: Buffer | undefined;
  let tell: (error: ProtocolError) => void;
  const damaged = new Promise<ProtocolError>((resolve) => (tell = resolve));
  const look = (): void => {
    const found = checkPages(join(directory, DATA_FILE), {
      pagesMax: PAGES_PER_LOOK,
      ...(from === undefined ? {} : { from }),
    });
    if (found.damage !== undefined) {
      const error = storeDamaged(directory, found.damage);
      observer.log('error', error.code, 'the chain store is damaged: the node ends before it meets the page', {
        reason: found.damage,
      });
      tell(error);
      return;
    }
    from = found.next;
    timer = clock.after(from === undefined ? ROUND_MS : LOOK_MS, look);
  };
  timer = clock.after(LOOK_MS, look);
  return { damaged, stop: () => timer.cancel() };
}
