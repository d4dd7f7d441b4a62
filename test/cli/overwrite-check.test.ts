import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { checkOutside } from '../../src/cli/overwrite-check.ts';
import { temporaryFolder } from '../support/network-folder.ts';

test('an output file in the folder of the chain is refused, also through a link, and any other file is not', (t) => {
  const folder = temporaryFolder(t);
  const chain = join(folder, 'devnet', 'chain');
  mkdirSync(join(chain, 'deeper'), { recursive: true });
  mkdirSync(join(folder, 'devnet', 'chain-files'));
  symlinkSync(chain, join(folder, 'link'));
  for (const file of [join(chain, 'data.mdb'), join(chain, 'deeper', 'x'), join(folder, 'link', 'data.mdb')])
    t.throws(() => checkOutside(file, chain), { code: 'USAGE', message: /which contains the data of the node/ });
  for (const file of [
    join(folder, 'devnet', 'data.mdb'),
    join(folder, 'devnet', 'chain-files', 'x'),
    join(folder, 'x'),
    join(folder, 'nowhere', 'x'),
  ])
    t.notThrows(() => checkOutside(file, chain), file);
});
