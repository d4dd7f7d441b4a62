/** Sends requests to the HTTP API of a node of ours or of a real node (of lisk-sdk). */

import type { Untyped } from '../support/untyped.ts';

export interface NodeStatus {
  readonly height: number;
  readonly syncing: boolean;
  readonly consensus?: number;
  readonly broadhash?: string;
  readonly chainMaxHeightFinalized?: number;
  readonly secondsSinceEpoch?: number;
}

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly body?: object;
}

const TIMEOUT_MS = 10_000;

export interface Answer {
  readonly status: number;
  readonly body: Untyped;
}

/** @param path the part of the request target after `/api/`, with the query */
export async function answerOf(url: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  const { method = 'GET', body } = options;
  const response = await fetch(`${url}/api/${path}`, {
    method,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

/** @throws Error with the URL, the status and the body of the answer, if the status is not 200 */
export async function ask(url: string, path: string, options: RequestOptions = {}): Promise<Untyped> {
  const { status, body } = await answerOf(url, path, options);
  if (status === 200) return body;
  throw new Error(`${options.method ?? 'GET'} ${url}/api/${path}: ${status} ${JSON.stringify(body).slice(0, 500)}`);
}

export async function statusOf(url: string): Promise<NodeStatus> {
  return (await ask(url, 'node/status')).data;
}

/** Returns the id of the block at a height, or undefined if the node has no block at this height. */
export async function blockIdAt(url: string, height: number): Promise<string | undefined> {
  return (await ask(url, `blocks?height=${height}`)).data[0]?.id;
}

export interface Tip {
  readonly height: number;
  readonly id: string;
  /** Set in generation 3 only. */
  readonly maxHeightPrevoted?: number;
}

export async function tipOf(url: string): Promise<Tip> {
  return (await ask(url, 'blocks?limit=1&sort=height:desc')).data[0];
}
