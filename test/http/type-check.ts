/** Checks the types of a TypeScript source text. */

import { join } from 'node:path';
import ts from 'typescript';
import { packageDirectory } from '../../src/config/package.ts';

/**
 * The declaration of `Record`, the only type of the standard library that the source text needs. Reading the whole
 * library would take longer than checking the source text.
 */
const LIBRARY = 'type Record<K extends keyof any, T> = { [P in K]: T };';

/** @returns type errors of the source text; empty if there are none */
export function refusalsOfTypes(text: string): readonly string[] {
  const name = join(packageDirectory(), 'dist', 'described.ts');
  const options: ts.CompilerOptions = { strict: true, noEmit: true, noLib: true, types: [] };
  const host = ts.createCompilerHost(options);
  const source = ts.createSourceFile(name, `${text}\n${LIBRARY}\n`, ts.ScriptTarget.ES2022);
  const program = ts.createProgram([name], options, {
    ...host,
    getSourceFile: (file, version) => (file === name ? source : host.getSourceFile(file, version)),
    fileExists: (file) => file === name || host.fileExists(file),
    writeFile: () => {},
  });
  return program
    .getSemanticDiagnostics(source)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
