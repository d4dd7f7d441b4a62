import test from 'ava';
import { descriptionOf, targetsOf, type Described, type Part } from '../../src/dashboard/descriptions.ts';

const KEY = 'ab'.repeat(32);
const OTHER = 'cd'.repeat(32);

/** Returns the description as text. Each part that is not plain text is in brackets. */
function textOf(transaction: Partial<Described> & Pick<Described, 'type'>, describe = descriptionOf): string {
  const shown = (part: Part): string => {
    if (typeof part === 'string') return part.replaceAll('\u202f', ' ');
    const { kind, ...named } = part;
    return `[${kind} ${Object.values(named).join('').slice(0, 6)}]`;
  };
  return describe({ amount: '0', asset: {}, ...transaction })
    .map(shown)
    .join('');
}

for (const [transaction, sentence] of [
  [{ type: 8, amount: '150000000', recipientId: '17L', asset: {} }, 'sends 1.5 LSK to [account 17L]'],
  [
    { type: 0, amount: '1', recipientId: '17L', asset: { data: 'rent' } },
    'sends 0.00000001 LSK to [account 17L] with the text [text rent]',
  ],
  [{ type: 9, asset: { publicKey: KEY } }, 'registers a second passphrase with the key [key ababab]'],
  [{ type: 1, asset: { signature: { publicKey: KEY } } }, 'registers a second passphrase with the key [key ababab]'],
  [{ type: 10, asset: { username: 'smith' } }, 'registers the delegate [name smith]'],
  [{ type: 2, asset: { delegate: { username: 'smith' } } }, 'registers the delegate [name smith]'],
  [
    { type: 11, asset: { votes: [`+${KEY}`, `-${OTHER}`, `+${OTHER}`] } },
    'votes for [delegate ababab], [delegate cdcdcd], takes back [delegate cdcdcd]',
  ],
  [{ type: 3, asset: { votes: [`-${KEY}`] } }, 'takes back [delegate ababab]'],
  [{ type: 3, asset: {} }, 'votes for nobody'],
  [
    { type: 12, asset: { min: 1, lifetime: 5, keysgroup: [`+${KEY}`, `+${OTHER}`] } },
    'becomes a group: 1 of 2 members must sign, who have 5 h to sign: [key ababab], [key cdcdcd]',
  ],
  [
    { type: 4, asset: { multisignature: { min: 2, lifetime: 5, keysgroup: [`+${KEY}`] } } },
    'becomes a group: 2 of 1 members must sign, who have 5 h to sign: [key ababab]',
  ],
  [{ type: 5, asset: {} }, 'is of type 5'],
  [{ type: 13, asset: {} }, 'is of type 13'],
] as const satisfies readonly (readonly [Partial<Described> & Pick<Described, 'type'>, string])[]) {
  test(`type ${transaction.type} reads: ${sentence}`, (t) => t.is(textOf(transaction), sentence));
}

for (const [transaction, targets] of [
  [{ type: 8, amount: '1', recipientId: '17L', asset: {} }, '[account 17L]'],
  [{ type: 1, asset: { signature: { publicKey: KEY } } }, ''],
  [{ type: 10, asset: { username: 'smith' } }, '[name smith]'],
  [{ type: 3, asset: { votes: [`+${KEY}`, `-${OTHER}`] } }, '+[delegate ababab], −[delegate cdcdcd]'],
  [{ type: 11, asset: { votes: [`+${KEY}`, `+${OTHER}`, `-${KEY}`] } }, '+2 −1'],
  [{ type: 11, asset: { votes: [`-${KEY}`, `-${OTHER}`, `-${KEY}`] } }, '−3'],
  [{ type: 12, asset: { min: 2, keysgroup: [`+${KEY}`, `+${OTHER}`, `+${KEY}`] } }, '2 of 3'],
  [{ type: 4, asset: { multisignature: { min: 1, keysgroup: [`+${KEY}`] } } }, '1 of 1'],
] as const) {
  test(`a list names the target of a transaction of type ${transaction.type}: ${targets}`, (t) => {
    t.is(textOf(transaction, targetsOf), targets);
  });
}
