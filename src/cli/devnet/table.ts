/**
 * Shows the state of a devnet as text. On a terminal, each new table overwrites the earlier table. For any other
 * output, `plainScreen` writes one line that summarises the table. `plainScreen` writes a line only if the summary has
 * changed and at least one node answers. Between two lines, at least `intervalMs` pass.
 */

export interface NodeRow {
  readonly index: number;
  readonly httpPort: number;
  readonly wsPort: number;
  /**
   * Figures from the answers of the node; undefined while the node does not answer, or while the supervisor sends no
   * requests to the node (for example, because the node is paused).
   */
  readonly state:
    | {
        readonly height: number;
        readonly finalized: number;
        readonly peers: number;
        readonly forged: number;
        readonly missed: number;
      }
    | undefined;
  /** The reason why `state` is undefined, in one word; default `starting`. */
  readonly absence?: 'starting' | 'silent' | 'paused' | 'killed' | 'ended' | 'dead';
}

const COLUMNS = ['node', 'http', 'ws', 'height', 'finalized', 'peers', 'forged', 'missed'];
const WIDTH = 10;

/** Returns the lines of a table. All columns have the same width (`WIDTH`). The first line contains the headings. */
export function tableLines(rows: readonly NodeRow[]): readonly string[] {
  const body = rows.map(({ index, httpPort, wsPort, state, absence }) => {
    const figures =
      state === undefined
        ? [absence ?? 'starting', '', '', '', '']
        : [state.height, state.finalized, state.peers, state.forged, state.missed];
    return [index, httpPort, wsPort, ...figures];
  });
  return [COLUMNS, ...body].map((cells) =>
    cells
      .map((cell) => String(cell).padStart(WIDTH))
      .join('')
      .trimEnd(),
  );
}

/** Returns a summary of the table in one line. */
export function summaryLine(rows: readonly NodeRow[]): string {
  const states = rows.flatMap(({ state }) => state ?? []);
  if (states.length === 0) return `0 of ${rows.length} nodes answer`;
  const heights = states.map((state) => state.height);
  const low = Math.min(...heights);
  const high = Math.max(...heights);
  const finalized = Math.min(...states.map((state) => state.finalized));
  const forged = states.reduce((sum, state) => sum + state.forged, 0);
  const missed = states.reduce((sum, state) => sum + state.missed, 0);
  const height = low === high ? `height ${low}` : `heights ${low} to ${high}`;
  return `${states.length} of ${rows.length} nodes answer, ${height}, finalized ${finalized}, forged ${forged}, missed ${missed}`;
}

export interface Screen {
  show(rows: readonly NodeRow[]): void;
  /** Writes a line that later calls of `show` do not overwrite. */
  print(line: string): void;
}

/** Returns a screen that redraws the table in place. @param draw writes text and control sequences */
export function terminalScreen(draw: (text: string) => void): Screen {
  let drawnLines = 0;
  return {
    show(rows) {
      const lines = tableLines(rows);
      const back = drawnLines === 0 ? '' : `\x1b[${drawnLines}A`;
      draw(`${back}${lines.map((line) => `\x1b[2K${line}\n`).join('')}`);
      drawnLines = lines.length;
    },
    print(line) {
      // The line replaces the table, and the next table is drawn below the line.
      draw(`${drawnLines === 0 ? '' : `\x1b[${drawnLines}A\x1b[J`}${line}\n`);
      drawnLines = 0;
    },
  };
}

/**
 * Returns a screen that writes a summary if the summary has changed and at least one node answers. Between two
 * summaries, at least `intervalMs` pass.
 */
export function plainScreen(write: (line: string) => void, intervalMs: number, nowMs: () => number): Screen {
  let last = '';
  let lastMs = -Infinity;
  return {
    show(rows) {
      const line = summaryLine(rows);
      if (line === last || nowMs() - lastMs < intervalMs || rows.every(({ state }) => state === undefined)) return;
      last = line;
      lastMs = nowMs();
      write(line);
    },
    print: write,
  };
}
