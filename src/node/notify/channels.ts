/** Delivers notifications (`Notice`) to a receiver: a URL, or a program on this machine. */

import { createHmac } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { OutboxEvent } from './outbox.ts';

/** The content of a notification: an event, and the node that reports it. */
export interface Notice extends OutboxEvent {
  /**
   * Name of the node from the option `notify.name`. If this option is empty, the name of the node is the host name of
   * the machine.
   */
  readonly node: string;
  readonly network: string;
  /** Version of Bloomery. */
  readonly version: string;
}

export interface Channel {
  readonly name: 'webhook' | 'command';
  /**
   * Delivers a notice. Resolves when the receiver has accepted the notice.
   *
   * @throws ProtocolError `NOTIFY_FAILED` with the reason
   */
  deliver(notice: Notice, signal: AbortSignal): Promise<void>;
}

const WEBHOOK_MS_MAX = 10_000;
const COMMAND_MS_MAX = 30_000;

/**
 * Posts the notice as JSON. The receiver accepts the notice if it answers with a status from 200 to 299 within
 * `WEBHOOK_MS_MAX`. With a secret (`notify.webhookSecretFile`), the header `Bloomery-Signature: t=T,v1=H` proves the
 * origin of the notice. T is the Unix time of this delivery in seconds, with which a receiver can recognise and refuse
 * an old notice. H is the HMAC-SHA-256 of `<T>.<body>`, as hexadecimal digits.
 */
export function webhook(url: string, options: { readonly secret?: string; readonly nowMs: () => number }): Channel {
  return {
    name: 'webhook',
    async deliver(notice, signal) {
      const body = JSON.stringify(notice);
      const { secret } = options;
      const headers = {
        'content-type': 'application/json',
        'user-agent': `bloomery/${notice.version}`,
        'bloomery-event-id': notice.id,
        ...(secret === undefined ? {} : { 'bloomery-signature': signatureOf(body, secret, options.nowMs()) }),
      };
      let status: number;
      try {
        const response = await fetch(url, {
          ...{ method: 'POST', body, headers, redirect: 'manual' },
          signal: AbortSignal.any([signal, AbortSignal.timeout(WEBHOOK_MS_MAX)]),
        });
        status = response.status;
        await response.body?.cancel();
      } catch (error) {
        const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
        throw failed('webhook', messageOf(cause));
      }
      if (status < 200 || status > 299) throw failed('webhook', `it answered ${status}`);
    },
  };
}

function signatureOf(body: string, secret: string, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000);
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

/**
 * Runs a program, without a shell, with the notice as JSON on its standard input. The program accepts the notice if it
 * ends with exit code 0 within `COMMAND_MS_MAX`.
 *
 * @param command the program and its arguments
 */
export function command([program = '', ...args]: readonly string[]): Channel {
  return {
    name: 'command',
    async deliver(notice, signal) {
      const child = spawn(program, args, {
        stdio: ['pipe', 'ignore', 'ignore'],
        // The program gets only these environment variables, because the node's other variables can contain passwords.
        env: { PATH: process.env['PATH'], HOME: process.env['HOME'], BLOOMERY_EVENT: notice.code },
        signal: AbortSignal.any([signal, AbortSignal.timeout(COMMAND_MS_MAX)]),
        killSignal: 'SIGKILL',
      });
      // A program can end without reading its input. Only the exit code tells whether the program accepts the notice,
      // so unread input is not an error.
      child.stdin.on('error', () => undefined);
      child.stdin.end(`${JSON.stringify(notice)}\n`);
      const [code, by] = (await once(child, 'exit').catch((error: unknown) => {
        throw failed('command', messageOf(error));
      })) as [code: number | null, by: NodeJS.Signals | null];
      if (code !== 0)
        throw failed('command', by === null ? `it ended with exit code ${code}` : `it was ended by ${by}`);
    },
  };
}

function failed(channel: Channel['name'], reason: string): ProtocolError {
  return new ProtocolError('NOTIFY_FAILED', { channel, reason }, `the ${channel} did not accept an event: ${reason}`);
}
