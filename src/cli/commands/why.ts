/** `bloomery why`: lists recent diagnostics of a running node with their reasons. */

import type { WhyFlags } from '../flags.ts';
import { nodeClient, type DiagnosticState } from '../node-client.ts';
import { printable } from '../printable.ts';
import { printJson, printLine } from '../output.ts';

/** @throws ProtocolError in the same cases as `nodeClient` */
export async function why(flags: WhyFlags): Promise<void> {
  const diagnostics = await nodeClient(flags.node).diagnostics(flags.limit);
  if (flags.json === true) {
    printJson({ diagnostics });
    return;
  }
  if (diagnostics.length === 0) printLine('nothing was refused, dropped or missed since the node started');
  // The newest diagnostic is printed last, because a terminal keeps the last lines in view.
  for (const diagnostic of [...diagnostics].reverse()) printLine(lineOf(diagnostic));
}

function lineOf({ time, module, code, message, fields }: DiagnosticState): string {
  const facts = Object.entries(fields).map(([name, value]) => `${name}=${quoted(String(value))}`);
  return [`${time.slice(0, 19).replace('T', ' ')} ${module.padEnd(5)} ${code}: ${message}`, ...facts].join('  ');
}

function quoted(text: string): string {
  const shown = printable(text);
  return shown.includes(' ') ? JSON.stringify(shown) : shown;
}
