/**
 * Pages of a list. The node sends a cursor at which the next page begins, so new blocks do not move rows to another
 * page.
 */

import { countText } from '../format.ts';
import { hashOf, type HashRoute } from '../hash-route.ts';
import type { PageOfList } from '../list-requests.ts';
import type { ListMeta } from './api-requests.ts';

/** Number of rows on a page. */
export const PAGE_ROWS = 25;

/** Returns the number of rows and the cursor with which the dashboard requests a page from the node. */
export function pageOf({ after }: Pick<HashRoute, 'after'>, limit = PAGE_ROWS): PageOfList {
  return { limit, after };
}

/** Shows links to the first, the previous and the next page. A list of one page has no links. */
export function Pages({
  route: { view, item, filters, page, after },
  meta: { next },
}: {
  route: HashRoute;
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

/**
 * Prefix of keys in the session storage. The rest of a key is the URL fragment of a page. The value is the URL fragment
 * of the page before that page.
 */
const BEFORE = 'page before ';

/**
 * Stores, for the page with the fragment `hash`, the URL fragment of the page before (`before`). A cursor leads only to
 * the next page.
 */
function noteBefore(hash: string, before: string): void {
  try {
    sessionStorage.setItem(BEFORE + hash, before);
  } catch {
    // Without storage, only page 2 has a link to the previous page. On later pages, the link to the first page and the
    // browser's back button still work.
  }
}

function pageBefore(hash: string): string | undefined {
  try {
    return sessionStorage.getItem(BEFORE + hash) ?? undefined;
  } catch {
    return undefined;
  }
}
