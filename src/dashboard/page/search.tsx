/** The search field: goes to the first thing that a text names. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Account, Block, Delegate, Transaction } from '../answers.ts';
import { hashOf } from '../place.ts';
import { soughtOf, type Sought } from '../search.ts';
import { ask } from './ask.ts';
import { findWaiting } from './pool.tsx';

export function Search() {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.select();
      field.current?.focus();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  const seek = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (text.trim() === '') return;
    setProblem('');
    try {
      for (const sought of soughtOf(text)) {
        const hash = await hashOfSought(sought);
        if (hash === undefined) continue;
        location.hash = hash;
        setText('');
        return;
      }
      setProblem('Nothing has that name.');
    } catch {
      setProblem('The node did not answer.');
    }
  };
  return (
    <form role="search" onSubmit={(event) => void seek(event)}>
      <label>
        <span class="unseen">Search by height, id, address, public key or delegate name</span>
        <input
          ref={field}
          type="search"
          aria-keyshortcuts="/"
          value={text}
          placeholder="Height, id, address, delegate"
          title="The key / leads here"
          onInput={(event) => {
            setText(event.currentTarget.value);
            setProblem('');
          }}
        />
      </label>
      <button type="submit">Search</button>
      <span role="status">{problem}</span>
    </form>
  );
}

async function hashOfSought(sought: Sought): Promise<string | undefined> {
  switch (sought.kind) {
    case 'height': {
      const { data } = await ask<Block[]>(`blocks?height=${sought.height}`);
      return data[0] && hashOf('blocks', String(sought.height));
    }
    case 'block': {
      const { data } = await ask<Block[]>(`blocks?blockId=${sought.id}`);
      return data[0] && hashOf('blocks', String(data[0].height));
    }
    case 'transaction': {
      const { data } = await ask<Transaction[]>(`transactions?id=${sought.id}`);
      const found = data[0] ?? (await findWaiting(sought.id));
      return found && hashOf('transactions', sought.id);
    }
    case 'usedAddress': {
      const { data } = await ask<Account[]>(`accounts?address=${sought.address}`);
      return data[0] && hashOf('accounts', sought.address);
    }
    case 'address':
      return hashOf('accounts', sought.address);
    case 'publicKey': {
      const { data } = await ask<Account[]>(`accounts?publicKey=${sought.publicKey}`);
      return data[0] && hashOf('accounts', data[0].address);
    }
    case 'delegate': {
      const exact = await ask<Delegate[]>(`delegates?username=${encodeURIComponent(sought.name)}`);
      if (exact.data.length > 0) return hashOf('delegates', sought.name);
      const { data } = await ask<Delegate[]>(`delegates?search=${encodeURIComponent(sought.name)}&limit=1`);
      return data[0] && hashOf('delegates', data[0].username);
    }
  }
}
