import test from 'ava';
import { DroppedLog } from '../../../src/engine/pool/dropped-log.ts';
import { SILENT, type LogFields } from '../../../src/ports/observer.ts';

test('one line has all dropped transactions, each with its own reason', (t) => {
  const lines: (LogFields | undefined)[] = [];
  const observer = {
    ...SILENT,
    log: (_level: unknown, _code: unknown, _message: unknown, fields?: LogFields) => void lines.push(fields),
  };
  const timer = { cancel: () => undefined };
  const log = new DroppedLog({ clock: { nowMs: () => 0, after: () => timer }, observer });
  log.add('1', 'the name is taken');
  log.add('2', 'the balance is too low');
  log.add('3', 'the name is taken');
  log.close();
  t.deepEqual(lines, [
    { count: 3, transactionIds: '1 2 3', reason: '1 3: the name is taken; 2: the balance is too low' },
  ]);
  log.add('4', 'it waited too long');
  log.close();
  t.is(lines[1]?.['reason'], 'it waited too long');
  log.close();
  t.is(lines.length, 2);
});
