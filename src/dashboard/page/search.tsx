/**
 * The search field. While the user types, the field suggests blocks, transactions, accounts, delegates and views of the
 * dashboard that the text can name. Enter opens the suggestion that the user chose with the arrow keys. If the user has
 * chosen no suggestion, Enter opens the first item that the field finds for the text.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Account, Block, Delegate, Transaction } from '../answers.ts';
import { countText } from '../format.ts';
import { hashOf, VIEWS } from '../hash-route.ts';
import { soughtOf, type Sought } from '../search.ts';
import { ask } from './api-requests.ts';
import { findWaiting } from './pool.tsx';

/** Pause in milliseconds between the last key press and the requests for suggestions. */
const TYPING_MS = 200;
const DELEGATES_SUGGESTED = 6;

interface Suggestion {
  readonly hash: string;
  readonly kind: string;
  readonly name: string;
}

export function Search() {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');
  const [suggestions, setSuggestions] = useState<readonly Suggestion[]>([]);
  const [chosen, choose] = useState(-1);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const { target } = event;
      const isTyping = target instanceof HTMLElement && target.matches('input, textarea, select, dialog *');
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.select();
      field.current?.focus();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  useEffect(() => {
    let isWanted = true;
    if (text.trim() === '') return undefined;
    const timer = setTimeout(() => {
      suggestionsFor(text).then(
        (found) => isWanted && setSuggestions(found),
        // An error is not shown here, because another part of the dashboard shows that the node does not answer.
        () => isWanted && setSuggestions([]),
      );
    }, TYPING_MS);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [text]);
  const shut = (): void => {
    setSuggestions([]);
    choose(-1);
  };
  const go = (hash: string): void => {
    location.hash = hash;
    setText('');
    shut();
  };
  const seek = async (event: Event): Promise<void> => {
    event.preventDefault();
    const suggestion = suggestions[chosen];
    if (suggestion !== undefined) return go(suggestion.hash);
    if (text.trim() === '') return;
    setProblem('');
    try {
      for (const sought of soughtOf(text)) {
        const found = await suggestionOf(sought);
        if (found !== undefined) return go(found.hash);
      }
      const [view] = viewsNamed(text);
      if (view !== undefined) return go(view.hash);
      shut();
      setProblem('Nothing has that name.');
    } catch {
      setProblem('The node did not answer.');
    }
  };
  const walk = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') return shut();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || suggestions.length === 0) return;
    event.preventDefault();
    // The arrow keys move through the suggestions and one further entry, which is the text that the user typed.
    const places = suggestions.length + 1;
    choose(((chosen + 1 + step + places) % places) - 1);
  };
  return (
    <form role="search" onSubmit={(event) => void seek(event)}>
      <div class="sought">
        <label>
          <span class="unseen">Search by height, id, address, public key or delegate name</span>
          <input
            ref={field}
            type="search"
            role="combobox"
            aria-autocomplete="list"
            aria-expanded={suggestions.length > 0}
            aria-controls="suggestions"
            {...(chosen < 0 ? {} : { 'aria-activedescendant': `suggestion-${chosen}` })}
            aria-keyshortcuts="/"
            autocomplete="off"
            value={text}
            placeholder="Height, id, address, delegate"
            title="The key / leads here"
            onKeyDown={walk}
            onBlur={shut}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setProblem('');
              choose(-1);
              if (event.currentTarget.value.trim() === '') shut();
            }}
          />
        </label>
        <ul id="suggestions" role="listbox" aria-label="Suggestions" hidden={suggestions.length === 0}>
          {suggestions.map(({ hash, kind, name }, index) => (
            <li
              key={hash}
              id={`suggestion-${index}`}
              role="option"
              aria-selected={index === chosen}
              // The handler uses `mousedown`. At a `click`, the field would already have lost its focus, and the list
              // would be closed.
              onMouseDown={(event) => {
                event.preventDefault();
                go(hash);
              }}
            >
              <span class="quiet">{kind}</span> {name}
            </li>
          ))}
        </ul>
      </div>
      <button type="submit">Search</button>
      <span role="status">{problem}</span>
    </form>
  );
}

