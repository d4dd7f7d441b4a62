/** Puts the notifier of a node together from its options. */

import { join } from 'node:path';
import { addressOf } from '../../crypto/keys.ts';
import { readBounded, whyUnreadable } from '../../config/bounded-file.ts';
import { packageVersion } from '../../config/package.ts';
import type { Network } from '../../config/network.ts';
import type { Config, NotifyConfig } from '../../config/schema.ts';
import type { Engine } from '../../engine/engine.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { NodeIdentity } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import type { ChainStore } from '../../ports/store.ts';
import { slotAt } from '../../protocol/slots.ts';
import { systemClock, systemRandom } from '../system.ts';
import { command, webhook, type Channel } from './channels.ts';
import { Notifier } from './notifier.ts';
import { Outbox } from './outbox.ts';

const SECRET_FILE_BYTES_MAX = 64 * 1024;
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
 * @throws ProtocolError `NOTIFY_SECRET_UNREADABLE`; what the system says of making the outbox
 */
export async function startNotifier(sources: NotifierSources): Promise<Notifier | undefined> {
  const { config, network, directory, observer, engine, store, identity } = sources;
  const { ownSlots, chain } = engine;
  const room = observer.room('notify');
  const channels =
    directory === undefined
      ? []
      : await Promise.all(
          channelsOf(config.notify).map(async (channel) => {
            return { channel, outbox: await Outbox.open(join(directory, `notify-${channel.name}`), room) };
          }),
        );
  if (channels.length === 0) {
    ownSlots.skipTo(chain.currentSlot() - 1);
    return undefined;
  }
  const notifier = new Notifier({
    channels,
    codes: config.notify.events.includes('all') ? 'all' : new Set(config.notify.events),
    networkName: network.name,
    version: packageVersion(),
    nonce: identity.nonce,
    clock: systemClock,
    random: systemRandom,
    observer: room,
  });
  const nameOf = (publicKey: string): string => store.account(addressOf(publicKey))?.username ?? publicKey;
  ownSlots.listen((event) => notifier.takeSlots(event, nameOf(event.delegate)));
  engine.decisions.listen((decision) => notifier.take(decision));

  const tip = chain.tip.header;
  const looked = notifier.lookedHeight === undefined ? undefined : store.header(notifier.lookedHeight);
  ownSlots.skipTo(looked === undefined ? chain.currentSlot() - 1 : slotAt(looked.timestamp, chain.rules.params));
  const from = Math.max((looked?.height ?? tip.height) + 1, tip.height - BLOCKS_AGAIN_MAX);
  for (let height = from; height <= tip.height; height += 1) {
    const block = store.block(height);
    if (block !== undefined) ownSlots.applied([block]);
  }
  notifier.looked(tip.height);
  chain.listen({ applied: () => notifier.looked(chain.tip.header.height) });
  notifier.start();
  return notifier;
}

function channelsOf({ webhook: url, webhookSecretFile, command: program }: NotifyConfig): readonly Channel[] {
  const secret = webhookSecretFile === '' ? {} : { secret: secretOf(webhookSecretFile) };
  return [
    ...(url === '' ? [] : [webhook(url, { ...secret, nowMs: () => systemClock.nowMs() })]),
    ...(program.length === 0 ? [] : [command(program)]),
  ];
}

/** @throws ProtocolError `NOTIFY_SECRET_UNREADABLE` with the file and the reason */
function secretOf(file: string): string {
  let text: string;
  try {
    text = readBounded(file, { bytesMax: SECRET_FILE_BYTES_MAX }).toString('utf8');
  } catch (error) {
    throw unreadable(file, whyUnreadable(error, 'give the path of a file with the secret in its first line'));
  }
  const secret = (text.split('\n')[0] ?? '').trim();
  if (secret === '') throw unreadable(file, 'its first line is empty');
  return secret;
}

function unreadable(file: string, reason: string): ProtocolError {
  const message = `notify.webhookSecretFile \`${file}\`: ${reason}`;
  return new ProtocolError('NOTIFY_SECRET_UNREADABLE', { file, reason }, message);
}
