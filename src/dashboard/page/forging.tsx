/**
 * The view for the operator of forging delegates: the delegates on this node, their next slots, their results, and
 * switches for forging.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Delegate, Earnings, ForgingDelegate } from '../answers.ts';
import { countText, dateText, productivityOf, resultText, sinceText, timeText, untilText } from '../format.ts';
import { nextSlotsOf, roundOf } from '../round.ts';
import { ask, AskFailed, sendRequest, type Answer } from './api-requests.ts';
import { useAsked, useIsCurrent, useLive, useNow, useRound, useSlotStart } from './hooks.ts';
import { Amount, DelegateLink, Table } from './components.tsx';

/**
 * Maximum number of requests of each kind for one update of the results. There are two kinds: a request for a delegate
 * that is not among the first 101 delegates of the list, and a request for the earnings of a delegate.
 */
const ASKED_MAX = 30;
const DELEGATES_ASKED = 101;

export function Forging() {
  const { forging, forgers, status, constants } = useLive();
  const nextSlots = useNextSlots();
  const [chosen, choose] = useState<ForgingDelegate | undefined>(undefined);
  const keys = (forging ?? []).map(({ publicKey }) => publicKey);
  const round = roundOf((status?.height ?? 0) + 1, constants?.activeDelegates);
  const asked = useAsked(() => resultsOf(keys), keys.length === 0 ? '' : keys.join(), round);
  if (forging === undefined) {
    return (
      <>
        <h1>Forging</h1>
        <p class="none">The node shows its delegates only to clients in its forging whitelist.</p>
      </>
    );
  }
  const results = asked.kind === 'answered' ? asked.answer.data : NO_RESULTS;
  // A dash means that the result of a delegate is not known. While a request is pending, the view shows an ellipsis
  // instead.
  const missing = asked.kind === 'waiting' ? '…' : '–';
  const figureOf = (count: number | undefined): string => (count === undefined ? missing : countText(count));
  const addresses = new Map(forgers.map(({ publicKey, address }) => [publicKey, address]));
  const placeOf = ({ publicKey }: ForgingDelegate): number =>
    nextSlots.get(publicKey) ?? Number.MAX_SAFE_INTEGER - (addresses.has(publicKey) ? 1 : 0);
  const rows = [...forging].sort((a, b) => placeOf(a) - placeOf(b));
  const waiting = forging.filter((delegate) => delegate.forging && delegate.waiting !== undefined).length;
  const on = forging.filter((delegate) => delegate.forging).length - waiting;
  const earned = [...results.values()].map(({ earnings }) => earnings?.forged ?? '0');
  return (
    <>
      <h1>Forging</h1>
      <Paused forging={forging} />
      <p class="quiet">
        {countText(on)} of {countText(forging.length)} delegates of this node forge
        {waiting > 0 && `; ${countText(waiting)} more ${waiting === 1 ? 'does' : 'do'} not sign yet`}. The next slot
        comes first.
      </p>
      {asked.kind === 'failed' && (
        <p class="problem" role="alert">
          {asked.reason}
        </p>
      )}
      <Table
        caption="Delegates configured on this node"
        rows={rows}
        keyOf={({ publicKey }) => publicKey}
        empty="No delegate is configured on this node."
        columns={[
          {
            name: 'Delegate',
            isName: true,
            onPhone: 'start',
            cell: ({ publicKey }) => (
              <DelegateLink publicKey={publicKey} address={addresses.get(publicKey) ?? publicKey} />
            ),
          },
          { name: 'Forging', isText: true, onPhone: 'below', cell: (delegate) => <ForgingState delegate={delegate} /> },
          {
            name: 'Next slot',
            onPhone: 'end',
            cell: ({ publicKey }) => <NextSlot publicKey={publicKey} isWithTime />,
          },
          {
            name: 'Forged',
            isFigure: true,
            cell: ({ publicKey }) => figureOf(results.get(publicKey)?.delegate?.producedBlocks),
          },
          {
            name: 'Missed',
            isFigure: true,
            cell: ({ publicKey }) => figureOf(results.get(publicKey)?.delegate?.missedBlocks),
          },
          {
            name: 'Productivity',
            isFigure: true,
            cell: ({ publicKey }) => {
              const { delegate } = results.get(publicKey) ?? {};
              return delegate === undefined ? missing : (productivityOf(delegate, 2) ?? '–');
            },
          },
          {
            name: 'Earned, LSK',
            isFigure: true,
            cell: ({ publicKey }) => {
              const { earnings } = results.get(publicKey) ?? {};
              return earnings === undefined ? missing : <Amount beddows={earnings.forged} among={earned} />;
            },
          },
          {
            name: 'Result',
            isNarrow: true,
            onPhone: 'last-all',
            cell: ({ publicKey }) => {
              const { delegate } = results.get(publicKey) ?? {};
              if (delegate === undefined) return missing;
              return resultText(delegate);
            },
          },
          {
            name: 'Switch',
            isFigure: true,
            onPhone: 'below-end',
            cell: (delegate) => (
              <button type="button" class="small" onClick={() => choose(delegate)}>
                {delegate.forging ? 'Disable' : 'Enable'}
              </button>
            ),
          },
        ]}
      />
      {chosen !== undefined && (
        <SwitchDialog key={chosen.publicKey} delegate={chosen} onClose={() => choose(undefined)} />
      )}
    </>
  );
}

