/**
 * Says which acts of an operator the node must survive. Each rule quotes sentences of the guide
 * (docs/guides/forge.md), and says which acts it excludes or permits because of these sentences.
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
  /**
   * True if three conditions hold. The export was not killed. The export had no option `--keep` (with `--keep`, the old
   * node continues to sign). The content of the exported folder had not been exported before (`Content.isExported`).
   */
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
 * - "Do not restore the old folder from a backup that was made before the export, and do not start a node with the
 *   restored folder" (guide, "After restoring a backup"): the folders of the old machine also stay off after the record
 *   has returned to this machine. A folder of the old machine starts again after an import into this folder.
 * - "After the export, the old node refuses to sign for the delegate, even if somebody starts the old node by mistake"
 *   (guide, "Move to another machine"): this start is therefore permitted.
 */
export function mayStart({ era }: World, folder: Content): boolean {
  return folder.era === era || folder.isExported;
}

/**
 * - "Do not restore the old folder from a backup that was made before the export" (guide, "After restoring a backup"):
 *   the operator does not restore a backup that was made before a move of the delegate.
 * - "To move a delegate, use `bloomery forging export` and `import`. Do not copy the data folder" (guide, "After
 *   restoring a backup"): `mayRestore` permits a copy only on the present machine of the delegate, and only if the copy
 *   was made on this machine. For a copy on a different machine, `mayTakeOver` decides.
 */
export function mayRestore({ home, era }: World, to: Place, copy: Place & Content): boolean {
  return to.domain === home && copy.domain === home && copy.era === era;
}

/**
 * A machine takes over without the record, or with a copy of it. The old machine is then off (`mayStart`).
 *
 * - "Do not restore the old folder from a backup that was made before the export" (guide, "After restoring a backup"):
 *   a machine that had the delegate before has old watermarks, which a copy of an old folder would agree with. The
 *   record returns to such a machine only by an import.
 */
export function mayTakeOver({ home, formerHomes }: World, { domain }: Place): boolean {
  return domain !== home && !formerHomes.has(domain);
}

/**
 * Returns the folders that stay off after an operator has restored the watermarks and one data folder of a machine from
 * a backup.
 *
 * - "After you have restored the watermarks from a backup, start a node only if two conditions hold. First, you have
 *   restored the data folder of this node from the same backup", and "Second, since the backup, no node with another
 *   data folder on this machine has signed for the delegate" (guide, "After restoring a backup"): all other folders of
 *   the machine stay off. The restored folder also stays off if the node of another folder has signed since the backup.
 *   If the journal of a folder is not a copy, the node of this folder signs without a wait, even if its journal lacks
 *   headers that the node of another folder has signed.
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
 * - "First make sure that the lost machine is off" (guide, "Without the record"): no record is exported from an old
 *   folder.
 * - "Suppose that you export the signing record of a delegate twice, and import no signing record into the old data
 *   folder between the two exports. The second file then counts as a copy" (guide, "Move to another machine"): an old
 *   folder that was exported before is an exception to the first rule.
 */
export function mayExport(world: World, folder: Content): boolean {
  return mayStart(world, folder);
}

/**
 * All quotes are from the section "Move to another machine" of the guide.
 *
 * - "Import the file once, and then delete the file and all copies of it", and "If somebody copied the file to another
 *   machine before the first import, no node can detect the copy": a file that is not marked as a copy is imported
 *   once, and before the delegate signs again. A record that says that it is a copy is an exception.
 * - "The later import finds the note of the earlier import in the watermark folder": the operator is allowed to import
 *   the file and its copies again on the machine of the first import, if the watermarks of this machine were not
 *   restored since the export.
 * - "An import was killed, and you run the same import again": the previous rule also permits this second import.
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
  // True in two cases. First case: the record was not imported yet, and the delegate has not left this machine since
  // the export. Second case: all imports of the record were on this machine. Each import writes a note about the record
  // into the watermark folder of its machine (`imported-records.ts`), so this folder has the note of the first import.
  const isKnownHere = file.imports.length === 0 ? file.era === era : file.imports.every((each) => each === domain);
  return isFresh || isCopy || (hasWatermarks && isKnownHere && (notesSince.get(domain) ?? 0) < file.at);
}

/**
 * - "If an import was killed, run the same import again before you start the node" (guide, "Move to another machine"):
 *   if the machine had the delegate before, the folders of this machine are not started until the second import has
 *   ended. The reason is that the killed import has perhaps written nothing. In this case, the node would use the old
 *   watermark of this machine, which lacks the headers that the delegate has signed on other machines.
 */
export function mustRepeatIfKilled({ home, formerHomes }: World, { domain }: Place): boolean {
  return domain !== home && formerHomes.has(domain);
}
