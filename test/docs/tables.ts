/** Reads tables in pages, so that tests can compare them with lists in code. */

/** Rows of the tables in a Markdown text, unchanged, without the table heads. */
export function rowsOf(markdown: string): readonly string[] {
  const lines = markdown.split('\n').filter((line) => line.startsWith('|'));
  const isRule = (line: string | undefined): boolean => line?.startsWith('| ---') === true;
  return lines.filter((line, index) => !isRule(line) && !isRule(lines[index + 1]));
}
