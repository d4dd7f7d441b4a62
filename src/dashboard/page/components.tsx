/** Small components that several views use. */

import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { hasFinality } from '../answers.ts';
import { confirmationOf } from '../confirmation.ts';
import { hashOf, type View } from '../hash-route.ts';
import { nextOrder, type Order } from '../list-requests.ts';
import { amountText, countOf, countText, dateText, decimalsOf, shortText, sinceText } from '../format.ts';
import type { ListMeta } from './api-requests.ts';
import { useLive, useNow, useOverflow, type RequestState } from './hooks.ts';

export function Go({
  view,
  item,
  children,
  title,
}: {
  view: View;
  item?: string;
  children: ComponentChildren;
  title?: string;
}) {
  return (
    <a href={hashOf(view, item)} title={title}>
      {children}
    </a>
  );
}

/**
 * Shows an id as a link. The id is shortened, unless `isWhole` is true.
 *
 * @param props.characters number of characters at each end of a shortened id
 */
export function Id({
  view,
  item,
  isWhole = false,
  characters,
}: {
  view: View;
  item: string;
  isWhole?: boolean;
  characters?: number;
}) {
  return (
    <a href={hashOf(view, item)} class="id" title={isWhole ? undefined : item}>
      {isWhole ? item : shortText(item, characters)}
    </a>
  );
}

export function BlockLink({ height }: { height: number }) {
  return (
    <Go view="blocks" item={String(height)}>
      {countText(height)}
    </Go>
  );
}

export function DelegateName({ name }: { name: string }) {
  return (
    <Go view="delegates" item={name}>
      {name}
    </Go>
  );
}

/** Shows the name of a delegate as a link. While the name is unknown, the link shows the address. */
export function DelegateLink({ publicKey, address }: { publicKey: string; address: string }) {
  const name = useLive().names.get(publicKey);
  return name === undefined ? (
    <Id view="accounts" item={address} />
  ) : (
    <Go view="delegates" item={name}>
      {name}
    </Go>
  );
}

/**
 * Shows an amount in a column. The decimal points in the column are aligned, so that readers can compare the amounts.
 * The head of the column shows the unit. A phone does not show the heads of tables with `onPhone` columns, so each
 * amount on a phone shows the unit. In these tables on a phone, zeros at the end give all amounts of a column the same
 * number of decimals.
 *
 * @param props.among all amounts of the column, as decimal digits in beddows
 */
export function Amount({ beddows, among, sign = '' }: { beddows: string; among: readonly string[]; sign?: string }) {
  const [number = '', unit = ''] = amountText(beddows).split(' ');
  const decimals = decimalsOf(beddows);
  const missing = Math.max(0, ...among.map(decimalsOf)) - decimals;
  return (
    <>
      {sign}
      {number}
      {missing > 0 && (
        <span class="filler" aria-hidden="true">
          {`${decimals === 0 ? '.' : ''}${'0'.repeat(missing)}`}
        </span>
      )}
      <span class="unit"> {unit}</span>
    </>
  );
}

/**
 * Shows the time that has passed since a moment.
 *
 * @param timestamp whole seconds since the epoch of the network
 */
export function Age({ timestamp }: { timestamp: number }) {
  const { constants } = useLive();
  const now = useNow();
  if (constants === undefined) return null;
  const momentMs = Date.parse(constants.epoch) + timestamp * 1000;
  return (
    <time dateTime={new Date(momentMs).toISOString()} title={`${dateText(momentMs)} UTC`}>
      {sinceText(momentMs, now)}
    </time>
  );
}

/**
 * Shows a time, and the time that has passed since then.
 *
 * @param timestamp whole seconds since the epoch of the network
 */
export function DateTime({ timestamp }: { timestamp: number }) {
  const { constants } = useLive();
  if (constants === undefined) return null;
  return (
    <>
      {dateText(Date.parse(constants.epoch) + timestamp * 1000)} UTC (<Age timestamp={timestamp} />)
    </>
  );
}

/**
 * Shows whether a transaction or a block is in the pool, confirmed, or final.
 *
 * @param props.height height of the block, or of the block that contains the transaction; undefined for a transaction
 *   in the pool
 */
export function ConfirmationState({ height }: { height: number | undefined }) {
  const { status, constants } = useLive();
  if (status === undefined || constants === undefined) return null;
  const finalized = hasFinality(constants) ? status.chainMaxHeightFinalized : 0;
  const confirmation = confirmationOf({ height, tip: status.height, finalized });
  if (confirmation.state === 'in the pool') return <span class="badge">{confirmation.state}</span>;
  return (
    <>
      <span class="badge good">{confirmation.state}</span> {countOf(confirmation.confirmations, 'confirmation')}
    </>
  );
}

/**
 * Shows the answer to a request, or the reason why there is no answer. Shows nothing if a field of a form is wrong,
 * because then no request was sent, and the form shows the fault.
 */
