/**
 * Forces a garbage collection in a node, through the inspector that Node.js opens on SIGUSR1. After the collection, the
 * growth of the memory in use shows what an attack made the node keep. Without a collection, the growth would depend on
 * when Node.js last collected garbage.
 */

import { readFileSync } from 'node:fs';
import { WebSocket } from 'ws';
import { waitFor, type TestNode } from '../support/devnet.ts';

/**
 * Option of Node.js for the nodes of the devnet. The option does not open the inspector. When a node opens its
 * inspector on SIGUSR1, port 0 makes the system choose a free port. The default port may be in use.
 */
export const INSPECTABLE = '--inspect-port=127.0.0.1:0';
const DEADLINE_MS = 30_000;

export class Collector {
  readonly #inspector: WebSocket;
  #requests = 0;

  private constructor(inspector: WebSocket) {
    this.#inspector = inspector;
  }

  /** @param node a node that was started with the option `INSPECTABLE` */
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

  /** Resolves when the node has collected its garbage. */
  async collect(): Promise<void> {
    await this.#ask('HeapProfiler.collectGarbage', {});
  }

  /** Bytes of JavaScript heap and external memory in use after a garbage collection. */
  async usedBytes(): Promise<number> {
    await this.collect();
    const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())';
    const { result } = (await this.#ask('Runtime.evaluate', { expression })) as { result: { value: number } };
    return result.value;
  }

  /**
   * Starts a CPU profile of the node. @returns a function that stops the profile and returns it in
   * `.cpuprofile` format
   */
  async profile(): Promise<() => Promise<unknown>> {
    await this.#ask('Profiler.enable', {});
    await this.#ask('Profiler.start', {});
    return async () => ((await this.#ask('Profiler.stop', {})) as { readonly profile: unknown }).profile;
  }

  async #ask(method: string, params: object): Promise<unknown> {
    this.#requests += 1;
    const id = this.#requests;
    const answer = new Promise<unknown>((settle) => {
      const heard = (data: unknown): void => {
        const message = JSON.parse((data as Buffer).toString()) as { readonly id?: number; readonly result?: unknown };
        if (message.id !== id) return;
        this.#inspector.off('message', heard);
        settle(message.result);
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
