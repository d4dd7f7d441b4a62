/** Lists as tables of text: columns as wide as what is in them, two blanks between. */

export interface Column<T> {
  readonly heading: string;
  readonly of: (row: T) => string;
  /** Numbers stand to the right. */
  readonly isNumber?: true;
}

/** A line with the headings, then one for each row. The last column is not filled up. */
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
