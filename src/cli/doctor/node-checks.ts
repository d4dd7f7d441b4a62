/** Judges the answers that a running node gave over HTTP. */

import { durationText } from '../../primitives/duration.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { LISK_NODE } from '../answer-shapes.ts';
import { nodeAsker, type NodeAsker } from '../ask-node.ts';
import type { PeerVerdictState } from '../node-client.ts';
import { activeDelegatesOf } from '../constants-answer.ts';
import { finding, type FaultCode, type Finding } from './catalogue.ts';
import { ELSEWHERE, judgeAlerts, judgeDiagnostics } from './judge-diagnostics.ts';
import { CONSENSUS_MIN, LAG_BLOCKS_MAX, readAnswers, type NodeRequest, type NodeAnswers } from './node-answers.ts';
import { staleTipS } from './stale-tip.ts';

export interface NodeReport {
  readonly isAnswering: boolean;
  /** The reason why the node does not answer, for example a refused connection; absent if the node answers. */
  readonly whyUnanswered?: string;
  /**
   * True if the time limit passed without an answer. In this case, it is possible that a program runs at the address.
   */
  readonly isLate?: boolean;
  /** Nethash of the node's network; absent if the node did not report the nethash. */
  readonly nethash?: string;
  readonly findings: readonly Finding[];
}

/**
 * Maximum distance, in rounds, between the finalized height and the tip. If the distance is larger, the doctor reports
 * `FINALITY_LAGS`. If all delegates forge, a block becomes final after about two rounds at most. With few delegates, a
 * round has few blocks, so the maximum distance is at least `UNFINAL_BLOCKS_MIN` blocks.
 */
const UNFINAL_ROUNDS_MAX = 4;
const UNFINAL_BLOCKS_MIN = 20;
const CLOSE_OTHER_NETWORK = 4104;
/** HTTP status of the answer for a path that a node does not serve. */
const UNKNOWN_PATH = 404;
/** Faults that follow if a node cannot store blocks. */
const UNWRITTEN: readonly FaultCode[] = ['NODE_LAGS', 'CONSENSUS_LOW', 'NETWORK_STANDS_STILL', 'FINALITY_LAGS'];
/** Faults that follow if a node refuses all new blocks. */
const WITHOUT_NEW_BLOCKS: readonly FaultCode[] = [
  'NODE_LAGS',
  'CONSENSUS_LOW',
  'BLOCKS_REFUSED',
  'SYNC_FAILS',
  'NETWORK_STANDS_STILL',
];
/**
 * For each fault, the other faults that this fault can cause. If the doctor reports a fault, the doctor omits the
 * faults that this fault can cause, because these consequences would distract from the cause.
 */
const CONSEQUENCES: Partial<Record<FaultCode, readonly FaultCode[]>> = {
  // A node whose clock is behind refuses new blocks as future blocks.
  CLOCK_OFF: ['BLOCKS_OF_FUTURE', ...WITHOUT_NEW_BLOCKS],
  CLOCK_BEHIND_TIP: ['BLOCKS_OF_FUTURE', 'CLOCK_SET', ...WITHOUT_NEW_BLOCKS],
  // A peer can cause `BLOCKS_OF_FUTURE` with invented blocks, so this fault does not hide `NODE_LAGS`.
  BLOCKS_OF_FUTURE: ['CONSENSUS_LOW', 'BLOCKS_REFUSED', 'SYNC_FAILS'],
  FOLDER_TAKEN_OVER: UNWRITTEN,
  WRITES_FAIL: UNWRITTEN,
  BLOCKS_REFUSED: ['CONSENSUS_LOW', 'SYNC_FAILS'],
  NODE_LAGS: ['CONSENSUS_LOW'],
  // A busy or sleeping machine answers its peers too late, so it is possible that the peers close their connections.
  MACHINE_TOO_SLOW: ['NODE_LAGS', 'CONSENSUS_LOW', 'SYNC_FAILS'],
  PEERS_OF_OTHER_NETWORK: ['NO_PEERS'],
  NO_PEERS: ['NETWORK_STANDS_STILL'],
};

export async function checkNode(request: NodeRequest): Promise<NodeReport> {
  let seen: NodeAnswers;
  try {
    seen = await readAnswers(request);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    // The address is invalid. The user must correct the command.
    if (error.code === 'USAGE') throw error;
    const { why, isLate } = error.data;
    if (error.code === 'NODE_UNREACHABLE')
      return { isAnswering: false, whyUnanswered: String(why), isLate: isLate === true, findings: [] };
    const earlier = await signOfEarlierBuild(request, error);
    if (earlier !== undefined) return { isAnswering: true, findings: [finding('NODE_OF_EARLIER_BUILD', earlier)] };
    return { isAnswering: true, findings: [finding(faultOfAnswer(error), error.message)] };
  }
  const findings = [judgeChain, judgePeers, judgeDiagnostics, judgeForging, judgeAlerts, judgeReaders].flatMap(
    (judge) => judge(seen),
  );
  return { isAnswering: true, nethash: seen.constants.nethash, findings: withoutConsequences(findings) };
}