export function Answered<Data>({
  asked,
  children,
}: {
  asked: RequestState<Data>;
  children: (data: Data, meta: ListMeta) => ComponentChildren;
}) {
  if (asked.kind === 'notSent') return null;
  if (asked.kind === 'waiting') return <p class="quiet">Asking the node…</p>;
  if (asked.kind === 'failed')
    return (
      <p class="problem" role="alert">
        {asked.reason}
      </p>
    );
  return <>{children(asked.answer.data, asked.answer.meta)}</>;
}

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** True for a column of numbers. The numbers are aligned to the right. */
  readonly isFigure?: true;
  /** True for a column that is not shown on a phone. */
  readonly isWide?: true;
  /** True for a column that is shown only on a phone. */
  readonly isNarrow?: true;
  /** True if the text of the cells is allowed to wrap to several lines. */
  readonly isText?: true;
  /** True for a column of names. Long names are cut off on a phone. */
  readonly isName?: true;
  /**
   * Place of the column in a row on a phone. `start` is the left end and `end` is the right end of the first line.
   * `below` is the left end and `below-end` is the right end of the second line. `last-all` is the third line. A column
   * with `-all` takes a whole line. If any column of a table has a place, a phone does not show the columns without a
   * place.
   */
  readonly onPhone?: 'start' | 'end' | 'start-all' | 'below' | 'below-end' | 'below-all' | 'last-all';
  /** Field of the entries by which the node can sort the list; absent for a column that cannot be sorted. */
  readonly field?: string;
}

/** The possible orders of a list, and the current order. A click on the head of a column changes the order. */
export interface Sorting {
  readonly orders: readonly Order[];
  readonly current: string;
  readonly hashFor: (sort: string) => string;
}

function Head({ name, field, sorting }: { name: string; field: string | undefined; sorting: Sorting | undefined }) {
  const next = sorting && field && nextOrder(field, sorting.current, sorting.orders);
  if (sorting === undefined || next === undefined || next === '') return <>{name}</>;
  const direction = directionOf(field, sorting.current);
  return (
    <a href={sorting.hashFor(next)} title={`Sort: ${sorting.orders.find(([sort]) => sort === next)?.[1] ?? ''}`}>
      {name}
      <span aria-hidden="true">{direction === undefined ? '' : direction === 'ascending' ? ' ▲' : ' ▼'}</span>
    </a>
  );
}

function directionOf(field: string | undefined, current: string | undefined): 'ascending' | 'descending' | undefined {
  if (field === undefined || current?.startsWith(`${field}:`) !== true) return undefined;
  return current.endsWith(':asc') ? 'ascending' : 'descending';
}

/**
 * Shows a list as a table. The elements have explicit ARIA roles, because some screen readers do not treat a row with a
 * grid layout as a row.
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  empty,
  isBelowLine,
  sorting,
}: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  empty: string;
  /** Returns true for the first row below the line between active and standby delegates. */
  isBelowLine?: (row: Row) => boolean;
  sorting?: Sorting;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const isScrolling = useOverflow(frame);
  if (rows.length === 0) return <p class="quiet empty">{empty}</p>;
  const isLined = columns.some(({ onPhone }) => onPhone !== undefined);
  const classOf = ({ isFigure, isWide, isNarrow, isText, isName, onPhone }: Column<Row>): string => {
    const kinds = [isFigure && 'figure', isWide && 'wide', isNarrow && 'narrow', isText && 'text', isName && 'name'];
    return [...kinds, isLined && (onPhone ?? 'wide')].filter(Boolean).join(' ');
  };
  // People who use only a keyboard must be able to scroll the table. A table that does not scroll must not take the
  // focus.
  const scrolled = isScrolling ? ({ tabIndex: 0, role: 'region', 'aria-label': caption } as const) : {};
  return (
    <div class="scroll" ref={frame} {...scrolled}>
      <table class={isLined ? 'lined' : ''} role="table">
        <caption class="unseen">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                role="columnheader"
                class={classOf(column)}
                aria-sort={directionOf(column.field, sorting?.current)}
              >
                <Head name={column.name} field={column.field} sorting={sorting} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row" class={isBelowLine?.(row) === true ? 'border' : ''}>
              {columns.map((column) => (
                <td key={column.name} role="cell" class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Shows names and values that describe one item, for example a block. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Shows a summary of a list. A click on the summary shows the list. */
export function More({
  summary,
  isLong = false,
  children,
}: {
  summary: string;
  /** True if the entries are longer than the names of delegates, and therefore need wider columns. */
  isLong?: boolean;
  children: ComponentChildren;
}) {
  return (
    <details>
      <summary>{summary}</summary>
      <div class={isLong ? 'more long' : 'more'}>{children}</div>
    </details>
  );
}
