/** Generates the client's types from the OpenAPI documents of both generations. */

import { allRoutes } from '../../src/http/routes/all.ts';
import { describedInterface } from '../../src/http/routes/spec.ts';
import type { Schema } from '../../src/http/schema.ts';

type Described = Schema & { readonly $ref?: string };

interface Operation {
  readonly summary: string;
  readonly parameters?: readonly { name: string; in: string; required: boolean; schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<
    Record<
      string,
      { readonly content: Readonly<Record<string, { schema: Schema; 'x-events'?: Record<string, Schema> }>> }
    >
  >;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const GENERATIONS = [2, 3] as const;
type Generation = (typeof GENERATIONS)[number];

export function documentOf(generation: Generation): Document {
  const dialect = { generation, strict: false };
  return describedInterface(allRoutes(dialect), dialect, '') as unknown as Document;
}

/** Returns the text of `src/client/generated.ts`. */
export function generatedClient(): string {
  const amounts = new Map<string, readonly string[]>();
  const parts = GENERATIONS.map((generation) => new Writer(generation, amounts).text());
  const rows = [...amounts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, paths]) => `  '${key}': ${list(paths)},`);
  return [
    '/** Made by `test/client/client.test.ts` (UPDATE_DOCS=1) out of the OpenAPI documents of both generations: not written by hand. */',
    '',
    ...parts,
    '/** Members that are amounts, by operation or event; `*` stands for each item of a list. */',
    'export const AMOUNTS: Readonly<Record<string, readonly string[]>> = {',
    ...rows,
    '};',
    '',
  ].join('\n');
}

class Writer {
  readonly #generation: Generation;
  readonly #document: Document;
  readonly #amounts: Map<string, readonly string[]>;

  constructor(generation: Generation, amounts: Map<string, readonly string[]>) {
    this.#generation = generation;
    this.#document = documentOf(generation);
    this.#amounts = amounts;
  }

  text(): string {
    const { paths, components } = this.#document;
    const generation = this.#generation;
    const shapes = Object.entries(components.schemas).filter(([name]) => name !== 'Amount');
    const operations: string[] = [];
    let events: readonly string[] = [];
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const key = `${method.toUpperCase()} ${path}`;
        const content = operation.responses['200']?.content ?? {};
        const stream = content['text/event-stream']?.['x-events'];
        if (stream !== undefined) events = this.#events(stream);
        else operations.push(...this.#operation(key, operation, content['application/json']?.schema));
      }
    }
    return [
      `export interface Components${generation} {`,
      ...shapes.map(([name, schema]) => `  ${name}: ${this.#type(schema)};`),
      '}',
      '',
      `export interface Operations${generation} {`,
      ...operations,
      '}',
      '',
      `export interface Events${generation} {`,
      ...events,
      '}',
      '',
    ].join('\n');
  }

  #operation(key: string, { summary, parameters = [], requestBody }: Operation, answer: Schema | undefined): string[] {
    const members = parameters.map(({ name, required, schema }) => {
      const type = this.#type(schema);
      return required ? `${name}: ${type}` : `${name}?: ${type} | undefined`;
    });
    const body = requestBody?.content['application/json']?.schema;
    if (answer !== undefined) this.#noteAmounts(key, answer);
    return [
      `  /** ${summary} */`,
      `  '${key}': {`,
      `    parameters: ${members.length === 0 ? 'Record<never, never>' : `{ ${members.join('; ')} }`};`,
      ...(body === undefined ? [] : [`    body: ${this.#bodyType(body)};`]),
      `    answer: ${answer === undefined ? 'string' : this.#type(answer)};`,
      '  };',
    ];
  }

  /**
   * A body whose properties are not described may have any properties, because they depend on the type of the
   * transaction.
   */
  #bodyType(schema: Schema): string {
    return schema.properties === undefined ? 'Readonly<Record<string, unknown>>' : `${this.#type(schema)}`;
  }

  #events(stream: Readonly<Record<string, Schema>>): readonly string[] {
    return Object.entries(stream).map(([name, schema]) => {
      this.#noteAmounts(`event ${name}`, schema);
      return `  '${name}': ${this.#type(schema)};`;
    });
  }

  #noteAmounts(key: string, schema: Schema): void {
    const found = [...new Set(this.#pathsOfAmounts(schema))];
    const known = this.#amounts.get(key) ?? [];
    const all = [...new Set([...known, ...found])];
    if (all.length > 0) this.#amounts.set(key, all);
  }

  #pathsOfAmounts(schema: Described, prefix = ''): readonly string[] {
    const { $ref } = schema;
    if ($ref === '#/components/schemas/Amount') return [prefix.slice(1)];
    if ($ref !== undefined) return this.#pathsOfAmounts(this.#resolve($ref), prefix);
    return [
      ...(schema.anyOf ?? []).flatMap((each) => this.#pathsOfAmounts(each, prefix)),
      ...(schema.items === undefined ? [] : this.#pathsOfAmounts(schema.items, `${prefix}.*`)),
      ...Object.entries(schema.properties ?? {}).flatMap(([name, each]) =>
        this.#pathsOfAmounts(each, `${prefix}.${name}`),
      ),
    ];
  }

  #resolve(reference: string): Schema {
    const found = this.#document.components.schemas[reference.replace('#/components/schemas/', '')];
    if (found === undefined) throw new Error(`${reference} leads nowhere`);
    return found;
  }

  #type(schema: Described): string {
    const { $ref, type, anyOf, properties, items } = schema;
    if ($ref === '#/components/schemas/Amount') return 'bigint';
    if ($ref !== undefined) return `Components${this.#generation}['${$ref.replace('#/components/schemas/', '')}']`;
    if (anyOf !== undefined) return [...new Set(anyOf.map((each) => this.#type(each)))].join(' | ');
    if (schema.enum !== undefined) {
      const values = schema.enum.map((each: unknown) => (typeof each === 'string' ? `'${each}'` : String(each)));
      return values.join(' | ');
    }
    const types = typeof type === 'string' ? [type] : (type ?? []);
    const names = types.map((each) => {
      if (each === 'integer' || each === 'number') return 'number';
      if (each === 'array') return `readonly (${items === undefined ? 'unknown' : this.#type(items)})[]`;
      if (each !== 'object') return each;
      if (properties === undefined) return 'Readonly<Record<string, unknown>>';
      const members = Object.entries(properties).map(([name, member]) => {
        const key = /^[A-Za-z_]\w*$/.test(name) ? name : `'${name}'`;
        return `readonly ${key}${schema.required?.includes(name) === true ? '' : '?'}: ${this.#type(member)}`;
      });
      return members.length === 0 ? 'Record<never, never>' : `{ ${members.join('; ')} }`;
    });
    return names.length === 0 ? 'unknown' : [...new Set(names)].join(' | ');
  }
}

function list(texts: readonly string[]): string {
  return `[${texts.map((text) => `'${text}'`).join(', ')}]`;
}
