/**
 * The last rounds in the view of delegates. Each slot is a square, and a text names the delegates that missed a slot.
 */

import type { Block } from '../answers.ts';
import { countOf, countText } from '../format.ts';
import { pastRounds, unknownSlots, type PastRound, type PastSlot } from '../past-rounds.ts';
import { hashOf } from '../hash-route.ts';
import { ask, askIfAllowed, type Answer } from './api-requests.ts';
import { useAsked, useLive } from './hooks.ts';
import { Answered, Go } from './components.tsx';

const ROUNDS_SHOWN = 4;
const PAGE_BLOCKS = 100;
/**
 * Maximum number of requests for 100 blocks each. 600 blocks span four ended rounds of 101 delegates, the present
 * round, and the block before these rounds.
 */
const PAGES_MAX = 6;
/** Maximum number of requests about slots. Each request covers up to 101 consecutive slots. */
const SLOT_REQUESTS_MAX = 4;
const SLOTS_PER_REQUEST = 101;

export function LastRounds({ activeDelegates }: { activeDelegates: number }) {
  const { status, blockTimeS, names, forging } = useLive();
  const height = status?.height ?? 0;
  const ended = Math.floor(height / activeDelegates);
  const request = () => lastRounds(height, activeDelegates, blockTimeS);
  // The view requests the ended rounds again when their number changes.
  const asked = useAsked(request, `rounds ${blockTimeS}`, ended);
  if (height === 0) return null;
  const own = new Set((forging ?? []).map(({ publicKey }) => publicKey));
  const nameOf = (publicKey: string): string => names.get(publicKey) ?? `${publicKey.slice(0, 8)}…`;
  return (
    <section aria-labelledby="rounds-title">
      <h2 id="rounds-title">Last rounds</h2>
      <Answered asked={asked}>
        {(rounds) =>
          rounds.length === 0 ? (
            <p class="quiet">The first round is not over yet.</p>
          ) : (
            <>
              <p class="round-line">
                <span class="key forged">forged</span>
                <span class="key missed">missed</span>
                {own.size > 0 && <span class="key own">of this node</span>}
              </p>
              {rounds.map((round) => (
                <RoundStrip key={round.number} round={round} own={own} nameOf={nameOf} />
              ))}
            </>
          )
        }
      </Answered>
    </section>
  );
}

interface StripProps {
  readonly round: PastRound;
  readonly own: ReadonlySet<string>;
  readonly nameOf: (publicKey: string) => string;
}

function RoundStrip({ round, own, nameOf }: StripProps) {
  const { number, missed, slots } = round;
  return (
    <div class="past-round">
      <h3>Round {countText(number)}</h3>
      <p class="quiet">{missed === 0 ? 'nobody missed a slot' : <MissedBy round={round} nameOf={nameOf} />}</p>
      <ol class="slots past" aria-label={`Slots of round ${number}`}>
        {slots.map((slot) => (
          <li key={slot.slot}>
            <a
              href={targetOf(slot, nameOf)}
              // The squares do not take the keyboard focus, because there are hundreds of squares. Above the squares,
              // keyboard users find links to the delegates that missed a slot. The view of blocks has links to the
              // blocks.
              tabIndex={-1}
              class={`${slot.block === undefined ? 'missed' : 'forged'}${own.has(slot.forger ?? '') ? ' own' : ''}`}
              aria-label={sentenceOf(slot, nameOf)}
              title={sentenceOf(slot, nameOf)}
            />
          </li>
        ))}
      </ol>
    </div>
  );
}

function MissedBy({ round, nameOf }: Pick<StripProps, 'round' | 'nameOf'>) {
  const times = new Map<string, number>();
  let unknown = 0;
  for (const { block, forger } of round.slots) {
    if (block !== undefined) continue;
    if (forger === undefined) unknown += 1;
    else times.set(forger, (times.get(forger) ?? 0) + 1);
  }
  return (
    <>
      {countText(round.missed)} missed:{' '}
      {[...times].map(([publicKey, count], index) => (
        <span key={publicKey}>
          {index > 0 && ', '}
          <Go view="delegates" item={nameOf(publicKey)}>
            {nameOf(publicKey)}
          </Go>
          {count > 1 && ` (${count})`}
        </span>
      ))}
      {unknown > 0 &&
        `${times.size > 0 ? ' and ' : ''}${countOf(unknown, 'slot')} of delegates that forged nothing in it`}
    </>
  );
}

function targetOf({ block, forger }: PastSlot, nameOf: StripProps['nameOf']): string {
  if (block !== undefined) return hashOf('blocks', String(block.height));
  return forger === undefined ? hashOf('delegates') : hashOf('delegates', nameOf(forger));
}

function sentenceOf({ slot, block, forger }: PastSlot, nameOf: StripProps['nameOf']): string {
  const name = forger === undefined ? 'a delegate that forged nothing in the round' : nameOf(forger);
  return block === undefined
    ? `slot ${slot} was missed by ${name}`
    : `${name} forged block ${block.height} with ${countOf(block.numberOfTransactions, 'transaction')}`;
}

/**
 * Requests the last ended rounds. The blocks of a round show the owner of a missed slot only if the owner forged a
 * block of the round. The function requests all other owners from the node. If the node denies access to this browser,
 * these owners stay unknown.
 */
async function lastRounds(
  height: number,
  activeDelegates: number,
  blockTimeS: number,
): Promise<Answer<readonly PastRound[]>> {
  const firstRound = Math.max(1, Math.floor(height / activeDelegates) - ROUNDS_SHOWN + 1);
  const count = height - (firstRound - 1) * activeDelegates + 1;
  const pages = Math.min(PAGES_MAX, Math.ceil(count / PAGE_BLOCKS));
  const answers = await Promise.all(
    Array.from({ length: pages }, (_, page) =>
      ask<Block[]>(`blocks?sort=height:desc&limit=${PAGE_BLOCKS}&offset=${page * PAGE_BLOCKS}`),
    ),
  );
  const request = { blocks: answers.flatMap(({ data }) => data), blockTimeS, activeDelegates };
  const seen = pastRounds(request).slice(0, ROUNDS_SHOWN);
  const forgers = await forgersOf(unknownSlots(seen));
  const data = forgers.size === 0 ? seen : pastRounds({ ...request, forgers }).slice(0, ROUNDS_SHOWN);
  return { meta: {}, data };
}

interface ReportedSlot {
  readonly slot: number;
  readonly forger?: { readonly publicKey: string; readonly isCertain?: boolean };
}

/**
 * Requests the owners of slots, and returns the public keys of the owners by slot. The result lacks owners that the
 * node does not know. The function sends at most `SLOT_REQUESTS_MAX` requests. The result also lacks the owners of
 * slots that these requests do not cover. The result is empty if the node denies access to this browser.
 */
async function forgersOf(slots: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const forgers = new Map<number, string>();
  let asked = -1;
  let requests = 0;
  for (const slot of [...slots].sort((a, b) => a - b)) {
    if (slot <= asked || requests === SLOT_REQUESTS_MAX) continue;
    requests += 1;
    asked = slot + SLOTS_PER_REQUEST - 1;
    const report = await askIfAllowed<{ slots: readonly ReportedSlot[] }>(
      `node/slots?from=${slot}&limit=${SLOTS_PER_REQUEST}`,
    );
    if (report === undefined) return forgers;
    for (const each of report.slots) if (each.forger !== undefined) forgers.set(each.slot, each.forger.publicKey);
  }
  return forgers;
}
