/**
 * The part of the overview that shows the slots of the present round, each as a square. The arrow keys move the focus
 * between the squares.
 */

import { useRef, useState } from 'preact/hooks';
import { hashOf } from '../hash-route.ts';
import { countOf } from '../format.ts';
import type { RoundSlot } from '../round.ts';
import { useIsCurrent, useLive, useRound } from './hooks.ts';

const KEY_STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 };

export function RoundPanel() {
  const { blockTimeS, forging } = useLive();
  const isCurrent = useIsCurrent();
  const round = useRound();
  const [chosen, choose] = useState<number | undefined>(undefined);
  const list = useRef<HTMLOListElement>(null);
  if (round === undefined) return null;
  const { currentSlot } = round;
  const own = new Set((forging ?? []).filter((delegate) => delegate.forging).map(({ publicKey }) => publicKey));
  const present = round.slots.find(({ slot }) => slot === currentSlot);
  const next = round.slots.find(({ slot }) => slot === currentSlot + 1);
  const shown = round.slots.find(({ slot }) => slot === chosen) ?? present ?? round.slots[0];

  const walk = (event: KeyboardEvent): void => {
    const step = KEY_STEPS[event.key];
    if (step === undefined || shown === undefined) return;
    const at = round.slots.indexOf(shown) + step;
    const target = round.slots[at];
    if (target === undefined) return;
    event.preventDefault();
    choose(target.slot);
    list.current?.querySelectorAll('a')[at]?.focus();
  };

  return (
    <section aria-labelledby="round-title">
      <h2 id="round-title">Round {round.number}</h2>
      <p class="round-line">
        <span class="key forged">{round.forged} forged</span>
        <span class="key missed">{round.missed} missed</span>
        {!isCurrent ? (
          <span class="quiet">as of the newest block here</span>
        ) : (
          <>
            <span class="key now">now: {present?.forger?.username ?? 'unknown'}</span>
            <span class="key next">next: {next?.forger?.username ?? 'unknown'}</span>
          </>
        )}
        {own.size > 0 && <span class="key own">forged here</span>}
      </p>
      <ol
        ref={list}
        class="slots"
        aria-label={`Slots of round ${round.number}; arrow keys walk through them`}
        onKeyDown={walk}
      >
        {round.slots.map((slot) => (
          <li key={slot.slot}>
            <a
              href={targetOf(slot)}
              tabIndex={slot === shown ? 0 : -1}
              class={[
                slot.state,
                slot.slot === currentSlot ? 'current' : '',
                own.has(slot.forger?.publicKey ?? '') ? 'own' : '',
              ].join(' ')}
              aria-label={sentenceOf(slot, currentSlot, blockTimeS)}
              title={sentenceOf(slot, currentSlot, blockTimeS)}
              onFocus={() => choose(slot.slot)}
              onMouseEnter={() => choose(slot.slot)}
              onMouseLeave={() => choose(undefined)}
              onBlur={() => choose(undefined)}
            />
          </li>
        ))}
      </ol>
      <p class="quiet slot-line">{shown === undefined ? '' : sentenceOf(shown, currentSlot, blockTimeS)}</p>
    </section>
  );
}

function targetOf({ block, forger }: RoundSlot): string {
  if (block !== undefined) return hashOf('blocks', String(block.height));
  return forger === undefined ? hashOf('delegates') : hashOf('delegates', forger.username);
}

function sentenceOf({ state, forger, block, slot }: RoundSlot, currentSlot: number, blockTimeS: number): string {
  const name = forger?.username ?? 'an unknown delegate';
  const seconds = Math.abs(slot - currentSlot) * blockTimeS;
  const when = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  switch (state) {
    case 'forged': {
      const count = block?.numberOfTransactions ?? 0;
      return `${name} forged block ${block?.height} with ${countOf(count, 'transaction')}`;
    }
    case 'missed':
      return `${name} missed its slot ${when} ago`;
    case 'now':
      return `${name} has the present slot`;
    case 'next':
      return `${name} has the slot in ${when}`;
  }
}
