import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { rowsOf } from './tables.ts';

const ROOT = packageDirectory();
const GLOSSARY = join('docs', 'glossary.md');
/** Files that may contain the replaced words: this file with the patterns, and a file with old names of options. */
const EXEMPT: readonly string[] = [
  join('test', 'docs', 'glossary.test.ts'),
  join('src', 'config', 'renamed-options.ts'),
];

/** Words that a glossary term replaced, as patterns. Most patterns do not match the same words in plain English. */
const REPLACED: readonly (readonly [now: string, before: RegExp])[] = [
  ['leaf block', /\b(?:KeyRun|RunTree|RunPlace|RunSizes|ReadRuns|CountedRun|wrongRun)\b|\bkey-run\b|\brun-tree\b/],
  ['leaf block', /\bruns? of (?:neighbouring|counted) keys\b/],
  ['counted key set', /\bCountedKeyValue\b|\bindex\/counted\.ts\b/],
  ['pending index batch', /\bGatheredTransactions\b|\bgathered transactions\b/],
  ['posting list', /\bGatheredLists\b|\bgathered-lists\b/],
  ['deferred indexing', /\b[Ll]ate indexes\b|\bLateIndexes\b|\blate-indexes\b|\bpostponeIndexes\b/],
  ['index lag', /\bindexesBehind\b|\bindexes are behind\b/],
  ['backfill', /\bcatchUp\w*/],
  ['Bloom filter', /\bIdFilter\b|\bid-filter\b/],
  ['predicate', /\bDelegateClaim\b|\bread-claims\b/],
  ['chunk', /\bsortInPieces\b|\bPIECE_ITEMS\b|\bIndexPiece\b|\bin pieces\b/],
  ['background query', /\bLongWork\w*|\blong-work\b|\bLONG_WORK\w*/],
  ['fair scheduler', /\bTurnsOptions\b|\badmission\/turns\b|\bnew Turns\b|\btakeTurn\b/],
  ['open lock', /\bin[tT]urns?\(|\bdisk\/turns\b/],
  ['slot owner', /\bverifyTurn\b|\bSlotTurns?\b|\bslot-turns\b|\bturnsOf\b/],
  ['yield', /\bnextTurn\b/],
  ['fair queue', /\bServingLane\w*|\bserving-lane\b/],
  ['backoff', /\bRests\b|\bisResting\b|\bREST_(?:FIRST|MOST)_MS\b|\bsync\/rests\b/],
  ['peer time budget', /\bPatience\b|\bpatience\b/],
  ['peer scoring', /\bDiscipline\w*|\bpeers\/discipline\b/],
  ['pre-handshake limiter', /\b[Dd]oorstep\w*/],
  ['frame filter', /\bGate\b|\bGateEvents\b|\bp2p\/gate\b/],
  ['unsolicited-bytes budget', /\bUnasked(?:Crowd|Bytes)\b|\bp2p\/unasked\b|\bunasked\.ts\b/],
  ['fast path, slow path', /\b[Ss]hort[ -]way\b|\b[Ll]ong[ -]way\b|\bShortWay\w*|\bgoLong\b/],
  ['signature cache', /\b(?:create)?AnswerMemory\b|\banswer-memory\b/],
  ['metric', /\bnpm run figures\b|\bapi\.figures\b|\btellFiguresOf\b|\bFigureSources\b|\btest\/figures\b/],
  ['module', /\brooms\b|\.room\(|\blog\.rooms\b|\blevelsByRoom\b|\bLOG_ROOMS\b|\bRoom \|/],
  ['revert', /\btaken back\b|\btakes? blocks back\b|\btakeBack\w*/],
  [
    'diagnostic',
    /\bnode\/decisions\b|\bDecisionState\b|\bnew Decisions\b|\bengine\/decisions\b|\bDECISION_SHAPE\b|\bnode_events_total\b/,
  ],
  ['slot history, outcomes', /\bOwnSlots\b|\bown-slots\b|\bSlotRecords\b|\bslot-records\b/],
  ['serial queue', /\b(?:new )?Lane\b|\bengine\/lane\b/],
  ['block importer', /#decide\b|\bReception\b|\bReceptionDependencies\b|\bengine\/reception\b/],
  ['network view', /\bclass Standing\b|\bnew Standing\b|\bengine\.standing\b|\bengine\/standing\b/],
  ['generation profile', /\bCustoms\b|\bengine\/customs\b|\bDEFAULT_CUSTOMS\b/],
  ['validated block', /\bvouchFor\b/],
  ['subscriber', /\breadersMax\b|\bEventReader\b|\breaders of events\b|\bevent readers\b|http_event_readers/],
  ['fair queue', /\bQUESTIONS_WAITING_MAX\b|\bTOO_MANY_QUESTIONS\b|\bChainQuestion\b/],
  ['unsolicited-bytes budget', /\bOpenQuestion\b/],
  ['substitute key', /\bStandIn\b|\bstandInFor\b|\bfork\/stand-in\b|\bstand-in key\b/],
  ['scenario', /\bsim\/scenarios\b|\binterop\/scenarios\b|\bscenariosIn\b|interop -- .*--scenarios\b/],
  ['streamed chain', /\bToldChain\b|\btold-chain\b/],
  ['snapshot', /\bHeldMoment\b|\breader[ -]moments?\b|\b(?:class|interface|type) Moments?\b/],
  ['event batcher', /\bnew Moments\b|\bevents\/moments\b/],
  ['budget group', /\bCrowd\b|\bCROWD_RESERVE_MS\b/],
  ['unsolicited-bytes budget', /\b[A-Z]+_OF_CROWD\b/],
  [
    'sync peer, same-tip peer',
    /\bleader(?:Failed|Error)?\b|\bhelper(?:s|sOf|Failed)\b|\bsync\/(?:follow|blame|unproved)\b/,
  ],
  ['readiness', /\bForgingObstacles\b|\bconsensusObstacle\b|\bforge\/obstacles\b|\bObstacle\b/],
  ['refusal reason', /\bSharedObstacle\b/],
  ['signing journal, watermark of signatures', /\bjournalOfFolderAlone\b|\bfolder-alone-journal\b/],
  ['double-forging guard', /\bSigningGuard\b|\bforge\/guard\b/],
  ['stale tip', /\bstandstill\w*/],
  ['page scrubber', /\bPageWatch\w*|\bpage-watch\b|\bwatchPages\b/],
  ['file identity', /\bFilePlace\b|\bfile-place\b|\bkeepPlace\b/],
  [
    'RPC client, RPC server',
    /\bNode(?:End|Channel)\b|\bLimit(?:End|Channel)\b|\bnode-(?:end|channel)\b|\blimit-(?:end|channel)\b/,
  ],
  ['temporary path', /\bbeginDraft\b|\bwithDrafts\b|\bnode\/drafts\b/],
  ['response cache', /\bkept (?:HTTP )?answers?\b|\bhttp_kept_answers\w*|\bkeepAnswers\b|\bKeptAnswer\b/],
  ['dialect, strict and extended', /\bjoinedOnly\b|\bjoinedShape\b|\b[Jj]oined dialect\b/],
  ['BFT state', /\bBftLedger\b|\bBFT ledger\b|\bgen3\/ledger\b|\b[sS]etLedger\b|\bLEDGER_UNREADABLE\b/],
  ['shared counters', /\b(?:Limit|Connection)Ledger\b|\b(?:limit|connection)-ledger\b/],
  ['consensus', /\b[Cc]onsent\b|\bconsentPercent\b/],
  ['yield', /\bturns? of the event loop\b/],
  ['peer scoring', /\bPeerFault(?:Code)?\b|\bSyncFaultCode\b|\b(?:PASSING|TRANSIENT)_REFUSALS\b|\bp2p_faults_total\b/],
  ['peer book', /\bsnapshotPeers\b/],
  [
    'reorg',
    /\b[Bb]ranch[-_ ]?[Cc]hanges?\b|\bbranch_changes_total\b|\bCHAIN_SWITCHED\b|\b[Cc]hanges? of (?:the )?branch\b/,
  ],
  ['process lock', /\bclaimElsewhere\b|\bclaim of this process\b|\bLOST_CLAIMS\b|\bownClaims\b/],
  ['signing journal, watermark of signatures', /\bJournalMarker\b|\bjournal-marker\b|\brenewMarker\b/],
  ['memory limit', /ceiling/i],
  ['rate limit, token bucket', /p2p_dropped_uses/],
  ['use', /\bchargedAbove\b|\bpiledMax\b/],
];

const TEXTS = textsOf(['src', 'docs', 'test', 'README.md']);
const SOURCE = TEXTS.filter(({ file }) => file.startsWith('src'));

interface Text {
  readonly file: string;
  readonly text: string;
}

function textsOf(paths: readonly string[]): readonly Text[] {
  return paths.flatMap((path) => {
    if (/\.(?:ts|tsx|js|mjs|cjs|md|css|html|ya?ml)$/.test(path)) {
      return [{ file: path, text: readFileSync(join(ROOT, path), 'utf8') }];
    }
    if (path.includes('.') || path.endsWith('fixtures') || path.endsWith('node_modules')) return [];
    const entries = readdirSync(join(ROOT, path), { withFileTypes: true });
    return textsOf(
      entries.filter((entry) => entry.isDirectory() || entry.name.includes('.')).map(({ name }) => join(path, name)),
    );
  });
}

/** The terms of the glossary, each with its names in the source. */
function terms(): readonly { readonly term: string; readonly names: readonly string[]; readonly row: string }[] {
  const page = TEXTS.find(({ file }) => file === GLOSSARY)?.text ?? '';
  return rowsOf(page).map((row) => {
    const [, term = '', , code = ''] = row.split('|').map((cell) => cell.trim());
    return { term, names: Array.from(code.matchAll(/`([^`]+)`/g), ([, name = '']) => name), row };
  });
}

test('each glossary term has a meaning, an origin, and a name that occurs in the source', (t) => {
  const all = terms();
  t.true(all.length > 40, `${all.length} terms`);
  for (const { term, names, row } of all) {
    t.regex(row, /^\| [^|]+ \| [A-Z][^|]+\. \| [^|]+ \| [^|]+ \|$/, `${term} has four cells and one sentence`);
    t.true(names.length > 0, `${term} is in the code`);
    for (const name of names) {
      const isFile = name.endsWith('.ts');
      const word = new RegExp(`\\b${name}\\b`);
      const isThere = SOURCE.some(({ file, text }) => (isFile ? file.endsWith(`/${name}`) : word.test(text)));
      t.true(isThere, `${term}: ${name} stands nowhere in src`);
    }
  }
});

test('no term is in the glossary twice', (t) => {
  const names = terms().map(({ term }) => term);
  t.deepEqual(names, [...new Set(names)]);
});

test('no word that a glossary term replaced is left in src, docs or test', (t) => {
  const known = new Set(terms().flatMap(({ term }) => [term, ...term.split(', ')]));
  const found: string[] = [];
  for (const [now, before] of REPLACED) {
    t.true(
      now.split(', ').every((term) => known.has(term)),
      `${now} is a term of the glossary`,
    );
    for (const { file, text } of TEXTS) {
      if (EXEMPT.includes(file)) continue;
      for (const [index, line] of text.split('\n').entries()) {
        if (before.test(line)) found.push(`${file}:${index + 1} has a word that is now called ${now}: ${line.trim()}`);
      }
    }
  }
  t.deepEqual(found, []);
});

test('the first pages of the documentation link to the glossary', (t) => {
  for (const page of ['README.md', 'architecture.md']) {
    t.regex(readFileSync(join(ROOT, 'docs', page), 'utf8'), /\]\(glossary\.md\)/);
  }
});
