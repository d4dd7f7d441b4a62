/** Tables of pages, as tests hold them against lists in code. */

/** The rows of the tables in a piece of Markdown, as they stand there, without heads. */
export function rowsOf(markdown: string): readonly string[] {
  const lines = markdown.split('\n').filter((line) => line.startsWith('|'));
  const isRule = (line: string | undefined): boolean => line?.startsWith('| ---') === true;
  return lines.filter((line, index) => !isRule(line) && !isRule(lines[index + 1]));
}