function Paused({ forging }: { forging: readonly ForgingDelegate[] }) {
  const now = useNow();
  const paused = forging.find((delegate) => delegate.paused !== undefined)?.paused;
  if (paused === undefined) return null;
  return (
    <p class="alert" role="alert">
      This node forges for no delegate since {sinceText(Date.parse(paused.since), now)}: {paused.reason}
    </p>
  );
}

/**
 * Asks for the password that decrypts the passphrase of a delegate, and enables or disables forging for the delegate.
 */
function SwitchDialog({ delegate, onClose }: { delegate: ForgingDelegate; onClose: () => void }) {
  const { names } = useLive();
  const dialog = useRef<HTMLDialogElement>(null);
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState('');
  const [isWaiting, setWaiting] = useState(false);
  const { publicKey, forging } = delegate;
  const name = names.get(publicKey) ?? publicKey;
  useEffect(() => dialog.current?.showModal(), []);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    setWaiting(true);
    setProblem('');
    try {
      await sendRequest('PUT', 'node/status/forging', { publicKey, password, forging: !forging });
      dialog.current?.close();
    } catch (error) {
      setProblem(error instanceof AskFailed ? error.message : 'The node gave no answer that can be read.');
    } finally {
      setWaiting(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="switch-title" onClose={onClose}>
      <form onSubmit={(event) => void send(event)}>
        <h2 id="switch-title">
          {forging ? 'Disable' : 'Enable'} forging for {name}
        </h2>
        <p class="quiet">
          {forging
            ? 'Its slots pass unused until it is enabled again.'
            : 'Make sure that no other node forges for this delegate: two blocks of one slot are a fault that the network sees.'}
        </p>
        <label>
          <span>Password of the encrypted passphrase</span>
          <input
            type="password"
            required
            minLength={5}
            autocomplete="off"
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        </label>
        <p role="alert">{problem}</p>
        <p class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="main" disabled={isWaiting}>
            {forging ? 'Disable' : 'Enable'}
          </button>
        </p>
      </form>
    </dialog>
  );
}

function ForgingState({ delegate: { forging, waiting } }: { delegate: ForgingDelegate }) {
  const now = useNow();
  if (!forging) return <span class="badge">off</span>;
  if (waiting === undefined) return <span class="badge good">on</span>;
  const until = waiting.until === undefined ? '' : ` (${untilText(Date.parse(waiting.until), now)})`;
  return (
    <>
      <span class="badge bad">waiting</span> {waiting.reason}
      {until}
    </>
  );
}

/**
 * Shows the time until the delegate's next slot in the present round. If there is no such slot, the component shows the
 * reason: the next slot is in a later round, the delegate is not active, or the slot is not known yet.
 */
export function NextSlot({ publicKey, isWithTime = false }: { publicKey: string; isWithTime?: boolean }) {
  const { forgers } = useLive();
  const isCurrent = useIsCurrent();
  const nextSlot = useNextSlots().get(publicKey);
  const startOf = useSlotStart();
  const now = useNow();
  if (!isCurrent) return <>not known yet</>;
  if (nextSlot !== undefined) {
    const startMs = startOf(nextSlot);
    return (
      <time dateTime={new Date(startMs).toISOString()} title={`${dateText(startMs)} UTC`}>
        {startMs <= now ? 'now' : untilText(startMs, now)}
        {isWithTime && <span class="quiet wide">, {timeText(startMs)} UTC</span>}
      </time>
    );
  }
  return <>{forgers.some((forger) => forger.publicKey === publicKey) ? 'next round' : 'not active'}</>;
}

function useNextSlots(): ReadonlyMap<string, number> {
  const round = useRound();
  return round === undefined ? new Map() : nextSlotsOf(round);
}

interface ForgingResult {
  readonly delegate: Delegate | undefined;
  readonly earnings: Earnings | undefined;
}

const NO_RESULTS: ReadonlyMap<string, ForgingResult> = new Map();

/**
 * Requests the results of delegates, and returns the results by public key. A result contains the numbers of forged and
 * missed blocks, and the earnings. Both the numbers and the earnings are undefined if no delegate has the key, or if
 * `ASKED_MAX` prevented the request for the delegate. `earnings` is also undefined if the request for the earnings
 * failed, or if `ASKED_MAX` prevented this request.
 */
async function resultsOf(keys: readonly string[]): Promise<Answer<ReadonlyMap<string, ForgingResult>>> {
  const { meta, data } = await ask<Delegate[]>(`delegates?limit=${DELEGATES_ASKED}`);
  const known = new Map(data.map((delegate) => [delegate.account.publicKey, delegate]));
  const others = keys.filter((key) => !known.has(key)).slice(0, ASKED_MAX);
  for (const answer of await Promise.all(others.map((key) => ask<Delegate[]>(`delegates?publicKey=${key}`))))
    for (const delegate of answer.data) known.set(delegate.account.publicKey, delegate);
  const results = new Map<string, ForgingResult>(
    keys.map((key) => [key, { delegate: known.get(key), earnings: undefined }]),
  );
  // The view sends the requests for earnings one after another. If the view sent all these requests at once, the last
  // requests would time out in the browser's queue.
  for (const key of keys.slice(0, ASKED_MAX)) {
    const delegate = known.get(key);
    if (delegate === undefined) continue;
    const path = `delegates/${delegate.account.address}/forging_statistics`;
    const earnings = await ask<Earnings>(path).catch(() => undefined);
    results.set(key, { delegate, earnings: earnings?.data });
  }
  return { meta, data: results };
}
