/**
 * Has a node collect its garbage, over the inspector that the runtime opens on SIGUSR1. What is left then is what an attack
 * made the node keep; without it, the figure would tell when the runtime last happened to clean up.
 */

import { readFileSync } from 'node:fs';
import { WebSocket } from 'ws';
import { waitFor, type TestNode } from '../support/devnet.ts';

/** For the nodes of the devnet: any free port, and not the usual one, which others may use. */
export const INSPECTABLE = '--inspect-port=127.0.0.1:0';
const DEADLINE_MS = 30_000;

export class Collector {
  readonly #inspector: WebSocket;
  #questions = 0;

  private constructor(inspector: WebSocket) {
    this.#inspector = inspector;
  }

  /** @param node started with `INSPECTABLE` among its options */
  static async open(node: TestNode): Promise<Collector> {
    process.kill(node.pid() ?? 0, 'SIGUSR1');
    const url = await waitFor(
      'the inspector of the node',
      () => Promise.resolve(/Debugger listening on (ws:\S+)/.exec(readFileSync(node.plan.logFile, 'utf8'))?.[1]),
      DEADLINE_MS,
    );
    const inspector = new WebSocket(url, { perMessageDeflate: false });
    await new Promise<void>((settle, fail) => {
      inspector.once('open', settle);
      inspector.once('error', fail);
    });
    return new Collector(inspector);
  }

  /** Resolves when the node has collected. */
  async collect(): Promise<void> {
    await this.#ask('HeapProfiler.collectGarbage', {});
  }

  /** Bytes that are in use after a collection, whatever the system gave for them. */
  async usedBytes(): Promise<number> {
    await this.collect();
    const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())';
    const { result } = (await this.#ask('Runtime.evaluate', { expression })) as { result: { value: number } };
    return result.value;
  }

  /** Has the node record where its time goes. @returns ends it and gives the profile, as `.cpuprofile` files have it */
  async profile(): Promise<() => Promise<unknown>> {
    await this.#ask('Profiler.enable', {});
    await this.#ask('Profiler.start', {});
    return async () => ((await this.#ask('Profiler.stop', {})) as { readonly profile: unknown }).profile;
  }

  async #ask(method: string, params: object): Promise<unknown> {
    this.#questions += 1;
    const id = this.#questions;
    const answer = new Promise<unknown>((settle) => {
      const heard = (data: unknown): void => {
        const said = JSON.parse((data as Buffer).toString()) as { readonly id?: number; readonly result?: unknown };
        if (said.id !== id) return;
        this.#inspector.off('message', heard);
        settle(said.result);
      };
      this.#inspector.on('message', heard);
    });
    this.#inspector.send(JSON.stringify({ id, method, params }));
    return answer;
  }

  close(): void {
    this.#inspector.terminate();
  }
}
