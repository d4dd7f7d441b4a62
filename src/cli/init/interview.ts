/**
 * Asks questions one after another. On a terminal, typed secrets stay hidden. A script can write the answers to the
 * standard input.
 */

import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { ProtocolError } from '../../primitives/errors.ts';
import type { Terminal } from '../wallet/secrets.ts';

export interface Question<Value> {
  readonly text: string;
  /** Value that replaces an empty answer. If `preset` is undefined, `read` receives the empty answer. */
  readonly preset?: string;
  readonly isSecret?: boolean;
  /**
   * Checks and converts an answer.
   *
   * @throws ProtocolError for an invalid answer; `Interview` prints the message of the error and asks again
   */
  readonly read: (answer: string) => Value;
}

/** Maximum number of attempts to get a valid answer. Without a limit, a script could repeat a wrong answer forever. */
const TRIES_MAX = 5;
/** Maximum number of input lines that no question has used yet. `bloomery init` has about ten questions. */
const LINES_WAITING_MAX = 100;

export class Interview {
  readonly #output: NodeJS.WritableStream;
  readonly #lines: Interface;
  readonly #waiting: string[] = [];
  #isHidden = false;
  #isOver = false;
  #wake: () => void = () => undefined;

  constructor({ input, output }: Terminal) {
    this.#output = output;
    // `readline` writes typed text to this stream. The stream drops the text while the user types a secret.
    const echo = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (!this.#isHidden) output.write(chunk);
        done();
      },
    });
    // With a history, the arrow keys would show secrets that the user typed before.
    this.#lines = createInterface({ input, output: echo, terminal: input.isTTY === true, historySize: 0 });
    this.#lines.on('line', (line) => {
      this.#waiting.push(line);
      if (this.#waiting.length >= LINES_WAITING_MAX) this.#lines.close();
      this.#wake();
    });
    this.#lines.on('close', () => {
      this.#isOver = true;
      this.#wake();
    });
  }

  /**
   * @throws ProtocolError `CANCELLED` when the input ends without an answer, or after `TRIES_MAX` invalid answers
   */
  async ask<Value>({ text, preset, isSecret = false, read }: Question<Value>): Promise<Value> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      this.#output.write(`${text}${preset === undefined ? '' : ` [${preset}]`}: `);
      const answer = await this.#next(isSecret);
      try {
        return read(answer === '' ? (preset ?? '') : answer);
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        this.#output.write(`${error.message}\n`);
      }
    }
    throw cancelled(`no valid answer to "${text}" in ${TRIES_MAX} attempts`);
  }

  /**
   * True when the user answers yes. An empty answer means `preset`.
   *
   * @throws ProtocolError in the same cases as `ask`
   */
  async isYes(text: string, preset: boolean): Promise<boolean> {
    const question = { text: `${text} (y/n)`, preset: preset ? 'y' : 'n' };
    return this.ask({
      ...question,
      read: (answer) => {
        if (/^(y|yes)$/i.test(answer)) return true;
        if (/^(n|no)$/i.test(answer)) return false;
        throw new ProtocolError('USAGE', {}, 'answer y or n');
      },
    });
  }

  close(): void {
    this.#lines.close();
  }

  /**
   * @param isSecret true to hide typed text
   */
  async #next(isSecret: boolean): Promise<string> {
    this.#isHidden = isSecret;
    while (this.#waiting.length === 0 && !this.#isOver) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#isHidden = false;
    const line = this.#waiting.shift();
    if (isSecret || line === undefined) this.#output.write('\n');
    if (line === undefined) throw cancelled('nothing was answered');
    return isSecret ? line : line.trim();
  }
}

function cancelled(why: string): ProtocolError {
  return new ProtocolError('CANCELLED', {}, `${why}: nothing was written`);
}
