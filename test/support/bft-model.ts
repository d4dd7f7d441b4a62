/**
 * A simple model of the finality protocol of LIP-0014, including the points in which the lisk-sdk releases deviate from
 * LIP-0014. The model keeps the votes for each height in maps, and one record per delegate. After each block, the model
 * searches all votes again for the highest height with enough votes. The model is slow, but independent of the
 * implementation under test.
 */

export interface ModelHeader {
  readonly height: number;
  readonly generatorPublicKey: string;
  readonly maxHeightPreviouslyForged: number;
  readonly maxHeightPrevoted: number;
  readonly minHeightActive: number;
}

export class BftModel {
  readonly prevotes = new Map<number, number>();
  readonly precommits = new Map<number, number>();
  maxPrevoted = 0;
  finalized = 0;
  readonly #delegates = new Map<string, { lastPrevote: number; lastPrecommit: number }>();
  #headers: ModelHeader[] = [];
  readonly #count: number;

  constructor(delegates: number) {
    this.#count = delegates;
  }

  add(header: ModelHeader): void {
    const reach = 3 * this.#count - 1;
    const threshold = Math.ceil((2 * this.#count) / 3);
    this.#headers = [...this.#headers, header].slice(-5 * this.#count);
    const { height, generatorPublicKey, maxHeightPreviouslyForged, minHeightActive } = header;
    if (maxHeightPreviouslyForged >= height) return;
    const delegate = this.#delegates.get(generatorPublicKey) ?? { lastPrevote: 0, lastPrecommit: 0 };
    this.#delegates.set(generatorPublicKey, delegate);

    const from = Math.max(minHeightActive, this.#minPrecommit(header, reach), delegate.lastPrecommit + 1);
    for (let voted = from; voted < height; voted += 1) {
      if ((this.prevotes.get(voted) ?? 0) < threshold) continue;
      this.precommits.set(voted, (this.precommits.get(voted) ?? 0) + 1);
      delegate.lastPrecommit = voted;
    }
    const first = Math.max(minHeightActive, maxHeightPreviouslyForged + 1, delegate.lastPrevote + 1, height - reach);
    for (let voted = first; voted <= height; voted += 1) {
      this.prevotes.set(voted, (this.prevotes.get(voted) ?? 0) + 1);
    }
    delegate.lastPrevote = height;

    this.maxPrevoted = highestWith(this.prevotes, threshold) ?? this.maxPrevoted;
    this.finalized = highestWith(this.precommits, threshold) ?? this.finalized;
  }

  #minPrecommit(header: ModelHeader, reach: number): number {
    const byHeight = new Map(this.#headers.map((known) => [known.height, known]));
    const floor = Math.max(this.#headers[0]?.height ?? 0, header.height - reach);
    let current = header;
    let needle = Math.max(header.maxHeightPreviouslyForged, header.height - reach);
    while (needle >= floor) {
      if (needle !== current.maxHeightPreviouslyForged) {
        needle -= 1;
        continue;
      }
      const found = byHeight.get(needle);
      if (found === undefined) return 0;
      if (found.generatorPublicKey !== header.generatorPublicKey) return needle + 1;
      if (found.maxHeightPreviouslyForged >= needle) return needle + 1;
      current = found;
      needle = found.maxHeightPreviouslyForged;
    }
    return Math.max(needle + 1, floor);
  }
}

function highestWith(votes: ReadonlyMap<number, number>, threshold: number): number | undefined {
  const enough = [...votes].filter(([, count]) => count >= threshold).map(([height]) => height);
  return enough.length === 0 ? undefined : Math.max(...enough);
}