/** Returns the fault that explains the error of a query. */
function faultOfAnswer({ code, data }: ProtocolError): FaultCode {
  if (code === 'NODE_ANSWER_MALFORMED') return 'NODE_ANSWERS_ODDLY';
  // A node that refuses a request never sends a status below 300.
  if (Number(data['status']) < 300) return 'NODE_ANSWERS_ODDLY';
  // The reason `NODE_SILENT` means that a reading process (an extra process of the node that answers HTTP requests)
  // answered, but the node's own process did not answer the reading process.
  return data['reason'] === 'NODE_SILENT' ? 'NODE_SILENT' : 'NODE_REFUSES';
}

/**
 * Returns the evidence that a node of lisk-sdk answers, or a node of a Bloomery build that is too old for this doctor;
 * undefined if there is no such evidence. The evidence is that the node serves `/api/node/constants`, but sends the
 * member `blockTime` neither at this path nor at `/node/constants`. Nodes of lisk-sdk and old builds of Bloomery do not
 * have this member. Newer builds of Bloomery, including the build of this doctor, have this member.
 *
 * @param error error of a query; this error is the reason why the doctor cannot check the node
 */
async function signOfEarlierBuild({ url, timeoutMs }: NodeRequest, error: ProtocolError): Promise<string | undefined> {
  if (error.code !== 'NODE_ANSWER_MALFORMED' && error.data['status'] !== UNKNOWN_PATH) return undefined;
  const options = timeoutMs === undefined ? {} : { timeoutMs };
  const { base, ask } = nodeAsker(url, options);
  const constantsBy = (by: NodeAsker['ask']) =>
    by<{ version: string; build?: string; blockTime?: number }>('node/constants', LISK_NODE);
  try {
    const constants = await constantsBy(ask);
    if (constants.blockTime !== undefined) return undefined;
    // With the option `http.strictDialect`, a node whose build has the member `blockTime` sends this member only at the
    // path `/node/constants`, and not at `/api/node/constants`.
    const own = await constantsBy(nodeAsker(url, { ...options, isOwnKind: true }).ask).catch(ifProtocolError);
    if (own?.blockTime !== undefined) return undefined;
    const build = constants.build === undefined || constants.build === '' ? '' : ` (build ${constants.build})`;
    return `${base}/api/node/constants reports version ${constants.version}${build}, and no blockTime`;
  } catch (failure) {
    return ifProtocolError(failure);
  }
}

/** @throws any error that is not a ProtocolError */
function ifProtocolError(failure: unknown): undefined {
  if (!(failure instanceof ProtocolError)) throw failure;
}

function withoutConsequences(findings: readonly Finding[]): readonly Finding[] {
  const explained = new Set(findings.flatMap(({ code }) => CONSEQUENCES[code] ?? []));
  return findings.filter(({ code }) => !explained.has(code));
}

function judgeChain({
  constants,
  samples,
  blocks,
  blockTimeS,
  forging,
  minesOnRequest,
}: NodeAnswers): readonly Finding[] {
  const findings: Finding[] = [];
  const state = samples.at(-1);
  if (state === undefined) return findings;
  const { height, networkHeight, chainMaxHeightFinalized: finalized, clockOffsetMs } = state;
  if (clockOffsetMs !== undefined) {
    const direction = clockOffsetMs > 0 ? 'ahead of' : 'behind';
    findings.push(finding('CLOCK_OFF', `peers are ${Math.abs(clockOffsetMs) / 1000} s ${direction} this node`));
  }
  const { clocksDiffer } = state;
  if (clocksDiffer !== undefined) {
    const { peer, offsetMs } = clocksDiffer;
    const direction = offsetMs > 0 ? 'ahead of' : 'behind';
    findings.push(finding('CLOCKS_DIFFER', `${peer} is ${Math.abs(offsetMs) / 1000} s ${direction} this node`));
  }
  const isBehind = samples.every((each) => each.networkHeight - each.height > LAG_BLOCKS_MAX);
  if (isBehind && samples.every(({ syncing }) => !syncing))
    findings.push(finding('NODE_LAGS', `height ${height}, the height of the network is ${networkHeight}`));
  // A lone node (`isAlone`) needs no peers. If no delegate forges on a lone node, the node serves only its existing
  // chain, so an old tip is no fault.
  const isArchive = state.isAlone === true && !forging.some((delegate) => delegate.forging);
  const ageS = staleTipS(blocks, state, blockTimeS);
  if (ageS !== undefined && !isBehind && !isArchive && !minesOnRequest)
    findings.push(finding('NETWORK_STANDS_STILL', `the last block, at height ${height}, is ${durationText(ageS)} old`));
  // Generation 2 has no finality, so this check applies only to nodes of generation 3 (protocol version 2).
  const unfinalMax = Math.max(UNFINAL_BLOCKS_MIN, UNFINAL_ROUNDS_MAX * activeDelegatesOf(constants));
  if (constants.protocolVersion.startsWith('2') && height - finalized > unfinalMax)
    findings.push(finding('FINALITY_LAGS', `height ${height}, final up to ${finalized}`));
  return findings;
}

