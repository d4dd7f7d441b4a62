/**
 * Generates the API pages from the declarations and comments of the package's exports: one page for each entry point.
 * The pages omit generic type aliases. `docs/http` describes the HTTP API.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { packageDirectory } from '../../src/config/package.ts';

export interface ApiEntry {
  /** Module name as programs import it. */
  readonly module: string;
  /** Source files below `src` whose exports are listed. The first one is the entry. */
  readonly files: readonly string[];
  readonly guide: string;
}

export const API_ENTRIES: Readonly<Record<string, ApiEntry>> = {
  'testing.md': {
    module: 'bloomery/testing',
    files: ['testing/index.ts', 'testing/types.ts'],
    guide: '[test an application](../guides/test-applications.md)',
  },
  'client.md': {
    module: 'bloomery/client',
    files: ['client/index.ts', 'client/types.ts'],
    guide: '[query a node from an application](../guides/client.md)',
  },
};

/** A row of a table: a member, its type, and the text of its comment. */
interface Member {
  readonly name: string;
  readonly signature: string;
  readonly words: string;
}

/** Returns the page of an entry point as Markdown. */
export function apiPage({ module, files, guide }: ApiEntry): string {
  const sections = files.flatMap((name) => {
    const file = join(packageDirectory(), 'src', name);
    const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
    return source.statements.filter(isExported).flatMap((statement) => sectionOf(statement, source));
  });
  return [
    `# ${module}`,
    `This page is generated from the TypeScript declarations of the library, by \`test/docs/api.test.ts\` with \`UPDATE_DOCS=1\`. The guide is ${guide}.`,
    ...sections,
  ]
    .join('\n\n')
    .concat('\n');
}

function isExported(statement: ts.Statement): boolean {
  return (
    ts.canHaveModifiers(statement) &&
    (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  );
}

function sectionOf(statement: ts.Statement, source: ts.SourceFile): readonly string[] {
  if (ts.isFunctionDeclaration(statement)) {
    const name = statement.name?.text ?? '';
    const signature = `function ${name}${parametersOf(statement, source)}`;
    return [`## ${name}`, code(`${signature};`), ...paragraphs(statement)];
  }
  if (ts.isInterfaceDeclaration(statement)) return tableOf(statement.name.text, 'an interface', statement, source);
  if (ts.isClassDeclaration(statement)) return tableOf(statement.name?.text ?? '', 'a class', statement, source);
  if (ts.isTypeAliasDeclaration(statement)) {
    // A generic type alias only computes other types, so the page omits it.
    if (statement.typeParameters !== undefined) return [];
    const name = statement.name.text;
    return [`## ${name}`, code(`type ${name} = ${textOf(statement.type, source)};`), ...paragraphs(statement)];
  }
  return [];
}

function tableOf(
  name: string,
  kind: string,
  node: ts.InterfaceDeclaration | ts.ClassDeclaration,
  source: ts.SourceFile,
): readonly string[] {
  const heritage = (node.heritageClauses ?? []).map((clause) => ` ${textOf(clause, source)}`).join('');
  const members = [...node.members].flatMap((member) => memberOf(member, source));
  const rows = members.map(({ name: each, signature, words }) => `| \`${each}\` | ${cell(signature)} | ${words} |`);
  return [
    `## ${name}`,
    ...(heritage === '' ? [] : [`\`${name}\` is ${kind} that${heritage}.`]),
    ...paragraphs(node),
    ['| Member | Type | Meaning |', '| --- | --- | --- |', ...rows].join('\n'),
  ];
}

function memberOf(member: ts.ClassElement | ts.TypeElement, source: ts.SourceFile): readonly Member[] {
  if (member.name === undefined || ts.isPrivateIdentifier(member.name)) return [];
  const optional = 'questionToken' in member && member.questionToken !== undefined ? '?' : '';
  const name = `${textOf(member.name, source)}${optional}`;
  const words = paragraphs(member).join(' ');
  if (ts.isPropertySignature(member) || ts.isPropertyDeclaration(member)) {
    return [{ name, signature: member.type === undefined ? '' : textOf(member.type, source), words }];
  }
  if (ts.isMethodSignature(member) || ts.isMethodDeclaration(member)) {
    return [{ name: `${name}()`, signature: parametersOf(member, source), words }];
  }
  return [];
}

function parametersOf(node: ts.SignatureDeclaration, source: ts.SourceFile): string {
  const types = node.typeParameters?.map((each) => textOf(each, source)).join(', ');
  const parameters = node.parameters.map((each) => textOf(each, source)).join(', ');
  const result = node.type === undefined ? 'void' : textOf(node.type, source);
  return `${types === undefined ? '' : `<${types}>`}(${parameters}): ${result}`;
}

/** Comment of a declaration: its text, then the text of each tag. */
function paragraphs(node: ts.Node): readonly string[] {
  const [last] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc).slice(-1);
  const comment = last !== undefined && isOfFile(last) ? undefined : last;
  const tags = (comment?.tags ?? []).map((tag) => {
    const name = ts.isJSDocParameterTag(tag)
      ? `\`${tag.name.getText()}\`: `
      : tag.tagName.text === 'throws'
        ? 'Throws '
        : '';
    return sentence(`${name}${flat(typeTextOf(tag))}${flat(ts.getTextOfJSDocComment(tag.comment))}`);
  });
  const text = flat(ts.getTextOfJSDocComment(comment?.comment));
  return [...(text === '' ? [] : [text]), ...tags].map((each) => each.replaceAll('|', '\\|'));
}

/** The parser reads a type after `@throws` only if it is in braces. No other tag in these comments has a type. */
function typeTextOf(tag: ts.JSDocTag): string {
  return ts.isJSDocThrowsTag(tag) && tag.typeExpression !== undefined ? tag.typeExpression.getText() : '';
}

/** Whether a comment describes the file. Such a comment is the first of the file, and a blank line follows it. */
function isOfFile(comment: ts.JSDoc): boolean {
  return comment.pos === 0 && /^\r?\n\s*\r?\n/.test(comment.getSourceFile().text.slice(comment.end));
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function textOf(node: ts.Node, source: ts.SourceFile): string {
  return flat(
    node
      .getText(source)
      // Remove the comments inside a type, because they are only for readers of the source.
      .replace(/\/\*\*[\s\S]*?\*\//g, '')
      .replaceAll('readonly ', '')
      .replace(/^\s*\| /, '')
      .replace(/\((\w+\[\])\)\[\]/g, '$1[]'),
  );
}

function flat(text: string | undefined): string {
  return (text ?? '').replace(/\s+/g, ' ').trim();
}

function code(text: string): string {
  return ['```ts', text, '```'].join('\n');
}

function cell(text: string): string {
  return text === '' ? '' : `\`${text.replaceAll('|', '\\|')}\``;
}
