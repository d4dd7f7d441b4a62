/**
 * Says which acts of an operator the node must survive. Each rule names the sentence of the guide
 * (docs/guides/forge.md) or of a decision (docs/decisions) that excludes an act.
 *
 * The nodes of one machine share their watermarks, so the node must survive everything that happens on the machine on
 * which the delegate is at home. If a machine has no watermarks, each of its folders counts as a machine of its own.
 */

export interface Content {
  /** Number of moves of the delegate between machines before the operator wrote this content. */
  era: number;
  /** Whether the content was exported, and neither restored nor imported into since. */
  isExported: boolean;
}

export interface RecordFile {
  readonly path: string;
  /** Number of the act that exported the record. */
  readonly at: number;
  readonly era: number;
  /** Whether the export ended, and said that the old node does not sign any more. */
  readonly isWhole: boolean;
  /** Number of headers that were signed before the export. */
  readonly signed: number;
  /** The domains into which the record was imported, from this file or from a copy of it. */
  readonly imports: string[];
}

interface World {
  readonly home: string;
  readonly era: number;
  readonly formerHomes: ReadonlySet<string>;
  readonly notesSince: ReadonlyMap<string, number>;
  readonly signed: readonly unknown[];
}

interface Place {
  readonly domain: string;
}

/**
 * - "If a machine and its signing record are lost, first make sure that the lost machine is off" (guide, "Without the
 *   record"): when the delegate has moved to another machine without its record, the old folders stay off.
 * - "Do not start the old folder" (guide, "The node cannot detect every restore"): the same holds for folders of the old
 *   machine after the record has returned to it. They start again after an import.
 * - "After the export, the old node refuses to sign for the delegate, even if somebody starts the old node by mistake"
 *   (guide, "Move to another machine"): this start is therefore permitted.
 */
export function mayStart({ era }: World, folder: Content): boolean {
  return folder.era === era || folder.isExported;
}

/**
 * - "Do not start the old folder": a backup from before a move is not restored.
 * - "To move a delegate, use `bloomery forging export` and `import`. Do not copy the data folder" (guide, "After restoring
 *   a backup"): a copy of a folder that is in use elsewhere is a case of `mayTakeOver`.
 */
export function mayRestore({ home, era }: World, to: Place, copy: Place & Content): boolean {
  return to.domain === home && copy.domain === home && copy.era === era;
}

/**
 * A machine takes over without the record, or with a copy of it. The old machine is then off (`mayStart`).
 *
 * - "Do not start the old folder": a machine that had the delegate before has old watermarks, which a copy of an old
 *   folder would agree with. The record returns to such a machine only by an import.
 */
export function mayTakeOver({ home, formerHomes }: World, { domain }: Place): boolean {
  return domain !== home && !formerHomes.has(domain);
}

/**
 * The folders that stay off when a backup replaces the watermarks and one folder of a machine.
 *
 * - "If a backup has replaced the watermarks, start only the folder that the backup has replaced, too, and only if no other
 * folder of the machine has signed for the delegate since the backup" (guide, "The node cannot detect every restore"):
 * a
 *   folder whose own journal is no copy does not wait, and its journal lacks the headers of the other folder.
 */
export function foldersBesideOldWatermarks<T extends Place>(
  { folders, signed }: { readonly folders: readonly T[]; readonly signed: readonly { readonly folder: number }[] },
  restored: T,
  copy: { readonly signed: number },
): readonly T[] {
  const signers = new Set(signed.slice(copy.signed).map(({ folder }) => folders[folder]));
  const others = folders.filter((each) => each !== restored && each.domain === restored.domain);
  return others.some((each) => signers.has(each)) ? [...others, restored] : others;
}

/**
 * - "First make sure that the lost machine is off": no record comes from an old folder, except from one that was
 *   exported before: "If you export the signing record of a delegate a second time without an import in between, the
 *   second file counts as a copy" (guide, "Move to another machine").
 */
export function mayExport(world: World, folder: Content): boolean {
  return mayStart(world, folder);
}

/**
 * - "Import the file once, and then delete the file and all copies of it" (guide, "Move to another machine"), and "No
 * node can detect that somebody copied the file to another machine before the first import": a file that is not marked
 *   is imported once, and before the delegate signs again. A record that says that it is a copy is an exception.
 * - "If you later import such a copy with the same watermark folder, the import finds the note": on the machine of the
 *   first import, all files may be imported again, if its watermarks were not restored since.
 * - "If an import was killed, repeat it": the repetition is permitted on the same machine.
 */
export function mayImport(
  world: World,
  { domain }: Place,
  file: RecordFile,
  { isCopy, hasWatermarks }: { readonly isCopy: boolean; readonly hasWatermarks: boolean },
): boolean {
  const { home, era, signed, notesSince } = world;
  const isFresh = file.era === era && file.imports.length === 0 && file.signed === signed.length;
  if (domain !== home) return isFresh || isCopy;
  // The delegate has not left this machine since the export, or the machine has the note of the first import.
  const isKnownHere = file.imports.length === 0 ? file.era === era : file.imports.every((each) => each === domain);
  return isFresh || isCopy || (hasWatermarks && isKnownHere && (notesSince.get(domain) ?? 0) < file.at);
}

/**
 * - "If an import was killed, repeat it" (guide, "Move to another machine"): the folders of a machine that had the delegate
 * before are not started until the import has ended, because the import may have written nothing. The folder then has
 * no
 *   record, and its machine has an old watermark, as in `mayTakeOver`.
 */
export function mustRepeatIfKilled({ home, formerHomes }: World, { domain }: Place): boolean {
  return domain !== home && formerHomes.has(domain);
}