function judgePeers({ samples, peers }: NodeAnswers): readonly Finding[] {
  // A lone node needs no peers: its configuration allows no peers, or its own delegates forge all blocks of the
  // network.
  if (samples[0]?.isAlone === true) return [];
  const other = peers.find((peer) => isConfigured(peer) && isOfOtherNetwork(peer));
  const findings: Finding[] = [];
  if (other !== undefined) {
    const evidence = `${other.ip}:${other.wsPort ?? '?'} reported: ${other.reason}`;
    findings.push(finding('PEERS_OF_OTHER_NETWORK', evidence));
  }
  const connected = peers.filter(({ verdict }) => verdict === 'connected').length;
  if (connected === 0) findings.push(finding('NO_PEERS', evidenceOfNone(peers)));
  else if (samples.every(({ consensus, syncing }) => consensus < CONSENSUS_MIN && !syncing)) {
    const best = Math.max(...samples.map(({ consensus }) => consensus));
    findings.push(finding('CONSENSUS_LOW', `at most ${best} % of ${connected} peers have the tip`));
  }
  return findings;
}

/**
 * True if the configuration names the peer in an option other than the blacklist. It is possible that a peer of another
 * network dialled this node by itself, so the doctor reports such a peer only if the configuration names the peer.
 */
function isConfigured({ roles }: PeerVerdictState): boolean {
  return roles.some((role) => role !== 'blacklisted');
}

function isOfOtherNetwork({ code, reason }: PeerVerdictState): boolean {
  return code === CLOSE_OTHER_NETWORK && /did not match/.test(reason ?? '');
}

function evidenceOfNone(peers: readonly PeerVerdictState[]): string {
  const none = `known addresses: ${peers.length}, none is connected`;
  const failed = peers.find(({ reason }) => reason !== undefined && reason !== '');
  return failed === undefined ? none : `${none}; ${failed.ip}:${failed.wsPort ?? '?'}: ${failed.reason}`;
}

/**
 * Reports missing readers (extra processes of the node that answer HTTP requests) only if at least one reader is
 * missing in each sample. A reader that the node has just replaced is missing in an early sample and runs in a later
 * sample.
 */
function judgeReaders({ samples }: NodeAnswers): readonly Finding[] {
  const missing = samples.map(({ readers }) => {
    const up = readers?.each.filter(({ state }) => state === 'up').length ?? 0;
    return (readers?.wanted ?? 0) - up;
  });
  if (missing.some((count) => count <= 0)) return [];
  const { wanted = 0, restarts = 0 } = samples.at(-1)?.readers ?? {};
  const evidence = `${wanted - (missing.at(-1) ?? 0)} of ${wanted} are up, ${restarts} were started in place of others`;
  return [finding('READERS_FAIL', evidence)];
}

function judgeForging(seen: NodeAnswers): readonly Finding[] {
  return [...judgeElsewhere(seen), ...judgeActive(seen)];
}

/**
 * Returns one finding if at least one delegate waits with a code of `ELSEWHERE`. If the code is `FORGING_ELSEWHERE`,
 * the delegate starts to sign without action of the operator, usually after one of its slots has stayed empty. If the
 * code is `FORGING_MOVED`, the delegate signs only after the operator imports the delegate's signing record (the output
 * of `bloomery forging export`).
 */
function judgeElsewhere({ forging }: NodeAnswers): readonly Finding[] {
  const held = forging.filter(({ waiting }) => waiting !== undefined && ELSEWHERE.has(waiting.code));
  const [first] = held;
  if (first?.waiting === undefined) return [];
  const { code, reason } = first.waiting;
  return [
    finding(
      'DELEGATE_ELSEWHERE',
      `${held.length} of ${forging.length}, among them ${first.publicKey}: ${reason} (${code})`,
    ),
  ];
}

function judgeActive({ forging, active, constants }: NodeAnswers): readonly Finding[] {
  if (forging.length === 0) return [];
  const on = forging.filter((delegate) => delegate.forging);
  // On a network with published passphrases, each node has all delegates in its configuration, but by default forges
  // for no delegate. This default is no fault.
  if (on.length === 0 && forging.length >= activeDelegatesOf(constants)) return [];
  if (on.length === 0) return [finding('FORGING_OFF', `${forging.length} configured, 0 on`)];
  const idle = on.filter(({ publicKey }) => !active.has(publicKey));
  const [first] = idle;
  return first === undefined
    ? []
    : [finding('DELEGATE_NOT_ACTIVE', `${idle.length} of ${on.length} that are on, among them ${first.publicKey}`)];
}
