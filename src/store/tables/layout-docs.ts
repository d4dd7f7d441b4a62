/**
 * Makes the text of docs/store-layout.md from the declarations of the tables and the key parts, and from the list of
 * notes. A note is a small record with a name that a module of the node writes to the store. A test compares the file
 * docs/store-layout.md with this text. With `UPDATE_DOCS=1`, the test first writes the text to the file.
 */

import { NOTES } from '../../ports/notes.ts';
import { PARTS, type PartName } from './key-parts.ts';
import { LAYOUT_VERSION, RETIRED_TABLES, SELF_LIST, TABLES, TRANSACTION_ORDERS, type TableName } from './layout.ts';

const HEAD = `# Layout of the chain store

The store is one database of binary keys and values. The first byte of a key is the number of its table. Integers in keys are
big-endian, so that keys sorted by their bytes are also sorted by these integers. This page describes layout ${LAYOUT_VERSION}. A change
of the encoding of a key or a value needs a new layout number, unless the changed code also reads the earlier encoding. This
page is generated from the declarations in \`layout.ts\` and \`key-parts.ts\` (both in \`src/store/tables/\`) and in
\`src/ports/notes.ts\`.

| Role of a table | Content |
| --- | --- |
| \`state\` | consensus state: the result of applying all blocks. The digest (\`bloomery status --digest\`) and the checksum of the state cover these tables. The undo record of a block stores the values of these tables that the block overwrote. |
| \`chain\` | the headers and the transactions of the blocks, which contain the signed bytes |
| \`index\` | indexes, which can be rebuilt from \`state\` and \`chain\` |
| \`local\` | data of this node only |

In a table with the value "none; counted", the keys have no values. The store packs a few hundred neighbouring keys of such a table into one stored value, which is called a leaf block. The table \`innerBlocks\` contains the number of keys in each leaf block. With these numbers, the store counts the keys of a range without reading all of them ([decision 6](decisions/0006-an-index-is-kept-in-leaf-blocks.md)).`;

/** The page as Markdown. */
export function layoutMarkdown(): string {
  const names = (Object.keys(TABLES) as TableName[]).sort((a, b) => TABLES[a].number - TABLES[b].number);
  const sorts = Object.entries(TRANSACTION_ORDERS).map(([name, { number }]) => `${number} ${name}`);
  return `${[
    HEAD,
    '## Tables',
    tableOf(
      ['Number', 'Table', 'Role', 'Parts of the key after the number', 'Value'],
      names.map((name) => {
        const { number, role, parts, value, isCounted } = TABLES[name];
        const key = parts.length === 0 ? 'none' : parts.map((part) => `\`${part}\``).join(' ');
        const content = value === '' ? 'none' : value;
        return [String(number), `\`${name}\``, role, key, isCounted ? 'none; counted' : content];
      }),
    ),
    `Table numbers of earlier layouts, which must not be used again: ${RETIRED_TABLES.join(', ')}.`,
    `In a key of \`longLists\`, the part \`list\` identifies one list of transactions. For the list of one type, sender or ` +
      `recipient, the part begins with the number of the table (\`transactionsByType\`, \`transactionsBySender\` or ` +
      `\`transactionsByRecipient\`) that contains the same transactions in the order of the chain. For the list of the ` +
      `transactions from an address to itself, the part begins with ${SELF_LIST}, which is the number of no table. The ` +
      `part \`sort\` is the number of a sort order: ${sorts.join(', ')}.`,
    '## Parts of keys',
    tableOf(
      ['Part', 'Bytes'],
      (Object.keys(PARTS) as PartName[]).map((name) => [`\`${name}\``, PARTS[name].description]),
    ),
    '## Notes',
    'If a name in this table ends with a slash, the row describes all notes whose names begin with this name.',
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
