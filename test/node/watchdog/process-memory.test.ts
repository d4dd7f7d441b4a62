import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const MODULE = fileURLToPath(new URL('../../../src/node/watchdog/process-memory.js', import.meta.url));
/**
 * Returns the text of a program. The program opens files until the operating system refuses to open another file, and
 * then measures its own memory.
 *
 * @param isMeasuredBefore whether the program also measures its memory before it opens files
 */
const PROGRAM = (isMeasuredBefore: boolean): string => `
  import { openSync } from 'node:fs';
  import { ownMemoryBytes } from ${JSON.stringify(MODULE)};
  if (${isMeasuredBefore}) ownMemoryBytes();
  let code;
  while (code === undefined) try { openSync('/dev/null', 'r'); } catch (error) { code = error.code; }
  console.log(JSON.stringify({ code, bytes: ownMemoryBytes() }));
`;

function measured(isMeasuredBefore: boolean): { readonly code: string; readonly bytes: number } {
  // `ulimit -n` sets the soft and the hard limit of open files. The soft limit alone is not enough: Node.js raises it.
  const command = `ulimit -n 80; exec "${process.execPath}" --input-type=module -e "$PROGRAM"`;
  const output = execFileSync('sh', ['-c', command], {
    encoding: 'utf8',
    env: { ...process.env, PROGRAM: PROGRAM(isMeasuredBefore) },
  });
  return JSON.parse(output) as { readonly code: string; readonly bytes: number };
}

test('memory is measured when the process can open no further file', (t) => {
  const { code, bytes } = measured(true);
  t.is(code, 'EMFILE');
  t.true(bytes > 1_000_000, `${bytes}`);
});

test('a first measurement that fails ends nothing', (t) => {
  t.is(measured(false).bytes, 0);
});
