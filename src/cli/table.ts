/** Formats lists as text tables. Each column is as wide as its longest cell. Two spaces separate the columns. */

export interface Column<T> {
  readonly heading: string;
  readonly of: (row: T) => string;
  /** True for a column of numbers. The numbers are aligned to the right. */
  readonly isNumber?: true;
}

/** Returns a line with the headings, and then one line for each row. No line ends with spaces. */
export function tableLines<T>(columns: readonly Column<T>[], rows: readonly T[]): readonly string[] {
  const cells = [columns.map(({ heading }) => heading), ...rows.map((row) => columns.map(({ of }) => of(row)))];
  const widths = columns.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells.map((line) =>
    line
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return columns[column]?.isNumber === true ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}
