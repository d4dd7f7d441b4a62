/**
 * Finds the pages and entries of the newest tree in the LMDB file of a store, so that tests can damage them. The
 * code is independent of the store and of LMDB.
 */

export interface PageInUse {
  readonly number: number;
  readonly kind: 'branch' | 'leaf' | 'large';
  /** Number of the table of the first key in a leaf page (the first byte of the key); undefined for other pages. */
  readonly table: number | undefined;
}

const PAGE_BYTES = 4096;

export function pagesInUse(file: Buffer): readonly PageInUse[] {
  const meta = file.readBigUInt64LE(152) > file.readBigUInt64LE(PAGE_BYTES + 152) ? 0 : PAGE_BYTES;
  const found: PageInUse[] = [];
  const visit = (number: number): void => {
    const page = file.subarray(number * PAGE_BYTES, (number + 1) * PAGE_BYTES);
    const isBranch = page.readUInt16LE(18) === 1;
    const nodes = Array.from({ length: page.readUInt16LE(20) / 2 }, (_, index) =>
      page.subarray(24 + page.readUInt16LE(24 + 2 * index)),
    );
    found.push({ number, kind: isBranch ? 'branch' : 'leaf', table: isBranch ? undefined : nodes[0]?.[8] });
    for (const node of nodes) {
      const low = node.readUInt16LE(0) + node.readUInt16LE(2) * 65_536;
      if (isBranch) visit(low + node.readUInt16LE(4) * 2 ** 32);
      else if (node.readUInt16LE(4) === 1)
        found.push({ number: Number(node.readBigUInt64LE(8 + node.readUInt16LE(6))), kind: 'large', table: undefined });
    }
  };
  const root = file.readBigUInt64LE(meta + 136);
  if (root !== 0xffff_ffff_ffff_ffffn) visit(Number(root));
  return found;
}

/** Positions and lengths of the key and the value of an entry in the store file, in bytes. */
export interface EntryInFile {
  readonly keyAt: number;
  readonly keyBytes: number;
  readonly valueAt: number;
  readonly valueBytes: number;
}

/** Returns the entries of a table. */
export function entriesOf(file: Buffer, pages: readonly PageInUse[], table: number): readonly EntryInFile[] {
  return pages
    .filter(({ kind }) => kind === 'leaf')
    .flatMap(({ number }) => {
      const page = number * PAGE_BYTES;
      return Array.from({ length: file.readUInt16LE(page + 20) / 2 }, (_, index): EntryInFile => {
        const node = page + 24 + file.readUInt16LE(page + 24 + 2 * index);
        const keyBytes = file.readUInt16LE(node + 6);
        const valueBytes = file.readUInt16LE(node) + file.readUInt16LE(node + 2) * 65_536;
        const isLarge = file.readUInt16LE(node + 4) === 1;
        const behindKey = node + 8 + keyBytes;
        const valueAt = isLarge ? Number(file.readBigUInt64LE(behindKey)) * PAGE_BYTES + 24 : behindKey;
        return { keyAt: node + 8, keyBytes, valueAt, valueBytes };
      });
    })
    .filter(({ keyAt }) => file[keyAt] === table);
}
