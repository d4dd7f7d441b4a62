/** `bloomery why`: what a running node decided of late, and for what reason. */

import type { WhyFlags } from '../flags.ts';
import { nodeClient, type DecisionState } from '../node-client.ts';
import { printable } from '../printable.ts';

/** @throws ProtocolError `NODE_UNREACHABLE` or `NODE_ANSWER_UNEXPECTED` */
export async function why(flags: WhyFlags): Promise<void> {
  const decisions = await nodeClient(flags.node).decisions(flags.limit);
  if (flags.json === true) {
    process.stdout.write(`${JSON.stringify({ decisions })}\n`);
    return;
  }
  if (decisions.length === 0) process.stdout.write('nothing was refused, dropped or missed since the node started\n');
  // The newest last, where a terminal shows it.
  for (const decision of [...decisions].reverse()) process.stdout.write(`${lineOf(decision)}\n`);
}

function lineOf({ time, room, code, message, fields }: DecisionState): string {
  const facts = Object.entries(fields).map(([name, value]) => `${name}=${quoted(String(value))}`);
  return [`${time.slice(0, 19).replace('T', ' ')} ${room.padEnd(5)} ${code}: ${message}`, ...facts].join('  ');
}

function quoted(text: string): string {
  const shown = printable(text);
  return shown.includes(' ') ? JSON.stringify(shown) : shown;
}
