import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));

test('chaos refuses an unknown argument in one line, before it starts anything', (t) => {
  for (const flags of [
    ['--nonsense'],
    ['extra'],
    ['--kills', 'x'],
    ['--minutes', '-1'],
    ['--devnet-minutes', '1'],
    ['--generation', '4'],
    ['--only', 'nothing'],
  ]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...flags], { encoding: 'utf8' });
    t.is(status, 2, flags.join(' '));
    t.is(stdout, '', flags.join(' '));
    t.regex(stderr, /^error: [^\n]+\n$/, flags.join(' '));
  }
});

test('chaos describes each of its forms', (t) => {
  const { status, stdout } = spawnSync(process.execPath, [MAIN, '--help'], { encoding: 'utf8' });
  t.is(status, 0);
  const [, only = ''] = /only these forms: ([^(]+?)\n {2}--/s.exec(stdout) ?? [];
  const names = only.split(/,\s+/).map((name) => name.trim());
  t.is(names.length, 11);
  for (const name of names) t.regex(stdout, new RegExp(`\n {2}--${name} <number>`), name);
});
