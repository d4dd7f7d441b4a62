/** Sends HTTP requests on several connections. Each connection waits for an answer before it sends the next request. */

import { createConnection, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

export interface LoadFigures {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * @param targetOf returns the path and query of the request with the given number (from 1, over all connections), or
 *   undefined to close the connection
 * @param durationMs time after which no connection sends another request. May be `Infinity` if `targetOf` returns
 *   undefined after the last request.
 * @throws Error if a connection fails, or if the status of an answer is not 200
 */
export async function load(
  port: number,
  targetOf: (request: number) => string | undefined,
  connections: number,
  durationMs: number,
): Promise<LoadFigures> {
  let asked = 0;
  const endMs = performance.now() + durationMs;
  const startedMs = performance.now();
  const took = (
    await Promise.all(Array.from({ length: connections }, () => askUntil(port, () => targetOf((asked += 1)), endMs)))
  ).flat();
  const seconds = (performance.now() - startedMs) / 1000;
  took.sort((a, b) => a - b);
  const at = (share: number): number => took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0;
  return { requestsPerSecond: took.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}

function askUntil(port: number, nextTarget: () => string | undefined, endMs: number): Promise<readonly number[]> {
  return new Promise((resolve, reject) => {
    const took: number[] = [];
    const socket: Socket = createConnection(port, '127.0.0.1');
    socket.setNoDelay(true);
    let askedMs = 0;
    let target: string | undefined;
    let missing = -1;
    let head = Buffer.alloc(0);
    const ask = (): void => {
      askedMs = performance.now();
      target = nextTarget();
      if (target === undefined) return leave();
      socket.write(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n`);
    };
    const leave = (): void => {
      socket.destroy();
      resolve(took);
    };
    const finished = (): void => {
      const nowMs = performance.now();
      took.push(nowMs - askedMs);
      missing = -1;
      head = Buffer.alloc(0);
      if (nowMs < endMs) ask();
      else leave();
    };
    socket.on('connect', ask);
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      if (missing >= 0) missing -= chunk.length;
      else {
        head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        const text = head.toString('latin1', 0, end);
        if (!text.startsWith('HTTP/1.1 200')) return reject(new Error(`${target}: ${text.split('\r\n')[0]}`));
        missing = Number(/content-length: ([0-9]+)/i.exec(text)?.[1] ?? 0) - (head.length - end - 4);
      }
      if (missing === 0) finished();
    });
  });
}
