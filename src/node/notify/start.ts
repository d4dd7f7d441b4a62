/**
 * Builds the notifier of a node. The notifier sends events of the node to a webhook, to a command, or to both, as the
 * operator has configured.
 */

import { hostname } from 'node:os';
import { join } from 'node:path';
import { addressOf } from '../../crypto/keys.ts';
import { packageVersion } from '../../config/package.ts';
import type { Network } from '../../config/network.ts';
import type { Config, NotifyConfig } from '../../config/schema.ts';
import type { Engine } from '../../engine/engine.ts';
import type { NodeIdentity } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import type { ChainStore } from '../../ports/store.ts';
import { slotAt } from '../../protocol/slots.ts';
import { systemClock, systemRandom } from '../system.ts';
import { command, webhook, type Channel } from './channels.ts';
import { Notifier } from './notifier.ts';
import { Outbox } from './outbox.ts';
import { webhookSecretOf } from './secret.ts';

/**
 * Maximum number of diagnostics that `startNotifier` reads. `Diagnostics` always stores fewer diagnostics than this
 * number. The notifier therefore also gets every stored diagnostic that is older than the start of the notifier.
 */
const DIAGNOSTICS_MAX = 10_000;
/**
 * If the last run of the node was killed before it saved the position of the notifier (`OutboxPlace`), the notifier
 * examines blocks again when it starts. The first of these blocks is at most this number of blocks below the tip.
 */
const BLOCKS_AGAIN_MAX = 1000;

export interface NotifierSources {
  readonly config: Pick<Config, 'notify'>;
  readonly network: Pick<Network, 'name'>;
  /** Folder that contains the outboxes (`Outbox`); undefined for a node in memory, which sends no notifications. */
  readonly directory: string | undefined;
  readonly observer: Observer;
  readonly engine: Engine;
  readonly store: ChainStore;
  readonly identity: NodeIdentity;
}

/**
 * Starts the notifier; returns undefined when no receiver is configured, or for a node in memory. The notifier also
 * reports slots that were missed after the last run ended. If the last run was killed before it saved its position, the
 * notifier examines the blocks after the saved position a second time. This examination finds the slots that were
 * missed between these blocks, but not the blocks that the killed run reverted. The notifier makes one examination for
 * all receivers together. A receiver that the operator has added since the last run has no saved position. If there is
 * such a receiver, the notifier does not examine blocks from before this run. In this case, no receiver gets reports
 * about slots from before this run.
 *
 * @throws ProtocolError `CONFIG_INVALID` (see `webhookSecretOf`); errors of the system when an outbox cannot be created
 */
export async function startNotifier(sources: NotifierSources): Promise<Notifier | undefined> {
  const { config, network, directory, observer, engine, store, identity } = sources;
  const { ownSlotOutcomes, chain } = engine;
  // The command `bloomery why` shows failed deliveries. Suppose that there are two receivers, A and B, and that
  // `notify.events` includes `NOTIFY_FAILED` or `all`. If deliveries to A fail, B gets an event about these failures.
  const module = engine.diagnostics.listenIn(observer).module('notify');
  const channels =
    directory === undefined
      ? []
      : await Promise.all(
          channelsOf(config.notify).map(async (channel) => {
            return { channel, outbox: await Outbox.open(join(directory, `notify-${channel.name}`), module) };
          }),
        );
  if (channels.length === 0) {
    ownSlotOutcomes.skipTo(chain.currentSlot() - 1);
    return undefined;
  }
  const notifier = new Notifier({
    channels,
    codes: config.notify.events.includes('all') ? 'all' : new Set(config.notify.events),
    nodeName: config.notify.name === '' ? hostname() : config.notify.name,
    networkName: network.name,
    version: packageVersion(),
    nonce: identity.nonce,
    clock: systemClock,
    random: systemRandom,
    observer: module,
  });
  const nameOf = (publicKey: string): string => store.account(addressOf(publicKey))?.username ?? publicKey;
  ownSlotOutcomes.listen((event) => notifier.takeSlots(event, nameOf(event.delegate)));
  for (const diagnostic of [...engine.diagnostics.latest(DIAGNOSTICS_MAX)].reverse()) notifier.take(diagnostic);
  engine.diagnostics.listen((diagnostic) => notifier.take(diagnostic));

  const tip = chain.tip.header;
  const { examinedHeight } = notifier;
  const last = examinedHeight === undefined ? undefined : store.header(examinedHeight);
  ownSlotOutcomes.skipTo(last === undefined ? chain.currentSlot() - 1 : slotAt(last.timestamp, chain.rules.params));
  const from = Math.max((last?.height ?? tip.height) + 1, tip.height - BLOCKS_AGAIN_MAX);
  for (let height = from; height <= tip.height; height += 1) {
    const block = store.block(height);
    if (block !== undefined) ownSlotOutcomes.applied([block]);
  }
  notifier.recordExamined(tip.height);
  chain.listen({ applied: () => notifier.recordExamined(chain.tip.header.height) });
  notifier.start();
  return notifier;
}

function channelsOf(config: NotifyConfig): readonly Channel[] {
  const { webhook: url, command: program } = config;
  const secret = webhookSecretOf(config);
  const signed = secret === undefined ? {} : { secret };
  return [
    ...(url === '' ? [] : [webhook(url, { ...signed, nowMs: () => systemClock.nowMs() })]),
    ...(program.length === 0 ? [] : [command(program)]),
  ];
}
