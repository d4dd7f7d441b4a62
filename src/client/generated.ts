/** Made by `test/client/client.test.ts` (UPDATE_DOCS=1) out of the OpenAPI documents of both generations: not written by hand. */

export interface Components2 {
  Transaction: {
    readonly id: string;
    readonly type: number;
    readonly timestamp: number;
    readonly senderPublicKey: string;
    readonly senderId: string;
    readonly fee: bigint;
    readonly signature: string;
    readonly signatures: readonly string[];
    readonly asset: Readonly<Record<string, unknown>>;
    readonly signSignature?: string;
    readonly height: number;
    readonly blockId: string;
    readonly confirmations: number;
    readonly recipientPublicKey: string;
    readonly recipientId: string;
    readonly amount: bigint;
    readonly senderSecondPublicKey?: string;
    readonly ready?: boolean;
    readonly receivedAt?: string;
  };
  PooledTransaction: {
    readonly id: string;
    readonly type: number;
    readonly timestamp: number;
    readonly senderPublicKey: string;
    readonly senderId: string;
    readonly fee: bigint;
    readonly signature: string;
    readonly signatures: readonly string[];
    readonly asset: Readonly<Record<string, unknown>>;
    readonly recipientPublicKey: string;
    readonly recipientId: string;
    readonly amount: bigint;
    readonly signSignature?: string;
    readonly receivedAt: string;
    readonly ready?: boolean;
  };
  Block: {
    readonly id: string;
    readonly version: number;
    readonly timestamp: number;
    readonly height: number;
    readonly previousBlockId: string;
    readonly numberOfTransactions: number;
    readonly totalAmount: bigint;
    readonly totalFee: bigint;
    readonly reward: bigint;
    readonly payloadLength: number;
    readonly payloadHash: string;
    readonly generatorPublicKey: string;
    readonly generatorAddress: string;
    readonly blockSignature: string;
    readonly confirmations: number;
    readonly totalForged: bigint;
  };
  Account: {
    readonly address: string;
    readonly publicKey: string;
    readonly secondPublicKey: string;
    readonly balance: bigint;
    readonly asset: Readonly<Record<string, unknown>>;
    readonly delegate?: {
      readonly username: string;
      readonly rewards: bigint;
      readonly producedBlocks: number;
      readonly missedBlocks: number;
      readonly productivity: number;
      readonly approval: number;
      readonly vote: bigint;
      readonly rank: number | null;
      readonly voteWeight: bigint;
    };
  };
  Delegate: {
    readonly username: string;
    readonly rewards: bigint;
    readonly producedBlocks: number;
    readonly missedBlocks: number;
    readonly productivity: number;
    readonly approval: number;
    readonly vote: bigint;
    readonly rank: number | null;
    readonly account: { readonly address: string; readonly publicKey: string; readonly secondPublicKey: string };
    readonly voteWeight: bigint;
  };
  Group: {
    readonly address: string;
    readonly publicKey: string;
    readonly secondPublicKey: string;
    readonly balance: bigint;
    readonly min: number;
    readonly lifetime: number;
    readonly members: readonly {
      readonly address: string;
      readonly publicKey: string;
      readonly secondPublicKey: string;
    }[];
  };
  Peer: {
    readonly ip: string;
    readonly wsPort: number;
    readonly state: number;
    readonly httpPort?: number;
    readonly height?: number;
    readonly os?: string;
    readonly version?: string;
    readonly protocolVersion?: string;
    readonly broadhash?: string;
    readonly nonce?: string;
    readonly networkId?: string;
  };
  PeerVerdict: {
    readonly ip: string;
    readonly verdict: 'connected' | 'dialling' | 'banned' | 'dropped' | 'waiting' | 'known';
    readonly roles: readonly ('fixed' | 'seed' | 'whitelisted' | 'blacklisted')[];
    readonly reputation: number;
    readonly wsPort?: number;
    readonly direction?: 'inbound' | 'outbound';
    readonly since?: string;
    readonly until?: string;
    readonly code?: number;
    readonly reason?: string;
    readonly list?: 'new' | 'tried';
    readonly height?: number;
    readonly version?: string;
    readonly latencyMs?: number;
  };
  Constants: {
    readonly build: string;
    readonly commit: string;
    readonly epoch: string;
    readonly fees: {
      readonly send: bigint;
      readonly vote: bigint;
      readonly secondSignature: bigint;
      readonly delegate: bigint;
      readonly multisignature: bigint;
      readonly dappRegistration: bigint;
      readonly dappWithdrawal: bigint;
      readonly dappDeposit: bigint;
    };
    readonly milestone: string;
    readonly reward: bigint;
    readonly supply: bigint;
    readonly version: string;
    readonly protocolVersion: string;
    readonly nethash: string;
    readonly nonce: string;
    readonly networkId: string;
    readonly networkName: string;
    readonly activeDelegates?: number;
  };
  Status: {
    readonly currentTime: number;
    readonly secondsSinceEpoch: number;
    readonly height: number;
    readonly syncing: boolean;
    readonly broadhash: string;
    readonly consensus: number;
    readonly loaded: boolean;
    readonly networkHeight: number;
    readonly transactions: {
      readonly confirmed: number;
      readonly ready: number;
      readonly verified: number;
      readonly pending: number;
      readonly validated: number;
      readonly received: number;
      readonly total: number;
    };
    readonly chainMaxHeightFinalized: number;
    readonly syncProgress?: {
      readonly targetHeight: number;
      readonly blocksPerS: number;
      readonly secondsLeft?: number;
    };
    readonly clockOffsetMs?: number;
    readonly clocksDiffer?: { readonly peer: string; readonly offsetMs: number };
    readonly reorgs?: {
      readonly count: number;
      readonly latest: readonly {
        readonly time: string;
        readonly commonHeight: number;
        readonly revertedBlocks: number;
      }[];
    };
    readonly isAlone?: boolean;
    readonly readers?: {
      readonly wanted: number;
      readonly restarts: number;
      readonly each: readonly {
        readonly reader: number;
        readonly state: 'starting' | 'up' | 'silent';
        readonly since: string;
        readonly memoryBytes: number;
        readonly requests: number;
      }[];
    };
  };
  Diagnostic: {
    readonly number: number;
    readonly time: string;
    readonly module: string;
    readonly code: string;
    readonly message: string;
    readonly fields: Readonly<Record<string, unknown>>;
  };
  SlotReport: {
    readonly since: string;
    readonly slots: readonly {
      readonly slot: number;
      readonly forger?: {
        readonly publicKey: string;
        readonly username: string;
        readonly height: number;
        readonly isCertain: boolean;
      };
      readonly facts: readonly {
        readonly time: string;
        readonly module: string;
        readonly code: string;
        readonly message: string;
        readonly fields: Readonly<Record<string, unknown>>;
      }[];
    }[];
    readonly switches: readonly { readonly time: string; readonly delegate: string; readonly on: boolean }[];
    readonly branches: readonly {
      readonly time: string;
      readonly fromSlot: number;
      readonly toSlot: number;
      readonly forHeight?: number;
      readonly forBlockId?: string;
    }[];
    readonly looks: readonly { readonly fromSlot: number; readonly toSlot: number }[];
    readonly oldOrders: readonly { readonly fromSlot: number; readonly toSlot: number; readonly height: number }[];
  };
  SecondSignatureRegistration: {
    readonly type: number;
    readonly amount: number;
    readonly senderPublicKey: string;
    readonly requesterPublicKey: string;
    readonly timestamp: number;
    readonly asset: { readonly signature: { readonly publicKey: string }; readonly publicKey?: string };
    readonly recipientId: string;
    readonly signature: string;
    readonly id: string;
    readonly fee: number;
    readonly senderId: string;
    readonly relays: number;
    readonly receivedAt: string;
  };
  ListMeta: { readonly offset: number; readonly limit: number; readonly next?: string | null };
  CountedListMeta: {
    readonly offset: number;
    readonly limit: number;
    readonly count: number;
    readonly next?: string | null;
  };
  CountedPageMeta: { readonly offset: number; readonly limit: number; readonly count: number };
  InvalidRequest: {
    readonly message: 'Validation errors' | 'Parse errors';
    readonly errors: readonly {
      readonly code: string;
      readonly message: string;
      readonly in?: 'query' | 'path' | 'body';
      readonly name?: string;
      readonly errors?: readonly {
        readonly code: string;
        readonly message: string;
        readonly path: readonly string[];
      }[];
    }[];
  };
  Rejected: {
    readonly message: string;
    readonly code: number;
    readonly errors: readonly {
      readonly message: string;
      readonly name: string;
      readonly id: string;
      readonly dataPath: string;
      readonly actual?: string | number;
      readonly expected?: string | number;
    }[];
  };
}

