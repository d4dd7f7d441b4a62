/** The view with the controls of a devnet: clock, blocks, nodes, links and test funds. */

import { useState } from 'preact/hooks';
import { actionsFor, type Devnet, type DevnetNode, type MiningMode, type NodeAction } from '../devnet.ts';
import { countOf, countText, dateText } from '../format.ts';
import { useAnswer, useLive } from './hooks.ts';
import { ChoiceField, operate, Operation, TextField, useOperations, type PartProps } from './operations.tsx';
import { Answered, BlockLink, Facts, Table } from './components.tsx';
import { Faucet, Send } from './devnet-funds.tsx';
import { Links } from './devnet-links.tsx';

/** Returns true if this node belongs to a devnet whose supervisor offers its controls to the dashboard. */
export function isControlled(): boolean {
  return document.documentElement.hasAttribute('data-devnet');
}

export function DevnetControls() {
  if (!isControlled()) {
    return (
      <>
        <h1>Devnet</h1>
        <p class="none">Only the nodes of bloomery devnet have these controls. This node belongs to no devnet.</p>
      </>
    );
  }
  return <Controls />;
}

function Controls() {
  const { status, heardAtMs } = useLive();
  const [changes, setChanges] = useState(0);
  const changed = (): void => setChanges((count) => count + 1);
  const asked = useAnswer<Devnet>('devnet', `${status?.height} ${heardAtMs} ${changes}`);
  return (
    <>
      <h1>Devnet</h1>
      <p class="quiet">The keys of this network are public and its LSK are worthless.</p>
      <Answered asked={asked}>
        {(devnet) => (
          <>
            <div class="columns">
              <Time devnet={devnet} changed={changed} />
              <Links devnet={devnet} changed={changed} />
            </div>
            <Nodes devnet={devnet} changed={changed} />
            <div class="columns">
              <Faucet changed={changed} />
              <Send changed={changed} />
            </div>
          </>
        )}
      </Answered>
    </>
  );
}

const MODES: readonly (readonly [MiningMode, string])[] = [
  ['interval', 'in each slot'],
  ['instant', 'as soon as a transaction arrives'],
  ['on-demand', 'on demand'],
];

interface Mined {
  readonly emptySlots: number;
  readonly height: number;
}

function Time({ devnet: { clock, time, mode }, changed }: PartProps) {
  const { isBusy, run, refuse, outcome } = useOperations(changed);
  const [slots, setSlots] = useState('1');
  const [distance, setDistance] = useState('1h');
  const isFrozen = clock === 'frozen';
  const setClock = async (operation: string, parameters: object = {}): Promise<string> => {
    const { time: at } = await operate<{ time: string }>(operation, parameters);
    return `The clock of all nodes is at ${dateText(Date.parse(at))} UTC.`;
  };
  const mine = (): void => {
    const count = Number(slots);
    if (!/^\d{1,4}$/.test(slots.trim()) || count < 1 || count > 1000)
      return refuse(`“${slots}” is not a number of slots: write one from 1 to 1000.`);
    run(async () => {
      const { emptySlots, height } = await operate<Mined>('mine', { slots: count });
      const empty = emptySlots === 0 ? '' : `, ${countText(emptySlots)} of them empty`;
      return (
        <>
          Forged {countOf(count, 'slot')}
          {empty}: the chain is at <BlockLink height={height} />.
        </>
      );
    });
  };
  return (
    <section aria-labelledby="devnet-time">
      <h2 id="devnet-time">Clock and blocks</h2>
      <Facts
        facts={[
          ['Clock', `${dateText(Date.parse(time))} UTC, ${isFrozen ? 'stopped' : 'running'}`],
          ['Blocks', MODES.find(([name]) => name === mode)?.[1] ?? mode],
        ]}
      />
      <Operation
        label={isFrozen ? 'Start the clock' : 'Stop the clock'}
        isBusy={isBusy}
        onSend={() => run(() => setClock(isFrozen ? 'resume' : 'freeze'))}
      />
      <Operation label="Advance" isBusy={isBusy} onSend={() => run(() => setClock('warp', { to: distance.trim() }))}>
        <TextField title="Time ahead, or a date" value={distance} onText={setDistance} example="30s, 1h, 2d" />
      </Operation>
      <Operation label="Forge" isBusy={isBusy} onSend={mine}>
        <TextField title="Slots to forge now" value={slots} onText={setSlots} />
      </Operation>
      <form class="operation">
        <ChoiceField
          title="Forge blocks"
          value={mode}
          options={MODES}
          onChoose={(chosen) =>
            run(async () => {
              await operate('mode', { mode: chosen });
              return `Blocks are forged ${MODES.find(([name]) => name === chosen)?.[1] ?? chosen}.`;
            })
          }
        />
      </form>
      {outcome}
    </section>
  );
}

const ACTIONS: Readonly<Record<NodeAction, string>> = {
  pause: 'Pause',
  resume: 'Continue',
  kill: 'Kill',
  restart: 'Restart',
};

function Nodes({ devnet: { nodes }, changed }: PartProps) {
  const { isBusy, run, outcome } = useOperations(changed);
  const isOwn = ({ http }: DevnetNode): boolean => String(http) === location.port;
  return (
    <section aria-labelledby="devnet-nodes">
      <h2 id="devnet-nodes">Nodes of the devnet</h2>
      <Table
        caption="Nodes of the devnet"
        rows={nodes}
        keyOf={({ index }) => String(index)}
        empty="No nodes."
        columns={[
          { name: 'Node', isFigure: true, cell: ({ index }) => index },
          {
            name: 'Node and dashboard',
            isNarrow: true,
            onPhone: 'start',
            cell: (node) => (
              <>
                Node {node.index}, port <DashboardLink node={node} />
              </>
            ),
          },
          { name: 'State', onPhone: 'end', cell: ({ state }) => <span class={badgeOf(state)}>{state}</span> },
          { name: 'Dashboard', cell: (node) => <DashboardLink node={node} /> },
          { name: 'Peer port', isFigure: true, cell: ({ ws }) => ws },
          { name: 'Delegates', isFigure: true, cell: ({ delegates }) => countText(delegates) },
          {
            name: 'Process',
            isText: true,
            onPhone: 'below-all',
            cell: (node) =>
              isOwn(node) ? (
                <span class="quiet">serves this page</span>
              ) : (
                <span class="actions">
                  {actionsFor(node).map((action) => (
                    <button
                      key={action}
                      type="button"
                      class="small"
                      aria-disabled={isBusy}
                      aria-label={`${ACTIONS[action]} node ${node.index}`}
                      onClick={() =>
                        run(async () => {
                          const { state } = await operate<DevnetNode>(action, { node: node.index });
                          return `Node ${node.index} is ${state}.`;
                        })
                      }
                    >
                      {ACTIONS[action]}
                    </button>
                  ))}
                </span>
              ),
          },
        ]}
      />
      <Operation
        label="Add a node"
        isBusy={isBusy}
        onSend={() =>
          run(async () => {
            const { index, http } = await operate<DevnetNode>('add');
            return `Node ${index} follows the others; its HTTP port is ${http}.`;
          })
        }
      />
      {outcome}
    </section>
  );
}

function DashboardLink({ node: { http } }: { node: DevnetNode }) {
  return String(http) === location.port ? <>{http}</> : <a href={`http://${location.hostname}:${http}/`}>{http}</a>;
}

function badgeOf(state: DevnetNode['state']): string {
  if (state === 'running') return 'badge good';
  return state === 'paused' || state === 'starting' ? 'badge' : 'badge bad';
}
