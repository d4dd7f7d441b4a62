import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';

const ROOT = packageDirectory();
const PAGES: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
];
/** Folders to which a path in a page may be relative. */
const BASES = ['.', 'src', 'src/protocol'];

test('each link of the documentation leads to a file, and to an existing heading', (t) => {
  let links = 0;
  const broken: string[] = [];
  for (const page of PAGES) {
    for (const target of linksOf(page)) {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : normalize(join(dirname(page), path));
      if (!existsSync(join(ROOT, file))) broken.push(`${page}: ${target}`);
      else if (anchor !== undefined && !headingsOf(file).includes(anchor))
        broken.push(`${page}: no heading #${anchor}`);
      links += 1;
    }
  }
  t.deepEqual(broken, []);
  t.true(links > 40);
});

test('no page contains merge conflict markers', (t) => {
  for (const page of PAGES) t.notRegex(readFileSync(join(ROOT, page), 'utf8'), /^(<{7} |>{7} |={7}$)/m, page);
});

test('every page of the documentation can be reached from the README', (t) => {
  const reached = new Set(['README.md']);
  for (const page of reached) {
    for (const target of linksOf(page)) {
      const file = normalize(join(dirname(page), target.split('#')[0] ?? ''));
      if (PAGES.includes(file)) reached.add(file);
      // A link to a folder also reaches the pages in the folder.
      for (const inside of PAGES) if (file !== '.' && dirname(inside) === file.replace(/\/$/, '')) reached.add(inside);
    }
  }
  t.deepEqual(
    PAGES.filter((page) => !reached.has(page) && page !== 'CHANGELOG.md'),
    [],
  );
});

test('each decision has its own number', (t) => {
  const numbers = PAGES.filter((page) => dirname(page) === join('docs', 'decisions')).map((page) => {
    const number = basename(page).slice(0, 4);
    t.is(/^# ([0-9]+)\. /.exec(readFileSync(join(ROOT, page), 'utf8'))?.[1], String(Number(number)), page);
    return number;
  });
  t.true(numbers.length > 4);
  t.deepEqual([...new Set(numbers)], numbers);
});

test('each source file that the documentation names exists', (t) => {
  let named = 0;
  for (const page of PAGES) {
    for (const [, path = ''] of proseOf(page).matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.ts)`/g)) {
      t.true(
        BASES.some((base) => existsSync(join(ROOT, base, path))),
        `${page}: ${path}`,
      );
      named += 1;
    }
  }
  t.true(named > 40);
});

/** Targets of links within the repository. */
function linksOf(page: string): readonly string[] {
  const targets = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? '');
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

/** Text of a page without its code blocks. */
function proseOf(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8').replace(/^```.*?^```$/gms, '');
}

/** Anchors of the headings of a page. */
function headingsOf(page: string): readonly string[] {
  return [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replace(/\s/g, '-'),
  );
}
