/** A thread that kills the process if a decoder hangs. The thread first prints the input of the decoder. */

import { Worker } from 'node:worker_threads';

export interface Watchdog {
  begin(target: string, input: Buffer): void;
  rest(): void;
  close(): Promise<void>;
}

/** Number of one-second ticks after which a decoder counts as hanging. The number is large enough for busy machines. */
const HANG_TICKS = 30;
const NAME_BYTES = 64;
const INPUT_BYTES_MAX = 512 * 1024;

const WATCH = `
const { workerData: { shared, hangTicks, nameBytes } } = require('node:worker_threads');
const words = new Int32Array(shared, 0, 4);
const bytes = Buffer.from(shared, 16);
let seen = 0;
let ticks = 0;
// Counts ticks instead of reading the clock, because no ticks occur while the whole process is suspended.
setInterval(() => {
  const turn = Atomics.load(words, 0);
  if (turn !== seen) {
    seen = turn;
    ticks = 0;
  } else if (Atomics.load(words, 3) === 1 && ++ticks > hangTicks) {
    const name = bytes.subarray(0, words[1]).toString();
    const input = bytes.subarray(nameBytes, nameBytes + words[2]);
    require('node:fs').writeSync(2, 'HANG in ' + name + ': ' + input.toString('base64') + '\\n');
    process.kill(process.pid, 'SIGKILL');
  }
}, 1000);
`;

export function startWatchdog(): Watchdog {
  const shared = new SharedArrayBuffer(16 + NAME_BYTES + INPUT_BYTES_MAX);
  const words = new Int32Array(shared, 0, 4);
  const bytes = Buffer.from(shared, 16);
  const worker = new Worker(WATCH, {
    eval: true,
    workerData: { shared, hangTicks: HANG_TICKS, nameBytes: NAME_BYTES },
  });
  worker.unref();
  return {
    begin(target, input) {
      words[1] = bytes.write(target.slice(0, NAME_BYTES), 0);
      words[2] = input.copy(bytes, NAME_BYTES, 0, INPUT_BYTES_MAX);
      Atomics.store(words, 3, 1);
      Atomics.add(words, 0, 1);
    },
    rest: () => void Atomics.store(words, 3, 0),
    close: async () => void (await worker.terminate()),
  };
}
