/** Puts the notifier of a node together from its options. */

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

/** All that are kept: those of the start, before there was a notifier, are told too. */
const DIAGNOSTICS_MAX = 10_000;
/** Blocks of an earlier run that are looked at again: it was killed before it had noted how far it was. */
const BLOCKS_AGAIN_MAX = 1000;

export interface NotifierSources {
  readonly config: Pick<Config, 'notify'>;
  readonly network: Pick<Network, 'name'>;
  /** Where events wait; undefined for a node in memory, which tells nobody. */
  readonly directory: string | undefined;
  readonly observer: Observer;
  readonly engine: Engine;
  readonly store: ChainStore;
  readonly identity: NodeIdentity;
}

/**
 * Begins to tell; undefined where no receiver is configured. Slots that passed before the node was set up are nobody's business;
 * those since the last run are looked at again.
 *
 * @throws ProtocolError `CONFIG_INVALID` for the file of the secret; what the system says of making the outbox
 */
export async function startNotifier(sources: NotifierSources): Promise<Notifier | undefined> {
  const { config, network, directory, observer, engine, store, identity } = sources;
  const { ownSlotOutcomes, chain } = engine;
  // What does not get out is said by `bloomery why`, and by the other receiver where there are two.
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
  const looked = notifier.lookedHeight === undefined ? undefined : store.header(notifier.lookedHeight);
  ownSlotOutcomes.skipTo(looked === undefined ? chain.currentSlot() - 1 : slotAt(looked.timestamp, chain.rules.params));
  const from = Math.max((looked?.height ?? tip.height) + 1, tip.height - BLOCKS_AGAIN_MAX);
  for (let height = from; height <= tip.height; height += 1) {
    const block = store.block(height);
    if (block !== undefined) ownSlotOutcomes.applied([block]);
  }
  notifier.looked(tip.height);
  chain.listen({ applied: () => notifier.looked(chain.tip.header.height) });
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
