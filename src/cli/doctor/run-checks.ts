/** Runs all checks of the doctor, and combines their findings. */

import { shownAddress } from '../ask-node.ts';
import { finding, type Finding } from './catalogue.ts';
import { checkDisk, type DiskRequest } from './disk-checks.ts';
import { checkNode } from './node-checks.ts';
import type { NodeRequest } from './node-answers.ts';

export interface DoctorRequest extends Omit<NodeRequest, 'url'>, Omit<DiskRequest, 'isAnswering'> {
  /** Address of the node. If this member is absent, the doctor does not check a running node. */
  readonly url?: string;
}

const UNCHECKED = finding('NODE_UNCHECKED', 'no --node was given, and the configuration gives no address');

/** Returns all findings that the doctor reports, errors first; empty for a healthy node. */
export async function runChecks(request: DoctorRequest): Promise<readonly Finding[]> {
  const { url } = request;
  const node = url === undefined ? undefined : await checkNode({ ...request, url });
  const disk = await checkDisk({ ...request, isAnswering: node?.isAnswering === true });
  const ofNode = url === undefined || node === undefined ? [UNCHECKED] : judgeTogether(url, node, disk);
  const findings = onceEach([...disk.findings, ...ofNode]);
  const rank = ({ severity }: Finding): number => (severity === 'error' ? 0 : 1);
  return findings.sort((a, b) => rank(a) - rank(b));
}

/** Keeps only the first finding of each fault, because two checks can find the same fault. */
function onceEach(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ code }, index) => findings.findIndex((other) => other.code === code) === index);
}

/**
 * Returns the findings about the node. If a node of the expected network answers, the function returns the findings of
 * `checkNode`. The network folder on the disk defines the expected network. If a node of another network answers, the
 * only finding is `NODE_OF_OTHER_NETWORK`. If no program answers, the finding depends on the results of `checkDisk`,
 * and on whether the query reached its time limit (`isLate`).
 */
function judgeTogether(
  url: string,
  node: Awaited<ReturnType<typeof checkNode>>,
  disk: Awaited<ReturnType<typeof checkDisk>>,
): readonly Finding[] {
  const expected = disk.network?.params.nethash;
  if (node.nethash !== undefined && expected !== undefined && node.nethash !== expected)
    return [finding('NODE_OF_OTHER_NETWORK', `the node reports ${node.nethash}, the network folder has ${expected}`)];
  if (node.isAnswering) return node.findings;
  const unanswered = `no program answers at ${shownAddress(url)} (${node.whyUnanswered ?? 'no reason known'})`;
  if (disk.isInUse || node.isLate === true) return [finding('NODE_SILENT', unanswered)];
  const isHindered = disk.findings.some(({ severity }) => severity === 'error');
  // A finding of `checkDisk` with the severity `error` can be the reason why the node does not run. The user must first
  // remove the fault of this finding, so the doctor does not report `NODE_NOT_RUNNING`.
  return isHindered ? [] : [finding('NODE_NOT_RUNNING', unanswered)];
}
