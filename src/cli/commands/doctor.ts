/** `bloomery doctor`: what ails a node. */

import { examine } from '../doctor/examine.ts';
import type { DoctorFlags } from '../flags.ts';
import { EXIT } from '../problems.ts';

/** @throws ProtocolError `USAGE` for a wrong address */
export async function doctor(flags: DoctorFlags): Promise<void> {
  const { node, network, dataDir, config } = flags;
  const findings = await examine({
    url: node,
    environment: process.env,
    ...(network === undefined ? {} : { network }),
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(config === undefined ? {} : { config }),
  });
  if (findings.length > 0) process.exitCode = EXIT.failed;
  if (flags.json === true) {
    process.stdout.write(`${JSON.stringify({ findings })}\n`);
    return;
  }
  if (findings.length === 0) process.stdout.write('nothing is wrong that could be seen\n');
  for (const { code, severity, cause, evidence, remedy } of findings) {
    process.stdout.write(`${severity} ${code}: ${cause}\n  seen:   ${printable(evidence)}\n  remedy: ${remedy}\n`);
  }
}

/** A peer may have had a say in a text: nothing of it may steer a terminal. */
function printable(text: string): string {
  return text.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?');
}
