/**
 * Runs operations of the devnet, and shows the result or the error. Each part of the view of a devnet, for example the
 * faucet, runs one operation at a time.
 */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Devnet } from '../devnet.ts';
import { AskFailed, sendRequest } from './api-requests.ts';

/** Properties of the parts of the view of a devnet. */
export interface PartProps {
  readonly devnet: Devnet;
  /** The part calls this function after each operation, even if the operation failed. */
  readonly changed: () => void;
}

/**
 * Time limit of an operation, in milliseconds. A restart or the mining of many blocks can take longer. In this case,
 * the node answers after 15 s that the devnet still works on the operation.
 */
const OPERATION_MS_MAX = 18_000;

/**
 * Requests an operation of the devnet, and returns the result.
 *
 * @throws AskFailed like `sendRequest`
 */
export async function operate<Result>(operation: string, parameters: object = {}): Promise<Result> {
  return (await sendRequest<Result>('POST', `devnet/${operation}`, parameters, OPERATION_MS_MAX)).data;
}

interface Operations {
  readonly isBusy: boolean;
  /**
   * Runs an operation, unless another operation is running. After the operation, shows the content that the operation
   * returned, or the error.
   */
  run(operation: () => Promise<ComponentChildren>): void;
  /** Shows the reason why an operation was not run. */
  refuse(problem: string): void;
  readonly outcome: ComponentChildren;
}

/** @param done function that is called after each operation, even if the operation failed */
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

/** A form for one operation, with its fields and the button that runs the operation. */
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
      // The dashboard shows its own messages for invalid texts.
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      {children}
      {/* The button is only marked as disabled. A disabled button would lose the focus of the keyboard. */}
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
