/** The table of all keys as a page for people: docs/store-layout.md. A test holds the page to it. */

import { NOTES } from '../../ports/notes.ts';
import { PARTS, type PartName } from './key-parts.ts';
import { LAYOUT_VERSION, RETIRED_TABLES, SELF_LIST, TABLES, TRANSACTION_ORDERS, type TableName } from './layout.ts';

const HEAD = `# Layout of the chain store

One database of binary keys with small values. The first byte of a key is the number of its table; the parts behind it are
big-endian, so that keys sort as what they mean. This is layout ${LAYOUT_VERSION}; a change of any key or value is a new one. The
page is made from \`src/store/tables/layout.ts\`, from which keys are written and read too.

Tables of the role \`state\` are consensus state: the digest, the checksum and undo records are of them. \`chain\` is blocks as
they were signed, \`index\` can be made again from the two, \`local\` belongs to a node alone. Counted keys
are kept some hundred together ([decision 6](decisions/0006-an-index-is-kept-in-leaf-blocks.md)).`;

/** The page, as Markdown. */
export function layoutMarkdown(): string {
  const names = (Object.keys(TABLES) as TableName[]).sort((a, b) => TABLES[a].number - TABLES[b].number);
  const sorts = Object.entries(TRANSACTION_ORDERS).map(([name, { number }]) => `${number} ${name}`);
  return `${[
    HEAD,
    '## Tables',
    tableOf(
      ['Number', 'Table', 'Role', 'Key behind the number', 'Value'],
      names.map((name) => {
        const { number, role, parts, value, isCounted } = TABLES[name];
        const key = parts.map((part) => `\`${part}\``).join(' ');
        return [String(number), `\`${name}\``, role, key, isCounted ? 'none; counted' : value];
      }),
    ),
    `Numbers of earlier layouts that are never given out again: ${RETIRED_TABLES.join(', ')}.`,
    `A list in \`longLists\` is one of \`transactionsByType\`, \`transactionsBySender\` and \`transactionsByRecipient\`, or, with the ` +
      `number ${SELF_LIST} in place of a table's, what an address sent to itself. Its orders: ${sorts.join(', ')}.`,
    '## Parts of keys',
    tableOf(
      ['Part', 'Bytes'],
      (Object.keys(PARTS) as PartName[]).map((name) => [`\`${name}\``, PARTS[name].says]),
    ),
    '## Notes',
    'A name that ends with a slash stands for all that begin with it.',
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
