/**
 * A transaction in words, with a link for each id, account and delegate in it; ids that can be copied; the transaction
 * as JSON.
 */

import { useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { deedOf, targetsOf, type Deed as DeedFacts, type Part } from '../deeds.ts';
import { shortText } from '../format.ts';
import { useLive } from './hooks.ts';
import { Go, Id } from './parts.tsx';

export function Deed({ transaction }: { transaction: DeedFacts }) {
  return (
    <>
      {deedOf(transaction).map((part, index) => (
        // The parts of one transaction never change their order, so the index can be their key.
        <PartView key={index} part={part} />
      ))}
    </>
  );
}

/** The recipient, delegates or name that a transaction is directed to, for a list. */
export function Targets({ transaction, characters = 6 }: { transaction: DeedFacts; characters?: number }) {
  const parts = targetsOf(transaction);
  if (parts.length === 0) return <>–</>;
  return (
    <>
      {parts.map((part, index) => (
        <PartView key={index} part={part} characters={characters} />
      ))}
    </>
  );
}

/** @param props.characters number of characters at each end of an address; default: the whole address */
function PartView({ part, characters }: { part: Part; characters?: number }) {
  const { names } = useLive();
  if (typeof part === 'string') return <>{part}</>;
  switch (part.kind) {
    case 'account':
      return (
        <Id view="accounts" item={part.address} {...(characters === undefined ? { isWhole: true } : { characters })} />
      );
    case 'name':
      return (
        <Go view="delegates" item={part.username}>
          {part.username}
        </Go>
      );
    case 'delegate': {
      const name = names.get(part.publicKey);
      if (name === undefined) return <Id view="accounts" item={part.publicKey} />;
      return (
        <Go view="delegates" item={name} title={part.publicKey}>
          {name}
        </Go>
      );
    }
    case 'key':
      return <Id view="accounts" item={part.publicKey} />;
    case 'text':
      return <q>{part.text}</q>;
  }
}

const TOLD_MS = 1500;

/** A text with a button that copies it. */
export function Copied({ text, children }: { text: string; children?: ComponentChildren }) {
  const [isCopied, setCopied] = useState(false);
  const shown = children ?? <code>{text}</code>;
  // Browsers have no clipboard for pages from other machines without TLS.
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard === undefined) return <>{shown}</>;
  const copy = async (): Promise<void> => {
    await clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), TOLD_MS);
  };
  return (
    <span class="copied">
      {shown}
      <button type="button" class="copy" aria-label={`Copy ${shortText(text)}`} onClick={() => void copy()}>
        {isCopied ? 'copied' : 'copy'}
      </button>
    </span>
  );
}

/** The answer of the node, as JSON. */
export function Raw({ value }: { value: unknown }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="raw" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>JSON</summary>
      {isOpen && (
        <pre tabIndex={0} aria-label="The answer of the node, as JSON">
          {JSON.stringify(value, undefined, 2)}
        </pre>
      )}
    </details>
  );
}
