/** Finds the network for which the wallet signs a transaction, from a network folder or from a node. */

import { bloomeryHome, findNetworkDirectory, loadNetwork } from '../../config/network.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { networkIdentifierOf } from '../../protocol/genesis.ts';
import type { Generation } from '../../protocol/params.ts';
import type { SigningNetwork } from '../../protocol/sign.ts';
import { NODE_CLOCK, NODE_PROTOCOL } from '../answer-shapes.ts';
import { nodeAsker, type NodeAsker } from '../ask-node.ts';
import type { NetworkChoiceFlags } from '../flags.ts';
import { usageError } from '../error-lines.ts';

export interface WalletNetwork extends SigningNetwork {
  /**
   * Name of the network in texts for the user. With `--network`, the value is the name of the chosen network. Without
   * this option, the value contains the first 12 digits of the nethash. If the node reports no nethash, the value
   * contains the first 12 digits of the network identifier instead.
   */
  readonly name: string;
  /** The node to query; undefined when the user works offline. */
  readonly node: NodeAsker | undefined;
  /** Returns the present time, in whole seconds since the epoch of the network. */
  nowS(): Promise<number>;
}

interface Constants {
  readonly nethash?: string;
  readonly networkId?: string;
  readonly protocolVersion: string;
}

/**
 * Community identifier of Lisk's networks. If a node does not report its network identifier, the wallet computes the
 * network identifier from the nethash and this community identifier.
 */
const COMMUNITY_IDENTIFIER = 'Lisk';

/**
 * @throws ProtocolError `USAGE` if `--offline` is given without `--network`, or together with `--wait`; `NETWORK_OTHER`
 *   when the node belongs to a network other than the network of `--network`; errors of `findNetworkDirectory`,
 *   `loadNetwork`, `nodeAsker` and `networkAt`
 */
export async function walletNetwork(flags: NetworkChoiceFlags & { readonly wait?: true }): Promise<WalletNetwork> {
  if (flags.offline === true && flags.wait === true)
    throw usageError('--wait needs a node that knows the blocks, but --offline queries no node: leave one of them out');
  const folder =
    flags.network === undefined
      ? undefined
      : loadNetwork(findNetworkDirectory(flags.network, bloomeryHome(process.env)));
  if (flags.offline === true) {
    if (folder === undefined)
      throw usageError('--offline needs --network NAME|DIR, because the command queries no node for its network');
    const { generation, networkIdentifier, epochMs } = folder.params;
    const nowS = (): Promise<number> => Promise.resolve(Math.floor((Date.now() - epochMs) / 1000));
    return { name: folder.name, generation, networkIdentifier, node: undefined, nowS };
  }
  const node = nodeAsker(flags.node);
  const { generation, networkIdentifier, nethash } = await networkAt(node);
  if (folder !== undefined && networkIdentifier !== folder.params.networkIdentifier) {
    throw new ProtocolError(
      'NETWORK_OTHER',
      { url: node.base },
      `the node at ${node.base} is of another network than --network ${folder.name}: name another with --node`,
    );
  }
  // The timestamp of a transaction comes from the node's clock, because the node refuses a timestamp in a future slot.
  const nowS = async (): Promise<number> =>
    (await node.ask<{ secondsSinceEpoch: number }>('node/status', NODE_CLOCK)).secondsSinceEpoch;
  const name = folder?.name ?? `network ${(nethash ?? networkIdentifier).slice(0, 12)}`;
  return { name, generation, networkIdentifier, node, nowS };
}

/**
 * Returns the network of `source`: a node, or a data folder that is queried like a node.
 *
 * @throws ProtocolError `NETWORK_OTHER` for an unknown protocol version; errors of `source.ask`
 */
export async function networkAt(
  source: Pick<NodeAsker, 'base' | 'ask'>,
): Promise<SigningNetwork & { readonly nethash: string | undefined }> {
  const constants = await source.ask<Constants>('node/constants', NODE_PROTOCOL);
  const { nethash } = constants;
  const networkIdentifier = constants.networkId ?? networkIdentifierOf(nethash ?? '', COMMUNITY_IDENTIFIER);
  return { generation: generationOf(constants, source), networkIdentifier, nethash };
}

/**
 * Returns the generation of a node by its protocol version: major version 1 is generation 2, and major version 2 is
 * generation 3.
 */
function generationOf({ protocolVersion }: Constants, { base }: Pick<NodeAsker, 'base'>): Generation {
  const [major] = protocolVersion.split('.');
  if (major === '1') return 2;
  if (major === '2') return 3;
  throw new ProtocolError(
    'NETWORK_OTHER',
    { protocolVersion },
    `the node at ${base} uses protocol version ${protocolVersion}, which is unknown: name another node with --node`,
  );
}
