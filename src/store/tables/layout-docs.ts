/** Writes docs/store-layout.md from the table of all keys. A test compares the file with the result. */

import { NOTES } from '../../ports/notes.ts';
import { PARTS, type PartName } from './key-parts.ts';
import { LAYOUT_VERSION, RETIRED_TABLES, SELF_LIST, TABLES, TRANSACTION_ORDERS, type TableName } from './layout.ts';

const HEAD = `# Layout of the chain store

The store is one database of binary keys with small values. The first byte of a key is the number of its table. The other parts
of a key are big-endian, so keys are sorted by the values of their parts. This page describes layout ${LAYOUT_VERSION}. If the encoding of
a key or value changes, the layout needs a new number. This page is generated from \`src/store/tables/layout.ts\`. The same file
defines how the code writes and reads keys.

| Role of a table | Content |
| --- | --- |
| \`state\` | consensus state, covered by the digest, the checksum and undo records |
| \`chain\` | blocks as they were signed |
| \`index\` | indexes, which can be rebuilt from \`state\` and \`chain\` |
| \`local\` | data of this node only |

In tables with the value "none; counted", the store keeps some hundred neighbouring keys in one stored value ([decision 6](decisions/0006-an-index-is-kept-in-leaf-blocks.md)).`;

/** The page as Markdown. */
export function layoutMarkdown(): string {
  const names = (Object.keys(TABLES) as TableName[]).sort((a, b) => TABLES[a].number - TABLES[b].number);
  const sorts = Object.entries(TRANSACTION_ORDERS).map(([name, { number }]) => `${number} ${name}`);
  return `${[
    HEAD,
    '## Tables',
    tableOf(
      ['Number', 'Table', 'Role', 'Key after the number', 'Value'],
      names.map((name) => {
        const { number, role, parts, value, isCounted } = TABLES[name];
        const key = parts.map((part) => `\`${part}\``).join(' ');
        return [String(number), `\`${name}\``, role, key, isCounted ? 'none; counted' : value];
      }),
    ),
    `Table numbers of earlier layouts, which must not be used again: ${RETIRED_TABLES.join(', ')}.`,
    `A list in \`longLists\` is a list of \`transactionsByType\`, \`transactionsBySender\` or \`transactionsByRecipient\`. The transactions ` +
      `of an address to itself are also a list, with the number ${SELF_LIST} instead of a table number. Numbers of the sort orders: ${sorts.join(', ')}.`,
    '## Parts of keys',
    tableOf(
      ['Part', 'Bytes'],
      (Object.keys(PARTS) as PartName[]).map((name) => [`\`${name}\``, PARTS[name].description]),
    ),
    '## Notes',
    'A name that ends with a slash is a prefix.',
    tableOf(
      ['Note', 'Value'],
      Object.entries(NOTES).map(([name, value]) => [`\`${name}\``, value]),
    ),
  ].join('\n\n')}\n`;
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
