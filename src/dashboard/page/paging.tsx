/** Pages of a list. A page begins at a cursor of the node, so new blocks do not shift it. */

import { countText } from '../format.ts';
import { hashOf, type Place } from '../place.ts';
import type { PageOfList } from '../questions.ts';
import type { ListMeta } from './ask.ts';

/** Rows of a page. */
export const PAGE_ROWS = 25;

/** The page of an address as the node is asked for it. */
export function pageOf({ after }: Pick<Place, 'after'>, limit = PAGE_ROWS): PageOfList {
  return { limit, after };
}

/** Links to the first page, the one before and the next one; nothing for a list of one page. */
export function Pages({
  place: { view, item, filters, page, after },
  meta: { next },
}: {
  place: Place;
  meta: ListMeta;
}) {
  const isFirst = after === '';
  const isLast = next === undefined || next === null;
  if (isFirst && isLast) return null;
  const own = hashOf(view, item, filters, { page, after });
  const first = hashOf(view, item, filters);
  const following = isLast ? '' : hashOf(view, item, filters, { page: page + 1, after: next });
  const before = page === 2 ? first : pageBefore(own);
  return (
    <nav class="pages" aria-label="Pages">
      <span>
        {!isFirst && <a href={first}>⇤ First</a>}
        {!isFirst && before !== undefined && <a href={before}>← Previous</a>}
      </span>
      <span>Page {countText(page)}</span>
      {isLast ? (
        <span />
      ) : (
        <a href={following} onClick={() => noteBefore(following, own)}>
          Next →
        </a>
      )}
    </nav>
  );
}

/** Keys of the session storage: addresses of pages. */
const BEFORE = 'page before ';

/** A cursor leads forward only, so the page notes the address that it was left from. */
function noteBefore(hash: string, before: string): void {
  try {
    sessionStorage.setItem(BEFORE + hash, before);
  } catch {
    // Without storage the link to the page before is missing; the first page and the browser's own way back remain.
  }
}

function pageBefore(hash: string): string | undefined {
  try {
    return sessionStorage.getItem(BEFORE + hash) ?? undefined;
  } catch {
    return undefined;
  }
}
