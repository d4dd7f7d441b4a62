/**
 * Sends requests to the running nodes of a devnet: to all nodes, to some nodes, or to the node with the greatest
 * height.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { AgentLink, AgentRequest, AgentState } from './messages.ts';

interface Answered {
  readonly link: AgentLink;
  readonly state: AgentState;
}

export interface NodeLinksOptions {
  /** The running nodes. */
  readonly links: () => readonly AgentLink[];
  /**
   * Returns an equal value for all nodes in the same part of a partitioned network. If `partOf` is undefined, every
   * node can reach every other node.
   */
  readonly partOf?: (link: AgentLink) => unknown;
}

export class NodeLinks {
  readonly #options: NodeLinksOptions;

  constructor(options: NodeLinksOptions) {
    this.#options = options;
  }

  all(): readonly AgentLink[] {
    return this.#options.links();
  }

  /** Returns the given node, and all other running nodes in its part of the network. */
  reachedBy(link: AgentLink): readonly AgentLink[] {
    const { links, partOf = () => undefined } = this.#options;
    return links().filter((each) => partOf(each) === partOf(link));
  }

  /**
   * The node with the greatest height, and its state. Nodes that do not answer, or answer with an error, are skipped.
   * The result is undefined when all nodes are skipped.
   */
  async highest(links = this.all()): Promise<Answered | undefined> {
    const answers = links.map(async (link) => ({ link, state: await link.ask({ op: 'state' }) }));
    const settled = await Promise.allSettled(answers);
    return settled
      .flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
      .sort((a, b) => b.state.tip.height - a.state.tip.height)[0];
  }

  /**
   * Sends a request to the node with the greatest height, and returns the answer of this node.
   *
   * @throws ProtocolError `DEVNET_NODE_SILENT` when no node answers, or when the node with the greatest height does not
   *   answer `request`; the error in the answer of this node
   */
  async askHighest(request: AgentRequest): Promise<AgentState> {
    const highest = await this.highest();
    if (highest === undefined) throw noneAnswers();
    return highest.link.ask(request);
  }

  /**
   * Sends a request to all running nodes. A node that does not answer, or answers with an error, is skipped.
   *
   * @throws ProtocolError `DEVNET_NODE_SILENT` when all nodes are skipped
   */
  askAll(request: AgentRequest): Promise<readonly AgentState[]> {
    return this.ask(this.all(), request);
  }

  /** Like `askAll`, but sends the request only to the given nodes. */
  async ask(links: readonly AgentLink[], request: AgentRequest): Promise<readonly AgentState[]> {
    return (await this.answers(links, request)).map(({ state }) => state);
  }

  /** Like `ask`, but returns the node with each answer. */
  async answers(links: readonly AgentLink[], request: AgentRequest): Promise<readonly Answered[]> {
    const asked = links.map(async (link) => ({ link, state: await link.ask(request) }));
    const answers = await Promise.allSettled(asked);
    const given = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    if (given.length > 0) return given;
    throw noneAnswers();
  }
}

function noneAnswers(): ProtocolError {
  return new ProtocolError('DEVNET_NODE_SILENT', {}, 'no node of the devnet answers');
}
