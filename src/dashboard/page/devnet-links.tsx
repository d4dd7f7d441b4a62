/** Controls that inject faults into the links and clocks of a devnet. */

import { useState } from 'preact/hooks';
import { delayOf, faultLines, lossOf, offsetOf, type DevnetFaults } from '../devnet.ts';
import { ChoiceField, operate, Operation, TextField, useOperations, type PartProps } from './operations.tsx';

/**
 * Faults with one numeric parameter, by the name of the operation. `member` is the name of the parameter, and `read`
 * parses the text of the input field.
 */
const FAULTS = {
  delay: { title: 'Delay, ms', label: 'Set the delay', member: 'delayMs', read: delayOf },
  loss: { title: 'Lost messages, %', label: 'Set the loss', member: 'loss', read: lossOf },
  skew: { title: 'Clock ahead, s', label: 'Set the clock', member: 'skewMs', read: offsetOf },
} as const;

type Fault = keyof typeof FAULTS;

export function Links({ devnet: { nodes, faults }, changed }: PartProps) {
  const { isBusy, run, refuse, outcome } = useOperations(changed);
  const [texts, setTexts] = useState<Readonly<Record<Fault, string>>>({ delay: '150', loss: '5', skew: '3' });
  const [node, setNode] = useState('');
  const [cut, setCut] = useState<readonly number[]>([]);
  const lines = faultLines(faults);
  const change = (operation: string, parameters: object): void =>
    run(async () => {
      const { parts, nodes: own } = await operate<DevnetFaults>(operation, parameters);
      return parts.length + own.length === 0 ? 'The network has no faults.' : 'The fault is in force.';
    });
  const set = (fault: Fault): void => {
    const { read, member } = FAULTS[fault];
    const given = read(texts[fault]);
    if ('problem' in given) return refuse(given.problem);
    const index = Number(node);
    if (fault === 'skew') {
      if (node === '') return refuse('Choose the node whose clock is to be wrong.');
      return change(fault, { node: index, [member]: given.value });
    }
    change(fault, { [member]: given.value, ...(node === '' ? {} : { nodes: [index] }) });
  };
  return (
    <section aria-labelledby="devnet-links">
      <h2 id="devnet-links">Links and faults</h2>
      {lines.length === 0 ? (
        <p class="quiet">No fault is in force.</p>
      ) : (
        <ul class="faults">
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      <Operation label="End all faults" isBusy={isBusy} onSend={() => change('heal', {})} />
      <form
        class="operation"
        onSubmit={(event) => {
          event.preventDefault();
          if (cut.length === 0) return refuse('Choose the nodes to cut off from the others.');
          change('partition', { parts: [cut] });
        }}
      >
        <fieldset>
          <legend>Cut off from the others</legend>
          {nodes.map(({ index }) => (
            <label key={index}>
              <input
                type="checkbox"
                checked={cut.includes(index)}
                onChange={(event) =>
                  setCut(event.currentTarget.checked ? [...cut, index] : cut.filter((each) => each !== index))
                }
              />{' '}
              node {index}
            </label>
          ))}
        </fieldset>
        <button type="submit" aria-disabled={isBusy}>
          Cut
        </button>
      </form>
      <form class="operation">
        <ChoiceField
          title="Faults below are of"
          value={node}
          options={[['', 'all nodes'], ...nodes.map(({ index }) => [String(index), `node ${index}`] as const)]}
          onChoose={setNode}
        />
      </form>
      {(Object.keys(FAULTS) as Fault[]).map((fault) => (
        <Operation key={fault} label={FAULTS[fault].label} isBusy={isBusy} onSend={() => set(fault)}>
          <TextField
            title={FAULTS[fault].title}
            value={texts[fault]}
            onText={(text) => setTexts({ ...texts, [fault]: text })}
          />
        </Operation>
      ))}
      {outcome}
    </section>
  );
}
