/** `docs/configuration.md`, made from the schema. */

import { OPTIONS, allOptions, type NamedOption } from './schema.ts';

export function configurationMarkdown(): string {
  const sections = Object.keys(OPTIONS).map((section) => {
    const rows = allOptions().filter((named) => named.section === section);
    return [`## ${section}`, '', ...TABLE_HEAD, ...rows.map(rowOf), ''].join('\n');
  });
  return `${INTRODUCTION}\n${sections.join('\n')}`;
}

const INTRODUCTION = `# Configuration

<!-- Made from src/config/schema.ts. After a change there: UPDATE_DOCS=1 npx ava dist/test/config/docs.test.js -->

An option has a value from the first of these that names it: a flag of \`bloomery start\`, an environment variable, the
JSON5 file given with \`--config\`, the folder of the network (ports, seeds, known delegates), the default below.
What all nodes of a network must agree on (block time, rewards, genesis block) is no option: it lives in the network's
folder, \`networks/<name>\`.

A file has one object for each section:

\`\`\`json5
{
  http: { port: 4000, accessPublic: true },
  p2p: { fixedPeers: ['10.0.0.2:5000'] },
  log: { level: 'debug' },
}
\`\`\`

In a variable the entries of a list are joined by commas, and a delegate is \`<publicKey>|<encryptedPassphrase>\`. An unknown
key or variable and a wrong value are refused with source, key and expectation; the node does not start.

Two variables belong to the program, not to a section: \`BLOOMERY_HOME\` is the folder for data and networks of a user
(default \`~/.bloomery\`), and \`BLOOMERY_SUPERVISED=1\` makes a node stop when the process that started it dies.
`;

const TABLE_HEAD = ['| Key | Variable | Value | Default | Meaning |', '| --- | --- | --- | --- | --- |'];

function rowOf({ key, variable, option }: NamedOption): string {
  const unit = option.unit === undefined ? '' : ` (${option.unit})`;
  const value = `${option.expected}${unit}`.replaceAll('|', '\\|');
  return `| \`${key}\` | \`${variable}\` | ${value} | ${defaultText(option)} | ${option.help} |`;
}

function defaultText(option: NamedOption['option']): string {
  if (option.defaultText !== undefined) return option.defaultText;
  if (option.default === '' || (Array.isArray(option.default) && option.default.length === 0)) return 'none';
  return `\`${Array.isArray(option.default) ? option.default.join(', ') : String(option.default)}\``;
}