export interface Operations2 {
  /** Lists accounts. */
  'GET /accounts': {
    parameters: {
      address?: string | undefined;
      publicKey?: string | undefined;
      secondPublicKey?: string | undefined;
      username?: string | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      after?: string | undefined;
      sort?: 'balance:asc' | 'balance:desc' | undefined;
    };
    answer: {
      readonly meta: Components2['ListMeta'];
      readonly data: readonly Components2['Account'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows the multisignature group of the account. */
  'GET /accounts/{address}/multisignature_groups': {
    parameters: { address: string };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: readonly Components2['Group'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the multisignature groups that the account is a member of. */
  'GET /accounts/{address}/multisignature_memberships': {
    parameters: { address: string };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: readonly Components2['Group'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists blocks. */
  'GET /blocks': {
    parameters: {
      blockId?: string | undefined;
      height?: number | undefined;
      fromTimestamp?: number | undefined;
      toTimestamp?: number | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      generatorPublicKey?: string | undefined;
      after?: string | undefined;
      sort?:
        | 'height:asc'
        | 'height:desc'
        | 'totalAmount:asc'
        | 'totalAmount:desc'
        | 'totalFee:asc'
        | 'totalFee:desc'
        | 'timestamp:asc'
        | 'timestamp:desc'
        | undefined;
    };
    answer: {
      readonly meta: Components2['ListMeta'];
      readonly data: readonly Components2['Block'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists registered applications. If a request has both `transactionId` and `name`, the list contains each application that matches at least one of them. */
  'GET /dapps': {
    parameters: {
      transactionId?: string | undefined;
      name?: string | undefined;
      sort?: 'name:asc' | 'name:desc' | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      after?: string | undefined;
    };
    answer: {
      readonly meta: Components2['ListMeta'];
      readonly data: readonly {
        readonly name: string;
        readonly description: string;
        readonly tags: string;
        readonly link: string;
        readonly type: number;
        readonly category: number;
        readonly icon: string;
        readonly transactionId: string;
      }[];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists delegates. */
  'GET /delegates': {
    parameters: {
      address?: string | undefined;
      publicKey?: string | undefined;
      secondPublicKey?: string | undefined;
      username?: string | undefined;
      offset?: number | undefined;
      limit?: number | undefined;
      search?: string | undefined;
      after?: string | undefined;
      sort?:
        | 'username:asc'
        | 'username:desc'
        | 'productivity:asc'
        | 'productivity:desc'
        | 'missedBlocks:asc'
        | 'missedBlocks:desc'
        | 'producedBlocks:asc'
        | 'producedBlocks:desc'
        | 'rank:asc'
        | 'rank:desc'
        | 'voteWeight:asc'
        | 'voteWeight:desc'
        | undefined;
    };
    answer: {
      readonly meta: Components2['ListMeta'];
      readonly data: readonly Components2['Delegate'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the delegates of the next slots, soonest first. */
  'GET /delegates/forgers': {
    parameters: { limit?: number | undefined; offset?: number | undefined };
    answer: {
      readonly meta: {
        readonly lastBlock: number;
        readonly lastBlockSlot: number;
        readonly currentSlot: number;
        readonly limit: number;
        readonly offset: number;
      };
      readonly data: readonly {
        readonly username: string;
        readonly address: string;
        readonly publicKey: string;
        readonly nextSlot: number;
      }[];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows the earnings of a delegate. With `fromTimestamp` or `toTimestamp`, the answer covers the payments and the forged blocks of the rounds that ended in this time span. */
  'GET /delegates/{address}/forging_statistics': {
    parameters: { address: string; fromTimestamp?: number | undefined; toTimestamp?: number | undefined };
    answer: {
      readonly meta: { readonly fromTimestamp: number; readonly toTimestamp: number };
      readonly data: {
        readonly fees: bigint;
        readonly rewards: bigint;
        readonly forged: bigint;
        readonly count: string;
      };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows the status of the node, for example height, sync and consensus. */
  'GET /node/status': {
    parameters: Record<never, never>;
    answer: {
      readonly meta: Record<never, never>;
      readonly data: Components2['Status'];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows the constants of the network and of this version of the node. */
  'GET /node/constants': {
    parameters: Record<never, never>;
    answer: {
      readonly meta: Record<never, never>;
      readonly data: Components2['Constants'];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the delegates configured on this node, and shows whether each delegate forges. */
  'GET /node/status/forging': {
    parameters: { publicKey?: string | undefined; forging?: boolean | undefined };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: readonly {
        readonly publicKey: string;
        readonly forging: boolean;
        readonly waiting?: { readonly code: string; readonly reason: string; readonly until?: string };
        readonly paused?: { readonly reason: string; readonly since: string; readonly cause?: string };
      }[];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Enables or disables forging for a configured delegate. */
  'PUT /node/status/forging': {
    parameters: Record<never, never>;
    body: { readonly publicKey: string; readonly password: string; readonly forging: boolean };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: readonly { readonly publicKey: string; readonly forging: boolean }[];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows a digest of the consensus state. Two nodes with the same tip must have the same digest. */
  'GET /node/digest': {
    parameters: { height?: number | undefined };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: { readonly height: number; readonly blockId: string; readonly digest: string };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows data for charts: blocks, transactions, missed slots, reorgs, block delay, pool and peers of the last hour or day. The data begin when the node starts. Each point covers an interval of 30 s (last hour) or 10 min (last day). An interval has a point only if the chain changed in the interval, or if the node answered this request in the interval. */
  'GET /node/history': {
    parameters: { span?: 'hour' | 'day' | undefined };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: {
        readonly intervalS: number;
        readonly points: readonly {
          readonly time: string;
          readonly blocks: number;
          readonly transactions: number;
          readonly missedSlots: number;
          readonly reorgs: number;
          readonly delayMs?: number;
          readonly pool: number;
          readonly peers: number;
        }[];
      };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the latest diagnostics, newest first, for example refused blocks, dropped peers and missed slots. Each diagnostic has its reason. */
  'GET /node/diagnostics': {
    parameters: { limit?: number | undefined };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: readonly Components2['Diagnostic'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows the events that the node recorded for each requested slot, for example a forged, refused or reverted block, or a pause of forging. Each event has a code, a message and further fields. */
  'GET /node/slots': {
    parameters: { from?: number | undefined; limit?: number | undefined };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: Components2['SlotReport'];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the peer addresses that the node knows, and the state of each address. The entry of a banned or dropped peer states the reason. `until` is the end of a ban, or the time of the next dial. */
  'GET /node/peers': {
    parameters: {
      verdict?: 'connected' | 'dialling' | 'banned' | 'dropped' | 'waiting' | 'known' | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
    };
    answer: {
      readonly meta: Components2['CountedPageMeta'];
      readonly data: readonly Components2['PeerVerdict'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the members of the multisignature group of a transaction in the pool. Shows which members have signed, and how many of their signatures the transaction needs. */
  'GET /node/transactions/{id}/signers': {
    parameters: { id: string };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: {
        readonly id: string;
        readonly min: number;
        readonly signed: number;
        readonly members: readonly {
          readonly address: string;
          readonly publicKey: string;
          readonly hasSigned: boolean;
        }[];
      };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists a queue of the pool. `count` is the size of the whole queue, with or without filters. */
  'GET /node/transactions/{state}': {
    parameters: {
      state: 'pending' | 'ready' | 'received' | 'validated' | 'verified';
      id?: string | undefined;
      recipientId?: string | undefined;
      recipientPublicKey?: string | undefined;
      senderId?: string | undefined;
      senderPublicKey?: string | undefined;
      type?: number | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      sort?:
        | 'amount:asc'
        | 'amount:desc'
        | 'fee:asc'
        | 'fee:desc'
        | 'type:asc'
        | 'type:desc'
        | 'timestamp:asc'
        | 'timestamp:desc'
        | undefined;
    };
    answer: {
      readonly meta: Components2['CountedPageMeta'];
      readonly data: readonly Components2['PooledTransaction'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the queue `verified` of the pool, like `/node/transactions/verified`. `count` is the size of the whole queue, with or without filters. */
  'GET /node/transactions': {
    parameters: {
      id?: string | undefined;
      recipientId?: string | undefined;
      recipientPublicKey?: string | undefined;
      senderId?: string | undefined;
      senderPublicKey?: string | undefined;
      type?: number | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      sort?:
        | 'amount:asc'
        | 'amount:desc'
        | 'fee:asc'
        | 'fee:desc'
        | 'type:asc'
        | 'type:desc'
        | 'timestamp:asc'
        | 'timestamp:desc'
        | undefined;
    };
    answer: {
      readonly meta: Components2['CountedPageMeta'];
      readonly data: readonly Components2['PooledTransaction'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the peers that the node knows. The node itself is not in the list. In generation 3, the list omits each peer that announced `advertiseAddress: false`. */
  'GET /peers': {
    parameters: {
      ip?: string | undefined;
      httpPort?: number | undefined;
      wsPort?: number | undefined;
      os?: string | undefined;
      version?: string | undefined;
      protocolVersion?: string | undefined;
      state?: number | 'connected' | 'disconnected' | undefined;
      height?: number | undefined;
      broadhash?: string | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      sort?: 'height:asc' | 'height:desc' | 'version:asc' | 'version:desc' | undefined;
    };
    answer: {
      readonly meta: Components2['CountedPageMeta'];
      readonly data: readonly Components2['Peer'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Submits the signature of a member of a multisignature group for a transaction in the pool. */
  'POST /signatures': {
    parameters: Record<never, never>;
    body: { readonly transactionId: string; readonly publicKey: string; readonly signature: string };
    answer: {
      readonly meta: { readonly status: boolean };
      readonly data: { readonly message: string };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Registers a second signature for the account of the passphrase `secret`. The node builds, signs and sends the transaction. */
  'PUT /signatures': {
    parameters: Record<never, never>;
    body: { readonly publicKey?: string; readonly secondSecret: string; readonly secret: string };
    answer:
      | { readonly success: boolean; readonly transaction: Components2['SecondSignatureRegistration'] }
      | { readonly success: boolean; readonly error: string };
  };
  /** Lists the transactions of the chain. */
  'GET /transactions': {
    parameters: {
      id?: string | undefined;
      recipientId?: string | undefined;
      recipientPublicKey?: string | undefined;
      senderId?: string | undefined;
      senderPublicKey?: string | undefined;
      senderIdOrRecipientId?: string | undefined;
      type?: number | undefined;
      height?: number | undefined;
      minAmount?: number | undefined;
      maxAmount?: number | undefined;
      fromTimestamp?: number | undefined;
      toTimestamp?: number | undefined;
      blockId?: string | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      sort?:
        | 'amount:asc'
        | 'amount:desc'
        | 'fee:asc'
        | 'fee:desc'
        | 'type:asc'
        | 'type:desc'
        | 'timestamp:asc'
        | 'timestamp:desc'
        | undefined;
      data?: string | undefined;
      after?: string | undefined;
    };
    answer: {
      readonly meta: Components2['CountedListMeta'];
      readonly data: readonly Components2['Transaction'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Sends a signed transaction to the node. */
  'POST /transactions': {
    parameters: Record<never, never>;
    body: {
      readonly id: string;
      readonly type: number;
      readonly timestamp: number;
      readonly senderPublicKey: string;
      readonly signature: string;
      readonly signSignature?: string;
      readonly signatures?: readonly string[];
      readonly asset: Readonly<Record<string, unknown>>;
      readonly amount: string;
      readonly fee: string;
      readonly recipientId: string;
      readonly senderId?: string;
      readonly senderSecondPublicKey?: string;
    };
    answer: {
      readonly meta: { readonly status: boolean };
      readonly data: { readonly message: string };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows the fee of registering a second signature, in beddows. */
  'GET /signatures/fee': {
    parameters: Record<never, never>;
    answer: { readonly success: boolean; readonly fee: number };
  };
  /** Lists the voters of an account. The request must name the account. `votes` is the number of voters. */
  'GET /voters': {
    parameters: {
      username?: string | undefined;
      address?: string | undefined;
      publicKey?: string | undefined;
      secondPublicKey?: string | undefined;
      offset?: number | undefined;
      limit?: number | undefined;
      after?: string | undefined;
      sort?:
        | 'publicKey:asc'
        | 'publicKey:desc'
        | 'balance:asc'
        | 'balance:desc'
        | 'username:asc'
        | 'username:desc'
        | undefined;
    };
    answer: {
      readonly meta: Components2['ListMeta'];
      readonly data: {
        readonly username: string;
        readonly publicKey: string | null;
        readonly address: string;
        readonly balance: bigint;
        readonly voters: readonly { readonly address: string; readonly publicKey: string; readonly balance: bigint }[];
        readonly votes: number;
      };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the delegates that an account votes for. The request must name the account. */
  'GET /votes': {
    parameters: {
      username?: string | undefined;
      address?: string | undefined;
      publicKey?: string | undefined;
      secondPublicKey?: string | undefined;
      offset?: number | undefined;
      limit?: number | undefined;
      after?: string | undefined;
      sort?: 'username:asc' | 'username:desc' | 'balance:asc' | 'balance:desc' | undefined;
    };
    answer: {
      readonly meta: Components2['ListMeta'];
      readonly data: {
        readonly address: string;
        readonly balance: bigint;
        readonly username: string;
        readonly publicKey: string | null;
        readonly votesUsed: number;
        readonly votesAvailable: number;
        readonly votes: readonly {
          readonly address: string;
          readonly publicKey: string;
          readonly balance: bigint;
          readonly username: string;
        }[];
      };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Answers with status 200 while the process runs. */
  'GET /healthz': {
    parameters: Record<never, never>;
    answer: { readonly alive: boolean };
  };
  /** Shows whether the node keeps up with its network. If not, the answer has status 503 and contains the reason. */
  'GET /readyz': {
    parameters: Record<never, never>;
    answer: { readonly ready: boolean; readonly height: number; readonly networkHeight: number };
  };
  /** Shows the metrics of the node in the text format of Prometheus. */
  'GET /metrics': {
    parameters: Record<never, never>;
    answer: string;
  };
  /** Shows the name and version of the software, the paths of the documentation and the dashboard, and all GET paths without a path parameter. */
  'GET /': {
    parameters: Record<never, never>;
    answer: {
      readonly meta: Record<never, never>;
      readonly data: {
        readonly software: string;
        readonly version: string;
        readonly networkName: string;
        readonly generation: number;
        readonly pages: { readonly dashboard?: string; readonly docs: string; readonly spec: string };
        readonly paths: readonly { readonly path: string; readonly summary: string }[];
      };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Describes the HTTP interface of this node as an OpenAPI 3.1 document. */
  'GET /spec': {
    parameters: Record<never, never>;
    answer: Readonly<Record<string, unknown>>;
  };
  /** Shows the API description as a page on which you can try requests. The page loads nothing from other sites. */
  'GET /docs': {
    parameters: { plain?: boolean | undefined };
    answer: string;
  };
}

export interface Events2 {
  'blocks/new': Components2['Block'];
  'blocks/delete': Components2['Block'];
  'transactions/new': {
    readonly id: string;
    readonly type: number;
    readonly timestamp: number;
    readonly senderPublicKey: string;
    readonly senderId: string;
    readonly fee: bigint;
    readonly signature: string;
    readonly signatures: readonly string[];
    readonly asset: Readonly<Record<string, unknown>>;
    readonly recipientPublicKey: string;
    readonly recipientId: string;
    readonly amount: bigint;
    readonly signSignature?: string;
    readonly ready?: boolean;
  };
  'transactions/included': Components2['Transaction'];
  'transactions/reverted': Components2['Transaction'];
  'finalized/change': { readonly height: number };
  'rounds/change': { readonly number: number };
  'forging/change': { readonly publicKey: string; readonly forging: boolean };
  'peers/connected': Components2['Peer'];
  'peers/disconnected': Components2['Peer'];
  'log/gap': { readonly after: string; readonly next: number; readonly height: number; readonly blockId: string };
}

export interface Components3 {
  Transaction: {
    readonly id: string;
    readonly type: number;
    readonly timestamp: number;
    readonly senderPublicKey: string;
    readonly senderId: string;
    readonly fee: bigint;
    readonly signature: string;
    readonly signatures: readonly string[];
    readonly asset: Readonly<Record<string, unknown>>;
    readonly signSignature?: string;
    readonly height: number;
    readonly blockId: string;
    readonly confirmations: number;
    readonly recipientPublicKey: string;
    readonly recipientId: string;
    readonly amount: bigint;
    readonly senderSecondPublicKey?: string;
    readonly ready?: boolean;
    readonly receivedAt?: string;
  };
  PooledTransaction: {
    readonly id: string;
    readonly type: number;
    readonly timestamp: number;
    readonly senderPublicKey: string;
    readonly senderId: string;
    readonly fee: bigint;
    readonly signature: string;
    readonly signatures: readonly string[];
    readonly asset: Readonly<Record<string, unknown>>;
    readonly signSignature?: string;
    readonly receivedAt: string;
    readonly recipientPublicKey: string;
    readonly recipientId: string;
    readonly amount: bigint;
    readonly ready?: boolean;
  };
  Block: {
    readonly id: string;
    readonly version: number;
    readonly timestamp: number;
    readonly height: number;
    readonly previousBlockId: string;
    readonly numberOfTransactions: number;
    readonly totalAmount: bigint;
    readonly totalFee: bigint;
    readonly reward: bigint;
    readonly payloadLength: number;
    readonly payloadHash: string;
    readonly generatorPublicKey: string;
    readonly generatorAddress: string;
    readonly blockSignature: string;
    readonly confirmations: number;
    readonly totalForged: bigint;
    readonly maxHeightPrevoted: number;
    readonly maxHeightPreviouslyForged: number;
  };
  Account: {
    readonly address: string;
    readonly publicKey: string;
    readonly secondPublicKey: string;
    readonly balance: bigint;
    readonly asset: Readonly<Record<string, unknown>>;
    readonly delegate?: {
      readonly username: string;
      readonly rewards: bigint;
      readonly producedBlocks: number;
      readonly missedBlocks: number;
      readonly productivity: number;
      readonly approval: number;
      readonly voteWeight: bigint;
      readonly vote: bigint;
      readonly rank: number | null;
    };
  };
  Delegate: {
    readonly username: string;
    readonly rewards: bigint;
    readonly producedBlocks: number;
    readonly missedBlocks: number;
    readonly productivity: number;
    readonly approval: number;
    readonly voteWeight: bigint;
    readonly account: { readonly address: string; readonly publicKey: string; readonly secondPublicKey: string };
    readonly vote: bigint;
    readonly rank: number | null;
  };
  Group: {
    readonly address: string;
    readonly publicKey: string;
    readonly secondPublicKey: string;
    readonly balance: bigint;
    readonly min: number;
    readonly lifetime: number;
    readonly members: readonly {
      readonly address: string;
      readonly publicKey: string;
      readonly secondPublicKey: string;
    }[];
  };
  Peer: {
    readonly ip: string;
    readonly wsPort: number;
    readonly state: 'connected' | 'disconnected';
    readonly httpPort?: number;
    readonly height?: number;
    readonly os?: string;
    readonly version?: string;
    readonly protocolVersion?: string;
    readonly networkId?: string;
    readonly broadhash?: string;
    readonly nonce?: string;
  };
  PeerVerdict: {
    readonly ip: string;
    readonly verdict: 'connected' | 'dialling' | 'banned' | 'dropped' | 'waiting' | 'known';
    readonly roles: readonly ('fixed' | 'seed' | 'whitelisted' | 'blacklisted')[];
    readonly reputation: number;
    readonly wsPort?: number;
    readonly direction?: 'inbound' | 'outbound';
    readonly since?: string;
    readonly until?: string;
    readonly code?: number;
    readonly reason?: string;
    readonly list?: 'new' | 'tried';
    readonly height?: number;
    readonly version?: string;
    readonly latencyMs?: number;
  };
  Constants: {
    readonly build: string;
    readonly commit: string;
    readonly epoch: string;
    readonly fees: {
      readonly send: bigint;
      readonly vote: bigint;
      readonly secondSignature: bigint;
      readonly delegate: bigint;
      readonly multisignature: bigint;
      readonly dappRegistration: bigint;
      readonly dappWithdrawal: bigint;
      readonly dappDeposit: bigint;
    };
    readonly milestone: string;
    readonly reward: bigint;
    readonly supply: bigint;
    readonly version: string;
    readonly protocolVersion: string;
    readonly networkId: string;
    readonly nethash: string;
    readonly nonce: string;
    readonly networkName: string;
    readonly activeDelegates?: number;
  };
  Status: {
    readonly currentTime: number;
    readonly secondsSinceEpoch: number;
    readonly height: number;
    readonly syncing: boolean;
    readonly chainMaxHeightFinalized: number;
    readonly broadhash: string;
    readonly consensus: number;
    readonly loaded: boolean;
    readonly networkHeight: number;
    readonly transactions: {
      readonly confirmed: number;
      readonly ready: number;
      readonly verified: number;
      readonly pending: number;
      readonly validated: number;
      readonly received: number;
      readonly total: number;
    };
    readonly syncProgress?: {
      readonly targetHeight: number;
      readonly blocksPerS: number;
      readonly secondsLeft?: number;
    };
    readonly clockOffsetMs?: number;
    readonly clocksDiffer?: { readonly peer: string; readonly offsetMs: number };
    readonly reorgs?: {
      readonly count: number;
      readonly latest: readonly {
        readonly time: string;
        readonly commonHeight: number;
        readonly revertedBlocks: number;
      }[];
    };
    readonly isAlone?: boolean;
    readonly readers?: {
      readonly wanted: number;
      readonly restarts: number;
      readonly each: readonly {
        readonly reader: number;
        readonly state: 'starting' | 'up' | 'silent';
        readonly since: string;
        readonly memoryBytes: number;
        readonly requests: number;
      }[];
    };
  };
  Diagnostic: {
    readonly number: number;
    readonly time: string;
    readonly module: string;
    readonly code: string;
    readonly message: string;
    readonly fields: Readonly<Record<string, unknown>>;
  };
  SlotReport: {
    readonly since: string;
    readonly slots: readonly {
      readonly slot: number;
      readonly forger?: {
        readonly publicKey: string;
        readonly username: string;
        readonly height: number;
        readonly isCertain: boolean;
      };
      readonly facts: readonly {
        readonly time: string;
        readonly module: string;
        readonly code: string;
        readonly message: string;
        readonly fields: Readonly<Record<string, unknown>>;
      }[];
    }[];
    readonly switches: readonly { readonly time: string; readonly delegate: string; readonly on: boolean }[];
    readonly branches: readonly {
      readonly time: string;
      readonly fromSlot: number;
      readonly toSlot: number;
      readonly forHeight?: number;
      readonly forBlockId?: string;
    }[];
    readonly looks: readonly { readonly fromSlot: number; readonly toSlot: number }[];
    readonly oldOrders: readonly { readonly fromSlot: number; readonly toSlot: number; readonly height: number }[];
  };
  SecondSignatureRegistration: {
    readonly type: number;
    readonly amount: number;
    readonly senderPublicKey: string;
    readonly requesterPublicKey: string;
    readonly timestamp: number;
    readonly asset: { readonly signature: { readonly publicKey: string }; readonly publicKey?: string };
    readonly recipientId: string;
    readonly signature: string;
    readonly id: string;
    readonly fee: number;
    readonly senderId: string;
    readonly relays: number;
    readonly receivedAt: string;
  };
  ListMeta: { readonly offset: number; readonly limit: number; readonly next?: string | null };
  CountedListMeta: {
    readonly offset: number;
    readonly limit: number;
    readonly count: number;
    readonly next?: string | null;
  };
  CountedPageMeta: { readonly offset: number; readonly limit: number; readonly count: number };
  InvalidRequest: {
    readonly message: 'Validation errors' | 'Parse errors';
    readonly errors: readonly {
      readonly code: string;
      readonly message: string;
      readonly in?: 'query' | 'path' | 'body';
      readonly name?: string;
      readonly errors?: readonly {
        readonly code: string;
        readonly message: string;
        readonly path: readonly string[];
      }[];
    }[];
  };
  Rejected: {
    readonly message: string;
    readonly code: number;
    readonly errors: readonly {
      readonly message: string;
      readonly name: string;
      readonly id: string;
      readonly dataPath: string;
      readonly actual?: string | number;
      readonly expected?: string | number;
    }[];
  };
}

export interface Operations3 {
  /** Lists accounts. */
  'GET /accounts': {
    parameters: {
      address?: string | undefined;
      publicKey?: string | undefined;
      secondPublicKey?: string | undefined;
      username?: string | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      after?: string | undefined;
      sort?: 'balance:asc' | 'balance:desc' | undefined;
    };
    answer: {
      readonly meta: Components3['ListMeta'];
      readonly data: readonly Components3['Account'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows the multisignature group of the account. */
  'GET /accounts/{address}/multisignature_groups': {
    parameters: { address: string };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: readonly Components3['Group'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the multisignature groups that the account is a member of. */
  'GET /accounts/{address}/multisignature_memberships': {
    parameters: { address: string };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: readonly Components3['Group'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists blocks. */
  'GET /blocks': {
    parameters: {
      blockId?: string | undefined;
      height?: number | undefined;
      fromTimestamp?: number | undefined;
      toTimestamp?: number | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      generatorPublicKey?: string | undefined;
      after?: string | undefined;
      sort?:
        | 'height:asc'
        | 'height:desc'
        | 'totalAmount:asc'
        | 'totalAmount:desc'
        | 'totalFee:asc'
        | 'totalFee:desc'
        | 'timestamp:asc'
        | 'timestamp:desc'
        | undefined;
    };
    answer: {
      readonly meta: Components3['ListMeta'];
      readonly data: readonly Components3['Block'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists registered applications. If a request has both `transactionId` and `name`, the list contains each application that matches at least one of them. */
  'GET /dapps': {
    parameters: {
      transactionId?: string | undefined;
      name?: string | undefined;
      sort?: 'name:asc' | 'name:desc' | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      after?: string | undefined;
    };
    answer: {
      readonly meta: Components3['ListMeta'];
      readonly data: readonly {
        readonly name: string;
        readonly description: string;
        readonly tags: string;
        readonly link: string;
        readonly type: number;
        readonly category: number;
        readonly icon: string;
        readonly transactionId: string;
      }[];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists delegates. */
  'GET /delegates': {
    parameters: {
      address?: string | undefined;
      publicKey?: string | undefined;
      secondPublicKey?: string | undefined;
      username?: string | undefined;
      offset?: number | undefined;
      limit?: number | undefined;
      search?: string | undefined;
      after?: string | undefined;
      sort?:
        | 'username:asc'
        | 'username:desc'
        | 'productivity:asc'
        | 'productivity:desc'
        | 'missedBlocks:asc'
        | 'missedBlocks:desc'
        | 'producedBlocks:asc'
        | 'producedBlocks:desc'
        | 'voteWeight:asc'
        | 'voteWeight:desc'
        | 'rank:asc'
        | 'rank:desc'
        | undefined;
    };
    answer: {
      readonly meta: Components3['ListMeta'];
      readonly data: readonly Components3['Delegate'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the delegates of the next slots, soonest first. */
  'GET /delegates/forgers': {
    parameters: { limit?: number | undefined; offset?: number | undefined };
    answer: {
      readonly meta: {
        readonly lastBlock: number;
        readonly lastBlockSlot: number;
        readonly currentSlot: number;
        readonly limit: number;
        readonly offset: number;
      };
      readonly data: readonly {
        readonly username: string;
        readonly address: string;
        readonly publicKey: string;
        readonly nextSlot: number;
      }[];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows the earnings of a delegate. With `fromTimestamp` or `toTimestamp`, the answer covers only the blocks that the delegate forged in this time span. */
  'GET /delegates/{address}/forging_statistics': {
    parameters: { address: string; fromTimestamp?: number | undefined; toTimestamp?: number | undefined };
    answer: {
      readonly meta: { readonly fromTimestamp: number; readonly toTimestamp: number };
      readonly data: {
        readonly fees: bigint;
        readonly rewards: bigint;
        readonly forged: bigint;
        readonly count: string;
      };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows the status of the node, for example height, sync and consensus. */
  'GET /node/status': {
    parameters: Record<never, never>;
    answer: {
      readonly meta: Record<never, never>;
      readonly data: Components3['Status'];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows the constants of the network and of this version of the node. */
  'GET /node/constants': {
    parameters: Record<never, never>;
    answer: {
      readonly meta: Record<never, never>;
      readonly data: Components3['Constants'];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the delegates configured on this node, and shows whether each delegate forges. */
  'GET /node/status/forging': {
    parameters: { publicKey?: string | undefined; forging?: boolean | undefined };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: readonly {
        readonly publicKey: string;
        readonly forging: boolean;
        readonly waiting?: { readonly code: string; readonly reason: string; readonly until?: string };
        readonly paused?: { readonly reason: string; readonly since: string; readonly cause?: string };
      }[];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Enables or disables forging for a configured delegate. */
  'PUT /node/status/forging': {
    parameters: Record<never, never>;
    body: { readonly publicKey: string; readonly password: string; readonly forging: boolean };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: readonly { readonly publicKey: string; readonly forging: boolean }[];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows a digest of the consensus state. Two nodes with the same tip must have the same digest. */
  'GET /node/digest': {
    parameters: { height?: number | undefined };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: { readonly height: number; readonly blockId: string; readonly digest: string };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows data for charts: blocks, transactions, missed slots, reorgs, block delay, pool and peers of the last hour or day. The data begin when the node starts. Each point covers an interval of 30 s (last hour) or 10 min (last day). An interval has a point only if the chain changed in the interval, or if the node answered this request in the interval. */
  'GET /node/history': {
    parameters: { span?: 'hour' | 'day' | undefined };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: {
        readonly intervalS: number;
        readonly points: readonly {
          readonly time: string;
          readonly blocks: number;
          readonly transactions: number;
          readonly missedSlots: number;
          readonly reorgs: number;
          readonly delayMs?: number;
          readonly pool: number;
          readonly peers: number;
        }[];
      };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the latest diagnostics, newest first, for example refused blocks, dropped peers and missed slots. Each diagnostic has its reason. */
  'GET /node/diagnostics': {
    parameters: { limit?: number | undefined };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: readonly Components3['Diagnostic'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows the events that the node recorded for each requested slot, for example a forged, refused or reverted block, or a pause of forging. Each event has a code, a message and further fields. */
  'GET /node/slots': {
    parameters: { from?: number | undefined; limit?: number | undefined };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: Components3['SlotReport'];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the peer addresses that the node knows, and the state of each address. The entry of a banned or dropped peer states the reason. `until` is the end of a ban, or the time of the next dial. */
  'GET /node/peers': {
    parameters: {
      verdict?: 'connected' | 'dialling' | 'banned' | 'dropped' | 'waiting' | 'known' | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
    };
    answer: {
      readonly meta: Components3['CountedPageMeta'];
      readonly data: readonly Components3['PeerVerdict'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the members of the multisignature group of a transaction in the pool. Shows which members have signed, and how many of their signatures the transaction needs. */
  'GET /node/transactions/{id}/signers': {
    parameters: { id: string };
    answer: {
      readonly meta: Record<never, never>;
      readonly data: {
        readonly id: string;
        readonly min: number;
        readonly signed: number;
        readonly members: readonly {
          readonly address: string;
          readonly publicKey: string;
          readonly hasSigned: boolean;
        }[];
      };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists a queue of the pool. `count` is the size of the whole queue, with or without filters. */
  'GET /node/transactions/{state}': {
    parameters: {
      state: 'pending' | 'ready' | 'received' | 'validated' | 'verified';
      id?: string | undefined;
      recipientId?: string | undefined;
      recipientPublicKey?: string | undefined;
      senderId?: string | undefined;
      senderPublicKey?: string | undefined;
      type?: number | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      sort?:
        | 'amount:asc'
        | 'amount:desc'
        | 'fee:asc'
        | 'fee:desc'
        | 'type:asc'
        | 'type:desc'
        | 'timestamp:asc'
        | 'timestamp:desc'
        | undefined;
    };
    answer: {
      readonly meta: Components3['CountedPageMeta'];
      readonly data: readonly Components3['PooledTransaction'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the queue `verified` of the pool, like `/node/transactions/verified`. `count` is the size of the whole queue, with or without filters. */
  'GET /node/transactions': {
    parameters: {
      id?: string | undefined;
      recipientId?: string | undefined;
      recipientPublicKey?: string | undefined;
      senderId?: string | undefined;
      senderPublicKey?: string | undefined;
      type?: number | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      sort?:
        | 'amount:asc'
        | 'amount:desc'
        | 'fee:asc'
        | 'fee:desc'
        | 'type:asc'
        | 'type:desc'
        | 'timestamp:asc'
        | 'timestamp:desc'
        | undefined;
    };
    answer: {
      readonly meta: Components3['CountedPageMeta'];
      readonly data: readonly Components3['PooledTransaction'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the peers that the node knows. The node itself is not in the list. In generation 3, the list omits each peer that announced `advertiseAddress: false`. */
  'GET /peers': {
    parameters: {
      ip?: string | undefined;
      httpPort?: number | undefined;
      wsPort?: number | undefined;
      os?: string | undefined;
      version?: string | undefined;
      protocolVersion?: string | undefined;
      state?: 'connected' | 'disconnected' | '0' | '1' | '2' | undefined;
      height?: number | undefined;
      broadhash?: string | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      sort?: 'height:asc' | 'height:desc' | 'version:asc' | 'version:desc' | undefined;
    };
    answer: {
      readonly meta: Components3['CountedPageMeta'];
      readonly data: readonly Components3['Peer'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Submits the signature of a member of a multisignature group for a transaction in the pool. */
  'POST /signatures': {
    parameters: Record<never, never>;
    body: { readonly transactionId: string; readonly publicKey: string; readonly signature: string };
    answer: {
      readonly meta: { readonly status: boolean };
      readonly data: { readonly message: string };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Registers a second signature for the account of the passphrase `secret`. The node builds, signs and sends the transaction. */
  'PUT /signatures': {
    parameters: Record<never, never>;
    body: { readonly publicKey?: string; readonly secondSecret: string; readonly secret: string };
    answer:
      | { readonly success: boolean; readonly transaction: Components3['SecondSignatureRegistration'] }
      | { readonly success: boolean; readonly error: string };
  };
  /** Lists the transactions of the chain. */
  'GET /transactions': {
    parameters: {
      id?: string | undefined;
      recipientId?: string | undefined;
      recipientPublicKey?: string | undefined;
      senderId?: string | undefined;
      senderPublicKey?: string | undefined;
      senderIdOrRecipientId?: string | undefined;
      type?: number | undefined;
      height?: number | undefined;
      minAmount?: number | undefined;
      maxAmount?: number | undefined;
      fromTimestamp?: number | undefined;
      toTimestamp?: number | undefined;
      blockId?: string | undefined;
      limit?: number | undefined;
      offset?: number | undefined;
      sort?:
        | 'amount:asc'
        | 'amount:desc'
        | 'fee:asc'
        | 'fee:desc'
        | 'type:asc'
        | 'type:desc'
        | 'timestamp:asc'
        | 'timestamp:desc'
        | undefined;
      data?: string | undefined;
      after?: string | undefined;
    };
    answer: {
      readonly meta: Components3['CountedListMeta'];
      readonly data: readonly Components3['Transaction'][];
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Sends a signed transaction to the node. */
  'POST /transactions': {
    parameters: Record<never, never>;
    body: {
      readonly id: string;
      readonly type: number;
      readonly timestamp: number;
      readonly senderPublicKey: string;
      readonly signature: string;
      readonly signSignature?: string;
      readonly signatures?: readonly string[];
      readonly asset: { readonly amount?: string; readonly recipientId?: string };
    };
    answer: {
      readonly meta: { readonly status: boolean };
      readonly data: { readonly message: string };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Shows the fee of registering a second signature, in beddows. */
  'GET /signatures/fee': {
    parameters: Record<never, never>;
    answer: { readonly success: boolean; readonly fee: number };
  };
  /** Lists the voters of an account. The request must name the account. `votes` is the number of voters. */
  'GET /voters': {
    parameters: {
      username?: string | undefined;
      address?: string | undefined;
      publicKey?: string | undefined;
      secondPublicKey?: string | undefined;
      offset?: number | undefined;
      limit?: number | undefined;
      after?: string | undefined;
      sort?:
        | 'publicKey:asc'
        | 'publicKey:desc'
        | 'balance:asc'
        | 'balance:desc'
        | 'username:asc'
        | 'username:desc'
        | undefined;
    };
    answer: {
      readonly meta: Components3['ListMeta'];
      readonly data: {
        readonly username: string;
        readonly publicKey: string | null;
        readonly address: string;
        readonly balance: bigint;
        readonly voters: readonly { readonly address: string; readonly publicKey: string; readonly balance: bigint }[];
        readonly votes: number;
      };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Lists the delegates that an account votes for. The request must name the account. */
  'GET /votes': {
    parameters: {
      username?: string | undefined;
      address?: string | undefined;
      publicKey?: string | undefined;
      secondPublicKey?: string | undefined;
      offset?: number | undefined;
      limit?: number | undefined;
      after?: string | undefined;
      sort?: 'username:asc' | 'username:desc' | 'balance:asc' | 'balance:desc' | undefined;
    };
    answer: {
      readonly meta: Components3['ListMeta'];
      readonly data: {
        readonly address: string;
        readonly balance: bigint;
        readonly username: string;
        readonly publicKey: string | null;
        readonly votesUsed: number;
        readonly votesAvailable: number;
        readonly votes: readonly {
          readonly address: string;
          readonly publicKey: string;
          readonly balance: bigint;
          readonly username: string;
        }[];
      };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Answers with status 200 while the process runs. */
  'GET /healthz': {
    parameters: Record<never, never>;
    answer: { readonly alive: boolean };
  };
  /** Shows whether the node keeps up with its network. If not, the answer has status 503 and contains the reason. */
  'GET /readyz': {
    parameters: Record<never, never>;
    answer: { readonly ready: boolean; readonly height: number; readonly networkHeight: number };
  };
  /** Shows the metrics of the node in the text format of Prometheus. */
  'GET /metrics': {
    parameters: Record<never, never>;
    answer: string;
  };
  /** Shows the name and version of the software, the paths of the documentation and the dashboard, and all GET paths without a path parameter. */
  'GET /': {
    parameters: Record<never, never>;
    answer: {
      readonly meta: Record<never, never>;
      readonly data: {
        readonly software: string;
        readonly version: string;
        readonly networkName: string;
        readonly generation: number;
        readonly pages: { readonly dashboard?: string; readonly docs: string; readonly spec: string };
        readonly paths: readonly { readonly path: string; readonly summary: string }[];
      };
      readonly links: Readonly<Record<string, unknown>>;
    };
  };
  /** Describes the HTTP interface of this node as an OpenAPI 3.1 document. */
  'GET /spec': {
    parameters: Record<never, never>;
    answer: Readonly<Record<string, unknown>>;
  };
  /** Shows the API description as a page on which you can try requests. The page loads nothing from other sites. */
  'GET /docs': {
    parameters: { plain?: boolean | undefined };
    answer: string;
  };
}

export interface Events3 {
  'blocks/new': Components3['Block'];
  'blocks/delete': Components3['Block'];
  'transactions/new': {
    readonly id: string;
    readonly type: number;
    readonly timestamp: number;
    readonly senderPublicKey: string;
    readonly senderId: string;
    readonly fee: bigint;
    readonly signature: string;
    readonly signatures: readonly string[];
    readonly asset: Readonly<Record<string, unknown>>;
    readonly recipientPublicKey: string;
    readonly recipientId: string;
    readonly amount: bigint;
    readonly signSignature?: string;
    readonly ready?: boolean;
  };
  'transactions/included': Components3['Transaction'];
  'transactions/reverted': Components3['Transaction'];
  'finalized/change': { readonly height: number };
  'rounds/change': { readonly number: number };
  'forging/change': { readonly publicKey: string; readonly forging: boolean };
  'peers/connected': Components3['Peer'];
  'peers/disconnected': Components3['Peer'];
  'log/gap': { readonly after: string; readonly next: number; readonly height: number; readonly blockId: string };
}

/** Members that are amounts, by operation or event; `*` stands for each item of a list. */
export const AMOUNTS: Readonly<Record<string, readonly string[]>> = {
  'GET /accounts': ['data.*.balance', 'data.*.delegate.rewards', 'data.*.delegate.vote', 'data.*.delegate.voteWeight'],
  'GET /accounts/{address}/multisignature_groups': ['data.*.balance'],
  'GET /accounts/{address}/multisignature_memberships': ['data.*.balance'],
  'GET /blocks': ['data.*.totalAmount', 'data.*.totalFee', 'data.*.reward', 'data.*.totalForged'],
  'GET /delegates': ['data.*.rewards', 'data.*.vote', 'data.*.voteWeight'],
  'GET /delegates/{address}/forging_statistics': ['data.fees', 'data.rewards', 'data.forged'],
  'GET /node/constants': [
    'data.fees.send',
    'data.fees.vote',
    'data.fees.secondSignature',
    'data.fees.delegate',
    'data.fees.multisignature',
    'data.fees.dappRegistration',
    'data.fees.dappWithdrawal',
    'data.fees.dappDeposit',
    'data.reward',
    'data.supply',
  ],
  'GET /node/transactions': ['data.*.fee', 'data.*.amount'],
  'GET /node/transactions/{state}': ['data.*.fee', 'data.*.amount'],
  'GET /transactions': ['data.*.fee', 'data.*.amount'],
  'GET /voters': ['data.balance', 'data.voters.*.balance'],
  'GET /votes': ['data.balance', 'data.votes.*.balance'],
  'event blocks/delete': ['totalAmount', 'totalFee', 'reward', 'totalForged'],
  'event blocks/new': ['totalAmount', 'totalFee', 'reward', 'totalForged'],
  'event transactions/included': ['fee', 'amount'],
  'event transactions/new': ['fee', 'amount'],
  'event transactions/reverted': ['fee', 'amount'],
};
