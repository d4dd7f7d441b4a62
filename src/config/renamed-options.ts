/**
 * Lists options that had another name in an earlier version. An old name is refused with an error that
 * contains the new name.
 */

/** New path by old path; a path is `section.key`. */
export const RENAMED_OPTIONS: Readonly<Record<string, string>> = {
  'log.fileSizeMax': 'log.fileSizeMaxMb',
  'log.rooms': 'log.modules',
  'memory.ceilingMb': 'memory.limitMb',
};
