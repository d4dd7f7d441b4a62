import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'ava';
import { buildIdentity } from '../../src/config/build.ts';
import { packageDirectory, packageVersion } from '../../src/config/package.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';

test('a node reports its version, and the time and commit of its build when known', (t) => {
  const file = join(temporaryFolder(t), 'build.json');
  const version = `v${packageVersion()}`;
  t.deepEqual(buildIdentity(file), { build: version, commit: '' });
  const time = '2026-01-02T03:04:05Z';
  for (const [record, identity] of [
    [
      { version: '9.9.9', time, commit: COMMIT },
      { build: `${version} ${time}`, commit: COMMIT },
    ],
    [
      { time, commit: '' },
      { build: `${version} ${time}`, commit: '' },
    ],
    [
      { time: 'yesterday', commit: 'HEAD' },
      { build: version, commit: '' },
    ],
    [
      { time: 5, commit: [COMMIT] },
      { build: version, commit: '' },
    ],
    [null, { build: version, commit: '' }],
  ] as const) {
    writeFileSync(file, JSON.stringify(record));
    t.deepEqual(buildIdentity(file), identity);
  }
  writeFileSync(file, '{"time":');
  t.deepEqual(buildIdentity(file), { build: version, commit: '' });
});

test('a build records its time and its commit, and follows the commit when nothing else changed', (t) => {
  t.timeout(600_000);
  const folder = join(temporaryFolder(t), 'package');
  for (const file of ['bin', 'tsconfig.json', 'package.json', 'src/dashboard']) {
    cpSync(join(packageDirectory(), file), join(folder, file), { recursive: true });
  }
  symlinkSync(join(packageDirectory(), 'node_modules'), join(folder, 'node_modules'));
  for (const module of ['src', 'test']) {
    mkdirSync(join(folder, module), { recursive: true });
    writeFileSync(join(folder, module, 'one.ts'), 'export const one = 1;\n');
  }
  // The build bundles programs and writes public types. Every source file that the two scripts for these steps name
  // must therefore exist.
  const named = ['programs.js', 'declarations.js']
    .map((file) => readFileSync(join(folder, 'bin', file), 'utf8'))
    .join('');
  for (const [, file = ''] of named.matchAll(/'([a-z/-]+\.ts)'/g)) {
    mkdirSync(dirname(join(folder, 'src', file)), { recursive: true });
    writeFileSync(join(folder, 'src', file), 'export {};\n');
  }
  const recordFile = join(folder, 'dist', 'src', 'build.json');
  const build = (): Record<string, unknown> => {
    execFileSync(process.execPath, [join(folder, 'bin', 'build.js')], { stdio: 'pipe' });
    return JSON.parse(readFileSync(recordFile, 'utf8')) as Record<string, unknown>;
  };
  const first = build();
  t.regex(String(first['time']), /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/);
  t.deepEqual(first, { version: packageVersion(), time: first['time'], commit: '' });

  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  git('init', '--quiet');
  git('commit', '--quiet', '--allow-empty', '-m', 'first');
  t.deepEqual(build(), { ...first, commit: git('rev-parse', 'HEAD') });
  const writtenMs = statSync(recordFile).mtimeMs;
  build();
  t.is(statSync(recordFile).mtimeMs, writtenMs, 'nothing to say');
  const head = git('rev-parse', 'HEAD');
  const withoutGit = (variables: Readonly<Record<string, string>> = {}): unknown => {
    const env = { PATH: '/nonexistent', ...variables };
    execFileSync(process.execPath, [join(folder, 'bin', 'build.js')], { stdio: 'pipe', env });
    return (JSON.parse(readFileSync(recordFile, 'utf8')) as { commit: unknown }).commit;
  };
  const forget = (): void => writeFileSync(recordFile, JSON.stringify({ ...first, commit: '' }));
  forget();
  t.is(
    withoutGit(),
    head,
    'the files of the repository say it where there is no git, as in the image of the container',
  );
  git('pack-refs', '--all');
  forget();
  t.is(withoutGit(), head, 'packed');
  git('checkout', '--quiet', '--detach');
  forget();
  t.is(withoutGit(), head, 'detached');
  rmSync(join(folder, '.git'), { recursive: true });
  t.deepEqual(build(), { ...first, commit: '' });
  t.is(withoutGit({ BUILD_COMMIT: COMMIT }), COMMIT, 'the variable names the commit of sources without a repository');
  t.is(withoutGit({ BUILD_COMMIT: 'main' }), '');
});
