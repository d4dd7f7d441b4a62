import test from 'ava';
import { errorLineOf } from '../../src/cli/error-lines.ts';
import { Closers } from '../../src/engine/closers.ts';
import { ProtocolError } from '../../src/primitives/errors.ts';

test('errors of nested parts that could not be closed have one prefix', async (t) => {
  const inner = new Closers();
  inner.add(() => {
    throw new Error('the store is away');
  });
  inner.add(() => {
    throw new Error('the peers are busy');
  });
  const outer = new Closers();
  outer.add(() => {
    throw new Error('the clock');
  });
  outer.add(() => inner.close());
  const outermost = new Closers();
  outermost.add(() => outer.close());
  const error = await t.throwsAsync(outermost.close());
  t.deepEqual(errorLineOf(error), {
    line: 'bloomery: not everything could be closed: the peers are busy; the store is away; the clock',
    exitCode: 1,
  });
});

test('an input that cannot be read, and an output that exists, have exit code 2', (t) => {
  for (const code of ['BACKUP_EXISTS', 'RESTORE_EXISTS', 'KEYS_FILE_EXISTS', 'CHAIN_FILE_UNUSABLE'])
    t.is(errorLineOf(new ProtocolError(code)).exitCode, 2, code);
});

test('an error of the database is reported as damage only if it is a sign of damage', (t) => {
  t.regex(
    errorLineOf(new Error('MDB_CORRUPTED: Located page was wrong type')).line,
    /^bloomery: the chain store is damaged/,
  );
  const full = 'MDB_READERS_FULL: Environment maxreaders limit reached';
  t.is(errorLineOf(new Error(full)).line, `bloomery: ${full}`);
});
