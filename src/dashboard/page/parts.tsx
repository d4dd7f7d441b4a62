/** Small parts that all views are made of. */

import type { ComponentChildren } from 'preact';
import { hashOf, type View } from '../place.ts';
import { sinceText, dateText, shortText } from '../format.ts';
import { useLive, useNow, type Asked } from './hooks.ts';

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

/** An id that links to what it names, shortened where there is little room. */
export function Id({ view, item }: { view: View; item: string }) {
  return (
    <a href={hashOf(view, item)} class="id" title={item}>
      {shortText(item)}
    </a>
  );
}

export function BlockLink({ height }: { height: number }) {
  return <Go view="blocks" item={String(height)}>{`${height}`}</Go>;
}

/** A delegate by name, or its address while the name is unknown. */
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

/** @param timestamp whole seconds since the epoch */
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

/** What to show of a question: its answer, or why there is none. */
export function Answered<Data>({
  asked,
  children,
}: {
  asked: Asked<Data>;
  children: (data: Data, count: number | undefined) => ComponentChildren;
}) {
  if (asked.kind === 'waiting') return <p class="quiet">Asking the node…</p>;
  if (asked.kind === 'failed') return <p role="alert">{asked.reason}</p>;
  return <>{children(asked.answer.data, asked.answer.meta.count)}</>;
}

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Figures stand at the right. */
  readonly isFigure?: true;
  /** Left out on a phone. */
  readonly isWide?: true;
}

export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  empty,
}: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  empty: string;
}) {
  if (rows.length === 0) return <p class="quiet">{empty}</p>;
  const classOf = ({ isFigure, isWide }: Column<Row>): string =>
    [isFigure ? 'figure' : '', isWide ? 'wide' : ''].join(' ').trim();
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={classOf(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)}>
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

/** Names and values of one thing. */
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

export function Pages({ view, page, isLast }: { view: View; page: number; isLast: boolean }) {
  return (
    <nav class="pages" aria-label="Pages">
      {page > 1 ? <a href={hashOf(view, undefined, page - 1)}>← Previous</a> : <span />}
      <span>Page {page}</span>
      {isLast ? <span /> : <a href={hashOf(view, undefined, page + 1)}>Next →</a>}
    </nav>
  );
}
