/** `bloomery doctor`: finds faults of a node. */

import { runChecks } from '../doctor/run-checks.ts';
import { addressOfNode } from '../doctor/node-address.ts';
import type { DoctorFlags } from '../flags.ts';
import { EXIT } from '../error-lines.ts';
import { printJson, printLine, printLines } from '../output.ts';

/**
 * Prints the findings. If there are findings, the function sets the exit code to 1.
 *
 * @throws ProtocolError `OUTPUT_UNWRITABLE`; `USAGE` for an invalid address, or if `--data-dir` names no chain
 */
export async function doctor(flags: DoctorFlags): Promise<void> {
  const { network, dataDir, config } = flags;
  const configured = {
    environment: process.env,
    ...(network === undefined ? {} : { network }),
    ...(config === undefined ? {} : { config }),
  };
  const url = flags.node ?? addressOfNode(configured);
  const findings = await runChecks({
    ...configured,
    ...(url === undefined ? {} : { url }),
    ...(dataDir === undefined ? {} : { dataDir }),
  });
  if (findings.length > 0) process.exitCode = EXIT.failed;
  if (flags.json === true) {
    printJson({ findings });
    return;
  }
  if (findings.length === 0) printLine('nothing is wrong that could be seen');
  for (const { code, severity, cause, evidence, remedy } of findings) {
    printLines([`${severity} ${code}: ${cause}`, `  seen:   ${evidence}`, `  remedy: ${remedy}`]);
  }
}
