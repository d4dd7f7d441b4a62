/**
 * Writes the type declarations of the package's exports. The compiler processes each exported file alone and reads no
 * other file, so the declarations of all files together take about a second. For this reason, each exported file must
 * declare the types of its exports explicitly, and these types must come only from exported files.
 */

import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Below `src`. */
const PUBLIC = ['client/generated.ts', 'client/index.ts', 'client/types.ts', 'testing/index.ts', 'testing/types.ts'];

const RELATIVE_IMPORT = /(\bfrom |\bimport\()(["'])(\.{1,2}\/[^"'\n]*)\.ts\2/g;

/**
 * @param {{ root: string, target: string }} parts `target` is the folder that `src` is compiled to
 * @throws an error for a source whose types do not follow from this source alone
 */
export async function writeDeclarations({ root, target }) {
  const stale = PUBLIC.map((file) => ({
    source: path.join(root, 'src', file),
    output: path.join(target, file.replace(/\.ts$/, '.d.ts')),
  })).filter(({ source, output }) => !existsSync(output) || statSync(output).mtimeMs < statSync(source).mtimeMs);
  if (stale.length === 0) return;
  const { default: typescript } = await import('typescript');
  const { ModuleKind, ScriptTarget, flattenDiagnosticMessageText, transpileDeclaration } = typescript;
  for (const { source, output } of stale) {
    const { outputText, diagnostics = [] } = transpileDeclaration(readFileSync(source, 'utf8'), {
      fileName: source,
      reportDiagnostics: true,
      compilerOptions: {
        declaration: true,
        isolatedDeclarations: true,
        module: ModuleKind.NodeNext,
        target: ScriptTarget.ES2023,
        strict: true,
        verbatimModuleSyntax: true,
        allowImportingTsExtensions: true,
      },
    });
    const [fault] = diagnostics;
    if (fault !== undefined) throw new Error(`${source}: ${flattenDiagnosticMessageText(fault.messageText, '\n')}`);
    writeFileSync(output, outputText.replace(RELATIVE_IMPORT, '$1$2$3.js$2'));
  }
}
