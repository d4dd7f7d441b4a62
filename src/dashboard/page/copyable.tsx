/** `Copied` shows a text with a button that copies the text. `Raw` shows the JSON of an answer of the node. */

import { useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { shortText } from '../format.ts';

const SHOWN_MS = 1500;

/** Shows a text, and a button that copies the text. Without access to the clipboard, shows only the text. */
export function Copied({ text, children }: { text: string; children?: ComponentChildren }) {
  const [isCopied, setCopied] = useState(false);
  const shown = children ?? <code>{text}</code>;
  // `navigator.clipboard` is undefined if the browser loaded the dashboard from another machine over plain HTTP.
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard === undefined) return <>{shown}</>;
  const copy = async (): Promise<void> => {
    await clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SHOWN_MS);
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

/** Shows the answer of the node as JSON. */
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
