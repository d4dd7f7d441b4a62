/**
 * Lists the options that had another name in an earlier version. An error refuses the old name and contains the new
 * name.
 */

/** New path by old path; a path is `section.key`. */
export const RENAMED_OPTIONS: Readonly<Record<string, string>> = {
  'log.fileSizeMax': 'log.fileSizeMaxMb',
  'log.rooms': 'log.modules',
  'memory.ceilingMb': 'memory.limitMb',
};