async function suggestionsFor(text: string): Promise<readonly Suggestion[]> {
  const found = await Promise.all(
    soughtOf(text).map((sought) => (sought.kind === 'delegate' ? delegatesNamed(sought.name) : listed(sought))),
  );
  return [...found.flat(), ...viewsNamed(text)];
}

async function listed(sought: Sought): Promise<readonly Suggestion[]> {
  const found = await suggestionOf(sought);
  return found === undefined ? [] : [found];
}

/**
 * Suggests delegates. One request asks the node for the delegate whose name is exactly `name`, because the node's
 * answer to a search for `name` can list this delegate after many others. In the result, this delegate comes first.
 * Then come the delegates whose names begin with `name`, and then other delegates whose names contain `name`.
 */
async function delegatesNamed(name: string): Promise<readonly Suggestion[]> {
  const asked = encodeURIComponent(name);
  const [exact, similar] = await Promise.all([
    ask<Delegate[]>(`delegates?username=${asked}`),
    ask<Delegate[]>(`delegates?search=${asked}&sort=rank:asc&limit=${DELEGATES_SUGGESTED}`),
  ]);
  const others = similar.data.map(({ username }) => username).filter((username) => username !== name);
  const beginning = others.filter((username) => username.startsWith(name));
  const rest = others.filter((username) => !username.startsWith(name));
  return [...exact.data.map(({ username }) => username), ...beginning, ...rest].map(delegate);
}

/** Returns the views of the dashboard whose names begin with the text. */
function viewsNamed(text: string): readonly Suggestion[] {
  const wanted = text.trim().toLowerCase();
  return VIEWS.filter((view) => view !== 'glance' && view.startsWith(wanted)).map((view) => ({
    hash: hashOf(view),
    kind: 'View',
    name: `${view.charAt(0).toUpperCase()}${view.slice(1)}`,
  }));
}

function delegate(username: string): Suggestion {
  return { hash: hashOf('delegates', username), kind: 'Delegate', name: username };
}

function account(address: string): Suggestion {
  return { hash: hashOf('accounts', address), kind: 'Account', name: address };
}

async function suggestionOf(sought: Sought): Promise<Suggestion | undefined> {
  switch (sought.kind) {
    case 'height': {
      const { data } = await ask<Block[]>(`blocks?height=${sought.height}`);
      return data[0] && block(data[0]);
    }
    case 'block': {
      const { data } = await ask<Block[]>(`blocks?blockId=${sought.id}`);
      return data[0] && block(data[0]);
    }
    case 'transaction': {
      const { data } = await ask<Transaction[]>(`transactions?id=${sought.id}`);
      const found = data[0] ?? (await findWaiting(sought.id));
      return found && { hash: hashOf('transactions', sought.id), kind: 'Transaction', name: sought.id };
    }
    case 'usedAddress': {
      const { data } = await ask<Account[]>(`accounts?address=${sought.address}`);
      return data[0] && account(sought.address);
    }
    case 'address':
      return account(sought.address);
    case 'publicKey': {
      const { data } = await ask<Account[]>(`accounts?publicKey=${sought.publicKey}`);
      return data[0] && account(data[0].address);
    }
    case 'delegate': {
      const exact = await ask<Delegate[]>(`delegates?username=${encodeURIComponent(sought.name)}`);
      if (exact.data.length > 0) return delegate(sought.name);
      const { data } = await ask<Delegate[]>(`delegates?search=${encodeURIComponent(sought.name)}&limit=1`);
      return data[0] && delegate(data[0].username);
    }
  }
}

function block({ height }: Block): Suggestion {
  return { hash: hashOf('blocks', String(height)), kind: 'Block', name: countText(height) };
}
