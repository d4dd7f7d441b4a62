/** Runs operations of the devnet one at a time, and shows the result or the error. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Devnet } from '../devnet.ts';
import { AskFailed, sendRequest } from './api-requests.ts';

/** Properties of each part of the devnet page. */
export interface PartProps {
  readonly devnet: Devnet;
  /** Called after each operation. */
  readonly changed: () => void;
}

/** Maximum time of an operation. A restart and the mining of many blocks are slow, but the node answers within 15 s. */
const OPERATION_MS_MAX = 18_000;

/** @throws AskFailed with the refusal */
export async function operate<Result>(operation: string, parameters: object = {}): Promise<Result> {
  return (await sendRequest<Result>('POST', `devnet/${operation}`, parameters, OPERATION_MS_MAX)).data;
}

interface Operations {
  readonly isBusy: boolean;
  /** Runs an operation and shows the content that the operation returns. */
  run(operation: () => Promise<ComponentChildren>): void;
  /** Shows the reason why the page did not run the operation. */
  refuse(problem: string): void;
  readonly outcome: ComponentChildren;
}

/** @param done called after each operation */
export function useOperations(done: () => void): Operations {
  const [isBusy, setBusy] = useState(false);
  const [shown, setShown] = useState<ComponentChildren>('');
  const [problem, setProblem] = useState('');
  const run = async (operation: () => Promise<ComponentChildren>): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setProblem('');
    setShown('The devnet works on it…');
    try {
      setShown(await operation());
    } catch (error) {
      setShown('');
      setProblem(error instanceof AskFailed ? error.message : 'The node gave no answer that can be read.');
    } finally {
      setBusy(false);
      done();
    }
  };
  return {
    isBusy,
    run: (operation) => void run(operation),
    refuse: (text) => {
      setShown('');
      setProblem(text);
    },
    outcome: (
      <>
        <p class="outcome" role="status">
          {shown}
        </p>
        <p class="outcome problem" role="alert">
          {problem}
        </p>
      </>
    ),
  };
}

/** A form for one operation: its fields, and the button that runs it. */
export function Operation({
  label,
  isBusy,
  onSend,
  children,
}: {
  /** Text of the button. */
  label: string;
  isBusy: boolean;
  onSend: () => void;
  children?: ComponentChildren;
}) {
  return (
    <form
      class="operation"
      // The page shows its own messages for invalid texts.
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      {children}
      {/* A disabled button would lose the focus of the keyboard. */}
      <button type="submit" aria-disabled={isBusy}>
        {label}
      </button>
    </form>
  );
}

export function TextField({
  title,
  value,
  onText,
  example,
  isLong = false,
}: {
  title: string;
  value: string;
  onText: (text: string) => void;
  example?: string;
  isLong?: boolean;
}) {
  return (
    <label class={isLong ? 'long' : ''}>
      <span>{title}</span>
      <input
        value={value}
        placeholder={example}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    </label>
  );
}

export function ChoiceField({
  title,
  value,
  options,
  onChoose,
}: {
  title: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChoose: (value: string) => void;
}) {
  return (
    <label>
      <span>{title}</span>
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
