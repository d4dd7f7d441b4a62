/** Makes the content of `docs/configuration.md` from the schema. */

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

The value of an option comes from the first of these sources that sets the option:

1. a flag of \`bloomery start\` (only some options have a flag)
2. an environment variable
3. the JSON5 file of \`--config\`
4. the folder of the network (only ports, seeds, and the delegates of \`forgers.json\`)
5. the default in the tables below

Some parameters must be equal on all nodes of a network, for example the block time, the rewards and the genesis block.
These parameters are not options. The folder of the network contains these parameters.

A configuration file has one object per section:

\`\`\`json5
{
  http: { port: 4000, accessPublic: true },
  p2p: { fixedPeers: ['10.0.0.2:5000'] },
  log: { level: 'debug' },
}
\`\`\`

In an environment variable, commas separate the entries of a list. Each delegate has the form
\`<publicKey>|<encryptedPassphrase>\`.

The node refuses to start if the configuration file has an unknown key, or if an option has an invalid value. The node also
refuses to start if an environment variable begins with the prefix of a section (such as \`BLOOMERY_HTTP_\`) but belongs to
no option. The error contains the key, and the source that sets the key: the path of the file, \`environment\` or \`flags\`.
For an invalid value, the error also says which values are valid.

A node also reads three environment variables that belong to no section:

- \`BLOOMERY_HOME\` is the folder for the data and the networks of a user (default \`~/.bloomery\`).
- With \`BLOOMERY_SUPERVISED=1\`, a node stops when its parent process ends, and ignores SIGINT, SIGQUIT and SIGHUP.
- \`BLOOMERY_DEBUG=1\` adds the stack trace to an error that ends the node.
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
