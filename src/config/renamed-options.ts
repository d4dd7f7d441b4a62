/** Options that had another name in an earlier version. The old name is refused with an error that says the new one. */

/** New path by old path, as `section.key`. */
export const RENAMED_OPTIONS: Readonly<Record<string, string>> = {
  'log.rooms': 'log.modules',
};
