/**
 * Implements some rules of hadolint, a linter for Dockerfiles. The rules here need no shell parser, and they also work
 * on machines without a container engine. Each rule has the number that it has in hadolint.
 */

export interface Instruction {
  readonly line: number;
  /** Name of the instruction, in upper case. */
  readonly name: string;
  /** Arguments of the instruction, with continuation lines joined and comments removed. */
  readonly text: string;
}

export interface Complaint {
  readonly rule: string;
  readonly line: number;
}

/** Instructions of a Dockerfile, in order. */
export function instructionsOf(dockerfile: string): readonly Instruction[] {
  const found: Instruction[] = [];
  let open: { line: number; text: string } | undefined;
  for (const [index, raw] of dockerfile.split('\n').entries()) {
    const text = raw.trim();
    if (text === '' || text.startsWith('#')) continue;
    open ??= { line: index + 1, text: '' };
    open.text += ` ${text.replace(/\\$/, '')}`;
    if (text.endsWith('\\')) continue;
    const [name = '', ...rest] = open.text.trim().split(/\s+/);
    found.push({ line: open.line, name: name.toUpperCase(), text: rest.join(' ') });
    open = undefined;
  }
  return found;
}

/** Violations of the rules in a Dockerfile, sorted by line. */
export function complaintsAbout(dockerfile: string): readonly Complaint[] {
  const instructions = instructionsOf(dockerfile);
  const stages = stagesOf(instructions);
  return [
    ...instructions.flatMap(({ line, name, text }) =>
      SINGLE.filter(({ isBroken }) => isBroken(name, text)).map(({ rule }) => ({ rule, line })),
    ),
    ...aboutImages(stages),
    ...aboutCopies(stages),
    ...stages.flatMap(aboutStage),
    ...aboutUser(stages),
  ].sort((a, b) => a.line - b.line || (a.rule < b.rule ? -1 : 1));
}

interface Rule {
  readonly rule: string;
  readonly isBroken: (name: string, text: string) => boolean;
}

const runs = (pattern: RegExp) => (name: string, text: string) => name === 'RUN' && pattern.test(text);

/** Rules that look at a single instruction. */
const SINGLE: readonly Rule[] = [
  // A relative path in WORKDIR depends on the working folder of the base image.
  { rule: 'DL3000', isBroken: (name, text) => name === 'WORKDIR' && !/^["']?[/$]/.test(text) },
  { rule: 'DL3003', isBroken: runs(/(^|&&|;)\s*cd\s/) },
  { rule: 'DL3004', isBroken: runs(/(^|&&|;|\|)\s*sudo\s/) },
  { rule: 'DL3008', isBroken: runs(/apt-get\s+(-\S+\s+)*install\s(?!.*=)/) },
  { rule: 'DL3009', isBroken: runs(/apt-get\s+(-\S+\s+)*install(?!.*\/var\/lib\/apt\/lists)/) },
  { rule: 'DL3011', isBroken: (name, text) => name === 'EXPOSE' && !text.split(' ').every(isPort) },
  { rule: 'DL3014', isBroken: runs(/apt-get\s+install\s(?!.*-y)/) },
  { rule: 'DL3016', isBroken: runs(/npm\s+(install|i)\s+(-\S+\s+)*[a-z@](?!.*@\d)/) },
  { rule: 'DL3020', isBroken: (name, text) => name === 'ADD' && !/^https?:|\.tar(\.\w+)?\s/.test(text) },
  // The command of CMD or ENTRYPOINT must be a JSON list. A command in another form runs in a shell, so signals of the
  // container engine do not reach the program.
  { rule: 'DL3025', isBroken: (name, text) => /^(CMD|ENTRYPOINT)$/.test(name) && !isList(text) },
  { rule: 'DL3027', isBroken: runs(/(^|&&|;)\s*apt\s/) },
  { rule: 'DL4000', isBroken: (name) => name === 'MAINTAINER' },
  { rule: 'DL4001', isBroken: runs(/\bwget\b.*\bcurl\b|\bcurl\b.*\bwget\b/) },
  // Without `pipefail`, the shell ignores the failure of a command before a pipe.
  { rule: 'DL4006', isBroken: (name, text) => name === 'RUN' && /[^|]\|[^|]/.test(text) && !text.includes('pipefail') },
];

function isPort(text: string): boolean {
  const [, port = ''] = /^(\d+)(?:\/(?:tcp|udp))?$/.exec(text) ?? [];
  return port !== '' && Number(port) >= 1 && Number(port) <= 65_535;
}

function isList(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text));
  } catch {
    return false;
  }
}

