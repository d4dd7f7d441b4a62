/** The views of blocks: a list, and one block with its transactions. */

import type { Block, Transaction } from '../answers.ts';
import { amountText, countOf, countText } from '../format.ts';
import { hashOf, type HashRoute } from '../hash-route.ts';
import { BLOCK_SORT_OPTIONS, blocksRequest } from '../list-requests.ts';
import { Copied, Raw } from './copyable.tsx';
import { FilterForm, sortingOf } from './filters.tsx';
import { useAnswer, useLive, useRequest } from './hooks.ts';
import {
  Age,
  Amount,
  Answered,
  BlockLink,
  ConfirmationState,
  DelegateLink,
  Facts,
  Id,
  DateTime,
  Table,
  type Column,
  type Sorting,
} from './components.tsx';
import { pageOf, Pages } from './paging.tsx';
import { TransactionTable } from './transactions.tsx';

export function BlockTable({
  blocks,
  isShort = false,
  sorting,
}: {
  blocks: readonly Block[];
  isShort?: boolean;
  sorting?: Sorting;
}) {
  const columns: readonly Column<Block>[] = [
    { name: 'Height', field: 'height', cell: ({ height }) => <BlockLink height={height} /> },
    { name: 'Age', cell: ({ timestamp }) => <Age timestamp={timestamp} /> },
    {
      name: 'Delegate',
      isName: true,
      cell: ({ generatorPublicKey, generatorAddress }) => (
        <DelegateLink publicKey={generatorPublicKey} address={generatorAddress} />
      ),
    },
    ...(isShort ? [] : [ID]),
    { name: 'Transactions', isFigure: true, cell: ({ numberOfTransactions }) => countText(numberOfTransactions) },
    ...(isShort ? [] : amountColumns(blocks)),
  ];
  return (
    <Table
      caption="Blocks"
      columns={columns}
      rows={blocks}
      keyOf={({ id }) => id}
      empty={sorting === undefined ? 'No blocks yet.' : 'No such blocks.'}
      {...(sorting === undefined ? {} : { sorting })}
    />
  );
}

const ID: Column<Block> = { name: 'Id', isWide: true, cell: ({ id }) => <Id view="blocks" item={id} /> };

function amountColumns(blocks: readonly Block[]): readonly Column<Block>[] {
  const column = (name: string, field: string, amountIn: (block: Block) => string): Column<Block> => ({
    name: `${name}, LSK`,
    field,
    isFigure: true,
    isWide: true,
    cell: (block) => <Amount beddows={amountIn(block)} among={blocks.map(amountIn)} />,
  });
  return [
    column('Moved', 'totalAmount', ({ totalAmount }) => totalAmount),
    column('Fees', 'totalFee', ({ totalFee }) => totalFee),
    column('Reward', '', ({ reward }) => reward),
  ];
}

export function Blocks(route: HashRoute) {
  const { page, filters } = route;
  const { status, names } = useLive();
  const keys = new Map([...names].map(([publicKey, name]) => [name, publicKey]));
  const request = blocksRequest(filters, pageOf(route), (name) => keys.get(name));
  const asked = useRequest<Block[]>(request, page === 1 ? status?.height : '');
  return (
    <>
      <h1>Blocks</h1>
      <FilterForm
        route={route}
        orders={BLOCK_SORT_OPTIONS}
        fields={[{ name: 'delegate', title: 'Delegate' }]}
        request={request}
      />
      <Answered asked={asked}>
        {(blocks, meta) => (
          <>
            <BlockTable blocks={blocks} sorting={sortingOf(route, BLOCK_SORT_OPTIONS)} />
            <Pages route={route} meta={meta} />
          </>
        )}
      </Answered>
    </>
  );
}

/**
 * Shows the block with the given height or id. A number up to 2^32 - 1 is a height. Every larger number is an id. A
 * block id has 64 bits, so almost no id is as small as a height.
 */
export function BlockView({ item }: { item: string }) {
  const byHeight = Number(item) <= 4_294_967_295;
  const asked = useAnswer<Block[]>(byHeight ? `blocks?height=${item}` : `blocks?blockId=${item}`);
  return (
    <>
      <h1>{byHeight ? `Block ${countText(Number(item))}` : 'Block'}</h1>
      <Answered asked={asked}>
        {([block]) =>
          block === undefined ? (
            <p class="none">There is no block {byHeight ? countText(Number(item)) : item}.</p>
          ) : (
            <BlockFacts block={block} />
          )
        }
      </Answered>
    </>
  );
}

function BlockFacts({ block }: { block: Block }) {
  const { status } = useLive();
  const asked = useAnswer<Transaction[]>(`transactions?blockId=${block.id}&limit=100&sort=timestamp:asc`);
  const { height, previousBlockId, maxHeightPrevoted, maxHeightPreviouslyForged } = block;
  const tip = status?.height ?? height;
  return (
    <>
      <nav class="pages" aria-label="Blocks before and after">
        {height > 1 ? <a href={hashOf('blocks', String(height - 1))}>← {countText(height - 1)}</a> : <span />}
        <span />
        {height < tip ? <a href={hashOf('blocks', String(height + 1))}>{countText(height + 1)} →</a> : <span />}
      </nav>
      <Facts
        facts={[
          ['State', <ConfirmationState key="state" height={height} />],
          ['Id', <Copied key="id" text={block.id} />],
          ['Forged', <DateTime key="moment" timestamp={block.timestamp} />],
          [
            'Delegate',
            <DelegateLink key="delegate" publicKey={block.generatorPublicKey} address={block.generatorAddress} />,
          ],
          ['Transactions', `${countText(block.numberOfTransactions)} (${countOf(block.payloadLength, 'byte')})`],
          ['Moved', amountText(block.totalAmount)],
          ['Fees', amountText(block.totalFee)],
          ['Reward', amountText(block.reward)],
          ['Version', block.version],
          ...(maxHeightPrevoted === undefined
            ? []
            : [['Prevoted up to', `height ${countText(maxHeightPrevoted)}`] as const]),
          ...(maxHeightPreviouslyForged === undefined
            ? []
            : [['Forged before at', `height ${countText(maxHeightPreviouslyForged)}`] as const]),
          ...(previousBlockId === ''
            ? []
            : [['Previous block', <Id key="previous" view="blocks" item={previousBlockId} isWhole />] as const]),
          ['Payload hash', <Copied key="hash" text={block.payloadHash} />],
          ['Signature', <Copied key="signature" text={block.blockSignature} />],
        ]}
      />
      <Raw value={block} />
      <h2>Transactions</h2>
      <Answered asked={asked}>{(transactions) => <TransactionTable transactions={transactions} isOfBlock />}</Answered>
    </>
  );
}
