/**
 * Data of the dashboard's devnet page. Declares the answers of the supervisor (the process that runs the devnet), and
 * parses the texts that a user types as parameters of an operation.
 */

import { addressOf, beddowsOf } from './list-requests.ts';

export interface DevnetNode {
  readonly index: number;
  readonly state: 'running' | 'starting' | 'silent' | 'paused' | 'killed' | 'ended' | 'dead';
  /** Port of the HTTP interface. */
  readonly http: number;
  readonly ws: number;
  readonly delegates: number;
}

export interface DevnetFaults {
  /**
   * The parts of a partitioned network. Each part is a list with the `index` of each of its nodes. If the network is
   * not partitioned, `parts` is empty.
   */
  readonly parts: readonly (readonly number[])[];
  readonly nodes: readonly {
    readonly node: number;
    readonly delayMs: number;
    /** Share of this node's sent and received messages that are lost, from 0 to 1. */
    readonly loss: number;
    readonly skewMs: number;
  }[];
}

export type MiningMode = 'interval' | 'instant' | 'on-demand';

export interface Devnet {
  readonly mode: MiningMode;
  readonly clock: 'running' | 'frozen';
  /** Time of the clock that all nodes of the devnet share, ISO 8601. */
  readonly time: string;
  readonly nodes: readonly DevnetNode[];
  readonly faults: DevnetFaults;
}

/** An account whose passphrase the devnet has, and from which the devnet can therefore send transfers. */
export interface KnownAccount {
  readonly name: string;
  readonly address: string;
}

export type NodeAction = 'pause' | 'resume' | 'kill' | 'restart';

/** Returns the operations that the dashboard offers for a node in this state. */
export function actionsFor({ state }: Pick<DevnetNode, 'state'>): readonly NodeAction[] {
  switch (state) {
    case 'running':
      return ['pause', 'restart', 'kill'];
    case 'paused':
      return ['resume', 'kill'];
    case 'starting':
    case 'silent':
      return ['restart', 'kill'];
    case 'killed':
    case 'ended':
    case 'dead':
      return ['restart'];
  }
}

/** The value that a user typed for a parameter, or the reason why the typed text is not valid. */
type Read<Value> = { readonly value: Value } | { readonly problem: string };

export interface TransferTexts {
  readonly address: string;
  readonly amount: string;
}

/** Parses an address, and an amount in LSK. The amount in the result is in beddows, as decimal digits. */
export function transferOf({ address, amount }: TransferTexts): Read<TransferTexts> {
  const known = addressOf(address.trim());
  if (known === undefined) return { problem: `“${address}” is not an address: an address is digits followed by L.` };
  const beddows = beddowsOf(amount);
  if (beddows === undefined || beddows === '0') {
    return { problem: `“${amount}” is not an amount: write LSK above 0 with at most 8 decimals, such as 12.5.` };
  }
  return { value: { address: known, amount: beddows } };
}

/** Parses a delay in milliseconds, from 0 to 60,000. */
export function delayOf(text: string): Read<number> {
  const delayMs = /^\d{1,5}$/.test(text.trim()) ? Number(text) : Number.NaN;
  return delayMs <= 60_000
    ? { value: delayMs }
    : { problem: `“${text}” is not a delay: write milliseconds from 0 to 60000.` };
}

/** Parses a percentage of lost messages, and returns a share from 0 to 1. */
export function lossOf(text: string): Read<number> {
  const percent = /^\d{1,3}(\.\d{1,3})?$/.test(text.trim()) ? Number(text) : Number.NaN;
  return percent <= 100
    ? { value: percent / 100 }
    : { problem: `“${text}” is not a share of messages: write percent from 0 to 100.` };
}

/** Parses a clock offset in seconds, and returns milliseconds. The offset is at most one day in either direction. */
export function offsetOf(text: string): Read<number> {
  const seconds = /^[+-]?\d{1,5}(\.\d{1,3})?$/.test(text.trim()) ? Number(text) : Number.NaN;
  return Math.abs(seconds) <= 86_400
    ? { value: Math.round(seconds * 1000) }
    : { problem: `“${text}” is not an offset: write seconds from -86400 to 86400, such as -3.` };
}

/** Describes the faults: one line for a partition of the network, and one line for each node with faults. */
export function faultLines({ parts, nodes }: DevnetFaults): readonly string[] {
  const cut =
    parts.length === 0 ? [] : [`The network is cut into ${parts.map((part) => part.join(', ')).join(' | ')}.`];
  const own = nodes.map(({ node, delayMs, loss, skewMs }) => {
    const words = [
      delayMs > 0 && `messages ${delayMs} ms late`,
      loss > 0 && `${Number((loss * 100).toFixed(3))} % of messages lost`,
      skewMs !== 0 && `clock ${Math.abs(skewMs) / 1000} s ${skewMs > 0 ? 'ahead' : 'behind'}`,
    ];
    return `Node ${node}: ${words.filter(Boolean).join(', ')}.`;
  });
  return [...cut, ...own];
}