interface Stage {
  readonly from: Instruction;
  readonly image: string;
  readonly alias: string | undefined;
  readonly instructions: readonly Instruction[];
}

function stagesOf(instructions: readonly Instruction[]): readonly Stage[] {
  const starts = instructions.flatMap(({ name }, index) => (name === 'FROM' ? [index] : []));
  return starts.flatMap((start, index) => {
    const from = instructions[start];
    if (from === undefined) return [];
    const [, image = '', alias] = /^(?:--\S+\s+)*(\S+)(?:\s+[Aa][Ss]\s+(\S+))?$/.exec(from.text) ?? [];
    return [{ from, image, alias, instructions: instructions.slice(start + 1, starts[index + 1]) }];
  });
}

/**
 * DL3006: an image needs a tag or a digest. DL3007: the tag must not be `latest`. DL3024: the name of a stage must be
 * unique.
 */
function aboutImages(stages: readonly Stage[]): readonly Complaint[] {
  return stages.flatMap(({ from: { line }, image, alias }, index) => {
    const earlier = stages.slice(0, index).map((stage) => stage.alias);
    const isImage = image !== 'scratch' && !earlier.includes(image);
    return [
      ...(isImage && !/[:@]/.test(image) ? [{ rule: 'DL3006', line }] : []),
      ...(image.endsWith(':latest') ? [{ rule: 'DL3007', line }] : []),
      ...(alias !== undefined && earlier.includes(alias) ? [{ rule: 'DL3024', line }] : []),
    ];
  });
}

/**
 * DL3021: the target of a COPY instruction with several sources must end in a slash. DL3022 and DL3023: `--from` must
 * name an earlier stage, or an image with a tag or digest.
 */
function aboutCopies(stages: readonly Stage[]): readonly Complaint[] {
  return stages.flatMap((stage, index) =>
    stage.instructions
      .filter(({ name }) => name === 'COPY')
      .flatMap(({ line, text }) => {
        const parts = text.split(' ').filter((part) => !part.startsWith('--'));
        const [, from] = /--from=(\S+)/.exec(text) ?? [];
        const earlier = stages.slice(0, index).map(({ alias }) => alias);
        return [
          ...(parts.length > 2 && !parts.at(-1)?.endsWith('/') ? [{ rule: 'DL3021', line }] : []),
          ...(from !== undefined && from === stage.alias ? [{ rule: 'DL3023', line }] : []),
          ...(from !== undefined && from !== stage.alias && !earlier.includes(from) && !/[:@]/.test(from)
            ? [{ rule: 'DL3022', line }]
            : []),
        ];
      }),
  );
}

/** Instructions of which only the last one in a stage has an effect. */
const ONCE = { HEALTHCHECK: 'DL3012', CMD: 'DL4003', ENTRYPOINT: 'DL4004' } as const;

function aboutStage({ instructions }: Stage): readonly Complaint[] {
  return Object.entries(ONCE).flatMap(([name, rule]) =>
    instructions
      .filter((each) => each.name === name)
      .slice(1)
      .map(({ line }) => ({ rule, line })),
  );
}

/**
 * DL3002: the last USER instruction of the last stage must not name root. Unlike hadolint, this rule also requires that
 * the last stage has a USER instruction.
 */
function aboutUser(stages: readonly Stage[]): readonly Complaint[] {
  const last = stages.at(-1);
  if (last === undefined) return [];
  const user = last.instructions.findLast(({ name }) => name === 'USER');
  return user === undefined || /^(root|0)(:|$)/.test(user.text)
    ? [{ rule: 'DL3002', line: user?.line ?? last.from.line }]
    : [];
}
