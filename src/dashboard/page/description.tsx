/** Describes a transaction in words, with links to its accounts and delegates. */

import { descriptionOf, targetsOf, type Described, type Part } from '../descriptions.ts';
import { useLive } from './hooks.ts';
import { Go, Id } from './components.tsx';

export function Description({ transaction }: { transaction: Described }) {
  return (
    <>
      {descriptionOf(transaction).map((part, index) => (
        // The parts of a description never change their order, so the index can be the key of a part.
        <PartView key={index} part={part} />
      ))}
    </>
  );
}

/** Shows the target of a transaction in the short form that `targetsOf` returns for lists. */
export function Targets({ transaction, characters = 6 }: { transaction: Described; characters?: number }) {
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

/**
 * @param props.characters number of characters that are shown at each end of an address; by default, the whole address
 *   is shown
 */
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
