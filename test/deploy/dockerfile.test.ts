import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { packageDirectory } from '../../src/config/package.ts';
import { complaintsAbout, instructionsOf } from './dockerfile-rules.ts';

const folder = join(packageDirectory(), 'docs', 'deploy');
const GOOD =
  'FROM node:22-slim AS build\nRUN npm ci\nFROM node:22-slim\nCOPY --from=build /a /b ./\nUSER node\nCMD ["a"]\n';

test('the Dockerfile follows the hadolint rules that are checked here', (t) => {
  const file = readFileSync(join(folder, 'Dockerfile'), 'utf8');
  t.true(instructionsOf(file).length > 15);
  t.deepEqual(complaintsAbout(file), []);
});

test('images of the compose file have a fixed tag', (t) => {
  const { services } = parse(readFileSync(join(folder, 'compose.yaml'), 'utf8'), { merge: true }) as {
    services: Record<string, { image: string; build?: object }>;
  };
  for (const [name, { image, build }] of Object.entries(services))
    t.true(build !== undefined || /:v?\d+\.\d+\.\d+$/.test(image), `${name}: ${image}`);
});

test('continued lines are one instruction, and comments are not instructions', (t) => {
  t.deepEqual(instructionsOf('# one\nRUN a && \\\n  # two\n  b\n\nuser node\n'), [
    { line: 2, name: 'RUN', text: 'a && b' },
    { line: 6, name: 'USER', text: 'node' },
  ]);
});

/** For each rule, a change of the valid file `GOOD` after which the file breaks the rule. */
const BROKEN: Readonly<Record<string, (good: string) => string>> = {
  DL3000: (good) => good.replace('USER', 'WORKDIR app\nUSER'),
  DL3002: (good) => good.replace('USER node', 'USER root'),
  DL3003: (good) => good.replace('npm ci', 'cd /app && npm ci'),
  DL3004: (good) => good.replace('npm ci', 'sudo npm ci'),
  DL3006: (good) => good.replace('FROM node:22-slim\n', 'FROM node\n'),
  DL3007: (good) => good.replace('FROM node:22-slim\n', 'FROM node:latest\n'),
  DL3008: (good) => good.replace('npm ci', 'apt-get install -y git && rm -r /var/lib/apt/lists'),
  DL3009: (good) => good.replace('npm ci', 'apt-get install -y git=1.2'),
  DL3011: (good) => good.replace('USER', 'EXPOSE 80000\nUSER'),
  DL3012: (good) => good.replace('USER', 'HEALTHCHECK CMD ["a"]\nHEALTHCHECK CMD ["b"]\nUSER'),
  DL3014: (good) => good.replace('npm ci', 'apt-get install git=1.2 && rm -r /var/lib/apt/lists'),
  DL3016: (good) => good.replace('npm ci', 'npm install bloomery'),
  DL3020: (good) => good.replace('USER', 'ADD a b\nUSER'),
  DL3021: (good) => good.replace('/a /b ./', '/a /b .'),
  DL3022: (good) => good.replace('--from=build', '--from=elsewhere'),
  DL3023: (good) => good.replace('FROM node:22-slim\n', 'FROM node:22-slim AS last\n').replace('=build', '=last'),
  DL3024: (good) => good.replace('FROM node:22-slim\n', 'FROM node:22-slim AS build\n').replace('--from=build', ''),
  DL3025: (good) => good.replace('CMD ["a"]', 'CMD a'),
  DL3027: (good) => good.replace('npm ci', 'apt update'),
  DL4000: (good) => good.replace('USER', 'MAINTAINER me\nUSER'),
  DL4001: (good) => good.replace('npm ci', 'wget a && curl b'),
  DL4003: (good) => good.replace('CMD', 'CMD ["b"]\nCMD'),
  DL4004: (good) => good.replace('CMD', 'ENTRYPOINT ["b"]\nENTRYPOINT ["c"]\nCMD'),
  DL4006: (good) => good.replace('npm ci', 'npm ci | tee log'),
};

test('each rule reports a line that breaks it, and nothing else', (t) => {
  t.deepEqual(complaintsAbout(GOOD), []);
  for (const [rule, change] of Object.entries(BROKEN)) {
    const changed = change(GOOD);
    t.not(changed, GOOD, rule);
    t.deepEqual(
      complaintsAbout(changed).map((complaint) => complaint.rule),
      [rule],
    );
  }
  t.deepEqual(
    complaintsAbout(GOOD.replace('USER node\n', '')).map(({ rule }) => rule),
    ['DL3002'],
  );
});
